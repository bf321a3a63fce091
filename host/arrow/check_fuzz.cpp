// host/arrow/check_fuzz.cpp: arrays made of the fuzzer's bytes, all of whose buffers are as large as the largest length that the bytes
// can state. What check_array lets pass, the rest of the host must be able to read.
#include <array>
#include <cstring>
#include <deque>
#include <memory>

#include "host/arrow/arrow.h"
#include "host/arrow/fuzz.h"
#include "host/base/error.h"

using namespace lakeflow::host;

namespace {

constexpr std::size_t most = 40;  // rows and offset together stay below

void released(ArrowArray* array) { array->release = nullptr; }

class array_maker {
  public:
    array_maker(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::uint8_t byte() {
        if (at_ >= size_) return 0;
        return data_[at_++];
    }

    ArrowArray* make(const ArrowSchema& schema, std::int64_t length) {
        ArrowArray& a = *arrays_.emplace_back(std::make_unique<ArrowArray>());
        const type_id id = type_of(schema).id;
        // Most numbers are right, so that the check gets past the first of them.
        a.length = lie() ? static_cast<std::int8_t>(byte()) % 20 : length;
        a.offset = lie() ? byte() % 8 : 0;
        a.null_count = lie() ? static_cast<std::int8_t>(byte()) : 0;
        a.release = lie() && byte() == 7 ? nullptr : released;
        const bool text = id == type_id::utf8 || id == type_id::binary || id == type_id::large_utf8;
        const bool nested = id == type_id::list || id == type_id::map;
        a.n_buffers = id == type_id::null_ ? 0 : id == type_id::struct_ ? 1 : text ? 3 : 2;
        if (lie()) a.n_buffers += static_cast<std::int8_t>(byte()) % 2;
        auto& pointers = *pointers_.emplace_back(std::make_unique<std::array<const void*, 4>>());
        pointers = {nullptr, values(text || nested), values(false), values(false)};
        if (lie()) pointers[0] = bits(a);
        if (lie() && byte() == 7) pointers[1] = nullptr;
        a.buffers = pointers.data();
        a.n_children = schema.n_children;
        auto& children = *children_.emplace_back(std::make_unique<std::vector<ArrowArray*>>());
        for (std::int64_t i = 0; i < schema.n_children; ++i)
            children.push_back(lie() && byte() == 7 ? nullptr
                                                    : make(*schema.children[i], nested ? length * 2 : length));
        a.children = children.data();
        if (lie() && byte() == 7) ++a.n_children, children.push_back(nullptr), a.children = children.data();
        return &a;
    }

  private:
    bool lie() { return byte() > 240; }

    // Offsets: small steps, now and then a wrong one, never past the buffers; other values: bytes.
    const void* values(bool offsets) {
        auto& memory = *memory_.emplace_back(std::make_unique<block>());
        if (!offsets) {
            for (std::uint8_t& b : memory.bytes) b = byte() % 2 ? 'a' : byte();
            return memory.bytes.data();
        }
        std::int32_t at = 0;
        for (std::size_t i = 0; i < memory.bytes.size() / 4; ++i) {
            at = lie() ? static_cast<std::int8_t>(byte()) : std::min<std::int32_t>(at + byte() % 3, 2 * most);
            std::memcpy(memory.bytes.data() + i * 4, &at, 4);
        }
        return memory.bytes.data();
    }

    const void* bits(ArrowArray& a) {
        auto& memory = *memory_.emplace_back(std::make_unique<block>());
        std::int64_t nulls = 0;
        for (std::uint8_t& b : memory.bytes) b = byte();
        for (std::int64_t i = a.offset; i < a.offset + a.length; ++i) nulls += !((memory.bytes[i / 8] >> (i % 8)) & 1);
        if (!lie()) a.null_count = nulls;
        return memory.bytes.data();
    }

    struct block {
        alignas(16) std::array<std::uint8_t, 200 * 16> bytes{};  // 200 decimals: lists of lists of 20 rows stay inside
    };

    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
    std::deque<std::unique_ptr<ArrowArray>> arrays_;
    std::deque<std::unique_ptr<block>> memory_;
    std::deque<std::unique_ptr<std::array<const void*, 4>>> pointers_;
    std::deque<std::unique_ptr<std::vector<ArrowArray*>>> children_;
};

constexpr std::string_view schemas[] = {
    "a BIGINT, b STRING NOT NULL",
    "a BOOLEAN, b DECIMAL(20,2), c DATE, d TIMESTAMP",
    "l ARRAY<STRING>, s STRUCT<x: BINARY, y: STRUCT<z: SMALLINT NOT NULL>>",
    "m MAP<STRING, ARRAY<INT>>, n VOID, f FLOAT, t TIMESTAMP_NTZ",
    "",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    array_maker maker(data, size);
    const arrow_schema schema = parse_ddl(schemas[maker.byte() % std::size(schemas)]);
    ArrowArray* array = maker.make(*schema.get(), maker.byte() % 20);
    try {
        check_array(*schema.get(), *array, "fuzz");
    } catch (const failure&) {
        return 0;
    }
    std::vector<std::uint8_t> keep(static_cast<std::size_t>(array->length));
    for (std::uint8_t& k : keep) k = maker.byte() & 1;
    std::size_t kept = 0;
    std::vector<std::string> expected;
    for (std::int64_t row = 0; row < array->length; ++row) {
        std::string line;
        for (std::int64_t c = 0; c < schema.columns(); ++c)
            line += value_text(schema.column(c), *array->children[c], array->offset + row) + "|";
        if (!keep[static_cast<std::size_t>(row)]) continue;
        expected.push_back(line);
        ++kept;
    }
    memory_size(*schema.get(), *array);
    const arrow_array filtered = filter_rows(*schema.get(), *array, keep);
    check_array(*schema.get(), *filtered.get(), "filtered");
    if (static_cast<std::size_t>(filtered.rows()) != kept) __builtin_trap();
    for (std::int64_t row = 0; row < filtered.rows(); ++row) {
        std::string line;
        for (std::int64_t c = 0; c < schema.columns(); ++c)
            line += value_text(schema.column(c), *filtered.get()->children[c], row) + "|";
        if (line != expected[static_cast<std::size_t>(row)]) __builtin_trap();
    }
    return 0;
}

std::vector<std::string> lakeflow::host::fuzz_corpus() {
    std::vector<std::string> corpus;
    for (std::size_t s = 0; s < std::size(schemas); ++s)
        for (const int pattern : {0, 1, 2, 97}) {
            std::string input(4000, '\0');
            for (std::size_t i = 0; i < input.size(); ++i)
                input[i] = static_cast<char>(i * static_cast<std::size_t>(pattern) % 239);
            input[0] = static_cast<char>(s);
            input[1] = 17;
            corpus.push_back(input);
        }
    return corpus;
}

std::vector<std::string> lakeflow::host::fuzz_words() {
    return {std::string("\xff\x05", 2), std::string("\xff\x07", 2), std::string("\xff\xff", 2),
            std::string("\xfe\x00\x00", 3)};
}
