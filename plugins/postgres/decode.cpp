// plugins/postgres/decode.cpp: see decode.hpp.
#include "decode.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace lakeflow::postgres {
namespace {

using wide = detail::wide_integer;

// Days and microseconds from 1970-01-01, the origin of Arrow, to 2000-01-01, the server's.
constexpr std::int32_t epoch_days = 10957;
constexpr std::int64_t epoch_us = std::int64_t{epoch_days} * 86'400'000'000;

failure misfit(std::string_view value, std::string_view type, std::string_view hint) {
    return {retry::permanent, "'" + std::string(value) + "' is no " + std::string(type), std::string(hint),
            "value.mismatch"};
}
constexpr std::string_view finite_hint = "non_finite = \"null\" lands null for it; a query can cast it to text";

template <class T>
T number(std::string_view bytes, size_t at = 0) {
    if (bytes.size() < at + sizeof(T)) throw protocol("a value of the server is cut short");
    std::make_unsigned_t<T> out = 0;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    if constexpr (sizeof(T) == 2) out = __builtin_bswap16(out);
    if constexpr (sizeof(T) == 4) out = __builtin_bswap32(out);
    if constexpr (sizeof(T) == 8) out = __builtin_bswap64(out);
    return static_cast<T>(out);
}

template <class T>
T exact(std::string_view bytes) {
    if (bytes.size() != sizeof(T))
        throw protocol("a value of the server has " + std::to_string(bytes.size()) + " bytes");
    return number<T>(bytes);
}

// numeric: digits to the base of 10,000 from the weight downwards, and how many decimal places are shown.
struct numeric_value {
    std::int16_t digits = 0, weight = 0, scale = 0;
    std::uint16_t sign = 0;
    std::string_view bytes;

    explicit numeric_value(std::string_view from)
        : digits(number<std::int16_t>(from, 0)),
          weight(number<std::int16_t>(from, 2)),
          scale(number<std::int16_t>(from, 6)),
          sign(number<std::uint16_t>(from, 4)),
          bytes(from) {
        if (digits < 0 || from.size() != 8 + 2 * static_cast<size_t>(digits))
            throw protocol("a numeric of the server is cut short");
    }
    bool negative() const { return sign == 0x4000; }
    // "NaN", "Infinity", "-Infinity"; empty for a number.
    std::string_view special() const {
        return sign == 0xC000 ? "NaN" : sign == 0xD000 ? "Infinity" : sign == 0xF000 ? "-Infinity" : "";
    }
    // The digit of 10,000^place; 0 where none is stored.
    int at(int place) const {
        int index = weight - place;
        return index < 0 || index >= digits ? 0 : number<std::int16_t>(bytes, 8 + 2 * static_cast<size_t>(index));
    }
    std::string text() const {
        if (!special().empty()) return std::string(special());
        std::string out = negative() ? "-" : "";
        if (weight < 0) out += '0';
        for (int place = weight; place >= 0; --place) put(out, at(place), place == weight);
        if (scale <= 0) return out;
        out += '.';
        size_t end = out.size() + static_cast<size_t>(scale);
        for (int place = -1; out.size() < end; --place) put(out, at(place), false);
        out.resize(end);
        return out;
    }
    // The digits as an integer of so many decimal places; false if they do not fit.
    bool unscaled(int places, int precision, wide& out) const {
        out = 0;
        int last = -((places + 3) / 4);
        for (int place = weight - digits + 1; place < last; ++place) {
            if (at(place) != 0) return false;
        }
        if (digits > 0 && weight > 9) return false;
        for (int place = weight; place >= last; --place) {
            // Whole groups of four digits, but for the last one, which may reach past the scale.
            int cut = place == last ? -last * 4 - places : 0;
            static constexpr int powers[] = {10000, 1000, 100, 10};
            static constexpr int rests[] = {1, 10, 100, 1000};
            int digit = at(place);
            if (digit % rests[cut] != 0) return false;
            if (__builtin_mul_overflow(out, static_cast<wide>(powers[cut]), &out) ||
                __builtin_add_overflow(out, static_cast<wide>(digit / rests[cut]), &out)) {
                return false;
            }
        }
        static const std::array<wide, 39> limits = [] {
            std::array<wide, 39> made{};
            wide power = 1;
            for (wide& one : made) {
                one = power;
                if (&one != &made.back()) power *= 10;
            }
            return made;
        }();
        if (out >= limits[static_cast<size_t>(precision)]) return false;
        if (negative()) out = -out;
        return true;
    }

