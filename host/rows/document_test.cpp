// host/rows/document_test.cpp: documents: pointers, captures, counts, conditions, what is not JSON, JSON lines, CSV, batches.
#include "host/rows/rows_testing.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

using texts = std::vector<std::string>;

void rows_are(const outcome& o, const texts& expected) {
    BOOST_TEST(o.message == "");
    BOOST_TEST(o.rows == expected, boost::test_tools::per_element());
}

void fails(const outcome& o, std::string_view code, std::string_view part) {
    BOOST_TEST(o.code == code, o.message);
    BOOST_TEST(o.message.find(part) != std::string::npos, o.message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(records_pointers) {
    const char* ddl = "id INT";
    rows_are(decode_text(ddl, "", R"([{"id":1},{"id":2}])"), {"1", "2"});
    rows_are(decode_text(ddl, "", R"( {"id":1} )"), {"1"});
    rows_are(decode_text(ddl, "", "[]"), {});
    rows_are(decode_text(ddl, "", "null"), {});
    rows_are(decode_text(ddl, "", "\xEF\xBB\xBF[{\"id\":1}]"), {"1"});
    const char* items = R"({"records":"/data/items"})";
    rows_are(
        decode_text(ddl, items,
                    R"({"a":{"items":[{"id":9}]},"data":{"x":1,"items":[{"id":1},{"id":2}],"items2":[3]},"b":[]})"),
        {"1", "2"});
    rows_are(decode_text(ddl, items, R"({"data":{"items":{"id":1}}})"), {"1"});
    rows_are(decode_text(ddl, items, R"({"data":{"items":null}})"), {});
    rows_are(decode_text(ddl, items, R"({"data":{}})"), {});
    rows_are(decode_text(ddl, items, R"({"data":null})"), {});
    rows_are(decode_text(ddl, items, R"({})"), {});
    rows_are(decode_text(ddl, R"({"records":"/a~1b/~0c"})", R"({"a/b":{"~c":[{"id":1}]}})"), {"1"});
    rows_are(decode_text(ddl, R"({"records":"/1/items"})",
                         R"([{"items":[{"id":8}]},{"items":[{"id":1}]},{"items":[{"id":9}]}])"),
             {"1"});
    fails(decode_text(ddl, items, R"({"data":{"items":"none"}})"), "source.protocol",
          "\"/data/items\" is the text \"none\", not an array of rows or an object");
    fails(decode_text(ddl, items, R"({"data":[1]})"), "source.protocol",
          "\"/data\" is an array, and the rows should lie below it");
    fails(decode_text(ddl, items, R"("oops")"), "source.protocol", "its top is the text \"oops\"");
    fails(decode_text(ddl, "", "7"), "source.protocol", "its top is the number 7");
    fails(decode_text(ddl, "", R"([{"id":1},7])"), "value.mismatch", "the number 7 is not a row");
    fails(decode_text(ddl, "", R"([null])"), "value.mismatch", "null is not a row");
    fails(decode_text(ddl, "", R"([[{"id":1}]])"), "value.mismatch", "an array is not a row");
}

BOOST_AUTO_TEST_CASE(paths_inside_the_row) {
    const char* spec = R"({"columns":{"name":{"path":"/commit/author/name"},"date":{"path":"/commit/author/date"},
                           "first":{"path":"/labels/0/name"},"second":{"path":"/labels/1"},"copy":{"path":"/sha"}}})";
    const char* ddl = "sha STRING, name STRING, date TIMESTAMP, first STRING, second STRING, copy STRING";
    rows_are(decode_text(ddl, spec, R"([
        {"sha":"a","commit":{"author":{"name":"n","date":"2026-01-01T00:00:00Z","x":1}},"labels":[{"name":"l0"},{"name":"l1"},3]},
        {"sha":"b","commit":{"author":null},"labels":[]},
        {"sha":"c","commit":{"author":{}},"labels":null},
        {"sha":"d"},
        {"sha":"e","labels":[{"x":1},"s"],"commit":{}}])"),
             {"a|n|2026-01-01T00:00:00Z|l0|{\"name\":\"l1\"}|a", "b|null|null|null|null|b", "c|null|null|null|null|c",
              "d|null|null|null|null|d", "e|null|null|null|s|e"});
    fails(decode_text(ddl, spec, R"([{"commit":{"author":"me"}}])"), "value.mismatch",
          "column /commit/author: the text \"me\" is not an object, and columns are read from below it");
    fails(decode_text(ddl, spec, R"([{"commit":[1]}])"), "value.mismatch", "an array is not an object");
}

