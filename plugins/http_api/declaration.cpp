// plugins/http_api/declaration.cpp: the connection and its resources. See declaration.hpp; declaration_parts.cpp has their parts.
#include "declaration.hpp"

#include <algorithm>
#include <charconv>

#include "keys.hpp"

namespace lakeflow::http_api {
namespace {

constexpr std::int64_t most_rows = 1'000'000'000;

failure missing(std::string message, std::string hint) {
    return invalid(std::move(message), std::move(hint)).with_code("config.missing_option");
}

sizes read_sizes(keys& from, const sizes& fallback, bool of_resource) {
    sizes out;
    out.num_partitions = from.integer("num_partitions", fallback.num_partitions, 1, 100'000);
    // The lesson's pageSize, at the resource's own level.
    if (of_resource) {
        out.rows_per_partition =
            from.integer("rows_per_partition", fallback.rows_per_partition, 1, most_rows, {"page_size"});
    } else {
        out.rows_per_partition = from.integer("rows_per_partition", fallback.rows_per_partition, 1, most_rows);
    }
    out.fetch_size = from.integer("fetch_size", fallback.fetch_size, 1, most_rows);
    out.batch_size = from.integer("batch_size", fallback.batch_size, 1, most_rows, {"write_batch_size"});
    return out;
}

std::string check_base_url(std::string url) {
    url_parts parts = url_parts::split(url);
    if ((parts.scheme != "http" && parts.scheme != "https") || !parts.authority || parts.authority->empty()) {
        throw invalid("connection.base_url: '" + url + "' is no address", "it begins with https:// or http://")
            .with_code("config.invalid_option");
    }
    parts.fragment.reset();
    return parts.join();
}

ingestion read_ingestion(keys& from, const resource& of) {
    const std::string word = from.word("ingestion", {"snapshot", "cdc", "cdc_with_deletes", "append"});
    if (word != "snapshot" && !of.cursor) {
        throw missing(from.where() + ": ingestion = \"" + word + "\" needs a cursor",
                      "cursor = { field = \"updated_at\", from = \"since\" }");
    }
    if (word.substr(0, 3) == "cdc" && of.primary_keys.empty()) {
        throw missing(from.where() + ": ingestion = \"" + word + "\" needs primary_keys", "primary_keys = [\"id\"]");
    }
    if (word == "cdc_with_deletes" && !of.deletes) {
        throw missing(from.where() + ": ingestion = \"cdc_with_deletes\" needs deletes",
                      "deletes = { field = \"deleted\" }, or deletes = { path, records, cursor }");
    }
    if (word != "cdc_with_deletes" && of.deletes) {
        from.refuse("deletes", "has no meaning with ingestion = \"" + word + "\"", "ingestion = \"cdc_with_deletes\"");
    }
    return word == "cdc"                ? ingestion::cdc
           : word == "cdc_with_deletes" ? ingestion::cdc_with_deletes
           : word == "append"           ? ingestion::append
                                        : ingestion::snapshot;
}

void read_columns(keys& from, resource& into) {
    const json* all = from.object("columns");
    if (all == nullptr) return;
    for (const json::member& one : all->members()) {
        keys rule(one.value, from.place("columns") + "." + one.name);
        column_rule out;
        out.name = one.name;
        if (rule.has("format"))
            out.format = rule.word("format", {"rfc3339", "epoch_s", "epoch_ms", "epoch_us", "date"});
        out.path = need_pointer(rule, "path", rule.text("path"));
        out.type = rule.text("type");
        out.parent = rule.text("parent");
        out.json = rule.boolean("json", false);
        rule.done();
        if (!out.type.empty()) schema::ddl("c " + out.type);
        if (!out.parent.empty() && into.for_each.empty()) {
            rule.refuse("parent", "has no meaning without for_each");
        }
        into.columns.push_back(std::move(out));
    }
}

void read_total(keys& from, resource& into) {
    const json* given = from.object("total");
    if (given == nullptr) return;
    keys total(*given, from.place("total"));
    total_rule out;
    out.at.header = total.text("header");
    out.at.pointer = need_pointer(total, "pointer", total.text("pointer"));
    out.path = total.text("path");
    if (total.has("method")) out.method = total.word("method", {"HEAD", "GET"});
    total.done();
    if (out.at.header.empty() == out.at.pointer.empty()) {
        throw missing(total.where() + " needs either header or pointer", "total = { header = \"X-Total-Count\" }");
    }
    if (out.method == "HEAD" && !out.at.pointer.empty()) {
        total.refuse("method", "is HEAD, which has no document to point into", "method = \"GET\"");
    }
    if (out.method.empty()) out.method = out.at.header.empty() || into.method != "GET" ? "GET" : "HEAD";
    into.total = std::move(out);
}

void read_split(keys& from, resource& into) {
    const json* given = from.object("partition_by");
    if (given == nullptr) return;
    keys split(*given, from.place("partition_by"));
    split_rule out;
    out.field = split.need_text("field", "the column whose values the parts are made of");
    out.by.param = split.text("param", out.field);
    out.values = split.texts("values");
    split.done();
    if (out.values.empty()) throw missing(split.where() + " needs values", "values = [\"open\", \"closed\"]");
    into.split = std::move(out);
}

// A column that a declaration names has to be one of the schema's.
void check_names(const keys& from, const resource& of) {
    if (of.ddl.empty()) return;
    const schema columns = schema::ddl(of.ddl);
    std::vector<std::string> names;
    for (const field& one : columns.fields()) names.push_back(one.name);
    const auto check = [&](std::string_view key, const std::string& name) {
        for (const std::string& one : names)
            if (one == name || fold(one) == fold(name)) return;
        const std::string near = nearest(name, names);
        from.refuse(key, "names the column '" + name + "', which the schema does not have",
                    near.empty() ? "The columns are: " + listed(names) + "." : "Did you mean \"" + near + "\"?");
    };
    for (const std::string& key : of.primary_keys) check("primary_keys", key);
    if (of.cursor) check("cursor", of.cursor->field);
    for (const filter_rule& one : of.filters) check("filters", one.column);
    for (const column_rule& one : of.columns) check("columns", one.name);
    if (of.sort)
        for (const std::string& one : of.sort->columns) check("sort", one);
    if (of.aggregate)
        for (const std::string& one : of.aggregate->columns) check("aggregate", one);
}

resource read_resource(const std::string& name, const json& given, const sizes& fallback) {
    keys from(given, "connection.resources." + name);
    resource out;
    out.name = name;
    out.path = from.text("path", name);
    out.records = need_pointer(from, "records", from.text("records"));
    out.method = from.word("method", {"GET", "POST"});
    if (from.has("body")) out.body = from.word("body", {"json", "form", "query"});
    if (out.body.empty() && out.method == "POST") out.body = "json";
    if (out.body == "query") out.body.clear();
    if (!out.body.empty() && out.method == "GET") from.refuse("body", "has no meaning with method = \"GET\"");
    if (const json* params = from.object("params")) out.params = *params;
    out.ddl = from.text("schema");
    if (!out.ddl.empty()) {
        try {
            schema::ddl(out.ddl);
        } catch (const failure& why) {
            from.refuse("schema", "is no list of columns: " + why.message(),
                        "schema = \"id BIGINT NOT NULL, name STRING\"");
        }
    }
    out.primary_keys = from.texts("primary_keys");
    out.for_each = from.text("for_each");
    out.list = from.word("list", {"comma", "repeat"});
    read_columns(from, out);
    read_paging(from, out);
    read_cursor(from, out);
    read_total(from, out);
    read_split(from, out);
    read_filters(from, out);
    read_sort(from, out);
    read_aggregate(from, out);
    read_deletes(from, out);
    read_write(from, out);
    out.columns_param = from.text("columns_param");
    out.limit_param = from.text("limit_param");
    out.verify = from.boolean("verify", false);
    out.numbers = read_sizes(from, fallback, true);
    out.kind = read_ingestion(from, out);
    if (const json* by_status = from.object("on_status")) {
        for (const json::member& one : by_status->members()) {
            const auto status = detail::plain_integer(one.name);
            if (!status || *status < 400 || *status > 499 || !one.value.is_text() || one.value.as_text() != "skip") {
                from.refuse("on_status", "holds what is no rule", "on_status = { \"404\" = \"skip\" }");
            }
            out.skipped.push_back(static_cast<int>(*status));
        }
    }
    from.done();
    if (out.for_each.empty() && !placeholders(out.path).empty()) {
        from.refuse("path", "holds {" + placeholders(out.path).front() + "}, which only a resource with for_each has",
                    "for_each = \"orders\"");
    }
    if (out.records.empty() && (!out.paging.next.pointer.empty() || !out.paging.more.pointer.empty() ||
                                (out.total && !out.total->at.pointer.empty() && out.total->path.empty()))) {
        throw missing(from.where() + " points beside the rows, and records is not set",
                      "records = \"/data\": where the rows lie in the document");
    }
    check_names(from, out);
    return out;
}

void check_parents(const declaration& all) {
    for (const resource& one : all.resources) {
        if (one.for_each.empty()) continue;
        const auto parent = std::find_if(all.resources.begin(), all.resources.end(),
                                         [&](const resource& other) { return other.name == one.for_each; });
        const std::string where = "connection.resources." + one.name + ".for_each";
        if (parent == all.resources.end() || parent->name == one.name) {
            throw invalid(where + " names '" + one.for_each + "', which is no other resource", "for_each = \"orders\"")
                .with_code("config.invalid_option");
        }
        if (!parent->for_each.empty()) {
            throw invalid(where + ": '" + one.for_each + "' has a parent itself", "one level of parents is read")
                .with_code("config.not_supported");
        }
    }
}

}  // namespace

const column_rule* resource::rule_of(std::string_view column) const {
    for (const column_rule& one : columns)
        if (one.name == column) return &one;
    return nullptr;
}

std::string sent_value::fill(std::string_view value) const {
    std::string out = pattern;
    const std::size_t at = out.find("{}");
    if (at != std::string::npos) out.replace(at, 2, value);
    return out;
}

const sent_value* filter_rule::find(std::string_view op) const {
    for (const auto& [name, value] : operators)
        if (name == op) return &value;
    return nullptr;
}

std::string need_pointer(const keys& from, std::string_view name, std::string pointer) {
    if (!pointer.empty() && pointer.front() != '/') {
        from.refuse(name, "is \"" + pointer + "\", and a JSON pointer begins with \"/\"", "\"/" + pointer + "\"?");
    }
    return pointer;
}

json read_auth(const json* given, std::string_view api_key) {
    if (given == nullptr) {
        if (api_key.empty()) return {};
        return json::object({{"type", "header"}, {"name", "X-API-Key"}, {"value", api_key}});
    }
    keys auth(*given, "connection.auth");
    if (!api_key.empty()) auth.refuse("type", "is given beside api_key", "keep one of the two");
    const std::string type = auth.word("type", {"none", "bearer", "basic", "header", "query", "oauth2"});
    json out = json::object({{"type", type}});
    const auto copy = [&](std::string_view name, bool must) {
        const std::string value =
            must ? auth.need_text(name, "auth of type " + type + " needs it; a secret may be { env = \"..\" }")
                 : auth.text(name);
        if (must || auth.has(name)) out.set(name, value);
    };
    if (type == "bearer") copy("token", true);
    if (type == "basic") copy("user", true), copy("password", false);
    if (type == "basic" && !out.contains("password")) out.set("password", "");
    if (type == "header" || type == "query") copy("name", true), copy("value", true);
    if (type == "oauth2") {
        out.set("grant", auth.word("grant", {"client_credentials", "refresh_token"}));
        copy("token_url", true), copy("client_id", true), copy("client_secret", false);
        copy("refresh_token", out.text("grant") == "refresh_token");
        copy("scope", false), copy("store", false), copy("client_auth", false);
    }
    auth.done();
    return type == "none" ? json() : out;
}

declaration declaration::from(const json& options) {
    keys connection(options, "connection");
    declaration out;
    out.base_url =
        check_base_url(connection.need_text("base_url", "the service's address: https://shop.example.com/api"));
    out.auth = read_auth(connection.object("auth"), connection.text("api_key"));
    if (const json* headers = connection.object("headers")) {
        for (const json::member& one : headers->members()) {
            if (!one.value.is_text()) connection.refuse("headers", "holds '" + one.name + "', which is no text");
        }
        out.headers = *headers;
    }
    const sizes numbers = read_sizes(connection, {}, false);
    const json* resources = connection.object("resources");
    if (resources == nullptr || resources->empty()) {
        throw missing("connection.resources is required: one block for each table",
                      "[connection.resources.orders] and below it path = \"orders\"");
    }
    for (const json::member& one : resources->members())
        out.resources.push_back(read_resource(one.name, one.value, numbers));
    connection.done();
    check_parents(out);
    return out;
}

const resource& declaration::find(std::string_view table) const {
    std::vector<std::string> names;
    for (const resource& one : resources) {
        if (one.name == table) return one;
        names.push_back(one.name);
    }
    const std::string near = nearest(table, names);
    throw not_found("there is no resource '" + std::string(table) + "'",
                    near.empty() ? "the resources are: " + listed(names) : "did you mean '" + near + "'?");
}

resource with_options(const resource& of, const json& options) {
    keys from(options, "options");
    resource out = of;
    const std::int64_t fetch = out.numbers.fetch_size;
    out.numbers = read_sizes(from, of.numbers, false);
    // The table's own word wins over the resource's page_size.
    if (out.numbers.fetch_size != fetch) out.paging.page_size = 0;
    if (from.has("batch_size") || from.has("write_batch_size")) {
        if (out.write) out.write->batch_size = 0;
    }
    out.verify = from.boolean("verify", of.verify);
    if (const std::string ddl = from.text("read_schema"); !ddl.empty()) {
        schema::ddl(ddl);
        out.ddl = ddl;
    }
    if (const json* by_status = from.object("on_status")) {
        for (const json::member& one : by_status->members()) {
            const auto status = detail::plain_integer(one.name);
            if (status && one.value.is_text() && one.value.as_text() == "skip")
                out.skipped.push_back(static_cast<int>(*status));
        }
    }
    return out;
}

std::vector<std::string> placeholders(std::string_view pattern) {
    std::vector<std::string> out;
    for (std::size_t at = 0; (at = pattern.find('{', at)) != std::string_view::npos;) {
        const std::size_t end = pattern.find('}', at);
        if (end == std::string_view::npos) break;
        out.emplace_back(pattern.substr(at + 1, end - at - 1));
        at = end;
    }
    return out;
}

std::string fill_path(std::string_view pattern, const std::vector<std::pair<std::string, std::string>>& values) {
    std::string out;
    while (!pattern.empty()) {
        const std::size_t at = pattern.find('{');
        const std::size_t end = pattern.find('}', std::min(at, pattern.size()));
        if (at == std::string_view::npos || end == std::string_view::npos) return out + std::string(pattern);
        const std::string_view name = pattern.substr(at + 1, end - at - 1);
        const auto found =
            std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first == name; });
        if (found == values.end()) throw invalid("there is no value for {" + std::string(name) + "}");
        if (found->second.empty() || found->second == "." || found->second == "..") {
            throw invalid("'" + found->second + "' cannot stand for {" + std::string(name) + "} in an address");
        }
        out += std::string(pattern.substr(0, at)) + url_encode(found->second);
        pattern.remove_prefix(end + 1);
    }
    return out;
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || number < 0) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    static constexpr std::pair<std::string_view, std::int64_t> units[] = {
        {"ms", 1'000},        {"s", 1'000'000},      {"m", 60'000'000},
        {"h", 3'600'000'000}, {"d", 86'400'000'000}, {"w", 604'800'000'000}};
    for (const auto& [name, micros] : units) {
        if (unit == name && number <= (std::int64_t{1} << 60) / micros) return number * micros;
    }
    return std::nullopt;
}

}  // namespace lakeflow::http_api
