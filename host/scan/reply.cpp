// host/scan/reply.cpp: see reply.h.
#include "host/scan/reply.h"

#include <algorithm>
#include <boost/json.hpp>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

std::string json_path(const column_path& path) {
    std::string out = "[";
    for (const auto& part : path) out += (out.size() > 1 ? "," : "") + quote_json(part);
    return out + "]";
}

std::string aggregate_json(const aggregation& a) {
    std::string out = "{\"group_by\":[";
    for (std::size_t i = 0; i < a.group_by.size(); ++i) out += (i ? "," : "") + json_path(a.group_by[i]);
    out += "],\"functions\":[";
    for (std::size_t i = 0; i < a.functions.size(); ++i) {
        const auto& f = a.functions[i];
        out += (i ? ",{\"op\":" : "{\"op\":") + quote_json(to_string(f.op));
        if (!f.column.empty()) out += ",\"column\":" + json_path(f.column);
        out += "}";
    }
    return out + "]}";
}

std::string order_json(const std::vector<order_key>& keys) {
    std::string out = "[";
    for (const auto& key : keys) {
        out += (out.size() > 1 ? ",{\"column\":" : "{\"column\":") + json_path(key.column) +
               ",\"descending\":" + (key.descending ? "true" : "false") +
               ",\"nulls_first\":" + (key.nulls_first ? "true" : "false") + "}";
    }
    return out + "]";
}

class checked_reply {
  public:
    checked_reply(const std::string& text, const scan_request& request, const std::string& what)
        : request_(request), what_(what + ", plan of the scan") {
        boost::system::error_code ec;
        auto value = json::parse(text, ec);
        if (ec || !value.is_object()) broken("the reply is not a JSON object: " + std::string(cut_utf8(text, 200)));
        object_ = std::move(value.get_object());
        static const std::vector<std::string> known{"filters", "columns", "aggregate", "limit", "order_by",
                                                    "offset",  "sample",  "schema",    "scan"};
        for (const auto& member : object_) {
            const std::string name(member.key());
            if (std::find(known.begin(), known.end(), name) != known.end()) continue;
            broken("the reply has the member \"" + name + "\", which lakeflow.scan/1 does not know");
        }
    }

    scan_reply read() {
        scan_reply out;
        out.filters = filters();
        out.sample = piece("sample", request_.sample != nullptr, true);
        out.aggregate = piece("aggregate", request_.aggregate != nullptr, true);
        out.order_by = piece("order_by", request_.order_by != nullptr, true);
        out.limit = piece("limit", request_.limit.has_value(), true);
        out.offset = piece("offset", request_.offset > 0, true);
        out.columns = piece("columns", request_.columns.has_value(), false);
        const bool all_exact =
            std::all_of(out.filters.begin(), out.filters.end(), [](answer a) { return a == answer::exact; });
        if (!all_exact && (out.aggregate != answer::no || out.limit != answer::no))
            broken("it takes an aggregate or a limit while a filter is not exact");
        out.schema = schema();
        const bool any = out.sample != answer::no || out.aggregate != answer::no || out.order_by != answer::no ||
                         out.limit != answer::no || out.offset != answer::no || out.columns != answer::no ||
                         std::any_of(out.filters.begin(), out.filters.end(), [](answer a) { return a != answer::no; });
        out.scan = scan(any);
        return out;
    }

  private:
    [[noreturn]] void broken(const std::string& why) const {
        throw failure("plugin.contract", what_ + ": " + why, "the plugin breaks lakeflow.scan/1; ask its vendor");
    }

    answer word(const json::value& value, const std::string& member) const {
        const auto* text = value.if_string();
        if (text && *text == "exact") return answer::exact;
        if (text && *text == "partial") return answer::partial;
        if (text && *text == "no") return answer::no;
        broken("\"" + member + "\" holds " + json::serialize(value).substr(0, 100) +
               "; it must be \"exact\", \"partial\" or \"no\"");
    }

    answer piece(const char* name, bool asked, bool partial_too) const {
        const auto* found = object_.if_contains(name);
        if (!found) return answer::no;
        const auto a = word(*found, name);
        if (a != answer::no && !asked) broken("it accepts \"" + std::string(name) + "\", which was not asked");
        if (a == answer::partial && !partial_too) broken("\"" + std::string(name) + "\" cannot be partial");
        return a;
    }

    std::vector<answer> filters() const {
        const std::size_t asked = request_.filters ? request_.filters->size() : 0;
        const auto* found = object_.if_contains("filters");
        if (!found) return std::vector<answer>(asked, answer::no);
        if (!found->is_array()) broken("\"filters\" is not an array");
        if (found->get_array().size() != asked) {
            broken("\"filters\" has " + std::to_string(found->get_array().size()) + " answers to " +
                   std::to_string(asked) + " conjuncts");
        }
        std::vector<answer> out;
        for (const auto& value : found->get_array()) out.push_back(word(value, "filters"));
        return out;
    }

    std::optional<arrow_schema> schema() const {
        const auto* found = object_.if_contains("schema");
        if (!found || found->is_null()) return std::nullopt;
        if (!found->is_array()) broken("\"schema\" is not an array");
        std::vector<arrow_schema> columns;
        for (const auto& value : found->get_array()) {
            const auto* column = value.if_object();
            const auto* name = column ? column->if_contains("name") : nullptr;
            const auto* type = column ? column->if_contains("type") : nullptr;
            if (!name || !type || !name->is_string() || !type->is_string())
                broken("\"schema\" has an element that is not {\"name\": text, \"type\": text}");
            columns.push_back(make_schema(std::string(type->get_string()), std::string(name->get_string()), true));
            try {
                type_of(*columns.back().get());
            } catch (const failure& f) {
                broken("\"schema\": " + f.get().message);
            }
        }
        return make_schema("+s", "", false, std::move(columns));
    }

    std::string scan(bool any) const {
        const auto* found = object_.if_contains("scan");
        if (found && !found->is_object()) broken("\"scan\" is not an object");
        if (!found && any) broken("it accepts something and gives no \"scan\"");
        return found ? canonical_json(json::serialize(*found), "plugin.contract", what_) : "{}";
    }

    const scan_request& request_;
    std::string what_;
    json::object object_;
};

}  // namespace

std::string scan_request::to_json() const {
    std::string out = "{";
    const auto add = [&](const char* name, const std::string& value) {
        out += (out.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + value;
    };
    if (columns) {
        std::string list = "[";
        for (const auto& name : *columns) list += (list.size() > 1 ? "," : "") + json_path({name});
        add("columns", list + "]");
    }
    if (filters && !filters->empty()) {
        std::string list = "[";
        for (const auto& p : *filters) list += (list.size() > 1 ? "," : "") + host::to_json(p);
        add("filters", list + "]");
    }
    if (aggregate) add("aggregate", aggregate_json(*aggregate));
    if (order_by) add("order_by", order_json(*order_by));
    if (limit) add("limit", std::to_string(*limit));
    if (offset > 0) add("offset", std::to_string(offset));
    if (sample) {
        add("sample", "{\"method\":" + quote_json(sample->method) + ",\"fraction\":" + quote_json(sample->fraction) +
                          (sample->seed ? ",\"seed\":" + std::to_string(*sample->seed) : "") + "}");
    }
    if (num_partitions > 0) add("num_partitions", std::to_string(num_partitions));
    return out + "}";
}

scan_reply parse_reply(const std::string& text, const scan_request& request, const std::string& what) {
    return checked_reply(text, request, what).read();
}

}  // namespace lakeflow::host
