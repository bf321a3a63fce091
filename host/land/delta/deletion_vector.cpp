// host/land/delta/deletion_vector.cpp: see deletion_vector.h.
#include "host/land/delta/deletion_vector.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <fstream>
#include <iterator>

#include "host/arrow/builder.h"
#include "host/base/error.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::size_t uuid_digits = 20;  // 16 bytes in Z85
constexpr std::uint32_t array_magic = 1681511377;
constexpr std::uint32_t older_magic = 1681511376;  // of the protocol's inline example, in either order of bytes
constexpr std::uint32_t runs_cookie = 12347;
constexpr std::uint32_t plain_cookie = 12346;
constexpr std::size_t bitmap_bytes = 8192;
constexpr std::size_t largest_array = 4096;

[[noreturn]] void fail(const std::string& why) {
    throw failure("destination.corrupt", "a deletion vector " + why,
                  "the table was damaged by another program; restore the file or the table");
}

// Numbers of little-endian bytes, one after another.
class reader {
  public:
    explicit reader(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t number(std::size_t width) {
        const std::string_view from = take(width);
        std::uint64_t value = 0;
        for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(from[i]);
        return value;
    }
    std::string_view take(std::size_t count) {
        if (bytes_.size() < count) fail("ends too early");
        const std::string_view some = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return some;
    }

  private:
    std::string_view bytes_;
};

// One block of 65,536 numbers, of which `count` are set.
void read_container(reader& from, std::int64_t base, std::size_t count, bool runs, std::vector<std::int64_t>& to) {
    if (runs) {
        for (std::uint64_t n = from.number(2); n > 0; --n) {
            const auto first = static_cast<std::int64_t>(from.number(2));
            const auto more = static_cast<std::int64_t>(from.number(2));
            if (first + more > 0xffff) fail("has a run past its block");
            for (std::int64_t i = first; i <= first + more; ++i) to.push_back(base + i);
        }
    } else if (count <= largest_array) {
        for (std::size_t i = 0; i < count; ++i) to.push_back(base + static_cast<std::int64_t>(from.number(2)));
    } else {
        const std::string_view bits = from.take(bitmap_bytes);
        for (std::size_t i = 0; i < bitmap_bytes; ++i) {
            for (unsigned byte = static_cast<unsigned char>(bits[i]), bit = 0; byte != 0; byte >>= 1, ++bit) {
                if (byte & 1) to.push_back(base + static_cast<std::int64_t>(i * 8 + bit));
            }
        }
    }
}

// A RoaringBitmap of 32-bit numbers in its portable form.
void read_bucket(reader& from, std::int64_t base, std::vector<std::int64_t>& to) {
    const auto cookie = static_cast<std::uint32_t>(from.number(4));
    const bool has_runs = (cookie & 0xffff) == runs_cookie;
    if (!has_runs && cookie != plain_cookie) fail("is no RoaringBitmap");
    const std::size_t count = has_runs ? (cookie >> 16) + 1 : from.number(4);
    if (count > 0x10000) fail("has more blocks than there are");
    const std::string_view runs = has_runs ? from.take((count + 7) / 8) : std::string_view();
    const auto is_runs = [&](std::size_t i) {
        return has_runs && (static_cast<unsigned char>(runs[i / 8]) >> (i % 8) & 1) != 0;
    };
    struct block {
        std::int64_t base;
        std::size_t count;
    };
    std::vector<block> blocks;
    for (std::size_t i = 0; i < count; ++i) {
        const auto high = static_cast<std::int64_t>(from.number(2));
        blocks.push_back({base | high << 16, static_cast<std::size_t>(from.number(2)) + 1});
    }
    // Where each block begins, which is known here: they follow one another.
    if (!has_runs || count >= 4) from.take(count * 4);
    for (std::size_t i = 0; i < count; ++i) read_container(from, blocks[i].base, blocks[i].count, is_runs(i), to);
}

std::uint32_t big_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

// The bytes of a file that need not lie in the table's folder.
std::string absolute_file(store& files, std::string path) {
    if (path.starts_with("file:")) {
        path.erase(0, 5);
        while (path.starts_with("//")) path.erase(0, 1);
    }
    if (path.find("://") != std::string::npos || !path.starts_with("/")) {
        throw failure("destination.unsupported_table",
                      "a deletion vector lies in " + path + ", where this host does not read",
                      "run REORG TABLE ... APPLY (PURGE), or copy the table in full");
    }
    path = "/" + file_of(path.substr(1));  // percent-encoded, as a path of the log
    const std::string root = files.path("") + "/";
    if (path.starts_with(root)) {
        if (auto bytes = files.get(path.substr(root.size()))) return std::move(*bytes);
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) fail("has no file " + path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The bitmap of one vector from the bytes of its file, its checksum checked.
std::string bitmap_of(const std::string& file, const deletion_vector& vector) {
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(vector.offset, 0));
    const auto size = static_cast<std::size_t>(vector.size);
    if (file.empty() || file[0] != 1) fail("has a file of an unknown format");
    if (vector.size < 0 || at > file.size() || file.size() - at < size || file.size() - at - size < 8)
        fail("ends too early");
    if (big_endian(std::string_view(file).substr(at)) != size) fail("has another size than the log says");
    std::string bytes = file.substr(at + 4, size);
    boost::crc_32_type sum;
    sum.process_bytes(bytes.data(), bytes.size());
    if (sum.checksum() != big_endian(std::string_view(file).substr(at + 4 + size))) fail("has a wrong checksum");
    return bytes;
}

class vector_rows final : public duck::batch_source {
  public:
    vector_rows(std::int64_t file, std::vector<std::int64_t> rows) : file_(file), rows_(std::move(rows)) {}

    static std::shared_ptr<const arrow_schema> schema() {
        static const auto made = std::make_shared<const arrow_schema>(parse_ddl("f BIGINT, rn BIGINT"));
        return made;
    }
    bool next(record_batch& out) override {
        if (at_ == rows_.size()) return false;
        auto batch = make_table(*schema()->get());
        for (std::size_t n = 0; n < 2048 && at_ < rows_.size(); ++n, ++at_) {
            static_cast<fixed_column<std::int64_t>&>(batch->child(0)).append(file_);
            static_cast<fixed_column<std::int64_t>&>(batch->child(1)).append(rows_[at_]);
            batch->end_value();
        }
        out.schema = schema();
        out.array = batch->finish();
        return true;
    }

  private:
    std::int64_t file_;
    std::vector<std::int64_t> rows_;
    std::size_t at_ = 0;
};

}  // namespace

std::string decode_z85(std::string_view text) {
    static constexpr std::string_view digits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    if (text.size() % 5 != 0) fail("is spelt in a number of characters that is no multiple of five");
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 5) {
        std::uint64_t value = 0;
        for (const char c : text.substr(i, 5)) {
            const auto digit = digits.find(c);
            if (digit == std::string_view::npos) fail(std::string("is spelt with a '") + c + "'");
            value = value * 85 + digit;
        }
        if (value > 0xffffffff) fail("is spelt with a number that is too great");
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    }
    return bytes;
}

