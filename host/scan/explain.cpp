// host/scan/explain.cpp: see explain.h.
#include "host/scan/explain.h"

#include <boost/json.hpp>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

using texts = std::vector<std::string>;

std::string bracketed(const texts& list) {
    std::string out = "[";
    for (const auto& text : list) out += (out.size() > 1 ? ", " : "") + text;
    return out + "]";
}

std::string json_list(const texts& list) {
    std::string out = "[";
    for (const auto& text : list) out += (out.size() > 1 ? "," : "") + quote_json(text);
    return out + "]";
}

texts texts_of(const std::vector<predicate>& list) {
    texts out;
    for (const auto& p : list) out.push_back(to_text(p));
    return out;
}

std::string dotted(const column_path& path) {
    std::string out;
    for (const auto& part : path) out += (out.empty() ? "" : ".") + part;
    return out;
}

// The facts, once, for both forms.
struct page {
    explicit page(const explanation& e) {
        pushed = texts_of(e.choice.pushed);
        after = texts_of(e.choice.residual);
        after.insert(after.end(), e.further_filters.begin(), e.further_filters.end());
        if (e.choice.aggregate != answer::no) {
            for (const auto& f : e.wish.aggregate->functions) aggregates.push_back(to_text(f));
            for (const auto& path : e.wish.aggregate->group_by) groups.push_back(dotted(path));
        }
        if (e.choice.order_by != answer::no) {
            for (const auto& key : e.wish.order_by) {
                order.push_back(dotted(key.column) + (key.descending ? " DESC" : " ASC") +
                                (key.nulls_first ? " NULLS FIRST" : " NULLS LAST"));
            }
        }
        if (e.choice.limit != answer::no) limit = *e.wish.limit + (e.choice.offset ? 0 : e.wish.offset);
        schema = short_type(*e.choice.schema->get());
        table = e.said.table.empty() ? e.plugin + " " + e.table : e.said.table;
        description = e.said.description;
        if (description.empty()) {
            std::string columns;
            for (std::int64_t i = 0; i < e.choice.schema->columns(); ++i) {
                columns += (i ? "," : "") + std::string(name_of(e.choice.schema->column(i)));
            }
            description = e.plugin + "." + e.table + "[schema=" + columns + ", filters=" + bracketed(pushed) + "]";
        }
    }

    texts pushed;
    texts after;
    texts aggregates;
    texts groups;
    texts order;
    std::optional<std::int64_t> limit;
    std::string schema;
    std::string table;
    std::string description;
};

texts list_in(const json::object& object, const char* name, const std::string& what) {
    texts out;
    const auto* found = object.if_contains(name);
    if (!found) return out;
    const auto* list = found->if_array();
    for (std::size_t i = 0; list && i < list->size(); ++i) {
        const auto* text = (*list)[i].if_string();
        if (!text) list = nullptr;
        if (text) out.emplace_back(*text);
    }
    if (!list) throw failure("plugin.contract", what + ": \"" + name + "\" is not an array of strings");
    return out;
}

std::string text_in(const json::object& object, const char* name, const std::string& what) {
    const auto* found = object.if_contains(name);
    if (!found) return {};
    const auto* text = found->if_string();
    if (!text || text->find('\n') != json::string::npos)
        throw failure("plugin.contract", what + ": \"" + name + "\" is not a text of one line");
    return std::string(*text);
}

}  // namespace

plugin_explanation parse_explanation(const std::string& text, const std::string& what) {
    boost::system::error_code ec;
    const auto value = json::parse(text, ec);
    if (ec || !value.is_object())
        throw failure("plugin.contract", what + ": not a JSON object: " + std::string(cut_utf8(text, 200)));
    const auto& object = value.get_object();
    return {text_in(object, "table", what), text_in(object, "description", what), list_in(object, "lines", what),
            list_in(object, "requests", what)};
}

std::string short_type(const ArrowSchema& node) {
    const auto type = type_of(node);
    if (type.id == type_id::struct_) {
        std::string out = "struct<";
        for (std::int64_t i = 0; i < node.n_children; ++i) {
            out += (i ? "," : "") + std::string(name_of(*node.children[i])) + ":" + short_type(*node.children[i]);
        }
        return out + ">";
    }
    if (type.id == type_id::list) return "array<" + short_type(list_item(node)) + ">";
    if (type.id == type_id::map) return "map<" + short_type(map_key(node)) + "," + short_type(map_value(node)) + ">";
    return lower_ascii(type_name(node));
}

std::string partition_hint(std::int64_t partitions, int workers) {
    if (partitions < workers) {
        return std::to_string(partitions) + " of " + std::to_string(workers) +
               " workers have something to do; a smaller partition, or less parallelism, would use them all";
    }
    if (partitions > 100 * static_cast<std::int64_t>(workers)) {
        return "more than 100 partitions for each of " + std::to_string(workers) + " workers; larger ones cost less";
    }
    return {};
}

std::string explain_text(const explanation& e) {
    const page p(e);
    std::string out = p.description + "\n";
    out += "Table: " + p.table + "\n";
    out += "PushedFilters: " + bracketed(p.pushed) + "\n";
    out += "PostScanFilters: " + bracketed(p.after) + "\n";
    out += "PushedAggregates: " + bracketed(p.aggregates) + "\n";
    out += "PushedGroupBy: " + bracketed(p.groups) + "\n";
    out += "PushedLimit: " + (p.limit ? std::to_string(*p.limit) : std::string("none")) + "\n";
    if (!p.order.empty()) out += "PushedTopN: " + bracketed(p.order) + "\n";
    if (e.choice.offset) out += "PushedOffset: " + std::to_string(e.wish.offset) + "\n";
    if (e.choice.sample) out += "PushedSample: " + e.wish.sample->method + " " + e.wish.sample->fraction + "\n";
    out += "ReadSchema: " + p.schema + "\n";
    out += "Partitions: " + std::to_string(e.partitions) + "\n";
    out += "Requests: " + bracketed(e.said.requests) + "\n";
    for (const auto& line : e.said.lines) out += line + "\n";
    return out;
}

std::string explain_json(const explanation& e) {
    const page p(e);
    std::string out = "{\"table\":" + quote_json(p.table) + ",\"description\":" + quote_json(p.description);
    out += ",\"pushed_filters\":" + json_list(p.pushed) + ",\"post_scan_filters\":" + json_list(p.after);
    out += ",\"pushed_aggregates\":" + json_list(p.aggregates) + ",\"pushed_group_by\":" + json_list(p.groups);
    out += ",\"pushed_limit\":" + (p.limit ? std::to_string(*p.limit) : std::string("null"));
    out += ",\"pushed_top_n\":" + json_list(p.order);
    out += ",\"pushed_offset\":" + (e.choice.offset ? std::to_string(e.wish.offset) : std::string("null"));
    out += ",\"pushed_sample\":" +
           (e.choice.sample ? quote_json(e.wish.sample->method + " " + e.wish.sample->fraction) : std::string("null"));
    out += ",\"read_schema\":" + quote_json(p.schema) + ",\"partitions\":" + std::to_string(e.partitions);
    if (!e.partition_hint.empty()) out += ",\"partition_hint\":" + quote_json(e.partition_hint);
    return out + ",\"requests\":" + json_list(e.said.requests) + ",\"lines\":" + json_list(e.said.lines) + "}";
}

}  // namespace lakeflow::host
