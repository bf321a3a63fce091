// GitHub's rules of a listing: which slice a request means, and what its Link header says. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/github_server/corpus.h"
#include "tests/github_server/text.h"

namespace lakeflow::github_server {

struct page_request {
    std::uint64_t page = 1;
    std::uint32_t per_page = 30;
};
// per_page: absent, not a number, 0 and below mean 30, above 100 means 100. page: absent, not a number, 0 and below mean 1.
page_request read_page(const parameters& query);

// ok | refuse_rows:N | refuse_pages:N
struct deep_rule {
    bool refuses = false;
    std::uint64_t rows = 0;
    std::uint64_t pages = 0;
    bool refused(const page_request& asked) const {
        return refuses && ((rows > 0 && asked.page * asked.per_page >= rows) || (pages > 0 && asked.page > pages));
    }
};
deep_rule read_deep(std::string_view text);  // throws std::invalid_argument

// An opaque cursor: the sort value and tie of the row that it follows (or precedes).
std::string write_cursor(const sort_value& at);
std::optional<sort_value> read_cursor(std::string_view text);

// rel prev, next, last, first with page numbers; empty when one page holds everything.
std::string page_links(std::string_view url, const parameters& query, const page_request& asked, std::uint64_t total);
// rel next and prev with after= and before=, as GitHub writes them for large tables: the page number goes on counting beside.
std::string cursor_links(std::string_view url, const parameters& query, const page_request& asked,
                         const std::optional<sort_value>& next, const std::optional<sort_value>& previous);

// A slice of a view that is sorted ascending, read in either direction.
struct row_slice {
    std::vector<std::uint32_t> rows;
    std::uint64_t total = 0;   // rows that match, whatever the page
    std::uint64_t offset = 0;  // of the first row of the slice
};

}  // namespace lakeflow::github_server