BOOST_AUTO_TEST_CASE(one_member_for_several_columns) {
    // A struct and paths through it share one pass; a struct, its text and a list's element are given the value in turn.
    const char* spec =
        R"({"columns":{"login":{"path":"/owner/login"},"text":{"path":"/owner"},"again":{"path":"/owner"},
                           "tag":{"path":"/tags/1"},"tags_text":{"path":"/tags"}}})";
    const char* ddl =
        "login STRING, owner STRUCT<login: STRING, id: INT>, text STRING, again STRUCT<id: INT>, tags ARRAY<STRING>, "
        "tag STRING, "
        "tags_text STRING";
    rows_are(
        decode_text(ddl, spec, R"([{"owner":{"login":"a","id":1},"tags":["x","y"]},{"owner":null},{"owner":{}},{}])"),
        {R"(a|{"login":"a","id":1}|{"login":"a","id":1}|{"id":1}|["x","y"]|y|["x","y"])",
         "null|null|null|null|null|null|null", R"(null|{"login":null,"id":null}|{}|{"id":null}|null|null|null)",
         "null|null|null|null|null|null|null"});
    rows_are(decode_text("login STRING, owner STRUCT<login: STRING, id: INT>",
                         R"({"columns":{"login":{"path":"/owner/login"}}})", R"([{"owner":{"login":"a","id":1}}])"),
             {R"(a|{"login":"a","id":1})"});
}

BOOST_AUTO_TEST_CASE(constants) {
    const char* spec = R"({"columns":{"s":{"value":"x"},"i":{"value":-7},"b":{"value":true},"n":{"value":null},
                           "t":{"value":"2026-01-01T00:00:00Z"},"d":{"value":"12.5"},"day":{"value":"2026-01-02"},"f":{"value":1.5}}})";
    const char* ddl =
        "id INT, s STRING NOT NULL, i SMALLINT, b BOOLEAN, n STRING, t TIMESTAMP, d DECIMAL(5,2), day DATE, f DOUBLE";
    rows_are(decode_text(ddl, spec, R"([{"id":1,"s":"row's own"},{"id":2,"i":9}])"),
             {"1|x|-7|true|null|2026-01-01T00:00:00Z|12.50|2026-01-02|1.5",
              "2|x|-7|true|null|2026-01-01T00:00:00Z|12.50|2026-01-02|1.5"});
}

BOOST_AUTO_TEST_CASE(captures) {
    const char* spec =
        R"({"records":"/items","captures":["/meta/next","/meta","/total","/list/1","/none","/odd/deep"]})";
    const outcome o = decode_text(
        "id INT", spec,
        R"({"meta":{"next":"a\"b","n":[1.50,{}]},"items":[{"id":1}],"total":3,"list":[1,{"x":null},3],"odd":"text"})");
    rows_are(o, {"1"});
    BOOST_TEST(o.captures ==
                   (texts{R"("a\"b")", R"({"next":"a\"b","n":[1.50,{}]})", "3", R"({"x":null})", "absent", "absent"}),
               boost::test_tools::per_element());
    const outcome none =
        decode_text("id INT", R"({"records":"/items","captures":["/next"]})", R"({"next":null,"items":[]})");
    BOOST_TEST(none.captures.at(0) == "null");
}

BOOST_AUTO_TEST_CASE(watch_counts_all_rows) {
    const char* spec = R"({"watch":["at","id","s"],"keep":[{"column":"id","op":">","value":1}]})";
    const outcome o =
        decode_text("id INT, at TIMESTAMP, s STRING", spec,
                    R"([{"id":1,"at":"2026-01-01T00:00:00.5Z","s":"b"},{"id":3,"at":"2026-01-03T00:00:00+01:00"},
                                      {"id":2,"at":null,"s":"a"}])");
    rows_are(o, {"3|2026-01-02T23:00:00Z|null", "2|null|a"});
    BOOST_TEST(o.stats.substr(0, o.stats.find(",\"pending_bytes")) == R"({"rows":3,"kept":2,"pending":2)");
    BOOST_TEST(
        o.stats.substr(o.stats.find(",\"min")) ==
        R"(,"min":{"at":"2026-01-01T00:00:00.500Z","id":1,"s":"a"},"max":{"at":"2026-01-02T23:00:00Z","id":3,"s":"b"},)"
        R"("last":{"at":null,"id":2,"s":"a"},"nulls":{"at":1,"id":0,"s":1}})");
    const outcome empty = decode_text("id INT", R"({"watch":["id"]})", "[]");
    BOOST_TEST(
        empty.stats ==
        R"({"rows":0,"kept":0,"pending":0,"pending_bytes":0,"min":{"id":null},"max":{"id":null},"last":{"id":null},"nulls":{"id":0}})");
}

