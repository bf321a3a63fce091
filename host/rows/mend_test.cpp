// host/rows/mend_test.cpp: rows with a value that does not fit, where the policy is to null it or to put the row aside; and members that
// no column asks for.
#include "host/arrow/builder.h"
#include "host/rows/rescue.h"
#include "host/rows/rows_testing.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

struct bench {
    lf_context context;

    explicit bench(mismatch_policy policy, bool rescue = false) {
        context.flow = std::make_shared<flow_context>();
        context.flow->plugin = "shop";
        context.flow->table = "orders";
        context.flow->key_columns = {"id"};
        context.flow->on_mismatch = policy;
        context.flow->rescue = rescue;
        context.cancelled = std::make_shared<cancel_token>();
        context.mismatches = std::make_shared<mismatch_sink>();
    }
    // decode_text feeds three times: what was found must be the same each time.
    outcome decode(std::string_view ddl, std::string_view spec, std::string_view text) {
        const arrow_schema schema = parse_ddl(ddl);
        outcome whole = decode_in_pieces(schema, spec, text, text.size() + 1, &context);
        found = context.mismatches->take();
        for (const std::size_t piece : {1, 3}) {
            BOOST_TEST((decode_in_pieces(schema, spec, text, piece, &context) == whole));
            const mismatches again = context.mismatches->take();
            BOOST_TEST(again.nulled == found.nulled);
            BOOST_TEST_REQUIRE(again.rows.size() == found.rows.size());
            for (std::size_t i = 0; i < again.rows.size(); ++i) BOOST_TEST(again.rows[i].row == found.rows[i].row);
        }
        return whole;
    }
    mismatches found;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
using texts = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_that_does_not_fit_is_put_aside_whole_and_the_others_stay) {
    bench b(mismatch_policy::quarantine);
    const outcome o = b.decode("id BIGINT NOT NULL, n INT, tags ARRAY<INT>, who STRUCT<name: STRING, age: INT>", "{}",
                               R"([{"id":1,"n":1,"tags":[1],"who":{"name":"a","age":1}},
                                   {"n":"many", "id":2.0 ,"x":{"y":[1.50]}},
                                   {"id":3,"tags":[1,[2]],"who":null},
                                   {"id":4,"who":{"age":"old","name":"d"}},
                                   {"id":null,"n":5}, 7, [1], null, "x",
                                   {"id":6,"n":6,"n":7},
                                   {"id":7,"n":7,"tags":[]}])");
    BOOST_TEST(o.code.empty(), o.message);
    BOOST_TEST(o.rows.size() == 2u);
    BOOST_REQUIRE(b.found.rows.size() == 9u);
    BOOST_TEST(b.found.rows[0].row == R"({"n":"many","id":2.0,"x":{"y":[1.50]}})");
    BOOST_TEST(b.found.rows[0].reason == "shop.orders, row 2: column n: \"many\" is a text, not INT");
    BOOST_TEST(b.found.rows[0].column == "n");
    BOOST_TEST(b.found.rows[0].code == "value.mismatch");
    BOOST_TEST(b.found.rows[1].column == "tags");
    BOOST_TEST(has(b.found.rows[1].reason, "(id 3)"), b.found.rows[1].reason);
    BOOST_TEST(b.found.rows[2].column == "who");
    BOOST_TEST(b.found.rows[3].code == "records.null_in_required");
    BOOST_TEST(b.found.rows[4].row == "7");
    BOOST_TEST(b.found.rows[5].row == "[1]");
    BOOST_TEST(b.found.rows[6].row == "null");
    BOOST_TEST(b.found.rows[7].row == "\"x\"");
    BOOST_TEST(b.found.rows[8].row == R"({"id":6,"n":6,"n":7})");
    BOOST_TEST(has(o.stats, R"("rows":11,"kept":2,"bad":9,)"), o.stats);
}

