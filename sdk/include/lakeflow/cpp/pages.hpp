// lakeflow/cpp/pages.hpp: a reader that walks the pages of a JSON table over http/1 and rows/1. The next page is on its way while
// the current one is decoded (if the head tells where it is) or while the host takes the batch (if the body does).
//
//   page_plan plan;
//   plan.columns = schema::ddl("id BIGINT NOT NULL, name STRING");
//   plan.rows.records("/data").capture("/meta/next");
//   plan.first = request("https://api.example.com/items?size=100").bearer(token);
//   plan.next_in_body = [](const page& p) { return next_url(p, 0); };
//   return std::make_unique<page_reader>(env(), std::move(plan));
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "lakeflow/cpp/connector.hpp"
#include "lakeflow/cpp/http.hpp"
#include "lakeflow/cpp/reader.hpp"
#include "lakeflow/cpp/rows.hpp"
#include "lakeflow/cpp/time.hpp"
#include "lakeflow/cpp/url.hpp"

namespace lakeflow {

// What a walk has seen up to now, over all its pages.
struct page_totals {
    int64_t pages = 0, rows = 0, kept = 0;
    json min = json::object(), max = json::object();  // of the watched columns
    json last = json::object();                       // of the last page that had rows

    std::optional<std::string> max_text(std::string_view column) const { return text(max, column); }
    std::optional<std::string> min_text(std::string_view column) const { return text(min, column); }
    std::optional<std::string> last_text(std::string_view column) const { return text(last, column); }

    void add(const rows_stats& page) {
        ++pages, rows += page.rows, kept += page.kept;
        merge(min, page.min, false);
        merge(max, page.max, true);
        for (const json::member& m : page.last.members()) last.set(m.name, m.value);
    }

  private:
    static std::optional<std::string> text(const json& of, std::string_view column) {
        return rows_stats().text(of, column);
    }
    // Integers as numbers, instants as instants, other texts by their bytes.
    static bool less(const json& a, const json& b) {
        if (a.is_number() && b.is_number()) {
            return a.is_integer() && b.is_integer() ? a.as_int() < b.as_int() : a.as_double() < b.as_double();
        }
        if (a.is_text() && b.is_text()) {
            auto x = parse_instant(a.as_text()), y = parse_instant(b.as_text());
            return x && y ? *x < *y : a.as_text() < b.as_text();
        }
        return false;
    }
    static void merge(json& into, const json& from, bool greatest) {
        for (const json::member& m : from.members()) {
            const json* known = into.find(m.name);
            if (m.value.is_null()) continue;
            if (known == nullptr || (greatest ? less(*known, m.value) : less(m.value, *known)))
                into.set(m.name, m.value);
        }
    }
};

// One page, as the functions of a plan see it.
struct page {
    const request& asked;       // what was sent
    const exchange& answer;     // its head: status(), header(), final_url()
    int64_t number;             // of the walk, from 1
    const decoder* rows;        // capture(i); null before the body is read
    const rows_stats& stats;    // of this page; zero before the body is read
    const page_totals& totals;  // of the walk; without this page before the body is read
};

// The next request, if there is a next page.
using next_page = std::function<std::optional<request>(const page&)>;

struct page_plan {
    schema columns;
    rows_spec rows;
    request first;
    next_page next_in_head;  // told by the head (a Link header, a page number): asked for before the body is read
    next_page next_in_body;  // told by the body (captures, counts); asked if next_in_head is not set
    // Called when the walk has ended: the end offset. Not set: a batch or a partition, which has none.
    std::function<std::optional<json>(const page_totals&)> end;
    // False: an accepted answer that holds no rows, and the walk ends (304, or a 404 that means "none"). Not set: no 204, no 304.
    std::function<bool(const page&)> has_rows;
    // A batch is given as soon as it holds so much; one page is not cut.
    int64_t batch_rows = 50'000, batch_bytes = int64_t{8} << 20;
};

// The request of the page that a Link header's rel="next" names.
inline std::optional<request> next_link(const page& here) {
    auto header = here.answer.header("Link");
    auto target = header ? link_to(*header, "next", here.answer.final_url()) : std::nullopt;
    if (!target) return std::nullopt;
    request out = here.asked;
    if (out.origin.empty()) out.origin = here.asked.url;
    out.url = *target;
    return out;
}

// The request of the page whose address (absolute or relative) a capture holds; null, "" and absent: there is none.
inline std::optional<request> next_url(const page& here, uint32_t capture) {
    auto value = here.rows == nullptr ? std::nullopt : here.rows->capture(capture);
    if (!value || value->is_null() || (value->is_text() && value->as_text().empty())) return std::nullopt;
    request out = here.asked;
    if (out.origin.empty()) out.origin = here.asked.url;
    out.url = url_resolve(here.answer.final_url(), value->as_text());
    return out;
}

// The same request with another value of one query parameter: a page number, an offset, a cursor.
inline request with_query(const page& here, std::string_view name, std::string_view value) {
    request out = here.asked;
    out.url = url_set(out.url, name, value);
    return out;
}

class page_reader : public reader {
  public:
    page_reader(const services& host, page_plan plan) : host_(host), plan_(std::move(plan)), wanted_(plan_.first) {}

