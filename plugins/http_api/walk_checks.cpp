// plugins/http_api/walk_checks.cpp: what a walk distrusts: pages that come again, filters that were not applied, rows without a cursor,
// and ends that are none. See walk.hpp.
#include <algorithm>
#include <functional>
#include <utility>

#include "cells.hpp"
#include "predicate.hpp"
#include "walk.hpp"

namespace lakeflow::http_api {
namespace {

constexpr std::size_t most_pages = std::size_t{1} << 20;  // whose requests are remembered
constexpr std::size_t most_keys = std::size_t{1} << 22;   // that are told apart; past it rows are counted as they come

std::uint64_t hash(std::string_view text) { return std::hash<std::string_view>{}(text); }

}  // namespace

std::string walk::name() const {
    std::string out = plan_.of.name;
    for (const auto& [column, value] : plan_.constants) out += " (" + column + " " + plain_text(value) + ")";
    return out;
}

failure walk::trouble(std::string message, std::string code, std::string hint) const {
    return permanent("page " + std::to_string(std::max<std::int64_t>(1, pages_)) + " of " + name() + ": " +
                         std::move(message),
                     std::move(hint))
        .with_code(std::move(code));
}

// A request that was sent before leads in a circle.
void walk::guard(const page& wanted) {
    const request out = source_->page(plan_.of, plan_.path, plan_.fixed, wanted.at, wanted.asked);
    const std::string identity = out.method + " " + out.url + "\n" + out.body.value_or("");
    if (seen_.size() >= most_pages) seen_.clear();
    if (seen_.insert(hash(identity)).second) return;
    ++pages_;
    throw trouble("it is one that was read before: " + out.method + " " + url_parts::split(out.url).path,
                  "source.page_cycle", "the service leads in a circle: check `paging` against its documentation");
}

// The same rows under another request: the service does not heed the parameter of the page.
void walk::refuse_repetition(const rows_stats& stats) {
    if (stats.rows == 0 || watched_.empty()) return;
    std::string now = std::to_string(stats.rows);
    for (const std::string& name : watched_) {
        for (const json* of : {&stats.min, &stats.max, &stats.last}) {
            const json* value = of->find(name);
            now += "\n" + (value == nullptr ? "" : value->dump());
        }
    }
    repeated_ = now == signature_ ? repeated_ + 1 : 0;
    signature_ = std::move(now);
    // Without keys equal rows may be what there is.
    const int most = plan_.of.primary_keys.empty() ? 3 : 1;
    if (repeated_ < most) return;
    const paging_rule& rule = plan_.of.paging;
    const std::string parameter = rule.kind == paging_kind::page     ? rule.page
                                  : rule.kind == paging_kind::offset ? rule.offset
                                                                     : rule.param;
    throw trouble("its rows are those of the page before", "source.page_cycle",
                  parameter.empty() ? "check `paging` against the service's documentation"
                                    : "the service seems not to know the parameter '" + parameter + "'");
}

void walk::watch_cursor(const rows_stats& stats) {
    if (!cursor_) return;
    const std::string& field = plan_.of.cursor->field;
    const json* most = stats.max.find(field);
    if (most != nullptr && !most->is_null()) {
        cursor_value value = cursor_value::from(*cursor_, *most);
        if (!newest_ || *newest_ < value) newest_ = std::move(value);
    }
    if (plan_.of.cursor->missing != "fail" || stats.nulls.integer(field) == 0 || plan_.tombstones) return;
    throw trouble(
        std::to_string(stats.nulls.integer(field)) + " of its rows have no value in the cursor column '" + field + "'",
        "value.null_cursor", "cursor.missing = \"skip\" leaves such rows out, \"include\" lands them");
}

void walk::inspect(batch& rows) {
    if (!plan_.checks.empty()) check_row(rows);
    if (counts_) count_keys(rows);
    std::int64_t give = rows.rows();
    if (left_) {
        give = std::min(give, *left_);
        *left_ -= give;
        if (*left_ == 0) done_ = true;
    }
    if (give > 0) held_.push_back(cut(std::move(rows), static_cast<std::int64_t>(plan_.columns.size()), give));
}

// A filter that the service ignored would bring rows that nobody asked for, and hide that others are missing.
void walk::check_row(const batch& rows) {
    for (const json& check : plan_.checks) {
        const field* column = column_of(decoded_, check);
        if (column == nullptr) continue;
        const auto place = static_cast<std::size_t>(column - decoded_.fields().data());
        const ArrowArray& array = *rows->children[place];
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
            if (passes(check, *column, array, row + rows->offset)) continue;
            std::string shown = cell(*column, array, row + rows->offset).dump();
            if (shown.size() > 100) shown = shown.substr(0, 100) + "..";
            throw trouble(
                "the service was asked for " + describe(check) + " and gave a row with " + column->name + " = " + shown,
                "source.filter_ignored",
                "it does not apply this filter, or not as SQL does: filters." + column->name +
                    " = { .., exact = false } keeps it for speed and checks it again, or leave the operator out");
        }
    }
}