BOOST_AUTO_TEST_CASE(keep) {
    const std::string text =
        R"([{"id":1,"at":"2026-01-01T00:00:00Z","s":"a","f":0.5,"d":1.5},{"id":2,"at":"2026-01-02T01:00:00+01:00","s":"b","f":1,"d":2},{"id":3}])";
    const auto ids = [&](const std::string& conditions) {
        const outcome o =
            decode_text("id INT, at TIMESTAMP, s STRING, f DOUBLE, d DECIMAL(5,1), b BOOLEAN, l ARRAY<INT>",
                        "{\"keep\":[" + conditions + "]}", text);
        std::string result = o.code;
        for (const std::string& row : o.rows) result += row.substr(0, 1);
        return result;
    };
    BOOST_TEST(ids("") == "123");
    BOOST_TEST(ids(R"({"column":"id","op":">=","value":2})") == "23");
    BOOST_TEST(ids(R"({"column":"id","op":"<","value":2})") == "1");
    BOOST_TEST(ids(R"({"column":"id","op":"<>","value":2.0})") == "13");
    BOOST_TEST(ids(R"({"column":"id","op":">","value":1},{"column":"id","op":"<=","value":2})") == "2");
    BOOST_TEST(ids(R"({"column":"at","op":"=","value":"2026-01-02T00:00:00.000Z"})") == "2");
    BOOST_TEST(ids(R"({"column":"at","op":">=","value":1767225600000000})") == "12");
    BOOST_TEST(ids(R"({"column":"s","op":">","value":"a"})") == "2");
    BOOST_TEST(ids(R"({"column":"s","op":">","value":"a","or_null":true})") == "23");
    BOOST_TEST(ids(R"({"column":"s","op":"<>","value":"b","or_null":false})") == "1");
    BOOST_TEST(ids(R"({"column":"s","op":"is_null"})") == "3");
    BOOST_TEST(ids(R"({"column":"s","op":"is_not_null","value":null})") == "12");
    BOOST_TEST(ids(R"({"column":"l","op":"is_null"})") == "123");
    BOOST_TEST(ids(R"({"column":"id","op":"=","value":null})") == "");
    BOOST_TEST(ids(R"({"column":"f","op":"<","value":0.75})") == "1");
    BOOST_TEST(ids(R"({"column":"d","op":"=","value":"2.0"})") == "2");
    BOOST_TEST(ids(R"({"column":"id","op":"=","value":"2"})") == "config.rows_spec");
    BOOST_TEST(ids(R"({"column":"l","op":"=","value":1})") == "config.rows_spec");
    BOOST_TEST(ids(R"({"column":"at","op":"=","value":"2026-01-02T00:00:00"})") == "config.rows_spec");
}

BOOST_AUTO_TEST_CASE(drop_keys) {
    const std::string text = R"([{"a":1,"b":"x"},{"a":1,"b":"y"},{"a":2,"b":"x"},{"a":2},{"a":3,"b":"x"}])";
    rows_are(decode_text("a INT, b STRING",
                         R"({"drop_keys":{"columns":["a","b"],"values":[[1,"y"],[2,null],[3,"z"]]}})", text),
             {"1|x", "2|x", "3|x"});
    rows_are(decode_text("a INT, b STRING", R"({"drop_keys":{"columns":["a"],"values":[[1],[2.0]]}})", text), {"3|x"});
    rows_are(decode_text("a INT, b STRING", R"({"drop_keys":{"columns":["a"],"values":[]}})", R"([{"a":1}])"),
             {"1|null"});
}

