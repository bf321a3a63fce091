// tests/scan_plugin/lesson.cpp: the lesson's service as a plugin without a network: orders of which id, amount and category can be
// filtered, by flat parameters that all hold; sums and counts by category in one request; pages over a number of partitions. What it would
// send is what explain shows. The tests of query and explain run it through the executable.
#include <algorithm>
#include <charconv>
#include <map>

#include "lakeflow/lakeflow.hpp"

namespace {

using namespace lakeflow;

constexpr option connection[] = {option::text("base_url").fallback("https://api.example.com/data").help("the service"),
                                 option::secret("api_key").fallback("none").help("its key"),
                                 option::integer("rows").fallback(1000).help("how many orders there are")};
constexpr option table[] = {option::integer("num_partitions").fallback(4).between(1, 100).help("parts of a read")};
constexpr plugin_info info{.id = "lesson",
                           .version = "1.0.0",
                           .summary = "Orders that can be filtered",
                           .connection = connection,
                           .table = table};

schema columns_of_table() { return schema::ddl("id BIGINT NOT NULL, name STRING, amount DOUBLE, category STRING"); }

json order(int64_t id) {
    json row = json::object({{"id", id}, {"category", id % 2 == 0 ? "toys" : "electronics"}});
    row.set("amount", json::number(std::to_string(id % 100) + ".5"));
    return row.set("name", id % 5 == 0 ? json() : json((id % 3 == 0 ? "Pro " : "Basic ") + std::to_string(id)));
}

double number(const json& value) {
    if (!value.is_text()) return value.as_double();
    double out = 0;
    const std::string& text = value.as_text();
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

bool is_taken(const json& conjunct) {
    const std::string op = conjunct.text("op");
    if (conjunct.find("column") == nullptr) return false;
    const std::string column = conjunct.at("column").items()[0].as_text();
    const bool known =
        op == "=" || op == "<" || op == "<=" || op == ">" || op == ">=" || op == "in" || op == "is_not_null";
    return known && (column == "id" || column == "amount" || column == "category");
}

bool same(const json& a, const json& b) {
    return a.is_text() && !b.is_number() ? a.as_text() == b.as_text() : number(a) == number(b);
}

bool passes(const json& conjunct, const json& row) {
    const std::string op = conjunct.text("op");
    const json& value = row.at(conjunct.at("column").items()[0].as_text());
    if (op == "is_not_null") return !value.is_null();
    if (op == "in") {
        const auto& all = conjunct.at("values").items();
        return std::any_of(all.begin(), all.end(), [&](const json& one) { return !one.is_null() && same(value, one); });
    }
    const json& wanted = conjunct.at("value");
    if (op == "=") return same(value, wanted);
    const bool text = value.is_text();
    const auto less = [&](const json& a, const json& b) {
        return text ? a.as_text() < b.as_text() : number(a) < number(b);
    };
    if (op == "<") return less(value, wanted);
    if (op == "<=") return !less(wanted, value);
    if (op == ">") return less(wanted, value);
    return !less(value, wanted);
}

std::string parameter(const json& conjunct) {
    static const std::map<std::string, std::string> names{
        {"=", ""}, {"<", "_lt"}, {"<=", "_lte"}, {">", "_gt"}, {">=", "_gte"}, {"in", "_in"}, {"is_not_null", "_set"}};
    const std::string op = conjunct.text("op");
    std::string value;
    if (const json* all = conjunct.find("values")) {
        for (const json& one : all->items())
            value += (value.empty() ? "" : ",") + (one.is_text() ? one.as_text() : one.dump());
    } else if (const json* one = conjunct.find("value")) {
        value = one->is_text() ? one->as_text() : one->dump();
    }
    return conjunct.at("column").items()[0].as_text() + names.at(op) + "=" + value;
}

schema schema_of(const json& scan) {
    if (scan.find("aggregate") != nullptr) return schema::ddl(scan.text("ddl"));
    const json* wanted = scan.find("columns");
    if (wanted == nullptr) return columns_of_table();
    std::string ddl;
    for (const json& path : wanted->items()) {
        const std::string name = path.items()[0].as_text();
        ddl += (ddl.empty() ? "" : ", ") + name +
               (name == "id"       ? " BIGINT NOT NULL"
                : name == "amount" ? " DOUBLE"
                                   : " STRING");
    }
    return schema::ddl(ddl);
}

class rows : public reader {
  public:
    rows(int64_t from, int64_t to, json scan) : at_(from), to_(to), scan_(std::move(scan)), schema_(schema_of(scan_)) {}

    schema columns() const override { return schema_; }

    bool next(batch& out) override {
        if (at_ > to_) return false;
        batch_builder builder(schema_);
        std::map<std::string, std::pair<int64_t, double>> groups;
        for (const int64_t end = std::min(to_ + 1, at_ + 500); at_ < end; ++at_) {
            const json row = order(at_);
            const json* filters = scan_.find("filters");
            const bool wanted = filters == nullptr || std::all_of(filters->items().begin(), filters->items().end(),
                                                                  [&](const json& f) { return passes(f, row); });
            if (!wanted) continue;
            if (scan_.find("aggregate") == nullptr) {
                builder.append(row);
                continue;
            }
            auto& group = groups[row.text("category")];
            ++group.first;
            group.second += number(row.at("amount"));
        }
        for (const auto& [category, group] : groups) {
            json line = json::object({{"category", category}, {"count(*)", group.first}});
            builder.append(line.set("sum(amount)", json::number(std::to_string(group.second))));
        }
        out = builder.finish();
        return true;
    }

    std::optional<json> end_offset() override { return std::nullopt; }

  private:
    int64_t at_, to_;
    json scan_;
    schema schema_;
};

class lesson : public connector, public partitions, public explained_scan {
  public:
    using connector::connector;

    std::vector<std::string> list_tables() override { return {"orders"}; }
    schema table_schema(std::string_view, const json&) override { return columns_of_table(); }
    lakeflow::table_metadata table_metadata(std::string_view name, const json&) override {
        if (name != "orders")
            throw not_found("there is no table '" + std::string(name) + "'", "the only one is 'orders'");
        return {.kind = ingestion::snapshot, .primary_keys = {"id"}};
    }
    std::unique_ptr<reader> read_table(const read_args& args) override {
        return std::make_unique<rows>(1, total(), args.scan);
    }
    std::vector<json> get_partitions(const plan_args& args) override {
        const int64_t parts = args.scan.find("aggregate") ? 1 : args.options.integer("num_partitions");
        std::vector<json> out;
        for (int64_t i = 0; i < parts; ++i)
            out.push_back(json::object({{"from", total() * i / parts + 1}, {"to", total() * (i + 1) / parts}}));
        return out;
    }
    std::unique_ptr<reader> read_partition(const read_args& args) override {
        return std::make_unique<rows>(args.descriptor.integer("from"), args.descriptor.integer("to"), args.scan);
    }

    json plan_scan(std::string_view, const json&, const json& request) override {
        json reply = json::object(), answers = json::array(), taken = json::array(), scan = json::object();
        bool all = true;
        if (const json* filters = request.find("filters")) {
            for (const json& f : filters->items()) {
                const bool takes = is_taken(f);
                answers.push(takes ? "exact" : "no");
                if (takes) taken.push(f);
                all = all && takes;
            }
            reply.set("filters", answers);
        }
        scan.set("filters", taken);
        if (const json* aggregate = request.find("aggregate");
            aggregate != nullptr && all && groups_by_category(*aggregate)) {
            const json columns =
                json::array({column("category", "u"), column("count(*)", "l"), column("sum(amount)", "g")});
            reply.set("aggregate", "partial").set("schema", columns);
            scan.set("aggregate", *aggregate).set("ddl", "category STRING, `count(*)` BIGINT, `sum(amount)` DOUBLE");
        }
        if (const json* columns = request.find("columns")) {
            reply.set("columns", "exact");
            scan.set("columns", *columns);
        }
        return reply.set("scan", scan);
    }

    json explain_scan(std::string_view name, const json& options, const json& scan) override {
        std::string query = "apiKey=" + env().options.text("api_key");
        if (const json* filters = scan.find("filters")) {
            for (const json& f : filters->items()) query += "&" + parameter(f);
        }
        json requests = json::array();
        if (scan.find("aggregate") != nullptr) {
            requests.push("GET /data/aggregate?" + query + "&group_by=category&agg=count(*),sum(amount)");
        } else {
            const int64_t parts = options.integer("num_partitions");
            for (int64_t i = 0; i < parts; ++i) {
                const int64_t from = total() * i / parts, to = total() * (i + 1) / parts;
                requests.push("GET /data?" + query + "&offset=" + std::to_string(from) +
                              "&limit=" + std::to_string(to - from));
            }
        }
        return json::object({{"table", "lesson:" + env().options.text("base_url") + " " + std::string(name)},
                             {"requests", requests},
                             {"lines", json::array({"Total: " + std::to_string(total())})}});
    }

  private:
    int64_t total() const { return env().options.integer("rows"); }
    static json column(const char* name, const char* type) { return json::object({{"name", name}, {"type", type}}); }
    static bool groups_by_category(const json& aggregate) {
        const auto& keys = aggregate.at("group_by").items();
        const auto& functions = aggregate.at("functions").items();
        return keys.size() == 1 && keys[0].items()[0].as_text() == "category" && functions.size() == 2 &&
               functions[0].text("op") == "count_star" && functions[1].text("op") == "sum" &&
               functions[1].at("column").items()[0].as_text() == "amount";
    }
};

}  // namespace

LAKEFLOW_PLUGIN(lesson, info)
