// host/stream/gate_test.cpp: rows weighed against limit and start, by column type and form, sliced and with nulls; keys and schema.
#include "host/stream/gate.h"

#include <boost/test/unit_test.hpp>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/base/time.h"

using namespace lakeflow::host;

namespace {

struct form_case {
    const char* type;
    cursor_form form;
};
constexpr form_case forms[] = {
    {"TINYINT", cursor_form::integer},   {"SMALLINT", cursor_form::integer}, {"INT", cursor_form::epoch_s},
    {"BIGINT", cursor_form::integer},    {"BIGINT", cursor_form::epoch_ms},  {"TIMESTAMP", cursor_form::rfc3339},
    {"TIMESTAMP", cursor_form::epoch_s}, {"STRING", cursor_form::rfc3339},   {"STRING", cursor_form::text}};

// Row i has cursor i; every seventh is null.
arrow_array rows_of(const ArrowSchema& schema, std::int64_t count, cursor_form form) {
    auto table = make_table(schema);
    for (std::int64_t i = 0; i < count; ++i) {
        auto& to = table->child(0);
        if (i % 7 == 6) {
            to.append_null();
        } else if (auto* tiny = dynamic_cast<fixed_column<std::int8_t>*>(&to)) {
            tiny->append(static_cast<std::int8_t>(i));
        } else if (auto* small = dynamic_cast<fixed_column<std::int16_t>*>(&to)) {
            small->append(static_cast<std::int16_t>(i));
        } else if (auto* middle = dynamic_cast<fixed_column<std::int32_t>*>(&to)) {
            middle->append(static_cast<std::int32_t>(i));
        } else if (auto* wide = dynamic_cast<fixed_column<std::int64_t>*>(&to)) {
            wide->append(i);
        } else if (auto* text = dynamic_cast<text_column*>(&to)) {
            text->append(form == cursor_form::rfc3339 ? format_rfc3339(i) : std::string(1, static_cast<char>('!' + i)));
        }
        table->end_value();
    }
    return table->finish();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gates)

// Against the row by row comparison, which knows no short cut.
BOOST_AUTO_TEST_CASE(rows_are_weighed_as_their_values_compare) {
    for (const auto& [type, form] : forms) {
        const auto schema = parse_ddl("c " + std::string(type));
        const auto cursor = cursor_column::make(*schema.get(), "c", form);
        BOOST_REQUIRE(cursor.has_value());
        auto rows = rows_of(*schema.get(), 90, form);
        for (const auto& slice : {std::pair{0, 90}, {13, 40}, {89, 1}, {90, 0}}) {
            const std::int64_t first = slice.first;
            const std::int64_t count = slice.second;
            rows.get()->offset = first;
            rows.get()->length = count;
            const auto value = [&](std::int64_t row) {
                return row < 0 ? std::nullopt : cursor->at(*rows.get(), row - first);
            };
            for (const std::int64_t limit : {-1, 5, 20, 40}) {
                for (const std::int64_t start : {-1, 0, 3, 30}) {
                    const auto at_limit = limit >= first && limit < first + count ? value(limit) : std::nullopt;
                    const auto at_start = start >= first && start < first + count ? value(start) : std::nullopt;
                    const auto out = cursor->weigh(*rows.get(), at_limit, at_start);
                    std::int64_t above = 0;
                    std::int64_t again = 0;
                    std::optional<cursor_value> highest;
                    for (std::int64_t row = 0; row < count; ++row) {
                        const auto v = cursor->at(*rows.get(), row);
                        const bool over = v && at_limit && *v > *at_limit;
                        BOOST_TEST((out.keep.empty() || (out.keep[static_cast<std::size_t>(row)] == 0) == over));
                        if (over) ++above;
                        if (!v || over) continue;
                        if (at_start && *v <= *at_start) ++again;
                        if (!highest || *v > *highest) highest = v;
                    }
                    BOOST_TEST(out.above == above, type << " from " << first);
                    BOOST_TEST(out.again == again, type << " from " << first);
                    BOOST_TEST((out.highest == highest), type << " from " << first);
                    BOOST_TEST((above > 0) == !out.keep.empty());
                }
            }
        }
        rows.get()->offset = 0;
        rows.get()->length = 90;
    }
}

// Seconds that do not fit into microseconds are no cursor, and no overflow.
BOOST_AUTO_TEST_CASE(a_number_past_the_clock_is_no_cursor) {
    const auto schema = parse_ddl("c BIGINT");
    auto table = make_table(*schema.get());
    for (const std::int64_t value : {std::int64_t{7}, std::int64_t{1} << 62}) {
        dynamic_cast<fixed_column<std::int64_t>&>(table->child(0)).append(value);
        table->end_value();
    }
    const auto rows = table->finish();
    const auto cursor = cursor_column::make(*schema.get(), "c", cursor_form::epoch_s);
    const auto out = cursor->weigh(*rows.get(), cursor_value(std::int64_t{8'000'000}), std::nullopt);
    BOOST_TEST(out.above == 0);
    BOOST_TEST((out.highest == cursor_value(std::int64_t{7'000'000})));
}

BOOST_AUTO_TEST_CASE(a_column_and_a_form_that_do_not_fit_are_not_compared) {
    const auto schema = parse_ddl("c DOUBLE, t TIMESTAMP_NTZ, s STRING");
    BOOST_TEST(!cursor_column::make(*schema.get(), "c", cursor_form::integer).has_value());
    BOOST_TEST(!cursor_column::make(*schema.get(), "t", cursor_form::rfc3339).has_value());
    BOOST_TEST(!cursor_column::make(*schema.get(), "s", cursor_form::integer).has_value());
    BOOST_TEST(!cursor_column::make(*schema.get(), "absent", cursor_form::text).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
