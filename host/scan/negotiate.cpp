// host/scan/negotiate.cpp: see negotiate.h.
#include "host/scan/negotiate.h"

#include <algorithm>
#include <array>
#include <set>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/scan/reply.h"

namespace lakeflow::host {
namespace {

bool is_whole(type_id id) {
    return id == type_id::int8 || id == type_id::int16 || id == type_id::int32 || id == type_id::int64;
}

const ArrowSchema& node_at(const ArrowSchema& top, const column_path& path) {
    const ArrowSchema* node = &top;
    for (const auto& part : path) node = node->children[find_column(*node, part)];
    return *node;
}

class negotiation {
  public:
    negotiation(const scan_wish& wish, const std::shared_ptr<const arrow_schema>& table, const scan_planner& ask,
                const std::string& what)
        : wish_(wish), table_(table), ask_(ask), what_(what) {
        request_.num_partitions = wish.num_partitions;
        request_.filters = &wish.filters;
    }

    scan_choice run() {
        out_.schema = table_;
        // The last of several requests counts, and a request that holds nothing needs no answer.
        const bool declined = !filters();
        if (!declined) {
            sample();
            aggregate();
            if (out_.aggregate == answer::no) {
                limit();
                columns();
            }
        } else {
            out_.residual = wish_.filters;
        }
        return std::move(out_);
    }

  private:
    // The whole request as it stands; nothing if the plugin declines.
    std::optional<scan_reply> exchange() {
        const auto text = ask_(request_.to_json());
        if (!text) return std::nullopt;
        auto reply = parse_reply(*text, request_, what_);
        if (settled_ && reply.filters != answers_) fickle("the filters");
        if (request_.sample && out_.sample && reply.sample != answer::exact) fickle("the sample");
        if (reply.scan.size() > std::size_t{64} * 1024)
            broken("the scan document has " + std::to_string(reply.scan.size()) + " bytes, more than 65536");
        return reply;
    }

    [[noreturn]] void broken(const std::string& why) const {
        throw failure("plugin.contract", what_ + ", plan of the scan: " + why,
                      "the plugin breaks lakeflow.scan/1; ask its vendor");
    }
    [[noreturn]] void fickle(const std::string& piece) const {
        broken("a growing request got another answer about " + piece + " than before");
    }

    bool filters() {
        if (wish_.filters.empty()) {
            settled_ = true;
            all_exact_ = !wish_.further_filters;
            return static_cast<bool>(ask_);
        }
        const auto reply = ask_ ? exchange() : std::nullopt;
        if (!reply) return false;
        answers_ = reply->filters;
        settled_ = true;
        all_exact_ = !wish_.further_filters;
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            const auto& p = wish_.filters[i];
            if (answers_[i] != answer::exact) {
                all_exact_ = false;
                out_.residual.push_back(p);
            } else {
                out_.exact.push_back(p);
            }
            if (answers_[i] != answer::no) out_.pushed.push_back(p);
        }
        out_.scan = reply->scan;
        return true;
    }

    void sample() {
        if (!wish_.sample) return;
        request_.sample = &*wish_.sample;
        const auto reply = exchange();
        if (reply && reply->sample == answer::exact) {
            out_.sample = true;
            out_.scan = reply->scan;
        } else {
            request_.sample = nullptr;
        }
    }

    // Above a sample that the host takes, nothing else may be counted or cut by the source.
    bool may_cut() const { return all_exact_ && (!wish_.sample || out_.sample); }

    void aggregate() {
        if (!wish_.aggregate || !may_cut()) return;
        request_.aggregate = &*wish_.aggregate;
        auto reply = exchange();
        if (!reply || reply->aggregate == answer::no) {
            request_.aggregate = nullptr;
            return;
        }
        out_.aggregate = reply->aggregate;
        out_.scan = reply->scan;
        if (!reply->schema) broken("it takes an aggregate and gives no \"schema\"");
        out_.schema = aggregated(*reply->schema);
    }

    // Group keys come in the table's own types, counts as int64, sums wide enough.
    std::shared_ptr<const arrow_schema> aggregated(const arrow_schema& given) const {
        const auto& a = *wish_.aggregate;
        const auto wanted = a.group_by.size() + a.functions.size();
        if (static_cast<std::size_t>(given.columns()) != wanted) {
            broken("the aggregate has " + std::to_string(given.columns()) + " columns in \"schema\" instead of " +
                   std::to_string(wanted) + ": the group keys, then the functions");
        }
        std::set<std::string, std::less<>> names;
        std::vector<arrow_schema> columns;
        for (std::size_t i = 0; i < wanted; ++i) {
            const auto& column = given.column(static_cast<std::int64_t>(i));
            const auto type = type_of(column);
            const auto* f = i < a.group_by.size() ? nullptr : &a.functions[i - a.group_by.size()];
            const bool counts = f && (f->op == aggregate_op::count_star || f->op == aggregate_op::count);
            const auto of =
                counts ? column_type{type_id::int64} : type_of(node_at(*table_->get(), f ? f->column : a.group_by[i]));
            if (!fits(type, of, f && f->op == aggregate_op::sum)) {
                broken("column " + std::to_string(i + 1) + " of the aggregate, " +
                       (f ? to_text(*f) : std::string(name_of(column))) + ", is of type \"" + column.format + "\"");
            }
            if (name_of(column).empty() || !names.emplace(name_of(column)).second)
                broken("the aggregate's columns have no names of their own");
            columns.push_back(copy_schema(column));
        }
        return std::make_shared<const arrow_schema>(make_schema("+s", "", false, std::move(columns)));
    }

