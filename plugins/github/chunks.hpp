// plugins/github/chunks.hpp: a listing that grows only at its end, split by page numbers: {"pages": [first, last]}, and
// "alone": true where no other part is read at the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client.hpp"
#include "pages.hpp"

namespace lakeflow::github {

// Contiguous runs of pages, a few for each worker; `most`: of pages in one.
inline std::vector<json> page_chunks(const client& source, const json& place, std::int64_t rows,
                                     std::uint32_t parallelism, std::int64_t most = 20) {
    std::int64_t pages = (rows + source.chosen().per_page - 1) / source.chosen().per_page;
    std::int64_t each = std::clamp<std::int64_t>(pages / (3 * std::int64_t{parallelism}), 1, most);
    source.host().metrics.set("pages_total", pages);
    source.host().metrics.set("rows_total", rows);
    std::vector<json> out;
    for (std::int64_t first = 1; first <= pages; first += each) {
        json chunk = place;
        out.push_back(std::move(chunk.set("pages", json::array({first, std::min(first + each - 1, pages)}))));
    }
    if (out.size() == 1 || parallelism == 1) {
        for (json& chunk : out) chunk.set("alone", true);
    }
    return out;
}

inline std::unique_ptr<reader> read_chunk(std::shared_ptr<const client> source, rows_spec spec, std::string listing,
                                          const json& part) {
    const std::vector<json>& pages = part.at("pages").items();
    return std::make_unique<chunk_reader>(std::move(source), std::move(spec), std::move(listing), pages.at(0).as_int(),
                                          pages.at(1).as_int(), part.boolean("alone"));
}

}  // namespace lakeflow::github
