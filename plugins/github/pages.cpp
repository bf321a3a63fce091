// plugins/github/pages.cpp: see pages.hpp.
#include "pages.hpp"

#include <charconv>
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

page_reader::page_reader(std::shared_ptr<const client> source, schema columns, rows_spec spec, std::string first,
                         bool look_ahead)
    : source_(std::move(source)),
      schema_(std::move(columns)),
      spec_(std::move(spec)),
      decoder_(source_->host().rows.open(schema_, spec_)),
      look_ahead_(look_ahead) {
    here_.url = std::move(first);
    here_.size = source_->chosen().per_page;
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
    int status = 0;
    try {
        status = source_->head(answer);
    } catch (const failure& error) {
        if (!shrink(error)) throw;
        return;
    }
    if (status == 422) {
        auto instead = refused(here_);
        done_ = !instead;
        here_.url = instead.value_or("");
        return;
    }
    here_.links = source_->links(answer);
    auto early = look_ahead_ ? behind(here_, nullptr) : std::nullopt;
    if (early) ahead_ = source_->get(*early, {}, {422});
    decoder_.decode(answer);
    answer.close();
    source_->host().metrics.add("pages_done", 1);
    rows_stats rows = decoder_.stats();
    auto next = behind(here_, &rows);
    if (next != early) ahead_.close();
    done_ = !next;
    if (next) here_ = page{std::move(*next), here_.before + here_.size, here_.size, {}};
}

bool page_reader::shrink(const failure& error) {
    if (!is_too_heavy(error)) return false;
    // A size that divides this one, so that the pages still begin where this one does: 100, 50, 25.
    std::int64_t smaller = here_.size / 2;
    while (smaller > 1 && here_.size % smaller != 0) --smaller;
    if (smaller < 10) return false;
    auto number = url_query(here_.url, "page");
    here_.url = url_set(here_.url, "per_page", std::to_string(smaller));
    if (number && !url_query(here_.url, "after")) {
        std::int64_t page = 1;
        std::from_chars(number->data(), number->data() + number->size(), page);
        here_.url = url_set(here_.url, "page", std::to_string((page - 1) * (here_.size / smaller) + 1));
    }
    here_.size = smaller;
    source_->host().log.warn(source_->chosen().subject(source_->what()) +
                             ": GitHub does not manage a page; asking for " + std::to_string(smaller) +
                             " rows at once");
    return true;
}

std::optional<std::string> page_reader::refused(const page& here) {
    throw failure(retry::permanent,
                  source_->chosen().subject(source_->what()) +
                      ": GitHub refuses a page and offers no way past it (422): " + here.url,
                  "report it: the listing's links were followed as they came", "source.incomplete");
}

chunk_reader::chunk_reader(std::shared_ptr<const client> source, rows_spec spec, std::string listing,
                           std::int64_t first, std::int64_t last, bool look_ahead)
    : page_reader(source, source->columns(), std::move(spec), url_add(listing, "page", std::to_string(first)),
                  look_ahead),
      listing_(std::move(listing)),
      from_((first - 1) * source->chosen().per_page),
      to_(last * source->chosen().per_page) {}

std::string chunk_reader::numbered(std::int64_t row, std::int64_t size) const {
    return url_add(url_set(listing_, "per_page", std::to_string(size)), "page", std::to_string(row / size + 1));
}

std::optional<std::string> chunk_reader::behind(const page& here, const rows_stats*) {
    std::int64_t next = from_ + here.before + here.size;
    if (next >= to_ || !here.links.next) return std::nullopt;
    return by_links_ ? *here.links.next : numbered(next, here.size);
}

std::optional<std::string> chunk_reader::refused(const page& here) {
    if (by_links_) return page_reader::refused(here);
    // Page numbers were allowed when this was planned, and are no more: walk there by the links.
    by_links_ = true;
    std::string url = url_set(listing_, "per_page", std::to_string(here.size));
    for (std::int64_t row = 0; row < from_ + here.before; row += here.size) {
        exchange answer = source().get(url, {}, {422});
        if (source().head(answer) == 422) return page_reader::refused(here);
        page_links links = source().links(answer);
        if (!links.next) return std::nullopt;  // the listing has become shorter than that
        url = std::move(*links.next);
    }
    return url;
}

follow_reader::follow_reader(std::shared_ptr<const client> source, rows_spec spec, std::string first)
    : page_reader(source, source->columns(), std::move(spec), std::move(first), true) {}

std::optional<std::string> follow_reader::behind(const page& here, const rows_stats*) { return here.links.next; }

newest_reader::newest_reader(std::shared_ptr<const client> source, rows_spec spec, std::string first, time_range range)
    : page_reader(source, source->columns(), std::move(spec.watch("updated_at")), std::move(first)), range_(range) {}

std::optional<std::string> newest_reader::behind(const page& here, const rows_stats* rows) {
    if (rows == nullptr || !here.links.next) return std::nullopt;
    auto last = instant_of(*rows, rows->last, "updated_at");
    return last && range_.below(*last) ? std::nullopt : here.links.next;
}

window_reader::window_reader(std::shared_ptr<const client> source, rows_spec spec, std::string listing,
                             time_range window)
    : page_reader(source, source->columns(), std::move(spec.watch("updated_at")), with_since(listing, window)),
      listing_(std::move(listing)),
      window_(window),
      anchor_(window.inclusive ? window.from : std::nullopt) {}

std::optional<std::string> window_reader::behind(const page& here, const rows_stats* rows) {
    if (rows == nullptr || !here.links.next) return std::nullopt;
    auto last = instant_of(*rows, rows->last, "updated_at");
    if (last && window_.passed_by(*last)) return std::nullopt;
    return here.links.opaque || !last ? here.links.next : again_from(here, *last);
}

std::optional<std::string> window_reader::again_from(const page& here, std::int64_t last) {
    // A page whose rows all tie with what it was asked from has no instant to go on from: only its link does.
    if (anchor_ && last <= *anchor_) return here.links.next;
    anchor_ = last;
    // The rows of that last instant come again, and are dropped by their keys.
    json keys = json::array();
    for (std::int64_t key : keys_at(columns(), hold(), "id", "updated_at", last)) keys.push(json::array({key}));
    // So is what lies below it, should the server not keep to `since`.
    rows_spec rest = spec();
    reopen(rest.keep("updated_at", ">=", format_instant(last)).drop_keys({"id"}, std::move(keys)));
    return with_since(url_set(listing_, "per_page", std::to_string(here.size)), {last, true, {}});
}

}  // namespace lakeflow::github
