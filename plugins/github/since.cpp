// plugins/github/since.cpp: see since.hpp.
#include "since.hpp"

#include <algorithm>

#include "chunks.hpp"
#include "instant.hpp"

namespace lakeflow::github {
namespace {

// A range of so many rows is not worth splitting.
constexpr std::int64_t small_range = 2'000;

std::string in_range(const std::string& listing, const time_range& range) {
    auto since = range.since();
    return since ? url_add(listing, "since", *since) : listing;
}

// How far ahead the windows' ends are looked for: by how many rows at once, and how GitHub is asked for the row there.
class stride {
  public:
    explicit stride(std::int64_t rows) : rows_(std::clamp<std::int64_t>(rows, 1'000, deep_rows - 1)) {}

    std::int64_t rows() const { return rows_; }
    // The query of the page that ends `rows()` rows on, and how many rows that page has when it is full.
    std::string page(const std::string& listing) const {
        return url_add(listing, {{"per_page", wide_ ? "100" : "1"}, {"page", std::to_string(wide_ ? 10 : rows_ + 1)}});
    }
    std::int64_t full() const { return wide_ ? 100 : 1; }
    void grow() {
        if (!wide_) rows_ = std::min(rows_ * 2, deep_rows - 1);
    }
    // After a refusal: a repository that refuses all page numbers above 10 still allows ten pages of a hundred. False: that too.
    bool shrink() {
        if (wide_) return false;
        wide_ = true;
        rows_ = 999;
        return true;
    }

  private:
    std::int64_t rows_;
    bool wide_ = false;
};

// Reads nothing, but fails if the row that was the last one is no longer at its place: then a row was removed (or an old one
// transferred here) while the pages were read, and others have slipped from one page to the next between two requests.
class last_row_check final : public reader {
  public:
    last_row_check(std::shared_ptr<const client> source, std::string listing, std::int64_t rows, std::int64_t id)
        : source_(std::move(source)), listing_(std::move(listing)), rows_(rows), id_(id) {}

    schema columns() const override { return source_->columns(); }

    bool next(batch&) override {
        exchange answer = source_->get(url_add(listing_, "page", std::to_string(rows_)), {}, {422});
        if (source_->head(answer) == 422) return false;
        json rows = json::parse(answer.text());
        if (rows.size() == 1 && rows.items().front().integer("id") == id_) return false;
        throw transient(source_->chosen().subject(source_->what()) +
                        ": a row was removed while the listing was read by its pages, and another one may have been "
                        "passed over; it has to be read again")
            .with_code("source.incomplete")
            .with_hint("run the job again: nothing of this load has landed");
    }

  private:
    std::shared_ptr<const client> source_;
    std::string listing_;
    std::int64_t rows_, id_;
};

}  // namespace

std::vector<json> since_feed::plan(const plan_args& args) {
    time_range whole = range(args.start, args.end);
    json place = json::object();
    // An end with no validator is not the newest row: only a window stops there instead of reading what lies behind it.
    bool to_the_end = !args.end || args.end->contains("etag");
    if (!to_the_end) return windows(place, whole, -1, args.parallelism);

    // Newest first: the one row that comes is the last of the pages.
    extent size = source().measure(in_range(listing(place, "created", "desc", 1), whole));
    source().remember_move(place, size.answered);
    if (size.rows == 0) return {};
    bool stays = source().what().asked != states::chosen || source().chosen().state == "all";
    if (!whole.from && stays && !size.opaque && size.rows > 0 && size.rows <= deep_rows) {
        std::vector<json> parts = page_chunks(source(), place, size.rows, args.parallelism);
        if (parts.size() > 1) parts.push_back(place.set("last", json::array({size.rows, size.first})));
        return parts;
    }
    if (stays && size.rows > 0 && size.rows <= small_range) return {place.set("follow", true)};
    return windows(place, whole, size.rows, args.parallelism);
}

std::vector<json> since_feed::windows(const json& place, const time_range& whole, std::int64_t rows,
                                      std::uint32_t parallelism) const {
    // Without per_page, which each question adds for itself.
    std::string by_update = url_add(source().listing(place), {{"sort", "updated"}, {"direction", "asc"}});
    if (source().what().asked == states::chosen) by_update = url_add(by_update, "state", source().chosen().state);

    std::vector<std::int64_t> ends;  // where one window ends and the next begins
    stride step(rows > 0 ? rows / (2 * std::int64_t{parallelism}) : small_range);
    for (time_range rest = whole;;) {
        glimpse there = look(step.page(in_range(by_update, rest)));
        if (there.refused) {
            if (step.shrink()) continue;
            ends = evenly(by_update, whole, parallelism);
            break;
        }
        if (there.rows < step.full() || !there.last || rest.passed_by(*there.last)) break;
        std::int64_t end = *there.last;
        if (rest.from && end < *rest.from) break;  // a server that does not keep to `since`
        // A tie that is longer than the step is a window of its own, which ends with its second.
        if (rest.from && end <= *rest.from) end = floor_second(*rest.from) + second_us;
        if (rest.passed_by(end)) break;
        ends.push_back(end);
        rest.from = end;
        rest.inclusive = true;
        if (ends.size() % (4 * std::size_t{parallelism}) == 0) step.grow();
    }

    std::vector<json> out;
    for (std::size_t i = 0; i <= ends.size(); ++i) {
        json window = place;
        if (i > 0) window.set("from", format_instant(ends[i - 1]));
        if (i < ends.size()) window.set("until", format_instant(ends[i]));
        out.push_back(std::move(window.set("window", true)));
    }
    return out;
}

std::vector<std::int64_t> since_feed::evenly(const std::string& by_update, const time_range& whole,
                                             std::uint32_t parallelism) const {
    std::vector<std::int64_t> out;
    glimpse oldest = look(url_add(in_range(by_update, whole), "per_page", "1"));
    if (!oldest.last) return out;
    std::int64_t to = whole.to.value_or(source().init_time_us());
    std::int64_t parts = 4 * std::int64_t{parallelism};
    std::int64_t length = floor_second((to - *oldest.last) / parts);
    for (std::int64_t i = 1; i < parts && length > 0; ++i) out.push_back(floor_second(*oldest.last) + i * length);
    return out;
}

json since_feed::limited(const latest_args& args, const json& target, std::vector<std::string>& honoured) {
    time_range rest = range(args.start, target);
    if (auto start = instant_of(args.start)) rest.from = start, rest.inclusive = false;  // a look-back is no progress
    std::string by_update = in_range(listing({}, "updated", "asc", 1), rest);
    std::int64_t end = *rest.to;
    if (auto most = args.limits.max_rows) {
        glimpse there = look(url_add(by_update, "page", std::to_string(std::min(*most, deep_rows))));
        // All rows of that last instant belong to it, so that it can be an end; there may be more than were asked for.
        if (there.last) end = std::min(end, *there.last);
        if (!there.refused) honoured.push_back("max_rows");
    }
    if (auto window = source().chosen().window_us) {
        // From the first row that there is, not from the start: empty years cost nothing.
        glimpse first = look(by_update);
        if (first.last) end = std::min(end, floor_second(*first.last) + *window);
    }
    return end < *rest.to ? offset_at(end) : target;
}

std::unique_ptr<reader> since_feed::read(const read_args& args) {
    time_range whole = range(args.start, args.end);
    rows_spec spec = source().spec();
    const json& part = args.descriptor;
    std::int64_t per_page = source().chosen().per_page;
    if (part.boolean("window")) {
        time_range window = whole;
        if (std::string from = part.text("from"); !from.empty())
            window.from = parse_instant(from), window.inclusive = true;
        if (std::string until = part.text("until"); !until.empty()) {
            // Half-open: the next window begins with it.
            window.to = *parse_instant(until) - 1;
        }
        window.keep(spec);
        return std::make_unique<window_reader>(shared(), std::move(spec), listing(part, "updated", "asc", per_page),
                                               window);
    }
    whole.keep(spec);
    if (const json* last = part.find("last")) {
        return std::make_unique<last_row_check>(shared(), listing(part, "created", "asc", 1),
                                                last->items().at(0).as_int(), last->items().at(1).as_int());
    }
    std::string by_creation = listing(part, "created", "asc", per_page);
    if (part.contains("pages")) return read_chunk(shared(), std::move(spec), by_creation, part);
    return std::make_unique<follow_reader>(shared(), std::move(spec), in_range(by_creation, whole));
}

}  // namespace lakeflow::github
