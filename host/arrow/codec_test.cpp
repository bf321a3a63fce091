// host/arrow/codec_test.cpp: rows of every type come back as they went, sliced ones too; no cut or changed length is taken for rows.
#include "host/arrow/codec.h"

#include <boost/test/unit_test.hpp>

#include "host/arrow/builder.h"
#include "host/base/error.h"

using namespace lakeflow::host;

namespace {

constexpr auto every_type =
    "b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT NOT NULL, f FLOAT, d DOUBLE, m DECIMAL(20,3), x STRING, y "
    "BINARY, a DATE, "
    "u TIMESTAMP, z TIMESTAMP_NTZ, r ARRAY<STRING>, o STRUCT<p: BIGINT, q: ARRAY<INT>>, k MAP<STRING, BIGINT>, n VOID";

// Rows by their JSON, column by column: that is what must come back.
std::string shown(const ArrowSchema& schema, const ArrowArray& array) {
    std::string out;
    for (std::int64_t row = 0; row < array.length; ++row) {
        for (std::int64_t c = 0; c < schema.n_children; ++c)
            out += value_json(*schema.children[c], *array.children[c], array.offset + row) + " ";
        out += "\n";
    }
    return out;
}

void fill(column& to, const ArrowSchema& schema, std::int64_t row) {
    if (is_nullable(schema) && row % 5 == 3) return to.append_null();
    if (auto* c = dynamic_cast<struct_column*>(&to)) {
        for (std::size_t i = 0; i < c->size(); ++i)
            fill(c->child(i), *schema.children[i], row + static_cast<std::int64_t>(i));
        return c->end_value();
    }
    if (auto* c = dynamic_cast<list_column*>(&to)) {
        for (std::int64_t i = 0; i < row % 4; ++i) fill(c->child(), *schema.children[0], row + i);
        return c->end_value();
    }
    if (auto* c = dynamic_cast<bool_column*>(&to)) return c->append(row % 2 == 0);
    if (auto* c = dynamic_cast<fixed_column<std::int8_t>*>(&to)) return c->append(static_cast<std::int8_t>(row % 100));
    if (auto* c = dynamic_cast<fixed_column<std::int16_t>*>(&to)) return c->append(static_cast<std::int16_t>(row * 3));
    if (auto* c = dynamic_cast<fixed_column<std::int32_t>*>(&to)) return c->append(static_cast<std::int32_t>(row * 7));
    if (auto* c = dynamic_cast<fixed_column<std::int64_t>*>(&to)) return c->append(row * 1'000'003);
    if (auto* c = dynamic_cast<fixed_column<float>*>(&to)) return c->append(static_cast<float>(row) / 4);
    if (auto* c = dynamic_cast<fixed_column<double>*>(&to)) return c->append(static_cast<double>(row) / 8);
    if (auto* c = dynamic_cast<fixed_column<int128>*>(&to)) return c->append(int128{row} * 1'000'003);
    if (auto* c = dynamic_cast<text_column*>(&to))
        return c->append(std::string(static_cast<std::size_t>(row % 9), 'x') + "é");
    to.append_empty();
}

arrow_array rows_of(const ArrowSchema& schema, std::int64_t count) {
    auto table = make_table(schema);
    for (std::int64_t row = 0; row < count; ++row) {
        for (std::size_t c = 0; c < table->size(); ++c) fill(table->child(c), *schema.children[c], row);
        table->end_value();
    }
    return table->finish();
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_of_every_type_come_back) {
    const auto schema = parse_ddl(every_type);
    for (const std::int64_t count : {0, 1, 8, 200}) {
        const auto rows = rows_of(*schema.get(), count);
        std::string bytes;
        encode_rows(*schema.get(), *rows.get(), bytes);
        const auto back = decode_rows(*schema.get(), bytes, "a test");
        BOOST_TEST(shown(*schema.get(), *back.get()) == shown(*schema.get(), *rows.get()));
    }
}

// A plugin may give a slice of a larger batch: only its rows are kept.
BOOST_AUTO_TEST_CASE(a_slice_is_kept_alone) {
    const auto schema = parse_ddl(every_type);
    auto rows = rows_of(*schema.get(), 100);
    rows.get()->offset = 37;
    rows.get()->length = 11;
    std::string bytes;
    encode_rows(*schema.get(), *rows.get(), bytes);
    const auto back = decode_rows(*schema.get(), bytes, "a test");
    BOOST_TEST(back.rows() == 11);
    BOOST_TEST(shown(*schema.get(), *back.get()) == shown(*schema.get(), *rows.get()));
    rows.get()->offset = 0;
    rows.get()->length = 100;
}

BOOST_AUTO_TEST_CASE(what_is_cut_or_of_another_schema_is_refused) {
    const auto schema = parse_ddl(every_type);
    std::string bytes;
    encode_rows(*schema.get(), *rows_of(*schema.get(), 9).get(), bytes);
    const auto refused = [](const ArrowSchema& as, std::string_view what) {
        BOOST_CHECK_EXCEPTION(decode_rows(as, what, "a test"), failure,
                              [](const failure& f) { return f.get().code == "state.corrupt"; });
    };
    for (std::size_t size = 0; size < bytes.size(); ++size)
        refused(*schema.get(), std::string_view(bytes).substr(0, size));
    refused(*schema.get(), bytes + "x");
    refused(*parse_ddl("b BIGINT").get(), bytes);
    auto longer = bytes;
    longer[1] = 10;  // the length of the whole
    refused(*schema.get(), longer);
}