  private:
    static void put(std::string& out, int digit, bool leading) {
        std::string text = std::to_string(digit);
        if (!leading) out.append(4 - text.size(), '0');
        out += text;
    }
};

std::string uuid_text(std::string_view bytes) {
    if (bytes.size() != 16) throw protocol("a uuid of the server has " + std::to_string(bytes.size()) + " bytes");
    static constexpr char hex[] = "0123456789abcdef";
    std::string out;
    for (size_t i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
        auto byte = static_cast<unsigned char>(bytes[i]);
        out += hex[byte >> 4];
        out += hex[byte & 15];
    }
    return out;
}

std::string time_text(std::int64_t us) {
    if (us < 0 || us > 86'400'000'000) throw protocol("a time of the server lies outside the day");
    auto two = [](std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
    std::int64_t seconds = us / 1'000'000, micro = us % 1'000'000;
    std::string out = two(seconds / 3600) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
    if (micro == 0) return out;
    std::string digits = std::to_string(1'000'000 + micro).substr(1);
    while (digits.back() == '0') digits.pop_back();
    return out + "." + digits;
}

// Microseconds since 1970; infinity and what lies past 64 bits (the year 294,247) is a mismatch.
std::int64_t instant(std::string_view bytes, std::string_view type) {
    auto value = exact<std::int64_t>(bytes);
    if (value == std::numeric_limits<std::int64_t>::max()) throw misfit("infinity", type, finite_hint);
    if (value == std::numeric_limits<std::int64_t>::min()) throw misfit("-infinity", type, finite_hint);
    if (__builtin_add_overflow(value, epoch_us, &value))
        throw misfit("an instant after the year 294246", type, "cast it to text in a query");
    return value;
}

std::int32_t day(std::string_view bytes) {
    auto value = exact<std::int32_t>(bytes);
    if (value == std::numeric_limits<std::int32_t>::max()) throw misfit("infinity", "DATE", finite_hint);
    if (value == std::numeric_limits<std::int32_t>::min()) throw misfit("-infinity", "DATE", finite_hint);
    if (__builtin_add_overflow(value, epoch_days, &value))
        throw misfit("a date past 32 bits of days", "DATE", "cast it to text in a query");
    return value;
}

std::string_view jsonb_text(std::string_view bytes) {
    if (bytes.empty() || bytes[0] != 1) throw protocol("jsonb of a version that is not known");
    return bytes.substr(1);
}

std::string_view unpadded(std::string_view bytes) {
    size_t end = bytes.find_last_not_of(' ');
    return bytes.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

void decode_array(const value_plan& plan, std::string_view bytes, column_builder& out) {
    auto dimensions = number<std::int32_t>(bytes, 0);
    if (dimensions > 1) {
        throw misfit("an array of " + std::to_string(dimensions) + " dimensions", "list",
                     "arrays = \"json\" lands all arrays of the table as JSON text");
    }
    if (dimensions == 1) {
        auto length = number<std::int32_t>(bytes, 12);
        size_t at = 20;
        for (std::int32_t i = 0; i < length; ++i) {
            auto size = number<std::int32_t>(bytes, at);
            at += 4;
            if (size < 0) {
                out.item().append_null();
                continue;
            }
            if (bytes.size() - at < static_cast<size_t>(size)) throw protocol("an array of the server is cut short");
            decode_value(plan.element.at(0), bytes.substr(at, static_cast<size_t>(size)), out.item());
            at += static_cast<size_t>(size);
        }
    }
    out.end();
}

}  // namespace

void decode_value(const value_plan& plan, std::string_view bytes, column_builder& out) {
    switch (plan.form) {
        case wire::boolean: return out.append(exact<std::uint8_t>(bytes) != 0);
        case wire::int2: return out.append(exact<std::int16_t>(bytes));
        case wire::int4: return out.append(exact<std::int32_t>(bytes));
        case wire::int8: return out.append(exact<std::int64_t>(bytes));
        case wire::float4: return out.append(static_cast<double>(std::bit_cast<float>(exact<std::uint32_t>(bytes))));
        case wire::float8: return out.append(std::bit_cast<double>(exact<std::uint64_t>(bytes)));
        case wire::decimal: {
            numeric_value value(bytes);
            if (!value.special().empty()) throw misfit(value.special(), plan.type().ddl(), finite_hint);
            wide digits = 0;
            if (!value.unscaled(plan.scale, plan.precision, digits)) throw misfit(value.text(), plan.type().ddl(), "");
            return out.append_unscaled(digits);
        }
        case wire::numeric_text: return out.append(numeric_value(bytes).text());
        case wire::text: return out.append(bytes);
        case wire::padded_text: return out.append(unpadded(bytes));
        case wire::jsonb: return out.append(jsonb_text(bytes));
        case wire::bytea: return out.append(bytes);
        case wire::uuid: return out.append(uuid_text(bytes));
        case wire::date: return out.append(day(bytes));
        case wire::time: return out.append(time_text(exact<std::int64_t>(bytes)));
        case wire::timestamp: return out.append(instant(bytes, "TIMESTAMP_NTZ"));
        case wire::timestamptz: return out.append(instant(bytes, "TIMESTAMP"));
        case wire::array: return decode_array(plan, bytes, out);
    }
}

std::string show_value(const value_plan& plan, std::string_view bytes) {
    switch (plan.form) {
        case wire::int2: return std::to_string(exact<std::int16_t>(bytes));
        case wire::int4: return std::to_string(exact<std::int32_t>(bytes));
        case wire::int8: return std::to_string(exact<std::int64_t>(bytes));
        case wire::decimal:
        case wire::numeric_text: return numeric_value(bytes).text();
        case wire::text:
        case wire::padded_text: return std::string(bytes.substr(0, 100));
        case wire::uuid: return uuid_text(bytes);
        default: return "?";
    }
}

copy_decoder::copy_decoder(const relation& table, std::vector<column_plan> columns)
    : table_(table.name), keys_(table.keys), columns_(std::move(columns)), fields_(columns_.size()) {}

void copy_decoder::take(std::string_view message, batch_builder& out) {
    if (!begun_) {
        static constexpr std::string_view signature("PGCOPY\n\377\r\n\0", 11);
        if (!message.starts_with(signature)) throw protocol("the server's copy has no header");
        if (number<std::uint32_t>(message, 11) >> 16 != 0)
            throw protocol("the server's copy is of a form that is not known");
        size_t more = number<std::uint32_t>(message, 15);
        if (message.size() - 19 < more) throw protocol("the header of the server's copy is cut short");
        message.remove_prefix(19 + more);
        begun_ = true;
    }
    if (!message.empty()) row(message, out);
}

void copy_decoder::row(std::string_view bytes, batch_builder& out) {
    if (ended_) throw protocol("the server's copy goes on after its end");
    auto count = number<std::int16_t>(bytes);
    if (count == -1) {
        ended_ = true;
        return;
    }
    if (count < 0 || static_cast<size_t>(count) != columns_.size()) {
        throw protocol("the server's copy has " + std::to_string(count) + " columns instead of " +
                       std::to_string(columns_.size()));
    }
    size_t at = 2;
    for (std::string_view& field : fields_) {
        auto size = number<std::int32_t>(bytes, at);
        at += 4;
        if (size < 0) {
            field = {};
            continue;
        }
        if (bytes.size() - at < static_cast<size_t>(size)) throw protocol("a row of the server is cut short");
        field = std::string_view(bytes.data() + at, static_cast<size_t>(size));
        at += static_cast<size_t>(size);
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
        try {
            if (fields_[i].data() == nullptr) {
                out.at(i).append_null();
            } else {
                decode_value(columns_[i].value, fields_[i], out.at(i));
            }
        } catch (failure& error) {
            refuse(error, i);
        }
    }
    out.end_row();
}

void copy_decoder::refuse(failure& error, size_t column) {
    std::string key;
    for (const std::string& name : keys_) {
        for (size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].name != name || fields_[i].data() == nullptr) continue;
            key += (key.empty() ? " of the row " : ", ") + name + " = " + show_value(columns_[i].value, fields_[i]);
        }
    }
    throw error.in(table_ + ", column '" + columns_[column].name + "'" + key);
}

}  // namespace lakeflow::postgres