BOOST_AUTO_TEST_CASE(specs_that_make_no_sense) {
    const auto refused = [](std::string_view ddl, std::string_view spec, std::string_view part) {
        const outcome o = decode_text(ddl, spec, "[]");
        BOOST_TEST(o.code == "config.rows_spec", spec << ": " << o.code << " " << o.message);
        BOOST_TEST((o.message + " " + o.hint).find(part) != std::string::npos,
                   spec << ": " << o.message << " " << o.hint);
    };
    const char* ddl =
        "id INT, at TIMESTAMP, s STRING, l ARRAY<INT>, st STRUCT<x: INT>, ntz TIMESTAMP_NTZ, nn INT NOT NULL";
    refused(ddl, "[]", "must be an object");
    refused(ddl, "{", "it is not JSON");
    refused(ddl, R"({"record":"/x"})", "Did you mean \"records\"?");
    refused(ddl, R"({"records":"x"})", "begins with");
    refused(ddl, R"({"records":"/~2"})", "\"~\" is written \"~0\"");
    refused(ddl, R"({"format":"jsn"})", "Did you mean \"json\"?");
    refused(ddl, R"({"columns":{"idd":{}}})", "Did you mean \"id\"?");
    refused(ddl, R"({"columns":{"id":{"pth":"/x"}}})", "columns.id.pth");
    refused(ddl, R"({"columns":{"id":{"path":""}}})", "inside the row");
    refused(ddl, R"({"columns":{"id":{"value":"x"}}})", "\"x\" is no value of INT");
    refused(ddl, R"({"columns":{"id":{"value":1,"path":"/x"}}})", "a constant has no other member");
    refused(ddl, R"({"columns":{"nn":{"value":null}}})", "the column is NOT NULL");
    refused(ddl, R"({"columns":{"l":{"value":"x"}}})", "a constant is a scalar");
    refused(ddl, R"({"columns":{"id":{"format":"epoch_s"}}})", "holds no instant");
    refused(ddl, R"({"columns":{"ntz":{"format":"epoch_s"}}})", "declare TIMESTAMP");
    refused(ddl, R"({"columns":{"at":{"format":"epoch"}}})", "It is one of epoch_s");
    refused(ddl, R"({"columns":{"id":{"json":true}}})", "needs a text column");
    refused(ddl, R"({"columns":{"st":{"json":true}}})", "needs a text column");
    refused(ddl, R"({"columns":{"st":{"scalar":"y"}}})", "has no member \"y\"");
    refused(ddl, R"({"columns":{"s":{"scalar":"y"}}})", "needs a struct");
    refused(ddl, R"({"watch":["nope"]})", "watch: the schema has no column");
    refused(ddl, R"({"watch":["l"]})", "not a scalar");
    refused(ddl, R"({"keep":[{"column":"id","op":"=="}]})", "keep.op is \"==\"");
    refused(ddl, R"({"keep":[{"column":"id","op":"="}]})", "needs a \"value\"");
    refused(ddl, R"({"drop_keys":{"columns":["id"],"values":[[1,2]]}})", "2 values for 1 columns");
    refused(ddl, R"({"drop_keys":{"columns":["id"]}})", "needs");
    refused(ddl, R"({"context":7})", "context must be an object");
    refused(ddl, R"({"captures":["/next"]})", "outside the rows");
    refused(ddl, R"({"records":"/a/b","captures":["/a"]})", "outside the rows");
    refused(ddl, R"({"records":"/a","captures":["/a/b"]})", "outside the rows");
    refused(ddl, R"({"format":"csv","records":"/a"})", "belongs to format json");
    refused(ddl, R"({"format":"csv","columns":{"id":{"path":"/a/b"}}})", "in csv a path");
    const arrow_schema map = parse_ddl("m MAP<BIGINT, STRING>");
    BOOST_TEST(decode_in_pieces(map, "", "[]", 9).code == "schema.unsupported");
}

