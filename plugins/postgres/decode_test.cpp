// plugins/postgres/decode_test.cpp: the server's binary form, byte by byte, without a server.
#include "decode.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>

namespace lakeflow::postgres {
namespace {

using text = std::string;

text be(std::int64_t value, int bytes) {
    text out;
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    return out;
}

text numeric(std::vector<int> digits, int weight, int sign, int scale) {
    text out = be(static_cast<std::int64_t>(digits.size()), 2) + be(weight, 2) + be(sign, 2) + be(scale, 2);
    for (int digit : digits) out += be(digit, 2);
    return out;
}

value_plan decimal(int precision, int scale) { return {wire::decimal, precision, scale, {}}; }

// The unscaled value that lands; "mismatch" if none does.
text landed(const value_plan& plan, const text& bytes) {
    batch_builder rows(schema().add("x", plan.type()));
    try {
        decode_value(plan, bytes, rows.at(0));
    } catch (const failure& error) {
        return error.code() == "value.mismatch" ? "mismatch" : error.code();
    }
    rows.end_row();
    batch out = rows.finish();
    const ArrowArray& column = *out->children[0];
    if (plan.form == wire::decimal) {
        detail::wide_integer value = 0;
        std::memcpy(&value, column.buffers[1], sizeof value);
        text digits;
        bool negative = value < 0;
        for (auto rest = negative ? -value : value; rest != 0; rest /= 10)
            digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
        return (negative ? "-" : "") + (digits.empty() ? "0" : digits);
    }
    const auto* offsets = static_cast<const std::int32_t*>(column.buffers[1]);
    return text(static_cast<const char*>(column.buffers[2]), static_cast<size_t>(offsets[1]));
}

BOOST_AUTO_TEST_SUITE(decode)

BOOST_AUTO_TEST_CASE(numerics_are_exact_at_every_scale) {
    const text value = numeric({12, 3456, 7800}, 1, 0, 2);  // 123456.78
    BOOST_TEST(landed(decimal(10, 2), value) == "12345678");
    BOOST_TEST(landed(decimal(10, 4), value) == "1234567800");
    BOOST_TEST(landed(decimal(12, 5), value) == "12345678000");
    BOOST_TEST(landed(decimal(10, 1), value) == "mismatch");
    BOOST_TEST(landed(decimal(7, 2), value) == "mismatch");
    BOOST_TEST(landed({wire::numeric_text, 0, 0, {}}, value) == "123456.78");
    BOOST_TEST(landed(decimal(38, 38), numeric({1}, -1, 0x4000, 4)) == "-" + text("1") + text(34, '0'));
    BOOST_TEST(landed({wire::numeric_text, 0, 0, {}}, numeric({1}, -1, 0x4000, 6)) == "-0.000100");
    BOOST_TEST(landed({wire::numeric_text, 0, 0, {}}, numeric({}, 0, 0, 3)) == "0.000");
    BOOST_TEST(landed({wire::numeric_text, 0, 0, {}}, numeric({5}, 2, 0, 0)) == "500000000");
    BOOST_TEST(landed(decimal(5, 0), numeric({9990}, 0, 0, 0)) == "9990");
    BOOST_TEST(landed(decimal(38, 0), numeric({99, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999}, 9, 0, 0)) ==
               text(38, '9'));
    BOOST_TEST(landed(decimal(38, 0), numeric({100}, 9, 0, 0)) == "mismatch");
}

BOOST_AUTO_TEST_CASE(what_a_type_cannot_say_is_a_mismatch) {
    BOOST_TEST(landed(decimal(10, 2), numeric({}, 0, 0xC000, 0)) == "mismatch");
    BOOST_TEST(landed({wire::numeric_text, 0, 0, {}}, numeric({}, 0, 0xF000, 0)) == "-Infinity");
    BOOST_TEST(landed({wire::date, 0, 0, {}}, be(std::numeric_limits<std::int32_t>::max(), 4)) == "mismatch");
    BOOST_TEST(landed({wire::timestamptz, 0, 0, {}}, be(std::numeric_limits<std::int64_t>::min(), 8)) == "mismatch");
    BOOST_TEST(landed({wire::timestamp, 0, 0, {}}, be(9'223'371'331'199'999'999, 8)) == "mismatch");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_value_are_told) {
    BOOST_TEST(landed(decimal(10, 2), "abc") == "source.protocol");
    BOOST_TEST(landed(decimal(10, 2), be(5, 2) + be(0, 6)) == "source.protocol");
    BOOST_TEST(landed({wire::uuid, 0, 0, {}}, "short") == "source.protocol");
    BOOST_TEST(landed({wire::time, 0, 0, {}}, be(45'296'000'700, 8)) == "12:34:56.0007");
    BOOST_TEST(landed({wire::padded_text, 0, 0, {}}, "ab   ") == "ab");
}

BOOST_AUTO_TEST_CASE(a_copy_is_a_header_rows_and_a_trailer) {
    relation table;
    table.name = "public.t";
    table.keys = {"id"};
    column_plan id, at;
    id.name = "id", id.value.form = wire::int4;
    at.name = "at", at.value.form = wire::date;
    const text header("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    auto row = [](int key, const text& day) {
        return be(2, 2) + be(4, 4) + be(key, 4) + (day.empty() ? be(-1, 4) : be(4, 4) + day);
    };
    copy_decoder decoder(table, {id, at});
    batch_builder rows(schema().add("id", type::int32()).add("at", type::date()));
    decoder.take(header + row(1, be(0, 4)), rows);
    decoder.take(row(2, ""), rows);
    BOOST_TEST(rows.rows() == 2);
    try {
        decoder.take(row(3, be(std::numeric_limits<std::int32_t>::max(), 4)), rows);
        BOOST_ERROR("infinity was taken");
    } catch (const failure& error) {
        BOOST_TEST(error.message() == "public.t, column 'at' of the row id = 3: 'infinity' is no DATE");
    }
    rows.abandon_row();
    decoder.take(be(-1, 2), rows);
    BOOST_CHECK_THROW(decoder.take(row(4, ""), rows), failure);
    copy_decoder cut(table, {id, at});
    BOOST_CHECK_THROW(cut.take("PGCOPY", rows), failure);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::postgres
