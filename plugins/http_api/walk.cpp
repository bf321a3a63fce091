// plugins/http_api/walk.cpp: see walk.hpp. How a walk goes from page to page; walk_checks.cpp has what it distrusts.
#include "walk.hpp"

#include <algorithm>
#include <utility>

#include "cells.hpp"
#include "predicate.hpp"

namespace lakeflow::http_api {
namespace {

constexpr std::int64_t batch_rows = 8'192, batch_bytes = std::int64_t{8} << 20;
constexpr std::string_view last_column = "__last_id";

bool is_scalar(const type& of) {
    return of.kind() != type_kind::list && of.kind() != type_kind::structure && of.kind() != type_kind::map &&
           of.kind() != type_kind::null;
}

// A value of a document or header that says whether there is more.
bool means_yes(const json& value) {
    if (value.type() == json::kind::boolean) return value.as_bool();
    if (value.is_number()) return value.as_double() != 0;
    if (value.is_text()) return !value.as_text().empty() && value.as_text() != "false" && value.as_text() != "0";
    return !value.is_null();
}

}  // namespace

walk::walk(std::shared_ptr<const service> source, walk_plan plan)
    : source_(std::move(source)),
      plan_(std::move(plan)),
      decoded_(plan_.columns),
      stated_(plan_.stated),
      left_(plan_.limit) {
    const resource& of = plan_.of;
    const auto read_too = [&](const std::string& name) {
        const field* column = plan_.all.find(name);
        if (column == nullptr) return false;
        if (decoded_.find(name) == nullptr) decoded_.add(name, column->type);
        return true;
    };
    // A tombstone may lack what a living row has to have; the host judges the rows that come out.
    if (!plan_.deleted.empty()) {
        schema relaxed;
        for (const field& one : decoded_.fields()) relaxed.add(one.name, one.type);
        decoded_ = relaxed;
        if (!read_too(plan_.deleted)) decoded_.add(plan_.deleted, type::boolean());
        if (plan_.tombstones) {
            spec_.keep(plan_.deleted, "=", true);
        } else {
            spec_.keep(plan_.deleted, "<>", true, true);
        }
    }
    counts_ = of.total.has_value() && !plan_.ranged;
    if (counts_) {
        for (const std::string& key : of.primary_keys) read_too(key);
    }
    if (of.paging.kind == paging_kind::last_id) {
        if (of.paging.field.front() == '/' || !read_too(of.paging.field)) {
            decoded_.add(std::string(last_column), type::text());
            spec_.path(last_column, of.paging.field.front() == '/' ? of.paging.field : "/" + of.paging.field);
            watched_.emplace_back(last_column);
        } else {
            watched_.push_back(of.paging.field);
        }
    }
    if (plan_.ranged && of.cursor) {
        read_too(of.cursor->field);
        const field* column = decoded_.find(of.cursor->field);
        if (column == nullptr) throw invalid("the cursor '" + of.cursor->field + "' is no column of " + of.name);
        cursor_ = kind_of(*column);
        watched_.push_back(of.cursor->field);
        if (of.cursor->missing == "skip") spec_.keep(of.cursor->field, "is_not_null");
        keep_range(plan_.range, of.cursor->field, plan_.undated, spec_);
    }
    if (of.verify) {
        for (const json& check : plan_.checks) {
            if (const field* column = column_of(plan_.all, check)) read_too(column->name);
        }
    }
    if (decoded_.size() == 0) {
        // Rows without columns are counted: one column has to be read for it.
        if (of.primary_keys.empty() || !read_too(of.primary_keys.front())) {
            decoded_.add(plan_.all.fields().empty() ? "__row" : plan_.all.fields().front().name,
                         plan_.all.fields().empty() ? type::text() : plan_.all.fields().front().type);
        }
    }
    spec_.records(of.records);
    for (const field& one : decoded_.fields()) {
        const column_rule* rule = of.rule_of(one.name);
        if (rule == nullptr) continue;
        if (!rule->path.empty()) spec_.path(one.name, rule->path);
        if (!rule->format.empty()) spec_.unit(one.name, rule->format);
        if (rule->json) spec_.json_text(one.name);
    }
    for (const auto& [name, value] : plan_.constants) {
        if (decoded_.find(name) != nullptr) spec_.constant(name, value);
        spec_.context(name, value);
    }
    std::int64_t captures = 0;
    const auto capture = [&](const spot& where) -> std::int64_t {
        if (where.pointer.empty()) return -1;
        spec_.capture(where.pointer);
        return captures++;
    };
    next_capture_ = capture(of.paging.next);
    more_capture_ = capture(of.paging.more);
    if (of.total && of.total->path.empty() && !of.records.empty()) total_capture_ = capture(of.total->at);
    // What tells one page from the next: the keys, or all that is plain.
    std::vector<std::string> marks = of.primary_keys;
    if (marks.empty()) {
        for (const field& one : decoded_.fields())
            if (marks.size() < 8 && one.name != last_column) marks.push_back(one.name);
    }
    for (const std::string& name : marks) {
        const field* column = decoded_.find(name);
        if (column == nullptr || !is_scalar(column->type)) continue;
        if (std::find(watched_.begin(), watched_.end(), name) == watched_.end()) watched_.push_back(name);
    }
    for (const std::string& name : watched_) spec_.watch(name);
    for (const std::string& key : of.primary_keys) {
        for (std::size_t i = 0; i < decoded_.size(); ++i)
            if (decoded_.fields()[i].name == key) keys_.push_back(i);
    }
    counts_ = counts_ && !keys_.empty() && keys_.size() == of.primary_keys.size();
    inspects_ = counts_ || !plan_.checks.empty() || left_.has_value();
    at_.row = plan_.first_row;
    const std::int64_t size = plan_.page_size > 0 ? plan_.page_size : of.page_size();
    at_.index = of.paging.kind == paging_kind::page ? plan_.first_row / size : 0;
}

std::int64_t walk::size_at(const position& at) const {
    const resource& of = plan_.of;
    if (of.paging.size.empty()) return 0;
    std::int64_t size = plan_.page_size > 0 ? plan_.page_size : of.page_size();
    // A page's number means other rows when its size changes; only a walk of one page may be asked for fewer.
    if (of.paging.kind == paging_kind::page) return plan_.limit && *plan_.limit < size ? *plan_.limit : size;
    if (left_ && plan_.checks.empty()) size = std::max<std::int64_t>(1, std::min(size, *left_));
    if (of.paging.kind != paging_kind::offset) return size;
    const auto end = plan_.rows ? std::optional(plan_.first_row + *plan_.rows) : std::nullopt;
    return end && at.row < *end ? std::min(size, *end - at.row) : size;
}

request walk::first_request(const service& source, const walk_plan& plan) {
    const walk dry(std::make_shared<const service>(source), plan);
    return source.page(plan.of, plan.path, plan.fixed, dry.at_, dry.size_at(dry.at_));
}

exchange walk::send(const page& wanted) {
    request out = source_->page(plan_.of, plan_.path, plan_.fixed, wanted.at, wanted.asked);
    for (int status : plan_.skipped) out.accept(status);
    return source_->host().http.start(out);
}

bool walk::next(batch& out) {
    if (!started_) {
        started_ = true;
        done_ = left_ && *left_ == 0;
        rows_ = source_->host().rows.open(decoded_, spec_);
    }
    while (true) {
        if (!held_.empty()) {
            out = std::move(held_.front());
            held_.erase(held_.begin());
            return true;
        }
        if (done_) {
            batch rest;
            if (!rows_.take(rest)) return false;
            const std::int64_t count = rest ? rest.rows() : INT64_MAX;
            out = cut(std::move(rest), static_cast<std::int64_t>(plan_.columns.size()), count);
            return true;
        }
        load();
        if (inspects_ || done_) continue;
        const rows_stats now = rows_.stats();
        if (now.pending < batch_rows && now.pending_bytes < batch_bytes) continue;
        batch full;
        if (rows_.take(full)) {
            out = cut(std::move(full), static_cast<std::int64_t>(plan_.columns.size()), INT64_MAX);
            return true;
        }
    }
}

void walk::load() {
    const page here = coming_page_ ? *std::exchange(coming_page_, std::nullopt) : page_at(at_);
    exchange answer;
    if (coming_) {
        answer = std::exchange(coming_, exchange());
    } else {
        guard(here);
        answer = send(here);
    }
    const int status = answer.head();
    ++pages_;
    source_->host().metrics.add("pages_done", 1);
    if (std::find(plan_.skipped.begin(), plan_.skipped.end(), status) != plan_.skipped.end()) {
        source_->host().metrics.add("items_skipped", 1);
        done_ = true;
        return;
    }
    // Where the part's end is known, the next page is on its way while this one is decoded.
    const bool numbered = plan_.of.paging.kind == paging_kind::page || plan_.of.paging.kind == paging_kind::offset;
    std::optional<page> early;
    if (numbered && plan_.rows && here.asked > 0 && here.at.row + here.asked < plan_.first_row + *plan_.rows &&
        !left_) {
        early = page_at(*by_number(here.at, here.asked));
        guard(*early);
        coming_ = send(*early);
    }
    if (status == 204) {
        done_ = !confirm_end(here.at, 0);
        return;
    }
    rows_.decode(answer);
    const rows_stats stats = rows_.stats();
    bad_ += stats.bad;
    watch_cursor(stats);
    refuse_repetition(stats);
    for (const std::string& name : watched_) {
        if (plan_.of.paging.kind != paging_kind::last_id || name != watched_.front()) break;
        const json* value = stats.last.find(name);
        last_ = value == nullptr ? json() : *value;
    }
    batch rows;
    if (inspects_ && rows_.take(rows)) inspect(rows);
    if (done_) return;
    auto next = behind(here, answer, stats.rows);
    if (!next) {
        coming_.close();
        done_ = true;
        return;
    }
    at_ = *next;
    // A page's number says all; an offset moves by what came.
    const bool by_page = plan_.of.paging.kind == paging_kind::page;
    if (early && early->at.index == next->index && (by_page || early->at.row == next->row)) {
        coming_page_ = page{*next, early->asked};
    } else {
        coming_.close();
    }
}

// Where a page begins: by its number where the service has a size of its own.
std::int64_t walk::row_of(const position& at) const {
    return real_size_ > 0 && plan_.of.paging.kind == paging_kind::page ? at.index * real_size_ : at.row;
}

// Where the next page begins by its number.
std::optional<position> walk::by_number(const position& from, std::int64_t rows) const {
    position next = from;
    next.row += rows;
    ++next.index;
    return next;
}

std::optional<bool> walk::says_more(const exchange& answer) const {
    const paging_rule& rule = plan_.of.paging;
    if (more_capture_ >= 0) {
        const auto value = rows_.capture(static_cast<std::uint32_t>(more_capture_));
        return value ? std::optional(means_yes(*value)) : std::nullopt;
    }
    if (rule.more.header.empty()) return std::nullopt;
    const auto value = answer.header(rule.more.header);
    return value ? std::optional(means_yes(json(*value))) : std::nullopt;
}

// The page behind this one; nothing at the end.
std::optional<position> walk::behind(const page& here, const exchange& answer, std::int64_t rows) {
    const paging_rule& rule = plan_.of.paging;
    if (plan_.of.total && plan_.of.total->path.empty()) {
        std::optional<std::int64_t> now;
        if (total_capture_ >= 0) {
            const auto value = rows_.capture(static_cast<std::uint32_t>(total_capture_));
            now = service::read_total(value ? &*value : nullptr);
        } else if (!plan_.of.total->at.header.empty()) {
            const json value(answer.header(plan_.of.total->at.header).value_or(""));
            now = service::read_total(&value);
        }
        if (now && plan_.tail) stated_ = now;
    }
    const auto more = says_more(answer);
    if (here.asked > 0 && rows > here.asked && plan_.rows) {
        throw trouble(
            "a page of " + std::to_string(here.asked) + " rows was asked for, and " + std::to_string(rows) + " came",
            "source.protocol", "the service does not heed '" + rule.size + "': leave it and total out");
    }
    empty_ = rows == 0 ? empty_ + 1 : 0;
    if (empty_ > 100) {
        throw trouble("100 pages without a row, and the service says that there is more", "source.page_cycle");
    }
    // A short page in the middle is a service's own, smaller size, if another page is as short.
    if (rule.kind == paging_kind::page && stated_ && rows > 0 && here.asked > 0 && rows < here.asked &&
        row_of(here.at) + rows < *stated_) {
        check_size(here, rows);
    }
    position next = *by_number(here.at, rows);
    if (rule.kind == paging_kind::page) next.row = row_of(here.at) + rows;
    switch (rule.kind) {
        case paging_kind::none: return confirm_end(next, rows);
        case paging_kind::page:
        case paging_kind::offset: {
            const bool covered =
                plan_.rows && !plan_.tail &&
                (rule.kind == paging_kind::page
                     ? next.index >= (plan_.first_row + *plan_.rows) / std::max<std::int64_t>(1, plan_.page_size)
                     : next.row >= plan_.first_row + *plan_.rows);
            if (covered && rule.kind == paging_kind::offset) return std::nullopt;
            if (more) {
                if (!*more) return confirm_end(next, rows);
                if (rows == 0 && rule.kind == paging_kind::offset) next.row += std::max<std::int64_t>(1, here.asked);
                return covered ? std::nullopt : std::optional(next);
            }
            if (stated_) {
                if (rows == 0 || next.row >= *stated_) return confirm_end(next, rows);
                return covered ? std::nullopt : std::optional(next);
            }
            if (covered) return std::nullopt;
            if (rows == 0 || (here.asked > 0 && rows < here.asked)) return confirm_end(next, rows);
            return next;
        }
        case paging_kind::cursor: {
            std::optional<json> token;
            if (next_capture_ >= 0) token = rows_.capture(static_cast<std::uint32_t>(next_capture_));
            if (!rule.next.header.empty()) {
                if (const auto header = answer.header(rule.next.header)) token = json(*header);
            }
            const bool given = token && !token->is_null() && !(token->is_text() && token->as_text().empty());
            if (!given && more.value_or(false)) {
                throw trouble("the service says that there is more, and gives no token for it", "source.protocol");
            }
            if (!given || !more.value_or(true)) return confirm_end(next, rows);
            next.token = std::move(token);
            return next;
        }
        case paging_kind::last_id: {
            if (more && !*more) return confirm_end(next, rows);
            if (!more && (rows == 0 || (here.asked > 0 && rows < here.asked && !stated_)))
                return confirm_end(next, rows);
            if (rows == 0) {
                // There is more, and no row to go on from: it is asked once more, then this is the end.
                if (std::exchange(again_, true)) {
                    source_->host().log.warn(
                        name() + ": the service says that there is more behind an empty page; it is taken for the end");
                    return confirm_end(next, rows);
                }
                seen_.clear();
                return here.at;
            }
            if (last_.is_null())
                throw trouble("the last row of a page has no '" + rule.field + "' to go on from", "source.protocol");
            next.token = last_;
            return next;
        }
        case paging_kind::link: {
            const auto header = answer.header("Link");
            auto target = header ? link_to(*header, "next", answer.final_url()) : std::nullopt;
            if (!target) return confirm_end(next, rows);
            next.url = std::move(target);
            return next;
        }
        case paging_kind::next_url: {
            std::optional<std::string> target;
            if (next_capture_ >= 0) {
                const auto value = rows_.capture(static_cast<std::uint32_t>(next_capture_));
                if (value && value->is_text()) target = value->as_text();
            }
            if (!rule.next.header.empty()) target = answer.header(rule.next.header);
            if (!target || target->empty() || (more && !*more)) return confirm_end(next, rows);
            next.url = url_resolve(answer.final_url(), *target);
            return next;
        }
    }
    return std::nullopt;
}

}  // namespace lakeflow::http_api