BOOST_AUTO_TEST_CASE(text_that_is_not_json) {
    const std::pair<std::string, std::string> bad[] = {
        {"", "byte 0: it ends in the middle"},
        {"   ", "byte 3: it ends in the middle"},
        {"[{\"id\":1}", "byte 9: it ends in the middle"},
        {"[{\"id\":1}]]", "byte 10"},
        {"[{\"id\":1}] []", "byte 11"},
        {"<html>", "byte 0"},
        {"[{\"id\":01}]", "byte 8"},
        {"[{\"id\":+1}]", "byte 7"},
        {"[{\"id\":.5}]", "byte 7"},
        {"[{\"id\":NaN}]", "byte 7"},
        {"[{'id':1}]", "byte 2"},
        {"[{\"id\":1,}]", "byte 9"},
        {"[1,]", "byte"},
        {"[{\"x\":\"\t\"}]", "byte 7"},
        {"[{\"x\":\"\\x\"}]", "byte"},
        {"[{\"x\":\"\\ud800\"}]", "byte"},
        {"[{\"x\":\"\\ud800\\u0041\"}]", "byte"},
        {"[{\"x\":\"\\udc00\"}]", "byte"},
        {"[{\"x\":\"\xff\"}]", "byte 7"},
        {"[{\"x\":\"\xC0\x80\"}]", "byte 7"},
        {"[{\"x\":\"\xED\xA0\x80\"}]", "byte 7"},
        {"[{\"\xff\":1}]", "byte 3"},
        {"/* c */[]", "byte 0"},
        {"\xEF\xBB[]", "byte 0"},
        {"\xEF\xBB", "byte"},
        {std::string(300, '['), "byte"},
    };
    const arrow_schema schema = parse_ddl("id INT, y STRING");
    for (const auto& [text, part] : bad) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, text.size() + 1}) {
            const outcome o = decode_in_pieces(schema, R"({"records":""})", text, piece);
            const bool row = text.starts_with("[1,");  // a number is no row: said first
            const bool deep = text.size() == 300;
            BOOST_TEST(o.code == (row || deep ? "value.mismatch" : "source.protocol"),
                       text << ": " << o.code << " " << o.message);
            if (row || deep) continue;
            BOOST_TEST(o.message.find("the text is not JSON at " + part.substr(0, 4)) != std::string::npos,
                       text << ": " << o.message);
            if (piece > 3) BOOST_TEST(o.message.find(part) != std::string::npos, text << ": " << o.message);
        }
    }
    // The depth, inside what nobody asks for and inside a text.
    for (const char* name : {"x", "y"}) {
        const auto nested = [&](int depth) {
            return "[{\"" + std::string(name) + "\":" + std::string(static_cast<std::size_t>(depth), '[') +
                   std::string(static_cast<std::size_t>(depth), ']') + "}]";
        };
        BOOST_TEST(decode_in_pieces(schema, "", nested(254), 7).code == "");
        fails(decode_in_pieces(schema, "", nested(255), 7), "source.protocol", "not JSON at byte");
    }
}

BOOST_AUTO_TEST_CASE(json_lines) {
    const char* spec = R"({"format":"jsonl"})";
    rows_are(decode_text("id INT, s STRING", spec, "{\"id\":1,\"s\":\"a\\nb\"}\n\n  \r\n{\"id\":2}\r\n {\"id\":3} "),
             {"1|a\nb", "2|null", "3|null"});
    rows_are(decode_text("id INT, s STRING", spec, "\xEF\xBB\xBF{\"id\":1}\n"), {"1|null"});
    rows_are(decode_text("id INT, s STRING", spec, ""), {});
    fails(decode_text("id INT, s STRING", spec, "{\"id\":1}\n{\"id\":\n2}"), "source.protocol", "not JSON at byte 15");
    fails(decode_text("id INT, s STRING", spec, "{\"id\":1} {\"id\":2}"), "source.protocol", "not JSON at byte 9");
    fails(decode_text("id INT, s STRING", spec, "{\"id\":1}\n[]\n"), "value.mismatch", "an array is not a row");
    fails(decode_text("id INT, s STRING", spec, "{\"id\":1}\n{\"id\":\"x\"}\n"), "value.mismatch", "row 2");
}