BOOST_AUTO_TEST_CASE(null_stands_for_the_value_alone_and_is_counted) {
    bench b(mismatch_policy::null);
    const outcome o =
        b.decode("id BIGINT NOT NULL, n INT, who STRUCT<name: STRING, age: INT NOT NULL>, s STRING", "{}",
                 R"([{"id":1,"n":"many","who":{"name":"a"},"s":"x"},{"id":2,"n":2,"who":{"name":"b","age":3}}])");
    BOOST_TEST(o.code.empty(), o.message);
    BOOST_TEST(o.rows == (texts{"1|null|null|x", R"(2|2|{"name":"b","age":3}|null)"}),
               boost::test_tools::per_element());
    BOOST_TEST(b.found.nulled == 2);
    BOOST_TEST(b.found.rows.empty());
    // A key, a column that is required, and a row that is none have no null.
    for (const char* text : {R"([{"id":"x"}])", R"([{"id":1,"must":"x"}])", "[7]", R"([{"id":1,"n":1,"n":2}])"}) {
        const outcome refused = b.decode("id BIGINT, n INT, must INT NOT NULL", "{}", text);
        BOOST_TEST((refused.code == "value.mismatch"), text << ": " << refused.code << refused.message);
        BOOST_TEST(has(refused.hint, "quarantine"), refused.hint);
    }
}

BOOST_AUTO_TEST_CASE(what_bounds_the_read_is_asked_of_a_bad_row_too) {
    const char* spec =
        R"({"watch":["at"],"keep":[{"column":"at","op":"<=","value":20}],"drop_keys":{"columns":["id"],"values":[[3]]}})";
    const char* text = R"([{"id":1,"at":10,"n":1},{"id":2,"at":15,"n":"bad"},{"id":3,"at":5,"n":"dropped"},
                           {"id":4,"at":30,"n":"above"},{"id":5,"at":"when","n":5}])";
    bench b(mismatch_policy::quarantine);
    const outcome o = b.decode("id BIGINT, at BIGINT, n INT", spec, text);
    BOOST_TEST(o.rows == (texts{"1|10|1"}), boost::test_tools::per_element());
    BOOST_REQUIRE(b.found.rows.size() == 2u);
    BOOST_TEST(has(b.found.rows[0].row, "\"id\":2"));
    BOOST_TEST(has(b.found.rows[1].row, "\"id\":5"));
    BOOST_TEST(has(o.stats, R"("max":{"at":30})"), o.stats);
    BOOST_TEST(has(o.stats, R"("nulls":{"at":0})"), o.stats);
    bench n(mismatch_policy::null);
    BOOST_TEST(n.decode("id BIGINT, at BIGINT, n INT", spec, text).code == "value.mismatch");
}

BOOST_AUTO_TEST_CASE(a_document_that_breaks_off_gives_no_bad_rows) {
    bench b(mismatch_policy::quarantine);
    BOOST_TEST(b.decode("id BIGINT", "{}", R"([{"id":"x"},{"id":1})").code == "source.protocol");
    BOOST_TEST(b.found.empty());
}

BOOST_AUTO_TEST_CASE(lines_and_csv_are_mended_too) {
    bench b(mismatch_policy::quarantine);
    outcome o = b.decode("id BIGINT NOT NULL, n INT", R"({"format":"jsonl"})",
                         "{\"id\":1,\"n\":1}\n{\"id\":2,\"n\":\"x\"}\n[3]\n\n{\"id\":4}\n");
    BOOST_TEST(o.rows == (texts{"1|1", "4|null"}), boost::test_tools::per_element());
    BOOST_TEST(b.found.rows.size() == 2u);
    o = b.decode("id BIGINT NOT NULL, n INT", R"({"format":"csv"})", "id,n,x\n1,1,a\n2,\"x\",\n\n3,3\n,4,b\n5,,\"\"\n");
    BOOST_TEST(o.rows == (texts{"1|1", "5|null"}), boost::test_tools::per_element());
    BOOST_REQUIRE(b.found.rows.size() == 3u);
    BOOST_TEST(b.found.rows[0].row == R"({"id":"2","n":"x","x":null})");
    BOOST_TEST(b.found.rows[1].row == R"({"id":"3","n":"3"})");
    BOOST_TEST(b.found.rows[2].row == R"({"id":null,"n":"4","x":"b"})");
}