void walk::count_keys(const batch& rows) {
    if (known_.size() >= most_keys) return;
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        std::string key;
        for (std::size_t place : keys_) {
            key += cell(decoded_.fields()[place], *rows->children[place], row + rows->offset).dump() + "\n";
        }
        known_.insert(hash(key));
    }
}

std::int64_t walk::distinct() const {
    return counts_ && known_.size() < most_keys ? static_cast<std::int64_t>(known_.size()) + bad_ : rows();
}

// What the service states now: asked again where its pages do not say it.
std::optional<std::int64_t> walk::state_again() const {
    const bool by_pages = plan_.of.total->path.empty() && !plan_.rows &&
                          (total_capture_ >= 0 || !plan_.of.total->at.header.empty()) && stated_;
    return by_pages ? stated_ : source_->total(plan_.of, plan_.path, plan_.fixed);
}

// A page of a middle part that is shorter than asked: either the service has a size of its own, and then every page has it, or rows
// are missing.
void walk::check_size(const page& here, std::int64_t rows) {
    if (real_size_ == rows) return;
    if (real_size_ == 0) {
        position other;
        other.index = here.at.index == 0 ? 1 : 0;
        exchange answer = send({other, here.asked});
        answer.head();
        decoder counter = source_->host().rows.open(decoded_, spec_);
        counter.decode(answer);
        if (counter.stats().rows == rows) {
            real_size_ = rows;
            source_->host().log.warn(name() + ": the service gives " + std::to_string(rows) + " rows a page where " +
                                     std::to_string(here.asked) + " are asked for; set paging.page_size to it");
            return;
        }
    }
    throw trouble("it has " + std::to_string(rows) + " of " + std::to_string(here.asked) +
                      " rows, and the service states " + std::to_string(*stated_) + " in all",
                  "source.incomplete", "nothing of this read lands; run it again");
}

// The pages are at their end; are the rows that the service states all there? Gives the position to go on from where they are not.
std::optional<position> walk::confirm_end(position next, std::int64_t) {
    at_ = next;
    if (!plan_.of.total || left_) return std::nullopt;
    if (!plan_.tail) {
        const std::int64_t end = plan_.first_row + plan_.rows.value_or(0);
        if (next.row >= end) return std::nullopt;
    }
    const auto now = state_again();
    if (!now) return std::nullopt;
    const std::int64_t wanted = plan_.tail || !plan_.rows ? *now : std::min(*now, plan_.first_row + *plan_.rows);
    const bool by_pages = plan_.of.paging.kind == paging_kind::page && plan_.page_size > 0;
    // A part by page numbers counts what it has itself; where a service's pages are smaller, its rows do not begin at first_row.
    const std::int64_t have = by_pages && real_size_ > 0 && real_size_ != plan_.page_size
                                  ? plan_.first_row / plan_.page_size * real_size_ + distinct()
                                  : plan_.first_row + distinct();
    if (have >= wanted) {
        const std::int64_t most = std::max({*now, stated_.value_or(0), plan_.stated.value_or(0)});
        if (plan_.tail && have > most && rows() > most - plan_.first_row) {
            throw trouble("the service states " + std::to_string(most) + " rows and gave " + std::to_string(have),
                          "source.incomplete", "its total is wrong: leave `total` out");
        }
        return std::nullopt;
    }
    const bool numbered = plan_.of.paging.kind == paging_kind::page || plan_.of.paging.kind == paging_kind::offset;
    if (numbered && !std::exchange(grown_, true)) {
        // Rows may have come meanwhile: once, the walk goes on to where they would be.
        stated_ = now;
        seen_.clear();
        return next;
    }
    throw trouble(
        "the service states " + std::to_string(wanted) + " rows and gave " + std::to_string(have), "source.incomplete",
        "nothing of this read lands: rows changed while they were read, or the service leaves some out; run it again");
}

}  // namespace lakeflow::http_api
