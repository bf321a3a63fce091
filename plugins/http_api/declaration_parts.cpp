// plugins/http_api/declaration_parts.cpp: the parts of a resource that have a shape of their own. See declaration.hpp.
#include <algorithm>

#include "declaration.hpp"
#include "keys.hpp"

namespace lakeflow::http_api {
namespace {

failure missing(std::string message, std::string hint) {
    return invalid(std::move(message), std::move(hint)).with_code("config.missing_option");
}

// A pointer, written as "/meta/next" or { header = "Next-Page" } or { pointer = ".." }.
spot read_spot(keys& from, std::string_view name) {
    const json* given = from.find(name);
    spot out;
    if (given == nullptr) return out;
    if (given->is_text()) {
        out.pointer = need_pointer(from, name, given->as_text());
        return out;
    }
    keys inner(*given, from.place(name));
    out.header = inner.text("header");
    out.pointer = need_pointer(inner, "pointer", inner.text("pointer"));
    inner.done();
    if (out.header.empty() == out.pointer.empty()) {
        throw missing(inner.where() + " needs either header or pointer", "{ header = \"X-More\" }");
    }
    return out;
}

// A parameter's name, or { param = "filter", template = "updated>='{}'" }.
std::optional<sent_value> read_sent(keys& from, std::string_view name, bool has_value = true) {
    const json* given = from.find(name);
    if (given == nullptr) return std::nullopt;
    sent_value out;
    if (given->is_text()) {
        out.param = given->as_text();
    } else {
        keys inner(*given, from.place(name));
        out.param = inner.need_text("param", "the name of the request parameter");
        out.pattern = inner.text("template", "{}");
        inner.done();
        if (has_value && out.pattern.find("{}") == std::string::npos) {
            inner.refuse("template", "has no {}", "the value takes the place of {}: \"updated>='{}'\"");
        }
    }
    if (out.param.empty()) from.refuse(name, "is empty", "the name of the request parameter");
    return out;
}

const std::vector<std::string> time_formats{"rfc3339", "epoch_s", "epoch_ms", "epoch_us", "date"};

cursor_rule read_cursor_rule(const json& given, const std::string& where) {
    keys from(given, where);
    cursor_rule out;
    out.field = from.need_text("field", "the column that orders the changes: cursor = { field = \"updated_at\" }");
    out.from = read_sent(from, "from");
    out.to = read_sent(from, "to");
    if (from.has("format")) out.format = from.word("format", time_formats);
    if (from.has("window")) {
        out.window_us = parse_duration(from.text("window"));
        if (!out.window_us || *out.window_us < 1'000'000)
            from.refuse("window", "is no duration of a second or more", "window = \"7d\"");
        if (!out.from || !out.to) from.refuse("window", "needs both from and to", "the parameters of a range");
    }
    if (from.has("lookback")) {
        const auto back = parse_duration(from.text("lookback"));
        if (!back) from.refuse("lookback", "is no duration", "lookback = \"5m\"");
        out.lookback_us = *back;
    }
    out.missing = from.word("missing", {"fail", "include", "skip"});
    out.inclusive = from.boolean("inclusive", true);
    out.start = from.text("start");
    if (!out.start.empty()) {
        const std::string text = out.start.size() == 10 ? out.start + "T00:00:00Z" : out.start;
        if (!parse_instant(text)) from.refuse("start", "is no date or instant", "start = \"2024-01-31\"");
        out.start = text;
    }
    from.done();
    return out;
}

std::optional<call_rule> read_call(keys& from, std::string_view name, std::string_view method) {
    const json* given = from.object(name);
    if (given == nullptr) return std::nullopt;
    keys call(*given, from.place(name));
    call_rule out;
    out.method = call.text("method", method);
    out.path = call.need_text("path", "the path of the request");
    call.done();
    return out;
}

}  // namespace

void read_paging(keys& from, resource& into) {
    const json* given = from.object("paging");
    if (given == nullptr) return;
    keys paging(*given, from.place("paging"));
    paging_rule out;
    const std::string type = paging.word("type", {"none", "page", "offset", "cursor", "last_id", "link", "next_url"});
    if (!paging.has("type"))
        throw missing(paging.where() + ".type is required", "page, offset, cursor, last_id, link, next_url or none");
    out.size = paging.text("size");
    out.page_size = paging.integer("page_size", 0, 1, 1'000'000'000);
    out.more = read_spot(paging, "more");
    if (type == "page") {
        out.kind = paging_kind::page;
        out.page = paging.text("page", "page");
        out.first = paging.integer("first", 1, 0, 1'000'000'000);
    } else if (type == "offset") {
        out.kind = paging_kind::offset;
        out.offset = paging.text("offset", "offset");
        if (paging.has("limit") && !out.size.empty()) paging.refuse("limit", "says the same as size");
        if (out.size.empty()) out.size = paging.text("limit", "limit");
        out.first = paging.integer("first", 0, 0, 1'000'000'000);
    } else if (type == "cursor") {
        out.kind = paging_kind::cursor;
        out.param = paging.need_text("param", "the parameter that takes the token of the next page");
        out.next = read_spot(paging, "next");
        if (paging.has("header") && !out.next) out.next.header = paging.text("header");
        if (!out.next)
            throw missing(paging.where() + " needs next", "next = \"/meta/next\", or header = \"Next-Page\"");
    } else if (type == "last_id") {
        out.kind = paging_kind::last_id;
        out.param = paging.need_text("param", "the parameter that takes the last row's value");
        out.field = paging.text("field", "id");
    } else if (type == "link") {
        out.kind = paging_kind::link;
    } else if (type == "next_url") {
        out.kind = paging_kind::next_url;
        out.next = read_spot(paging, "next");
        if (paging.has("header") && !out.next) out.next.header = paging.text("header");
        if (!out.next) throw missing(paging.where() + " needs next", "next = \"/next\", or header = \"Next-Page\"");
    }
    paging.done();
    into.paging = std::move(out);
}

void read_cursor(keys& from, resource& into) {
    if (const json* given = from.object("cursor")) into.cursor = read_cursor_rule(*given, from.place("cursor"));
}

void read_filters(keys& from, resource& into) {
    static const std::vector<std::string> operators{"=",         "<>",       "<",       "<=",          ">",
                                                    ">=",        "in",       "is_null", "is_not_null", "starts_with",
                                                    "ends_with", "contains", "like"};
    const json* all = from.object("filters");
    if (all == nullptr) return;
    for (const json::member& one : all->members()) {
        const std::string where = from.place("filters") + "." + one.name;
        if (!one.value.is_object())
            throw invalid(where + " must be a table", "{ \"=\" = \"id\" }").with_code("config.invalid_option");
        filter_rule out;
        out.column = one.name;
        out.list = into.list;
        // Operators are no words: they are looked for as they stand, the rest by folded names.
        json rest = json::object(), chosen = json::object();
        for (const json::member& entry : one.value.members()) {
            const bool is_operator = std::find(operators.begin(), operators.end(), entry.name) != operators.end();
            (is_operator ? chosen : rest).set(entry.name, entry.value);
        }
        keys settings(rest, where);
        out.exact = settings.boolean("exact", true);
        if (settings.has("format")) out.format = settings.word("format", time_formats);
        if (settings.has("list")) out.list = settings.word("list", {"comma", "repeat"});
        for (const json::member& entry : rest.members()) {
            const std::string folded = fold(entry.name);
            if (folded == "exact" || folded == "format" || folded == "list") continue;
            std::vector<std::string> known = operators;
            known.insert(known.end(), {"exact", "format", "list"});
            const std::string near = nearest(entry.name, known);
            throw invalid(
                where + "." + entry.name + " is no operator",
                near.empty() ? "The operators are: " + listed(operators) + "." : "Did you mean \"" + near + "\"?")
                .with_code("config.unknown_option");
        }
        for (const json::member& entry : chosen.members()) {
            const json single = json::object({{"param", entry.value}});
            keys value(single, where + ".\"" + entry.name + "\"");
            out.operators.emplace_back(entry.name, *read_sent(value, "param", entry.name.substr(0, 3) != "is_"));
        }
        into.filters.push_back(std::move(out));
    }
}

void read_sort(keys& from, resource& into) {
    const json* given = from.object("sort");
    if (given == nullptr) return;
    keys sort(*given, from.place("sort"));
    sort_rule out;
    out.by = sort.text("by");
    out.order = sort.text("order");
    out.param = sort.text("param");
    out.ascending = sort.text("ascending", "{}");
    out.descending = sort.text("descending", "-{}");
    if (sort.has("nulls")) out.nulls = sort.word("nulls", {"first", "last", "smallest", "largest"});
    out.columns = sort.texts("columns");
    sort.done();
    if (out.param.empty() == (out.by.empty() || out.order.empty())) {
        throw missing(
            sort.where() + " needs either by and order, or param",
            "sort = { by = \"_sort\", order = \"_order\" }, or sort = { param = \"sort\", descending = \"-{}\" }");
    }
    into.sort = std::move(out);
}

void read_aggregate(keys& from, resource& into) {
    const json* given = from.object("aggregate");
    if (given == nullptr) return;
    keys aggregate(*given, from.place("aggregate"));
    aggregate_rule out;
    out.path = aggregate.need_text("path", "the path that answers aggregates");
    out.group_by = aggregate.text("group_by");
    out.functions = aggregate.need_text("functions", "the parameter that takes count(*),sum(amount)");
    out.records = need_pointer(aggregate, "records", aggregate.text("records"));
    out.list = aggregate.has("list") ? aggregate.word("list", {"comma", "repeat"}) : into.list;
    out.columns = aggregate.texts("columns");
    out.allowed = aggregate.texts("allowed");
    aggregate.done();
    if (out.allowed.empty()) out.allowed = {"count", "sum", "min", "max"};
    into.aggregate = std::move(out);
}

void read_deletes(keys& from, resource& into) {
    const json* given = from.object("deletes");
    if (given == nullptr) return;
    keys deletes(*given, from.place("deletes"));
    delete_rule out;
    out.field = deletes.text("field");
    out.path = deletes.text("path");
    out.records = need_pointer(deletes, "records", deletes.text("records"));
    if (const json* cursor = deletes.object("cursor")) out.cursor = read_cursor_rule(*cursor, deletes.place("cursor"));
    deletes.done();
    if (out.field.empty() == out.path.empty()) {
        throw missing(
            deletes.where() + " needs either field or path",
            "deletes = { field = \"deleted\" }, or deletes = { path = \"orders/deleted\", records = \"/ids\" }");
    }
    if (!out.path.empty() && !out.cursor) {
        throw missing(deletes.where() + " needs a cursor, by which the list is read on",
                      "deletes = { path = \"orders/deleted\", cursor = { field = \"deleted_at\", from = \"since\" } }");
    }
    into.deletes = std::move(out);
}

void read_write(keys& from, resource& into) {
    const json* given = from.object("write");
    if (given == nullptr) return;
    keys write(*given, from.place("write"));
    write_rule out;
    out.path = write.text("path", into.path);
    out.method = write.text("method", "POST");
    out.records = need_pointer(write, "records", write.text("records"));
    out.id = need_pointer(write, "id", write.text("id"));
    out.rows = write.word("rows", {"array", "object", "jsonl"});
    out.key_header = write.text("key_header", "Idempotency-Key");
    out.batch_size = write.integer("batch_size", 0, 1, 1'000'000, {"write_batch_size"});
    out.upsert = write.boolean("upsert", false);
    out.truncate = read_call(write, "truncate", "DELETE");
    out.rollback = read_call(write, "rollback", "DELETE");
    out.commit = read_call(write, "commit", "POST");
    out.committed = read_call(write, "committed", "GET");
    write.done();
    if (out.rollback && !placeholders(out.rollback->path).empty() && out.id.empty()) {
        throw missing(write.where() + ": rollback needs id", "id = \"/id\": where an answer names the batch");
    }
    into.write = std::move(out);
}

}  // namespace lakeflow::http_api
