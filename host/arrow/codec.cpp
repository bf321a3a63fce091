// host/arrow/codec.cpp: see codec.h. A node is its type, length, null count and buffers, each with its size; then its children.
#include "host/arrow/codec.h"

#include <cstring>
#include <vector>

#include "host/arrow/buffer.h"
#include "host/base/error.h"

namespace lakeflow::host {
namespace {

// Bytes of one value; 0: not of a fixed width in bytes.
std::size_t width_of(type_id id) {
    switch (id) {
        case type_id::int8: return 1;
        case type_id::int16: return 2;
        case type_id::int32:
        case type_id::float32:
        case type_id::date32: return 4;
        case type_id::int64:
        case type_id::float64:
        case type_id::timestamp_utc:
        case type_id::timestamp_local: return 8;
        case type_id::decimal128: return 16;
        default: return 0;
    }
}

bool is_text(type_id id) { return id == type_id::utf8 || id == type_id::binary; }
bool is_large_text(type_id id) { return id == type_id::large_utf8 || id == type_id::large_binary; }
bool is_list(type_id id) { return id == type_id::list || id == type_id::map; }

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof bytes);
}

void put_buffer(std::string& out, const void* data, std::size_t size) {
    put(out, static_cast<std::uint64_t>(size));
    if (size) out.append(static_cast<const char*>(data), size);
}

template <class Offset>
std::size_t last_offset(const void* offsets, std::size_t rows) {
    Offset value;
    std::memcpy(&value, static_cast<const char*>(offsets) + rows * sizeof(Offset), sizeof value);
    return static_cast<std::size_t>(value);
}

// `array` owns its memory and begins at 0, at every depth.
void encode(const ArrowSchema& schema, const ArrowArray& array, std::string& out) {
    const auto id = type_of(schema).id;
    const auto rows = static_cast<std::size_t>(array.length);
    put(out, static_cast<std::uint8_t>(id));
    put(out, array.length);
    put(out, array.null_count);
    if (id == type_id::null_) return;
    put_buffer(out, array.buffers[0], array.buffers[0] ? (rows + 7) / 8 : 0);
    if (const auto width = width_of(id)) put_buffer(out, array.buffers[1], rows * width);
    if (id == type_id::boolean) put_buffer(out, array.buffers[1], (rows + 7) / 8);
    if (is_text(id)) {
        put_buffer(out, array.buffers[1], (rows + 1) * sizeof(std::int32_t));
        put_buffer(out, array.buffers[2], last_offset<std::int32_t>(array.buffers[1], rows));
    }
    if (is_large_text(id)) {
        put_buffer(out, array.buffers[1], (rows + 1) * sizeof(std::int64_t));
        put_buffer(out, array.buffers[2], last_offset<std::int64_t>(array.buffers[1], rows));
    }
    if (is_list(id)) put_buffer(out, array.buffers[1], (rows + 1) * sizeof(std::int32_t));
    for (std::int64_t i = 0; i < array.n_children; ++i) encode(*schema.children[i], *array.children[i], out);
}

class decoder {
  public:
    decoder(std::string_view bytes, std::string_view what) : rest_(bytes), what_(what) {}

    arrow_array node(const ArrowSchema& schema, int depth = 0) {
        const auto id = type_of(schema).id;
        if (depth > 256 || take<std::uint8_t>() != static_cast<std::uint8_t>(id))
            misfit("a column is of another type than " + type_name(schema));
        const auto length = take<std::int64_t>();
        const auto nulls = take<std::int64_t>();
        constexpr std::int64_t most = std::int64_t{1} << 40;
        if (length < 0 || length > most || nulls < 0 || nulls > length) misfit("a column has an impossible length");
        if (id == type_id::null_) return make_array(length, nulls, {}, {}, false);
        const auto rows = static_cast<std::size_t>(length);
        std::vector<buffer> buffers;
        std::vector<arrow_array> children;
        buffers.push_back(bytes_of((rows + 7) / 8, true));
        if (const auto width = width_of(id)) buffers.push_back(bytes_of(rows * width));
        if (id == type_id::boolean) buffers.push_back(bytes_of((rows + 7) / 8));
        if (is_text(id)) text<std::int32_t>(buffers, rows);
        if (is_large_text(id)) text<std::int64_t>(buffers, rows);
        std::size_t least = rows;
        if (is_list(id)) {
            buffers.push_back(bytes_of((rows + 1) * sizeof(std::int32_t)));
            least = last_offset<std::int32_t>(buffers[1].data(), rows);
        }
        children.reserve(static_cast<std::size_t>(schema.n_children));
        for (std::int64_t i = 0; i < schema.n_children; ++i) {
            children.push_back(node(*schema.children[i], depth + 1));
            if (static_cast<std::size_t>(children.back().rows()) < least) misfit("a column is shorter than its rows");
        }
        return make_array(length, nulls, std::move(buffers), std::move(children));
    }

    void end() const {
        if (!rest_.empty()) misfit(std::to_string(rest_.size()) + " bytes are left over");
    }

  private:
    [[noreturn]] void misfit(const std::string& why) const {
        throw failure("state.corrupt", std::string(what_) + " does not hold rows of its schema: " + why);
    }

    template <class T>
    T take() {
        if (rest_.size() < sizeof(T)) misfit("it ends too early");
        T value;
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }

    // A buffer of just `size` bytes, or where it `may_lack`, none.
    buffer bytes_of(std::size_t size, bool may_lack = false) {
        const auto stated = take<std::uint64_t>();
        if (stated > rest_.size() || (stated != size && !(may_lack && stated == 0)))
            misfit("a buffer has a wrong size");
        buffer out;
        out.append(rest_.data(), stated);
        rest_.remove_prefix(stated);
        return out;
    }

    template <class Offset>
    void text(std::vector<buffer>& buffers, std::size_t rows) {
        buffers.push_back(bytes_of((rows + 1) * sizeof(Offset)));
        const auto size = last_offset<Offset>(buffers.back().data(), rows);
        buffers.push_back(bytes_of(size));
    }

    std::string_view rest_;
    std::string_view what_;
};

}  // namespace

void encode_rows(const ArrowSchema& schema, const ArrowArray& array, std::string& out) {
    // A copy begins at 0 at every depth and holds nothing that no row reaches.
    const auto whole = filter_rows(schema, array, std::vector<std::uint8_t>(static_cast<std::size_t>(array.length), 1));
    encode(schema, *whole.get(), out);
}

arrow_array decode_rows(const ArrowSchema& schema, std::string_view bytes, std::string_view what) {
    decoder in(bytes, what);
    auto out = in.node(schema);
    in.end();
    check_array(schema, *out.get(), what);
    return out;
}

}  // namespace lakeflow::host
