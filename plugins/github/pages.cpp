// plugins/github/pages.cpp: see pages.hpp.
#include "pages.hpp"

#include <utility>

#include "columns.hpp"
#include "instant.hpp"

namespace lakeflow::github {
namespace {

// A batch is given out once it has so much in it: large enough to be cheap, small beside any budget.
constexpr std::int64_t batch_rows = 4'096;
constexpr std::int64_t batch_bytes = 2 << 20;

std::string with_since(const std::string& listing, const time_range& range) {
    auto since = range.since();
    return since ? url_add(listing, "since", *since) : listing;
}

}  // namespace

std::optional<std::string> time_range::since() const {
    if (!from) return std::nullopt;
    std::int64_t at = floor_second(*from);
    if (!inclusive && at == *from) at += second_us;
    // GitHub has been seen to answer nothing at all to since=1970-01-01T00:00:00Z.
    return at > 0 ? std::optional(format_instant(at)) : std::nullopt;
}

void time_range::keep(rows_spec& spec) const {
    if (from) spec.keep("updated_at", inclusive ? ">=" : ">", format_instant(*from));
    if (to) spec.keep("updated_at", "<=", format_instant(*to));
}

page_reader::page_reader(std::shared_ptr<const client> source, schema columns, rows_spec spec, std::string first)
    : source_(std::move(source)),
      schema_(std::move(columns)),
      spec_(std::move(spec)),
      decoder_(source_->host().rows.open(schema_, spec_)) {
    here_.url = std::move(first);
}

void page_reader::reopen(const rows_spec& spec) { decoder_ = source_->host().rows.open(schema_, spec); }

const batch& page_reader::hold() {
    decoder_.take(held_);
    return held_;
}

bool page_reader::next(batch& out) {
    while (!done_ && !held_) {
        read_page();
        if (done_ || held_) break;
        rows_stats now = decoder_.stats();
        if (now.pending >= batch_rows || now.pending_bytes >= batch_bytes) break;
    }
    if (held_) {
        out = std::exchange(held_, batch());
        return true;
    }
    return decoder_.take(out);
}

void page_reader::read_page() {
    exchange answer = ahead_ ? std::exchange(ahead_, exchange()) : source_->get(here_.url, {}, {422});
    if (source_->head(answer) == 422) {
        here_.url = refused(here_);
        return;
    }
    here_.links = source_->links(answer);
    auto early = behind(here_, nullptr);
    if (early) ahead_ = source_->get(*early, {}, {422});
    decoder_.decode(answer);
    answer.close();
    source_->host().metrics.add("pages_done", 1);
    rows_stats rows = decoder_.stats();
    auto next = behind(here_, &rows);
    if (next != early) ahead_.close();
    done_ = !next;
    if (next) here_ = page{std::move(*next), here_.ordinal + 1, {}};
}

std::string page_reader::refused(const page& here) {
    throw failure(retry::permanent,
                  source_->chosen().subject(source_->what()) +
                      ": GitHub refuses a page and offers no way past it (422): " + here.url,
                  "report it: the listing's links were followed as they came", "source.incomplete");
}

chunk_reader::chunk_reader(std::shared_ptr<const client> source, rows_spec spec, std::string listing,
                           std::int64_t first, std::int64_t last)
    : page_reader(source, source->columns(), std::move(spec), url_add(listing, "page", std::to_string(first))),
      listing_(std::move(listing)),
      first_(first),
      last_(last) {}

std::optional<std::string> chunk_reader::behind(const page& here, const rows_stats*) {
    std::int64_t number = first_ + here.ordinal;
    if (number >= last_ || !here.links.next) return std::nullopt;
    return by_links_ ? *here.links.next : url_add(listing_, "page", std::to_string(number + 1));
}

std::string chunk_reader::refused(const page& here) {
    if (by_links_) return page_reader::refused(here);
    // Page numbers were allowed when this was planned, and are no more: walk there by the links.
    by_links_ = true;
    std::string url = listing_;
    for (std::int64_t number = 1; number < first_ + here.ordinal; ++number) {
        exchange answer = source().get(url, {}, {422});
        if (source().head(answer) == 422) return page_reader::refused(here);
        page_links links = source().links(answer);
        // The listing has become shorter than the page that was asked for: its last page is empty of what this one wants.
        if (!links.next) return url;
        url = std::move(*links.next);
    }
    return url;
}

follow_reader::follow_reader(std::shared_ptr<const client> source, rows_spec spec, std::string first)
    : page_reader(source, source->columns(), std::move(spec), std::move(first)) {}

std::optional<std::string> follow_reader::behind(const page& here, const rows_stats*) { return here.links.next; }

newest_reader::newest_reader(std::shared_ptr<const client> source, rows_spec spec, std::string first, time_range range)
    : page_reader(source, source->columns(), std::move(spec.watch("updated_at")), std::move(first)), range_(range) {}

std::optional<std::string> newest_reader::behind(const page& here, const rows_stats* rows) {
    if (rows == nullptr || !here.links.next) return std::nullopt;
    auto last = instant_of(*rows, rows->last, "updated_at");
    return last && range_.below(*last) ? std::nullopt : here.links.next;
}

window_reader::window_reader(std::shared_ptr<const client> source, rows_spec spec, std::string listing,
                             time_range window, std::int64_t expected)
    : page_reader(source, source->columns(), std::move(spec.watch("updated_at")), with_since(listing, window)),
      listing_(std::move(listing)),
      window_(window),
      expected_(expected) {}

std::optional<std::string> window_reader::behind(const page& here, const rows_stats* rows) {
    if (!here.links.next) return std::nullopt;
    if (rows == nullptr) {
        // Fetched ahead only where the window has surely not ended with this page.
        return here.links.opaque && seen_ + source().chosen().per_page < expected_ ? here.links.next : std::nullopt;
    }
    seen_ += rows->rows;
    auto last = instant_of(*rows, rows->last, "updated_at");
    if (last && window_.passed_by(*last)) return std::nullopt;
    return here.links.opaque || !last ? here.links.next : again_from(here, *last);
}

std::optional<std::string> window_reader::again_from(const page& here, std::int64_t last) {
    // A page of ties with the one before it has no instant to go on from: only its link does.
    if (last == anchor_) return here.links.next;
    anchor_ = last;
    // The rows of that last instant come again, and are dropped by their keys.
    json keys = json::array();
    for (std::int64_t key : keys_at(columns(), hold(), "id", "updated_at", last)) keys.push(json::array({key}));
    rows_spec rest = spec();
    reopen(rest.drop_keys({"id"}, std::move(keys)));
    return with_since(listing_, {last, true, {}});
}

}  // namespace lakeflow::github
