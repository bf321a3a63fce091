// host/land/connector/newest.cpp: see newest.h.
#include "host/land/connector/newest.h"

#include <tuple>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::connector {

newest_rows::newest_rows(const flow_spec& flow, std::size_t most_bytes)
    : flow_(flow), keys_(flow.primary_keys, 0), most_bytes_(most_bytes) {}

void newest_rows::add(std::uint32_t part, record_batch rows) {
    constexpr std::size_t entry = 96;  // of the map, about
    bytes_ += memory_size(*rows.schema->get(), *rows.array.get());
    const auto sequence = flow_.sequence_by.empty() ? -1 : find_column(*rows.schema->get(), flow_.sequence_by);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        place at{{}, part, all_.size(), row};
        if (sequence >= 0)
            at.sequence = jsonl::order_text(rows.schema->column(sequence), *rows.array.get()->children[sequence],
                                            rows.array.get()->offset + row);
        auto [found, fresh] = newest_.try_emplace(keys_.key_of(rows, row, flow_.table), at);
        if (fresh) {
            bytes_ += entry + at.sequence.size();
        } else if (std::tie(at.sequence, at.part) >= std::tie(found->second.sequence, found->second.part)) {
            found->second = std::move(at);  // of one instant and one part the later arrival counts
        }
    }
    all_.emplace_back(part, std::move(rows));
    if (bytes_ <= most_bytes_) return;
    throw failure("destination.memory",
                  "table " + flow_.table + ": a batch that is written by key takes more than " +
                      human_bytes(most_bytes_) + " of memory",
                  "smaller batches fit: limits = { max_rows = .. } of the table; or raise memory of [job]");
}

std::vector<std::pair<std::uint32_t, record_batch>> newest_rows::take() {
    std::vector<std::vector<std::uint8_t>> keep(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) keep[i].resize(static_cast<std::size_t>(all_[i].second.rows()));
    for (const auto& [key, at] : newest_) keep[at.batch][static_cast<std::size_t>(at.row)] = 1;
    std::vector<std::pair<std::uint32_t, record_batch>> out;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        auto& [part, rows] = all_[i];
        record_batch left{rows.schema, filter_rows(*rows.schema->get(), *rows.array.get(), keep[i])};
        rows.array.reset();
        if (left.rows() > 0) out.emplace_back(part, std::move(left));
    }
    all_.clear();
    newest_.clear();
    bytes_ = 0;
    return out;
}

}  // namespace lakeflow::host::connector
