// plugins/github/columns.cpp: see columns.hpp. The batches come from the host's decoder and are valid; an array may begin at an
// offset all the same.
#include "columns.hpp"

#include "instant.hpp"

namespace lakeflow::github {
namespace {

const ArrowArray& column_of(const schema& columns, const batch& rows, std::string_view name) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns.fields()[i].name == name && rows) return *rows->children[i];
    }
    throw permanent("a batch has no column '" + std::string(name) + "'");
}

bool is_valid(const ArrowArray& array, std::int64_t row) {
    auto bits = static_cast<const std::uint8_t*>(array.n_buffers > 0 ? array.buffers[0] : nullptr);
    std::int64_t at = row + array.offset;
    return bits == nullptr || (bits[at / 8] >> (at % 8) & 1) != 0;
}

std::int64_t integer_at(const ArrowArray& array, std::int64_t row) {
    return static_cast<const std::int64_t*>(array.buffers[1])[row + array.offset];
}

std::string text_at(const ArrowArray& array, std::int64_t row) {
    auto ends = static_cast<const std::int32_t*>(array.buffers[1]) + array.offset + row;
    auto bytes = static_cast<const char*>(array.buffers[2]);
    return ends[0] == ends[1] ? std::string() : std::string(bytes + ends[0], bytes + ends[1]);
}

}  // namespace

std::optional<std::int64_t> instant_of(const rows_stats& stats, const json& values, std::string_view column) {
    auto text = stats.text(values, column);
    return text ? parse_instant(*text) : std::nullopt;
}

std::vector<std::int64_t> integers(const schema& columns, const batch& rows, std::string_view column) {
    std::vector<std::int64_t> out;
    if (!rows) return out;
    const ArrowArray& array = column_of(columns, rows, column);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        if (is_valid(array, row + rows->offset)) out.push_back(integer_at(array, row + rows->offset));
    }
    return out;
}

std::vector<std::int64_t> keys_at(const schema& columns, const batch& rows, std::string_view key,
                                  std::string_view instant, std::int64_t at) {
    std::vector<std::int64_t> out;
    if (!rows) return out;
    const ArrowArray& keys = column_of(columns, rows, key);
    const ArrowArray& instants = column_of(columns, rows, instant);
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        std::int64_t row = i + rows->offset;
        if (is_valid(instants, row) && integer_at(instants, row) == at) out.push_back(integer_at(keys, row));
    }
    return out;
}

std::vector<std::string> texts(const schema& columns, const batch& rows, std::string_view column) {
    std::vector<std::string> out;
    if (!rows) return out;
    const ArrowArray& array = column_of(columns, rows, column);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        out.push_back(is_valid(array, row + rows->offset) ? text_at(array, row + rows->offset) : std::string());
    }
    return out;
}

std::vector<std::vector<std::string>> text_lists(const schema& columns, const batch& rows, std::string_view column) {
    std::vector<std::vector<std::string>> out;
    if (!rows) return out;
    const ArrowArray& array = column_of(columns, rows, column);
    const ArrowArray& structs = *array.children[0];
    const ArrowArray& items = *structs.children[0];
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        std::int64_t row = i + rows->offset;
        std::vector<std::string>& list = out.emplace_back();
        if (!is_valid(array, row)) continue;
        auto ends = static_cast<const std::int32_t*>(array.buffers[1]) + array.offset + row;
        for (std::int64_t item = ends[0] + structs.offset; item < ends[1] + structs.offset; ++item) {
            if (is_valid(items, item)) list.push_back(text_at(items, item));
        }
    }
    return out;
}

}  // namespace lakeflow::github
