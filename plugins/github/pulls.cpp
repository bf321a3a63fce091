// plugins/github/pulls.cpp: see pulls.hpp.
#include "pulls.hpp"

#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "chunks.hpp"
#include "columns.hpp"

namespace lakeflow::github {
namespace {

// What is asked of a pull request to find its reviews.
schema pull_columns() { return schema().add("number", type::int64()).add("updated_at", type::timestamp()); }

// The numbers of the pull requests on some pages, each once: one that moves meanwhile may be seen twice.
std::vector<std::int64_t> numbers_of(reader& pages) {
    std::vector<std::int64_t> out;
    std::unordered_set<std::int64_t> known;
    for (batch rows; pages.next(rows); rows.reset()) {
        for (std::int64_t number : integers(pages.columns(), rows, "number")) {
            if (known.insert(number).second) out.push_back(number);
        }
    }
    return out;
}

// The reviews of some pull requests, each with a listing of its own.
class reviews_reader final : public reader {
  public:
    // `pulls`: the address of the listing of pull requests. `pages`: where to find their numbers, or null. `alone`: the next
    // request may be on its way while an answer is decoded.
    reviews_reader(std::shared_ptr<const client> source, std::string pulls, std::deque<std::int64_t> numbers,
                   std::unique_ptr<reader> pages, bool alone)
        : source_(std::move(source)),
          columns_(source_->columns()),
          pulls_(std::move(pulls)),
          numbers_(std::move(numbers)),
          pages_(std::move(pages)),
          look_ahead_(alone) {}

    schema columns() const override { return columns_; }

    bool next(batch& out) override {
        if (pages_) {
            for (std::int64_t number : numbers_of(*pages_)) numbers_.push_back(number);
            pages_.reset();
        }
        while (ahead_ || !numbers_.empty()) {
            if (!ahead_) start_next();
            if (read_one(out)) return true;
        }
        return false;
    }

  private:
    void start_next() {
        ahead_number_ = numbers_.front();
        numbers_.pop_front();
        ahead_ = source_->get(address(ahead_number_), {}, {404});
    }

    std::string address(std::int64_t number) const {
        std::string listing = pulls_ + "/" + std::to_string(number) + "/reviews";
        return url_add(listing, "per_page", std::to_string(source_->chosen().per_page));
    }

    // All reviews of one pull request, which are few: most have none, hardly one has more than a page.
    bool read_one(batch& out) {
        exchange answer = std::exchange(ahead_, exchange());
        std::int64_t number = ahead_number_;
        if (look_ahead_ && !numbers_.empty()) start_next();
        rows_spec spec = source_->spec();
        spec.constant("pull_number", number).context("pull_number", number);
        decoder rows = source_->host().rows.open(columns_, spec);
        while (true) {
            if (source_->head(answer) == 404) {
                gone(number);
                break;
            }
            page_links links = source_->links(answer);
            exchange more = links.next ? source_->get(*links.next, {}, {404}) : exchange();
            rows.decode(answer);
            if (!more) break;
            answer = std::move(more);
        }
        return rows.take(out);
    }

    // Listed a moment ago, and not there now: the repository's own row of it will not come again either.
    void gone(std::int64_t number) const {
        source_->host().log.warn(source_->chosen().subject(source_->what()) + ": pull request " +
                                 std::to_string(number) + " has been removed; its reviews are skipped");
        source_->host().metrics.add("items_skipped", 1);
    }

    std::shared_ptr<const client> source_;
    schema columns_;
    std::string pulls_;
    std::deque<std::int64_t> numbers_;
    std::unique_ptr<reader> pages_;
    bool look_ahead_;
    exchange ahead_;
    std::int64_t ahead_number_ = 0;
};

// Pages of pull requests, decoded to what pull_columns says.
class number_pages final : public page_reader {
  public:
    // Pages first..last by their numbers.
    number_pages(std::shared_ptr<const client> source, std::string listing, std::int64_t first, std::int64_t last)
        : page_reader(source, pull_columns(), rows_spec(), url_add(listing, "page", std::to_string(first))),
          to_((last - first + 1) * source->chosen().per_page) {}
    // From the newest on, as far as the range goes.
    number_pages(std::shared_ptr<const client> source, std::string listing, const time_range& range)
        : page_reader(std::move(source), pull_columns(), kept(range), std::move(listing)), range_(range) {}