BOOST_AUTO_TEST_CASE(csv) {
    const char* spec = R"({"format":"csv","columns":{"n":{"path":"/Full name"},"c":{"value":7}}})";
    const char* ddl = "id INT, n STRING, c INT";
    rows_are(decode_text(ddl, spec, "id,extra,Full name\r\n1,x,Ann\r\n2,,\"a \"\"b\"\", c\r\nd\"\r\n,,\"\"\r\n"),
             {"1|Ann|7", "2|a \"b\", c\r\nd|7", "null||7"});
    rows_are(decode_text(ddl, spec, "\xEF\xBB\xBFid,Full name\n1,Ann\n\n2,Bob"), {"1|Ann|7", "2|Bob|7"});
    rows_are(decode_text(ddl, spec, "id,Full name\n"), {});
    rows_are(decode_text("a STRING", R"({"format":"csv"})", "a\nx\n\n\"\"\n"), {"x", "null", ""});
    const char* all =
        "b BOOLEAN, i BIGINT, f DOUBLE, d DECIMAL(6,2), t TIMESTAMP, e TIMESTAMP, day DATE, s STRING, l ARRAY<INT>, st "
        "STRUCT<x: INT>, bin BINARY";
    rows_are(decode_text(all, R"({"format":"csv","columns":{"e":{"format":"epoch_s"}}})",
                         "b,i,f,d,t,e,day,s,l,st,bin\nTRUE,+007,1e3,12.5,2026-01-01T00:00:00Z,60,2026-01-02,1.50,\"[1,"
                         "null]\",\"{\"\"x\"\":1}\",AAE=\n"
                         ",,,,,,,,,,\n"),
             {"true|7|1000|12.50|2026-01-01T00:00:00Z|1970-01-01T00:01:00Z|2026-01-02|1.50|[1,null]|{\"x\":1}|AAE=",
              "null|null|null|null|null|null|null|null|null|null|null"});
    const auto wrong = [&](std::string_view text, std::string_view code, std::string_view part) {
        fails(decode_text("id INT, s STRING, l ARRAY<INT>", R"({"format":"csv"})", text), code, part);
    };
    wrong("id,s\n1,x\n", "value.mismatch", "the header has no column \"l\"");
    wrong("id,s,l,id\n", "value.mismatch", "\"id\" twice");
    wrong("id,s,l\n1,x\n", "value.mismatch", "row 1: the line has 2 fields and the header has 3");
    wrong("id,s,l\n1,x,,4\n", "value.mismatch", "the line has 4 fields");
    wrong("id,s,l\n1.5,x,\n", "value.mismatch", "1.5 is not a whole number");
    wrong("id,s,l\nabc,x,\n", "value.mismatch", "\"abc\" is not a number");
    wrong("id,s,l\n\"\",x,\n", "value.mismatch", "\"\" is not a number");
    wrong("id,s,l\n1,x,[1\n", "value.mismatch", "is not JSON");
    wrong("id,s,l\n1,\"x,\n", "source.protocol", "ends inside quotes");
    wrong("id,s,l\n1,\"x\"y,\n", "source.protocol", "text after a closing quote");
    wrong("id,s,l\n1,x\"y,\n", "source.protocol", "not CSV at byte 10");
    wrong("id,s,l\n1,x\ry,\n", "source.protocol", "carriage return");
    wrong("id,s,l\n1,\xff,\n", "source.protocol", "not UTF-8");
    wrong("", "source.protocol", "no header line");
}

BOOST_AUTO_TEST_CASE(documents_are_kept_or_dropped_whole) {
    const arrow_schema schema = parse_ddl("id INT, s STRING, l ARRAY<STRUCT<x: STRING>>");
    decoder d(nullptr, *schema.get(), R"({"watch":["id"]})");
    arrow_array batch;
    BOOST_TEST(!d.take(batch));
    BOOST_TEST(d.stats().starts_with(R"({"rows":0,"kept":0,"pending":0)"));
    d.feed(R"([{"id":1,"s":"a","l":[{"x":"p"}]}])");
    BOOST_TEST(!d.take(batch));  // not finished
    d.finish();
    d.feed(R"([{"id":2,"s":"b"},{"id":3,"s":"cc","l":[{"x":"q"},{"x":)");
    // A batch in the middle of a document: the rows that are finished, and only they.
    BOOST_TEST(d.take(batch));
    BOOST_TEST(rows_of(schema, batch) == (texts{R"(1|a|[{"x":"p"}])"}), boost::test_tools::per_element());
    BOOST_TEST(!d.take(batch));
    d.feed(R"("r"}]}])");
    d.finish();
    BOOST_TEST(d.stats().starts_with(R"({"rows":2,"kept":2,"pending":2)"));
    d.feed(R"([{"id":4},{"id":5,"s":"open)");
    d.abandon();
    BOOST_CHECK_THROW(d.feed(R"([{"id":6},{"id":"x"}])"), failure);
    d.feed(R"([{"id":7}])");
    d.finish();
    BOOST_TEST(d.take(batch));
    check_array(*schema.get(), *batch.get(), "batch");
    BOOST_TEST(rows_of(schema, batch) == (texts{"2|b|null", R"(3|cc|[{"x":"q"},{"x":"r"}])", "7|null|null"}),
               boost::test_tools::per_element());
    BOOST_TEST(!d.take(batch));
    // A document without rows, and columns without any.
    const arrow_schema none = parse_ddl("");
    decoder counts(nullptr, *none.get(), "");
    counts.feed(R"([{"id":1},{"id":2}])");
    counts.finish();
    BOOST_TEST(counts.take(batch));
    BOOST_TEST(batch.rows() == 2);
}