    static bool fits(const column_type& type, const column_type& of, bool sum) {
        if (!sum) return type == of;
        if (is_whole(of.id)) return type.id == type_id::int64 || (type.id == type_id::decimal128 && type.scale == 0);
        if (of.id == type_id::decimal128)
            return type.id == type_id::decimal128 && type.scale == of.scale && type.precision >= of.precision;
        return type.id == type_id::float64;
    }

    void limit() {
        if (!wish_.limit || !may_cut()) return;
        if (!wish_.order_by.empty()) request_.order_by = &wish_.order_by;
        // First with the offset; where the source does not skip, it gives the skipped rows too.
        for (const bool skip : {true, false}) {
            if (skip && wish_.offset == 0) continue;
            std::int64_t rows = *wish_.limit;
            if (!skip && __builtin_add_overflow(rows, wish_.offset, &rows)) break;
            request_.limit = rows;
            request_.offset = skip ? wish_.offset : 0;
            const auto reply = exchange();
            if (!reply) break;
            const bool ordered = wish_.order_by.empty() || reply->order_by != answer::no;
            if (reply->limit == answer::no || !ordered || (skip && reply->offset != answer::exact)) continue;
            out_.limit = reply->limit;
            out_.order_by = reply->order_by;
            out_.offset = skip;
            out_.scan = reply->scan;
            return;
        }
        request_.limit.reset();
        request_.offset = 0;
        request_.order_by = nullptr;
    }

    void columns() {
        std::set<std::int64_t> places(wish_.columns.begin(), wish_.columns.end());
        std::vector<column_path> used;
        for (const auto& p : out_.residual) add_columns(p, used);
        for (const auto& path : used) places.insert(find_column(*table_->get(), path.front()));
        if (static_cast<std::int64_t>(places.size()) == table_->columns()) return;
        std::vector<std::string> names;
        names.reserve(places.size());
        for (const auto place : places) names.emplace_back(name_of(table_->column(place)));
        request_.columns = names;
        const auto reply = exchange();
        if (!reply || reply->columns != answer::exact) {
            request_.columns.reset();
            return;
        }
        if (out_.limit != reply->limit) fickle("the limit");
        if (out_.offset != (reply->offset == answer::exact)) fickle("the offset");
        if (out_.order_by != reply->order_by) fickle("the order");
        auto schema = std::make_shared<const arrow_schema>(select_columns(*table_->get(), names));
        if (reply->schema) check_same(*reply->schema, *schema);
        out_.columns = true;
        out_.schema = std::move(schema);
        out_.scan = reply->scan;
    }

    void check_same(const arrow_schema& given, const arrow_schema& wanted) const {
        bool same = given.columns() == wanted.columns();
        for (std::int64_t i = 0; same && i < given.columns(); ++i) {
            same = name_of(given.column(i)) == name_of(wanted.column(i)) &&
                   type_of(given.column(i)) == type_of(wanted.column(i));
        }
        if (!same) broken("\"schema\" is not that of the columns that were asked, in their order");
    }

    const scan_wish& wish_;
    const std::shared_ptr<const arrow_schema>& table_;
    const scan_planner& ask_;
    const std::string& what_;
    scan_request request_;
    scan_choice out_;
    std::vector<answer> answers_;
    bool settled_ = false;  // the filters have been answered
    bool all_exact_ = false;
};

}  // namespace

std::string_view to_string(answer a) noexcept {
    return a == answer::exact ? "exact" : a == answer::partial ? "partial" : "no";
}

std::string_view to_string(aggregate_op op) noexcept {
    constexpr std::array<std::string_view, 5> names{"count_star", "count", "sum", "min", "max"};
    return names.at(static_cast<std::size_t>(op));
}

std::string to_text(const aggregate_function& f) {
    if (f.op == aggregate_op::count_star) return "COUNT(*)";
    std::string out;
    for (const char c : to_string(f.op)) out += static_cast<char>(c - 'a' + 'A');
    std::string path;
    for (const auto& part : f.column) path += (path.empty() ? "" : ".") + part;
    return out + "(" + path + ")";
}

scan_choice negotiate(const scan_wish& wish, const std::shared_ptr<const arrow_schema>& table, const scan_planner& ask,
                      const std::string& what) {
    return negotiation(wish, table, ask, what).run();
}

}  // namespace lakeflow::host
