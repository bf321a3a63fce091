// plugins/github/client.hpp: one table of one repository (or account) at GitHub: addresses, headers, what a Link header says,
// and errors that name the repository and the remedy. Immutable; readers share it. Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/lakeflow.hpp"
#include "settings.hpp"
#include "tables.hpp"

namespace lakeflow::github {

// GitHub refuses page numbers past about so many rows (422).
inline constexpr std::int64_t deep_rows = 10'000;

using query = std::vector<std::pair<std::string, std::string>>;

// What the Link header of an answer says.
struct page_links {
    std::optional<std::string> next;
    std::int64_t last = 0;  // the number of the last page; 0: not said
    bool opaque = false;    // next leads by a cursor (after=), not by a page number
};

// A server error that outlived all retries: GitHub answers so to pages that it cannot make in time.
inline bool is_too_heavy(const failure& error) { return error.how() == retry::transient && error.vendor_code() >= 500; }

// How long a listing is.
struct extent {
    std::int64_t rows = -1;  // -1: not known
    bool opaque = false;     // it is walked by cursors, not by page numbers
    std::int64_t first = 0;  // the id of the row that came
    std::string answered;    // by which address
};

class client {
  public:
    client(const environment& env, const table& what, settings chosen);

    const services& host() const { return host_; }
    std::int64_t init_time_us() const { return init_time_us_; }
    const table& what() const { return table_; }
    const settings& chosen() const { return settings_; }

    // The address of the table's listing, without a query.
    std::string listing() const;
    // The same, where a redirect has led to another address of it (a renamed repository): `at` of a descriptor.
    std::string listing(const json& descriptor) const;
    // Records in a descriptor where the listing answered, if not where it was asked.
    void remember_move(json& descriptor, const std::string& answered) const;

    // Queues a GET. With an ETag it is conditional, and 304 an answer.
    exchange get(const std::string& url, std::string_view etag = {}, std::initializer_list<int> accepted = {}) const;
    // Waits for the answer's head; errors name what was asked for and what to do.
    int head(exchange& answer) const;
    page_links links(const exchange& answer) const;
    // Asks for one row of a listing (per_page=1): the number of its last page is the number of its rows.
    extent measure(const std::string& listing_of_one) const;
    // The answer's Date; the host's clock if there is none.
    std::int64_t date_us(const exchange& answer) const;

    schema columns() const { return schema::ddl(table_.ddl); }
    // How the rows of this table lie in its listing.
    rows_spec spec() const;

  private:
    failure explain(const failure& original) const;

    services host_;
    std::int64_t init_time_us_;
    const table& table_;
    settings settings_;
    std::string base_url_, token_, api_version_;
};

}  // namespace lakeflow::github