BOOST_AUTO_TEST_CASE(members_that_no_column_asks_for_travel_behind_the_plugins_back) {
    for (const mismatch_policy policy : {mismatch_policy::fail, mismatch_policy::quarantine}) {
        bench b(policy, true);
        const arrow_schema schema =
            parse_ddl("id BIGINT, who STRUCT<name: STRING>, items ARRAY<STRUCT<a: INT>>, city STRING");
        decoder d(&b.context, *schema.get(), R"({"columns":{"city":{"path":"/address/city"}}})");
        std::string many = "{\"id\":3";
        for (int i = 0; i < 3000; ++i) many += ",\"m" + std::to_string(i) + "\":" + std::to_string(i);
        d.feed(R"([{"id":1,"x":1.50,"who":{"name":"a","age":7},"y":{"z":["\u00e9",null]},"items":[{"a":1,"b":2}],)"
               R"("address":{"city":"here","zip":1},"none":null,"t":"q\"","b":true},{"id":2},)" +
               many + "}]");
        d.finish();
        arrow_array batch;
        BOOST_REQUIRE(d.take(batch));
        check_array(*schema.get(), *batch.get(), "what the plugin sees");
        BOOST_TEST(batch.get()->n_children == 4);
        const arrow_schema whole = with_rescued(*schema.get());
        batch = reveal_last(std::move(batch));
        check_array(*whole.get(), *batch.get(), "what the host sees");
        const auto rows = rows_of(whole, batch);
        BOOST_TEST(rows[0] ==
                   "1|{\"name\":\"a\"}|[{\"a\":1}]|here|{\"x\":1.50,\"who.age\":7,\"y\":{\"z\":[\"\xc3\xa9\",null]},"
                   "\"t\":\"q\\\"\",\"b\":true}");
        BOOST_TEST(rows[1] == "2|null|null|null|null");
        BOOST_TEST(has(rows[2], "\"m0\":0,\"m1\":1,"));
        BOOST_TEST(has(rows[2], "\"m2999\":2999}"));
    }
    bench b(mismatch_policy::fail, true);
    const arrow_schema schema = parse_ddl("id BIGINT");
    decoder d(&b.context, *schema.get(), R"({"format":"csv"})");
    d.feed("id,more\n1,x\n2,\n");
    d.finish();
    arrow_array batch;
    BOOST_REQUIRE(d.take(batch));
    const arrow_array revealed = reveal_last(std::move(batch));
    BOOST_TEST(rows_of(with_rescued(*schema.get()), revealed) == (texts{R"(1|{"more":"x"})", "2|null"}),
               boost::test_tools::per_element());
    BOOST_CHECK_THROW(with_rescued(*parse_ddl("id INT, _Rescued_data STRING").get()), failure);
}

BOOST_AUTO_TEST_CASE(a_batch_that_a_plugin_made_itself_has_nothing_rescued) {
    const arrow_schema schema = parse_ddl("id BIGINT");
    auto table = make_table(*schema.get());
    for (int i = 0; i < 3; ++i) {
        static_cast<fixed_column<std::int64_t>&>(table->child(0)).append(i);
        table->end_value();
    }
    const arrow_schema whole = with_rescued(*schema.get());
    const arrow_array batch = reveal_last(table->finish());
    check_array(*whole.get(), *batch.get(), "made");
    BOOST_TEST(rows_of(whole, batch) == (texts{"0|null", "1|null", "2|null"}), boost::test_tools::per_element());
}
