// host/rows/decoder_test.cpp: the type rules of design section 5, one line a rule; each text is fed whole and in pieces.
#include "host/rows/rows_testing.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

struct value_case {
    const char* type;
    const char* json;
    const char* expected;  // the value's text, or "~" and a part of the message of a value.mismatch
    const char* rule = "";
};

const value_case cases[] = {
    // Integers: exact, or a mismatch.
    {"BIGINT", "7", "7"},
    {"BIGINT", "-7", "-7"},
    {"BIGINT", "-0", "0"},
    {"BIGINT", "7.0", "7"},
    {"BIGINT", "7E0", "7"},
    {"BIGINT", "7E+3", "7000"},
    {"BIGINT", "1.0e2", "100"},
    {"BIGINT", "1200e-2", "12"},
    {"BIGINT", "9007199254740993", "9007199254740993"},
    {"BIGINT", "9007199254740993.0", "9007199254740993"},
    {"BIGINT", "9223372036854775807", "9223372036854775807"},
    {"BIGINT", "-9223372036854775808", "-9223372036854775808"},
    {"BIGINT", "-9223372036854775808.000", "-9223372036854775808"},
    {"BIGINT", "9223372036854775808", "~9223372036854775808 is out of the range of BIGINT"},
    {"BIGINT", "-9223372036854775809", "~is out of the range of BIGINT"},
    {"BIGINT", "18446744073709551615", "~is out of the range of BIGINT"},
    {"BIGINT", "1e19", "~is out of the range of BIGINT"},
    {"BIGINT", "1e400", "~is out of the range of BIGINT"},
    {"BIGINT", "7.5", "~7.5 is not a whole number"},
    {"BIGINT", "1e-400", "~is not a whole number"},
    {"BIGINT", "\"7\"", "~\"7\" is a text, not BIGINT"},
    {"BIGINT", "true", "~true is no value of BIGINT"},
    {"BIGINT", "{}", "~an object is no value of BIGINT"},
    {"BIGINT", "[7]", "~an array is no value of BIGINT"},
    {"BIGINT", "null", "null"},
    {"TINYINT", "-128", "-128"},
    {"TINYINT", "128", "~out of the range of TINYINT"},
    {"SMALLINT", "32767", "32767"},
    {"SMALLINT", "40000", "~out of the range of SMALLINT"},
    {"INT", "-2147483648", "-2147483648"},
    {"INT", "2147483648", "~out of the range of INT"},
    {"INT", "1.099511627776e12", "~out of the range of INT"},
    // Decimals: precision and scale.
    {"DECIMAL(5,2)", "123.45", "123.45"},
    {"DECIMAL(5,2)", "123.450", "123.45"},
    {"DECIMAL(5,2)", "\"123.45\"", "123.45"},
    {"DECIMAL(5,2)", "1e2", "100.00"},
    {"DECIMAL(5,2)", "-0.01", "-0.01"},
    {"DECIMAL(5,2)", "123.456", "~digits past the scale"},
    {"DECIMAL(5,2)", "1234", "~too many digits for DECIMAL(5,2)"},
    {"DECIMAL(5,2)", "\"abc\"", "~\"abc\" is not a number"},
    {"DECIMAL(5,2)", "\"\"", "~is not a number"},
    {"DECIMAL(38,0)", "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
    {"DECIMAL(38,0)", "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"},
    {"DECIMAL(38,0)", "100000000000000000000000000000000000000", "~too many digits"},
    {"DECIMAL(5,2)", "true", "~true is no value of DECIMAL(5,2)"},
    // Floats.
    {"DOUBLE", "0.1", "0.1"},
    {"DOUBLE", "3", "3"},
    {"DOUBLE", "-0", "-0"},
    {"DOUBLE", "-0.0", "-0"},
    {"DOUBLE", "1.7976931348623157e308", "1.7976931348623157e+308"},
    {"DOUBLE", "4.9e-324", "5e-324"},
    {"DOUBLE", "123456789012345678", "123456789012345680"},
    {"DOUBLE", "0.30000000000000004", "0.30000000000000004"},
    {"DOUBLE", "5e-400", "0"},
    {"DOUBLE", "1e400", "~1e400 is out of the range of DOUBLE"},
    {"DOUBLE", "-1e309", "~out of the range of DOUBLE"},
    {"DOUBLE", "1e99999999999", "~out of every range"},
    {"DOUBLE", "\"1.5\"", "~is a text, not DOUBLE"},
    {"FLOAT", "1.5", "1.5"},
    {"FLOAT", "3.4028235e38", "3.4028235e+38"},
    {"FLOAT", "1e39", "~out of the range of FLOAT"},
    // Booleans: strict.
    {"BOOLEAN", "true", "true"},
    {"BOOLEAN", "false", "false"},
    {"BOOLEAN", "1", "~the number 1 is no value of BOOLEAN"},
    {"BOOLEAN", "\"true\"", "~is a text, not BOOLEAN"},
    // Text columns take every scalar as it was sent, and objects and arrays as compact JSON.
    {"STRING", "\"a\"", "a"},
    {"STRING", "\"\"", ""},
    {"STRING", "7.10", "7.10"},
    {"STRING", "1E+2", "1E+2"},
    {"STRING", "123456789012345678901234567890", "123456789012345678901234567890"},
    {"STRING", "true", "true"},
    {"STRING", "null", "null"},
    {"STRING", "\"\\u00e9\\n\\\"\\\\\\/\\ud83d\\ude00 \xC3\xA9\"", "\xC3\xA9\n\"\\/\xF0\x9F\x98\x80 \xC3\xA9"},
    {"STRING", "{}", "{}"},
    {"STRING", "[]", "[]"},
    {"STRING", " { \"b\" : [ 1.50 , null , true , { } ] , \"a\" : \"x\\u0001\\t\\\"\\/\" } ",
     "{\"b\":[1.50,null,true,{}],\"a\":\"x\\u0001\\t\\\"/\"}"},
    {"STRING", "[[[1],[]],{\"a\":{\"a\":1}}]", "[[[1],[]],{\"a\":{\"a\":1}}]"},
    {"STRING", "{\"a\":1,\"b\":{\"a\":2},\"a\":3}", "~the key \"a\" stands twice"},
    {"STRING", "\"x\"", "\"x\"", "{\"json\":true}"},
    {"STRING", "7.0", "7.0", "{\"json\":true}"},
    {"STRING", "null", "null", "{\"json\":true}"},
    {"STRING", "{\"a\":[1]}", "{\"a\":[1]}", "{\"json\":true}"},
    // Binary: base64.
    {"BINARY", "\"AAEC/w==\"", "AAEC/w=="},
    {"BINARY", "\"AAEC_w\"", "AAEC/w=="},
    {"BINARY", "\"\"", ""},
    {"BINARY", "\"AAEC/w=\"", "~is not base64"},
    {"BINARY", "\"A\"", "~is not base64"},
    {"BINARY", "\"AAEC/x==\"", "~is not base64"},
    {"BINARY", "\"A A=\"", "~is not base64"},
    {"BINARY", "7", "~the number 7 is no value of BINARY"},
    // Dates and instants.
    {"DATE", "\"2024-02-29\"", "2024-02-29"},
    {"DATE", "\"2023-02-29\"", "~is not a date"},
    {"DATE", "\"2024-02-29T00:00:00Z\"", "~is not a date"},
    {"DATE", "19000", "~is a number"},
    {"DATE", "\"2024-02-29\"", "2024-02-29", "{\"format\":\"date\"}"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00Z\"", "2026-03-01T10:00:00Z"},
    {"TIMESTAMP", "\"0001-01-01T00:00:00Z\"", "0001-01-01T00:00:00Z"},
    {"TIMESTAMP", "\"9999-12-31T23:59:59.999999Z\"", "9999-12-31T23:59:59.999999Z"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00.5+02:00\"", "2026-03-01T08:00:00.500Z"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00.123456000-08:00\"", "2026-03-01T18:00:00.123456Z"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00.1234567Z\"", "~microseconds at most"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00\"", "~has no zone"},
    {"TIMESTAMP", "\"2026-02-30T10:00:00Z\"", "~is not an RFC 3339 instant"},
    {"TIMESTAMP", "\"2026-02-28T24:00:00Z\"", "~is not an RFC 3339 instant"},
    {"TIMESTAMP", "\"2026-02-28X10:00:00Z\"", "~is not an RFC 3339 instant"},
    {"TIMESTAMP", "\"yesterday\"", "~\"yesterday\" is not an RFC 3339 instant"},
    {"TIMESTAMP", "1700000000", "~declares no unit"},
    {"TIMESTAMP", "true", "~true is no value of TIMESTAMP"},
    {"TIMESTAMP", "1700000000", "2023-11-14T22:13:20Z", "{\"format\":\"epoch_s\"}"},
    {"TIMESTAMP", "1700000000.123456", "2023-11-14T22:13:20.123456Z", "{\"format\":\"epoch_s\"}"},
    {"TIMESTAMP", "1.7e9", "2023-11-14T22:13:20Z", "{\"format\":\"epoch_s\"}"},
    {"TIMESTAMP", "-1", "1969-12-31T23:59:59Z", "{\"format\":\"epoch_s\"}"},
    {"TIMESTAMP", "1700000000123", "2023-11-14T22:13:20.123Z", "{\"format\":\"epoch_ms\"}"},
    {"TIMESTAMP", "1700000000123.5", "2023-11-14T22:13:20.123500Z", "{\"format\":\"epoch_ms\"}"},
    {"TIMESTAMP", "1700000000123456", "2023-11-14T22:13:20.123456Z", "{\"format\":\"epoch_us\"}"},
    {"TIMESTAMP", "1700000000123456.5", "~digits below a microsecond", "{\"format\":\"epoch_us\"}"},
    {"TIMESTAMP", "1e12", "~outside the years", "{\"format\":\"epoch_s\"}"},
    {"TIMESTAMP", "\"1700000000\"", "~the column's format is epoch_s", "{\"format\":\"epoch_s\"}"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00Z\"", "2026-03-01T10:00:00Z", "{\"format\":\"rfc3339\"}"},
    {"TIMESTAMP", "\"2026-03-01\"", "2026-03-01T00:00:00Z", "{\"format\":\"date\"}"},
    {"TIMESTAMP", "\"2026-03-01T10:00:00Z\"", "~is not a date", "{\"format\":\"date\"}"},
    {"TIMESTAMP_NTZ", "\"2026-03-01T10:00:00\"", "2026-03-01T10:00:00.000000"},
    {"TIMESTAMP_NTZ", "\"2026-03-01T10:00:00.25\"", "2026-03-01T10:00:00.250000"},
    {"TIMESTAMP_NTZ", "\"2026-03-01T10:00:00Z\"", "~has a zone"},
    {"TIMESTAMP_NTZ", "1700000000", "~is a number"},
    // Lists, structs, maps: {}, null, missing and null elements are kept apart.
    {"ARRAY<INT>", "[]", "[]"},
    {"ARRAY<INT>", "null", "null"},
    {"ARRAY<INT>", "[1,null,3]", "[1,null,3]"},
    {"ARRAY<ARRAY<STRING>>", "[[],null,[null,\"a\",{\"b\":1}]]", "[[],null,[null,\"a\",\"{\\\"b\\\":1}\"]]"},
    {"ARRAY<INT>", "7", "~the number 7 is no value of ARRAY<INT>"},
    {"ARRAY<INT>", "[1,\"a\"]", "~column v[]: \"a\" is a text"},
    {"STRUCT<a: INT, b: STRING>", "{}", "{\"a\":null,\"b\":null}"},
    {"STRUCT<a: INT, b: STRING>", "null", "null"},
    {"STRUCT<a: INT, b: STRING>", "{\"x\":[{}],\"b\":\"y\"}", "{\"a\":null,\"b\":\"y\"}"},
    {"STRUCT<a: INT, b: STRING>", "\"x\"", "~the text \"x\" is no value of STRUCT<a: INT, b: STRING>"},
    {"STRUCT<a: INT, b: STRING>", "[]", "~an array is no value of STRUCT"},
    {"STRUCT<a: INT, b: STRING>", "{\"a\":1,\"a\":2}", "~the key \"a\" stands twice"},
    {"STRUCT<a: INT, b: STRING>", "{\"x\":1,\"x\":2}", "~the key \"x\" stands twice"},
    {"STRUCT<a: STRUCT<b: ARRAY<STRUCT<c: INT>>>>", "{\"a\":{\"b\":[{\"c\":1},null,{},{\"c\":2}]}}",
     "{\"a\":{\"b\":[{\"c\":1},null,{\"c\":null},{\"c\":2}]}}"},
    {"ARRAY<STRUCT<n: STRING, i: INT>>", "[\"bug\",{\"n\":\"x\",\"i\":1},7,null]",
     "[{\"n\":\"bug\",\"i\":null},{\"n\":\"x\",\"i\":1},{\"n\":\"7\",\"i\":null},null]", "{\"scalar\":\"n\"}"},
    {"STRUCT<n: STRING, i: INT>", "true", "{\"n\":\"true\",\"i\":null}", "{\"scalar\":\"n\"}"},
    {"STRUCT<n: STRING, i: INT>", "\"x\"", "~\"x\" is a text, not INT", "{\"scalar\":\"i\"}"},
    {"MAP<STRING, INT>", "{}", "{}"},
    {"MAP<STRING, INT>", "null", "null"},
    {"MAP<STRING, INT>", "{\"a\":1,\"\":null,\"c\":3}", "{\"a\":1,\"\":null,\"c\":3}"},
    {"MAP<STRING, INT>", "{\"a\":1,\"b\":2,\"a\":3}", "~the key \"a\" stands twice"},
    {"MAP<STRING, MAP<STRING, ARRAY<INT>>>", "{\"a\":{\"a\":[1],\"b\":[]},\"b\":{\"a\":null}}",
     "{\"a\":{\"a\":[1],\"b\":[]},\"b\":{\"a\":null}}"},
    {"MAP<STRING, STRING>", "{\"a\":{\"x\":1},\"b\":2.50}", "{\"a\":\"{\\\"x\\\":1}\",\"b\":\"2.50\"}"},
    {"MAP<STRING, INT>", "[]", "~an array is no value of MAP<STRING, INT>"},
    {"VOID", "null", "null"},
    {"VOID", "1", "~the number 1 is no value of VOID"},
    {"ARRAY<TIMESTAMP>", "[0,1]", "[\"1970-01-01T00:00:00Z\",\"1970-01-01T00:00:01Z\"]", "{\"format\":\"epoch_s\"}"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(type_rules) {
    for (const value_case& c : cases) {
        const std::string got = decode_value(c.type, c.json, c.rule);
        const std::string_view expected = c.expected;
        if (expected.starts_with('~')) {
            BOOST_TEST(got.starts_with("value.mismatch: "), c.type << " from " << c.json << " gave " << got);
            BOOST_TEST(got.find(expected.substr(1)) != std::string::npos,
                       c.type << " from " << c.json << " gave " << got);
        } else {
            BOOST_TEST(got == expected, c.type << " from " << c.json << " gave " << got);
        }
    }
}

BOOST_AUTO_TEST_CASE(missing_members_are_null_and_refused_where_not_null) {
    const outcome o = decode_text("a INT, b STRING, c STRUCT<d: INT>", "", R"([{"b":"x"},{},{"a":1,"c":{}}])");
    BOOST_TEST(o.rows == (std::vector<std::string>{"null|x|null", "null|null|null", "1|null|{\"d\":null}"}),
               boost::test_tools::per_element());
    const outcome missing = decode_text("id BIGINT NOT NULL, b STRING", "", R"([{"id":1},{"b":"x"}])");
    BOOST_TEST(missing.code == "records.null_in_required");
    BOOST_TEST(missing.message == "rows, row 2: column id: a missing value is not allowed: the column is NOT NULL");
    const outcome null = decode_text("s STRUCT<d: INT NOT NULL>", "", R"([{"s":null},{"s":{"d":null}}])");
    BOOST_TEST(null.code == "records.null_in_required");
    BOOST_TEST(null.message == "rows, row 2: column s.d: null is not allowed: the column is NOT NULL");
    BOOST_TEST(decode_text("s STRUCT<d: INT NOT NULL>", "", R"([{"s":{}}])").code == "records.null_in_required");
    BOOST_TEST(decode_text("s STRUCT<d: INT NOT NULL>", "", R"([{"s":null},{}])").rows.size() == 2u);
}

BOOST_AUTO_TEST_CASE(keys_come_in_any_order_and_are_told_apart) {
    std::string text = "[";
    for (int i = 0; i < 50; ++i) {
        std::string row =
            i % 2 ? R"({"aa":1,"ab":2,"b\u0061":3,"unknown":{"aa":9}})" : R"({"ba":3,"zz":[1,{"ab":7}],"ab":2,"aa":1})";
        if (i % 7 == 0) row = "{\"new" + std::to_string(i) + "\":1,\"ab\":2,\"aa\":1,\"ba\":3,\"\":0}";
        text += (i ? "," : "") + row;
    }
    const outcome o = decode_text("ba INT, aa INT, ab INT", "", text + "]");
    BOOST_TEST(o.message == "");
    BOOST_TEST(o.rows == std::vector<std::string>(50, "3|1|2"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_found_whatever_it_is) {
    // More keys than a level remembers: the rest are looked for one object at a time.
    std::string many = "{\"id\":1";
    for (int i = 0; i < 3000; ++i) many += ",\"k" + std::to_string(i) + "\":" + std::to_string(i);
    BOOST_TEST(decode_text("id INT", "", "[" + many + "}," + many + "}]").rows.size() == 2u);
    const outcome o = decode_text("id INT", "", "[" + many + "}," + many + ",\"k2999\":1}]");
    BOOST_TEST(o.code == "value.mismatch");
    BOOST_TEST(o.message == "rows, row 2: the key \"k2999\" stands twice in one object");
    std::string map = "{";
    for (int i = 0; i < 100; ++i) map += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
    BOOST_TEST(decode_value("MAP<STRING, INT>", map + ",\"k\":1}").starts_with("{\"k0\":1"));
    BOOST_TEST(decode_value("MAP<STRING, INT>", map + ",\"k50\":1}").find("the key \"k50\" stands twice") !=
               std::string::npos);
    BOOST_TEST(decode_value("STRING", map + ",\"k50\":1}").find("the key \"k50\" stands twice") != std::string::npos);
    // On the way to the rows, and below what nobody asks for.
    BOOST_TEST(decode_text("id INT", R"({"records":"/a"})", R"({"a":[{"id":1}],"a":[{"id":1}]})").code ==
               "value.mismatch");
    BOOST_TEST(decode_text("id INT", "", R"([{"id":1,"x":{"y":1,"y":2}}])").rows.size() == 1u);
}

BOOST_AUTO_TEST_CASE(long_and_strange_texts) {
    const std::string body(256 * 1024, 'x');
    BOOST_TEST(decode_value("STRING", "\"" + body + "\"") == body);
    const outcome nul = decode_text("s STRING, m MAP<STRING, STRING>, j STRUCT<a: STRING>", "",
                                    R"([{"s":"a\u0000b","m":{"k\u0000":"\u0000"},"j":{"a":"\u0000"}}])");
    BOOST_TEST(nul.rows.at(0).substr(0, 4) == std::string("a\0b|", 4));
    const outcome cut = decode_text("v INT", "", "[{\"v\":\"" + std::string(99, 'a') + "\xC3\xA9" + "\"}]");
    BOOST_TEST(cut.message == "rows, row 1: column v: \"" + std::string(99, 'a') + "\".. is a text, not INT");
    BOOST_TEST(cut.hint.find("declare the column") != std::string::npos);
    BOOST_TEST(
        decode_text("`q\"x` INT, `a.b` INT, ` ` INT", "", R"([{"q\"x":1,"a.b":2," ":3,"a":{"b":4}}])").rows.at(0) ==
        "1|2|3");
}

BOOST_AUTO_TEST_CASE(messages_name_table_page_row_and_key) {
    auto flow = std::make_shared<flow_context>();
    flow->plugin = "github";
    flow->table = "issues";
    flow->key_columns = {"id", "repo"};
    lf_context context;
    context.flow = flow;
    context.cancelled = std::make_shared<cancel_token>();
    const std::string_view ddl = "id BIGINT NOT NULL, repo STRING, n INT";
    const std::string_view spec = R"({"context":{"number":7},"columns":{"repo":{"value":"arrow"}}})";
    const outcome o = decode_text(ddl, spec, R"([{"id":1,"n":1},{"id":42,"n":"many"}])", &context);
    BOOST_TEST(o.code == "value.mismatch");
    BOOST_TEST(o.message == "github.issues, page {\"number\":7}, row 2 (id 42): column n: \"many\" is a text, not INT");
    const outcome late = decode_text(ddl, spec, R"([{"n":"many","id":42}])", &context);
    BOOST_TEST(late.message == "github.issues, page {\"number\":7}, row 1: column n: \"many\" is a text, not INT");
    const outcome text = decode_text(ddl, spec, R"([{"id":1},)", &context);
    BOOST_TEST(text.code == "source.protocol");
    BOOST_TEST(text.message ==
               "github.issues, page {\"number\":7}: the text is not JSON at byte 10: it ends in the middle");
    context.cancelled->cancel();
    BOOST_TEST(decode_text(ddl, spec, "[]", &context).code == "cancelled");
}