std::string file_of(const deletion_vector& vector) {
    if (vector.place.size() < uuid_digits) fail("has a name that is too short");
    const std::string prefix = vector.place.substr(0, vector.place.size() - uuid_digits);
    std::string uuid;
    for (const char c : decode_z85(std::string_view(vector.place).substr(prefix.size()))) {
        static constexpr std::string_view hex = "0123456789abcdef";
        if (uuid.size() == 8 || uuid.size() == 13 || uuid.size() == 18 || uuid.size() == 23) uuid += '-';
        uuid += hex[static_cast<unsigned char>(c) >> 4];
        uuid += hex[static_cast<unsigned char>(c) & 15];
    }
    return (prefix.empty() ? "" : prefix + "/") + "deletion_vector_" + uuid + ".bin";
}

std::vector<std::int64_t> parse_bitmap(std::string_view bytes) {
    reader from(bytes);
    const std::uint64_t magic = from.number(4);
    const bool reversed = bytes.size() >= 4 && big_endian(bytes) == older_magic;
    if (magic == older_magic || reversed) {
        // One bucket after another, each with its size before it.
        const auto word = [&] { return reversed ? big_endian(from.take(4)) : from.number(4); };
        std::vector<std::int64_t> rows;
        const std::uint64_t buckets = word();
        for (std::uint64_t key = 0; key < buckets && key <= 0x7fffffff; ++key) {
            reader bucket(from.take(word()));
            read_bucket(bucket, static_cast<std::int64_t>(key << 32), rows);
        }
        if (!std::is_sorted(rows.begin(), rows.end())) fail("has rows out of order");
        return rows;
    }
    if (magic != array_magic) fail("is in a format that this host does not know");
    std::vector<std::int64_t> rows;
    std::int64_t last = -1;
    for (std::uint64_t buckets = from.number(8); buckets > 0; --buckets) {
        const auto key = static_cast<std::int64_t>(from.number(4));
        if (key <= last || key > 0x7fffffff) fail("has buckets out of order");
        last = key;
        read_bucket(from, key << 32, rows);
    }
    if (!std::is_sorted(rows.begin(), rows.end())) fail("has rows out of order");
    return rows;
}

std::vector<std::int64_t> read_vector(store& files, const deletion_vector& vector, const std::string& file) {
    try {
        std::string bytes;
        if (vector.storage == "i") {
            bytes = decode_z85(vector.place);
            if (vector.size < 0 || bytes.size() < static_cast<std::size_t>(vector.size)) fail("ends too early");
            bytes.resize(static_cast<std::size_t>(vector.size));
        } else if (vector.storage == "u") {
            const std::string name = file_of(vector);
            const std::optional<std::string> whole = files.get(name);
            if (!whole) fail("has no file " + name);
            bytes = bitmap_of(*whole, vector);
        } else if (vector.storage == "p") {
            bytes = bitmap_of(absolute_file(files, vector.place), vector);
        } else {
            fail("is stored in a way that this host does not know: " + vector.storage);
        }
        std::vector<std::int64_t> rows = parse_bitmap(bytes);
        if (static_cast<std::int64_t>(rows.size()) != vector.rows) {
            fail("takes out " + std::to_string(rows.size()) + " rows, and the log says " + std::to_string(vector.rows));
        }
        return rows;
    } catch (const failure& f) {
        const error& e = f.get();
        throw failure(e.code, "data file " + file + ": " + e.message, e.hint, e.retry);
    }
}

std::int64_t gone_rows::number(const add_file& file) {
    const std::string name = file.path + "\n" + file.vector.id();
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    const auto number = static_cast<std::int64_t>(numbers_.size());
    const auto rows = std::make_shared<vector_rows>(number, read_vector(files_, file.vector, file.path));
    if (number == 0) connection_.run("CREATE OR REPLACE TEMP TABLE lf_gone (f BIGINT, rn BIGINT)");
    const duck::scan scan = connection_.add_scan(vector_rows::schema(), rows);
    connection_.run("INSERT INTO lf_gone SELECT f, rn FROM " + scan.sql());
    numbers_.emplace(name, number);
    return number;
}

}  // namespace lakeflow::host::delta
