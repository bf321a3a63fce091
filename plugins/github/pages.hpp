// plugins/github/pages.hpp: readers that walk the pages of one listing. A reader that works alone asks for the next page while the
// present one is decoded; where several work at once, each has one request on its way, so that the job's parallelism is the
// number of requests. Each reader belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client.hpp"
#include "lakeflow/lakeflow.hpp"

namespace lakeflow::github {

// What lies between two offsets of a table that advances by updated_at.
struct time_range {
    std::optional<std::int64_t> from;  // microseconds; absent: from the beginning
    bool inclusive = true;             // of `from`
    std::optional<std::int64_t> to;    // inclusive; absent: to the end

    // The value of `since` that brings all of it; nothing where there is no lower end. GitHub's instants are whole seconds, so
    // what lies after second s begins at s + 1.
    std::optional<std::string> since() const;
    bool passed_by(std::int64_t instant) const { return to && instant > *to; }
    // True if a row of this instant, and so every older one, is below the range.
    bool below(std::int64_t instant) const { return from && (inclusive ? instant < *from : instant <= *from); }
    // Drops the rows outside of it as they are decoded: what was landed before, and what the source has moved past the end.
    void keep(rows_spec& spec) const;
};

// A page that GitHub cannot make in time (5xx, after all retries) is asked for in smaller pieces, and so is the rest.
class page_reader : public reader {
  public:
    schema columns() const override { return schema_; }
    bool next(batch& out) final;

  protected:
    // One answered page.
    struct page {
        std::string url;
        std::int64_t before = 0;  // rows of the pages that this reader has passed, were all of them full
        std::int64_t size = 0;    // per_page
        page_links links;
    };

    page_reader(std::shared_ptr<const client> source, schema columns, rows_spec spec, std::string first,
                bool look_ahead = false);

    // The address of the page behind this one; nothing: this was the last. `rows`: what was decoded of this page. A reader that
    // looks ahead is asked a first time before that, with null, and fetches what it says meanwhile.
    virtual std::optional<std::string> behind(const page& here, const rows_stats* rows) = 0;
    // The page was refused because of its number (422). Gives an address to go on from; nothing: there is no such page; or throws.
    virtual std::optional<std::string> refused(const page& here);

    const client& source() const { return *source_; }
    // Replaces the decoder; its rows must have been taken.
    void reopen(const rows_spec& spec);
    // Rows decoded so far, taken out by a reader that looks at them; next() gives them out first.
    const batch& hold();
    const rows_spec& spec() const { return spec_; }

  private:
    void read_page();
    bool shrink(const failure& error);

    std::shared_ptr<const client> source_;
    schema schema_;
    rows_spec spec_;
    decoder decoder_;
    batch held_;
    page here_;
    bool look_ahead_;
    exchange ahead_;
    bool done_ = false;
};

// Pages first..last of a listing that only grows at its end, by their numbers.
class chunk_reader final : public page_reader {
  public:
    chunk_reader(std::shared_ptr<const client> source, rows_spec spec, std::string listing, std::int64_t first,
                 std::int64_t last, bool look_ahead);

  private:
    std::optional<std::string> behind(const page& here, const rows_stats* rows) override;
    std::optional<std::string> refused(const page& here) override;

    std::string numbered(std::int64_t row, std::int64_t size) const;

    std::string listing_;     // without a page number
    std::int64_t from_, to_;  // rows of the listing: [from, to)
    bool by_links_ = false;   // page numbers are refused
};

// A listing from its first page to its last, by its links.
class follow_reader final : public page_reader {
  public:
    follow_reader(std::shared_ptr<const client> source, rows_spec spec, std::string first);

  private:
    std::optional<std::string> behind(const page& here, const rows_stats* rows) override;
};

// A listing sorted by updated_at, newest first, until it is below the range. A row that is touched meanwhile moves to the front
// and pushes others back, so a row may come twice but none is passed over.
class newest_reader final : public page_reader {
  public:
    newest_reader(std::shared_ptr<const client> source, rows_spec spec, std::string first, time_range range);

  private:
    std::optional<std::string> behind(const page& here, const rows_stats* rows) override;

    time_range range_;
};

// A window of updated_at in a listing with `since`, sorted by updated_at, oldest first. It goes on by the listing's own cursors;
// where links carry page numbers instead, by asking again from the last instant seen: a row that leaves the window meanwhile
// then moves no other one out of sight.
class window_reader final : public page_reader {
  public:
    // `listing` has all parameters but since.
    window_reader(std::shared_ptr<const client> source, rows_spec spec, std::string listing, time_range window);

  private:
    std::optional<std::string> behind(const page& here, const rows_stats* rows) override;
    std::optional<std::string> again_from(const page& here, std::int64_t last);

    std::string listing_;
    time_range window_;
    std::optional<std::int64_t> anchor_;  // the instant that the present page was asked from
};

}  // namespace lakeflow::github