    schema columns() const override { return plan_.columns; }

    bool next(batch& out) override {
        if (!started_) {
            rows_ = host_.rows.open(plan_.columns, plan_.rows);
            send(plan_.first);
            started_ = true;
        }
        while (coming_ && !full()) one_page();
        if (pending_rows_ == 0) return false;
        pending_rows_ = pending_bytes_ = 0;
        return rows_.take(out);
    }

    std::optional<json> end_offset() override { return plan_.end ? plan_.end(totals_) : std::nullopt; }

  private:
    bool full() const { return pending_rows_ >= plan_.batch_rows || pending_bytes_ >= plan_.batch_bytes; }

    void send(request wanted) {
        // Brent's search for a cycle: compares with one page remembered, which moves on at powers of two.
        std::string identity = wanted.method + " " + wanted.url + "\n" + wanted.body.value_or("");
        if (identity == remembered_) {
            throw permanent("page " + std::to_string(sent_ + 1) + " is one that was read before: " + wanted.method +
                            " " + url_parts::split(wanted.url).path)
                .with_code("source.page_cycle");
        }
        if (sent_ == 0 || sent_ == power_) remembered_ = std::move(identity), power_ = std::max<int64_t>(1, sent_ * 2);
        coming_ = host_.http.start(wanted);
        wanted_ = std::move(wanted);
        ++sent_;
    }

    void one_page() {
        exchange answer = std::move(coming_);
        request asked = wanted_;
        answer.head();
        rows_stats stats;
        page here{asked, answer, totals_.pages + 1, nullptr, stats, totals_};
        bool rows = plan_.has_rows ? plan_.has_rows(here) : answer.status() != 204 && answer.status() != 304;
        if (!rows) return;
        if (plan_.next_in_head) follow(plan_.next_in_head(here));
        rows_.decode(answer);
        stats = rows_.stats();
        totals_.add(stats);
        pending_rows_ = stats.pending;
        pending_bytes_ = stats.pending_bytes;
        host_.metrics.set("pages_done", totals_.pages);
        if (!plan_.next_in_head && plan_.next_in_body) {
            page read{asked, answer, totals_.pages, &rows_, stats, totals_};
            follow(plan_.next_in_body(read));
        }
    }

    void follow(std::optional<request> wanted) {
        if (wanted) send(std::move(*wanted));
    }

    services host_;
    page_plan plan_;
    decoder rows_;
    request wanted_;
    exchange coming_;  // the page that is on its way
    page_totals totals_;
    std::string remembered_;
    int64_t pending_rows_ = 0, pending_bytes_ = 0, sent_ = 0, power_ = 1;
    bool started_ = false;
};

}  // namespace lakeflow