  private:
    static rows_spec kept(const time_range& range) {
        rows_spec out;
        out.watch("updated_at");
        range.keep(out);
        return out;
    }

    std::optional<std::string> behind(const page& here, const rows_stats* rows) override {
        if (!here.links.next) return std::nullopt;
        if (!range_) return here.before + here.size < to_ ? here.links.next : std::nullopt;
        if (rows == nullptr) return std::nullopt;
        auto last = instant_of(*rows, rows->last, "updated_at");
        return last && range_->below(*last) ? std::nullopt : here.links.next;
    }

    std::int64_t to_ = 0;  // rows
    std::optional<time_range> range_;
};

}  // namespace

std::vector<json> pulls_feed::plan(const plan_args& args) {
    json place = json::object();
    if (range(args.start, args.end).from) return {place.set("touched", true)};
    extent size = source().measure(listing(place, "created", "asc", 1));
    source().remember_move(place, size.answered);
    if (size.rows == 0) return {};
    if (!size.opaque && size.rows > 0 && size.rows <= deep_rows) {
        return page_chunks(source(), place, size.rows, args.parallelism);
    }
    return {place.set("follow", true)};
}

std::unique_ptr<reader> pulls_feed::read(const read_args& args) {
    time_range whole = range(args.start, args.end);
    const json& part = args.descriptor;
    rows_spec spec = source().spec();
    whole.keep(spec);
    if (const std::string& state = source().chosen().state; state != "all") spec.keep("state", "=", state);
    std::int64_t per_page = source().chosen().per_page;
    if (part.boolean("touched")) {
        return std::make_unique<newest_reader>(shared(), std::move(spec), listing(part, "updated", "desc", per_page),
                                               whole);
    }
    std::string by_creation = listing(part, "created", "asc", per_page);
    if (part.contains("pages")) return read_chunk(shared(), std::move(spec), by_creation, part);
    return std::make_unique<follow_reader>(shared(), std::move(spec), by_creation);
}

std::vector<json> reviews_feed::plan(const plan_args& args) {
    time_range touched = range(args.start, args.end);
    json place = json::object();
    std::int64_t per_page = source().chosen().per_page;
    if (!touched.from) {
        extent size = source().measure(listing(place, "created", "asc", 1));
        source().remember_move(place, size.answered);
        if (size.rows == 0) return {};
        // A page of pull requests is a hundred requests for reviews: long enough for a partition.
        if (!size.opaque && size.rows > 0 && size.rows <= deep_rows) {
            return page_chunks(source(), place, size.rows, args.parallelism, 1);
        }
    }
    // The numbers are looked up here: one request for each page of touched pull requests.
    number_pages pages(shared(), listing(place, "updated", "desc", per_page), touched);
    std::vector<std::int64_t> numbers = numbers_of(pages);
    constexpr std::size_t most = 100;
    std::vector<json> out;
    for (std::size_t i = 0; i < numbers.size(); i += most) {
        json part = place, some = json::array();
        for (std::size_t k = i; k < std::min(i + most, numbers.size()); ++k) some.push(numbers[k]);
        part.set("pulls", std::move(some));
        if (numbers.size() <= most || args.parallelism == 1) part.set("alone", true);
        out.push_back(std::move(part));
    }
    return out;
}

std::unique_ptr<reader> reviews_feed::read(const read_args& args) {
    const json& part = args.descriptor;
    std::deque<std::int64_t> numbers;
    std::unique_ptr<reader> pages;
    if (const json* some = part.find("pulls")) {
        for (const json& number : some->items()) numbers.push_back(number.as_int());
    } else {
        const std::vector<json>& run = part.at("pages").items();
        std::string by_creation = listing(part, "created", "asc", source().chosen().per_page);
        pages = std::make_unique<number_pages>(shared(), by_creation, run.at(0).as_int(), run.at(1).as_int());
    }
    return std::make_unique<reviews_reader>(shared(), source().listing(part), std::move(numbers), std::move(pages),
                                            part.boolean("alone"));
}

}  // namespace lakeflow::github
