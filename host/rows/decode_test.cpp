// host/rows/decode_test.cpp: bodies that break, make no sense or have the wrong type are asked for again; batches that outgrow their
// columns; the C table.
#include <cstring>
#include <deque>

#include "host/http/http.h"
#include "host/rows/abi.h"
#include "host/rows/rows_testing.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

// Answers in a row, one an attempt. A piece "!" breaks the connection.
class scripted_exchange final : public exchange {
  public:
    struct answer {
        std::deque<std::string> pieces;
        std::string type = "application/json";
        int status = 200;
    };
    explicit scripted_exchange(std::deque<answer> answers) : answers_(std::move(answers)) {}

    int head() override { return answers_.front().status; }
    std::string_view header(std::string_view name) override {
        return name == "content-type" && !answers_.front().type.empty() ? std::string_view(answers_.front().type)
                                                                        : std::string_view();
    }
    std::string_view final_url() override { return "http://source/x"; }
    bool read(std::string_view& piece) override {
        auto& pieces = answers_.front().pieces;
        if (pieces.empty()) return false;
        current_ = pieces.front();
        pieces.pop_front();
        broke_ = current_ == "!";
        if (broke_) throw failure("source.transient", "the connection broke", {}, retry_class::transient);
        piece = current_;
        return true;
    }
    void retry(std::string_view reason) override {
        reasons.emplace_back(reason);
        if (answers_.size() == 1)
            throw failure(broke_ ? "source.transient" : "source.protocol", "no attempt is left: " + std::string(reason),
                          {}, broke_ ? retry_class::transient : retry_class::permanent);
        answers_.pop_front();
        broke_ = false;
    }
    std::string describe() const override { return "GET http://source/x"; }

    std::vector<std::string> reasons;

  private:
    std::deque<answer> answers_;
    std::string current_;
    bool broke_ = false;
};

using answers = std::deque<scripted_exchange::answer>;

const std::string good = R"([{"id":1,"s":"a"},{"id":2}])";

struct result {
    std::vector<std::string> rows;
    std::vector<std::string> reasons;
    std::string code;
    std::string message;
};

result decode_answers(answers list) {
    const arrow_schema schema = parse_ddl("id INT, s STRING");
    decoder d(nullptr, *schema.get(), "");
    d.feed(R"([{"id":0}])");
    d.finish();
    scripted_exchange e(std::move(list));
    result r;
    try {
        d.decode(e);
    } catch (const failure& f) {
        r.code = f.get().code;
        r.message = f.get().message;
    }
    r.reasons = e.reasons;
    arrow_array batch;
    while (d.take(batch)) {
        const auto rows = rows_of(schema, batch);
        r.rows.insert(r.rows.end(), rows.begin(), rows.end());
    }
    return r;
}

const std::vector<std::string> all = {"0|null", "1|a", "2|null"};
const std::vector<std::string> earlier = {"0|null"};

struct collector {
    std::string text;
    static lf_status write(void* state, const char* data, std::size_t size) {
        static_cast<collector*>(state)->text.append(data, size);
        return LF_OK;
    }
    lf_sink sink() { return {sizeof(lf_sink), 0, this, write}; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_good_body) {
    for (const char* type : {"application/json; charset=utf-8", "", "text/plain", "application/octet-stream",
                             "application/vnd.github+json"}) {
        const result r = decode_answers({{{good.substr(0, 5), good.substr(5)}, type}});
        BOOST_TEST(r.message == "");
        BOOST_TEST(r.rows == all, boost::test_tools::per_element());
        BOOST_TEST(r.reasons.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_bad_body_is_asked_for_again_and_its_rows_never_come_out) {
    const std::pair<scripted_exchange::answer, const char*> bad[] = {
        {{{good.substr(0, 20), "!"}}, "the connection broke"},
        {{{"!"}}, "the connection broke"},
        {{{good.substr(0, 20)}}, "not JSON at byte 20: it ends in the middle"},
        {{{}}, "not JSON at byte 0"},
        {{{"<html>502</html>"}}, "not JSON at byte 0"},
        {{{good}, "text/html; charset=utf-8"}, "the answer is text/html, not JSON"},
        {{{good}, "Image/PNG"}, "the answer is image/png, not JSON"},
        {{{good}, "text/csv"}, "the answer is text/csv, not JSON"},
        {{{good, "x"}}, "not JSON at byte"},
    };
    for (const auto& [answer, reason] : bad) {
        const result r = decode_answers({answer, answer, {{good}}});
        BOOST_TEST(r.message == "");
        BOOST_TEST(r.rows == all, boost::test_tools::per_element());
        BOOST_TEST(r.reasons.size() == 2u);
        BOOST_TEST(r.reasons.at(0).find(reason) != std::string::npos, r.reasons.at(0));

        const result last = decode_answers({answer, answer});
        BOOST_TEST(last.code ==
                   (std::string_view(reason) == "the connection broke" ? "source.transient" : "source.protocol"));
        BOOST_TEST(last.message.find(reason) != std::string::npos, last.message);
        BOOST_TEST(last.rows == earlier, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_value_that_does_not_fit_is_not_asked_for_again) {
    const result r = decode_answers({{{R"([{"id":1},{"id":"x"}])"}}, {{good}}});
    BOOST_TEST(r.code == "value.mismatch");
    BOOST_TEST(r.reasons.empty());
    BOOST_TEST(r.rows == earlier, boost::test_tools::per_element());
    const result changed = decode_answers({{{"!"}}, {{good}, "application/json", 404}});
    BOOST_TEST(changed.code == "source.transient");
    BOOST_TEST(changed.message.find("said 200 and, asked again, 404") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(columns_that_would_outgrow_their_offsets_give_several_batches) {
    const arrow_schema schema = parse_ddl("id INT, s STRING");
    decoder d(nullptr, *schema.get(), R"({"watch":["id"]})", decoder_limits{100, 400});
    const auto page = [](int first) {
        std::string json = "[";
        for (int i = 0; i < 10; ++i)
            json +=
                (i ? ",{\"id\":" : "{\"id\":") + std::to_string(first + i) + ",\"s\":\"" + std::string(90, 'x') + "\"}";
        return json + "]";
    };
    std::vector<std::int64_t> ids;
    std::size_t batches = 0;
    const auto take = [&] {
        arrow_array batch;
        while (d.take(batch)) {
            ++batches;
            check_array(*schema.get(), *batch.get(), "batch");
            for (std::int64_t i = 0; i < batch.rows(); ++i)
                ids.push_back(std::stoi(value_text(schema.column(0), *batch.get()->children[0], i)));
        }
    };
    for (const int first : {0, 10}) {
        d.feed(page(first));
        d.finish();
    }
    BOOST_TEST(d.stats().starts_with(R"({"rows":10,"kept":10,"pending":20)"));
    d.feed(page(100).substr(0, 800));  // rows of this document were moved out early; they go with it
    d.abandon();
    BOOST_TEST(d.stats().starts_with(R"({"rows":10,"kept":10,"pending":20)"));
    d.feed(page(20).substr(0, 900));
    take();
    BOOST_TEST(ids.size() == 20u);
    d.feed(page(20).substr(900));
    d.finish();
    take();
    BOOST_TEST(batches > 4u);
    std::vector<std::int64_t> expected(30);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::int64_t>(i);
    BOOST_TEST(ids == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_c_table) {
    const lf_rows_v1& table = *rows_table();
    BOOST_TEST(table.struct_size == sizeof(lf_rows_v1));
    lf_context context;
    context.flow = std::make_shared<flow_context>();
    context.flow->plugin = "p";
    context.flow->table = "t";
    context.cancelled = std::make_shared<cancel_token>();
    const auto fresh = [] {
        lf_error e{};
        e.struct_size = sizeof e;
        return e;
    };
    const auto str = [](std::string_view s) { return lf_str{s.data(), s.size()}; };
    const arrow_schema schema = parse_ddl("id INT, s STRING");
    lf_rows_args args{sizeof(lf_rows_args), 0, schema.get(), {nullptr, 0}};
    lf_decoder* d = nullptr;
    lf_error e = fresh();

    BOOST_TEST(table.open(nullptr, &args, &d, &e) == LF_ERROR);
    BOOST_TEST(std::string_view(e.code) == "plugin.contract");
    BOOST_TEST(table.open(&context, nullptr, &d, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(table.open(&context, &args, nullptr, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(table.open(&context, &args, nullptr, nullptr) == LF_ERROR);
    args.spec = str(R"({"record":""})");
    BOOST_TEST(table.open(&context, &args, &d, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(std::string_view(e.code) == "config.rows_spec");
    BOOST_TEST(e.retry == LF_RETRY_INVALID);
    BOOST_TEST(std::string_view(e.hint) == "Did you mean \"records\"?");
    BOOST_TEST(d == nullptr);
    ArrowSchema bad = *schema.get();
    bad.format = "i";
    args = {sizeof(lf_rows_args), 0, &bad, {nullptr, 0}};
    BOOST_TEST(table.open(&context, &args, &d, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(std::string_view(e.code) == "schema.unsupported");
    BOOST_TEST(e.retry == LF_RETRY_INVALID);

    // A plugin of an older header: it knows no spec.
    args = {offsetof(lf_rows_args, spec), 0, schema.get(), str("not looked at")};
    BOOST_TEST(table.open(&context, &args, &d, &(e = fresh())) == LF_OK);
    table.close(d);
    args = {sizeof(lf_rows_args), 0, schema.get(), str(R"({"records":"/r","captures":["/next"]})")};
    BOOST_TEST(table.open(&context, &args, &d, &(e = fresh())) == LF_OK);

    ArrowArray out{};
    BOOST_TEST(table.take(d, &out, &(e = fresh())) == LF_END);
    BOOST_TEST(out.release == nullptr);
    BOOST_TEST(table.feed(d, str(R"({"next":"x","r":[{"id":1}]})"), &e) == LF_OK);
    BOOST_TEST(table.finish(d, &e) == LF_OK);
    BOOST_TEST(table.feed(d, {nullptr, 3}, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(table.decode(d, nullptr, &(e = fresh())) == LF_ERROR);
    collector text;
    lf_sink sink = text.sink();
    BOOST_TEST(table.capture(d, 0, &sink, &e) == LF_OK);
    BOOST_TEST(text.text == "\"x\"");
    BOOST_TEST(table.capture(d, 1, &sink, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(std::string_view(e.code) == "plugin.contract");
    BOOST_TEST(table.capture(d, 0, nullptr, &(e = fresh())) == LF_ERROR);
    sink.write = [](void*, const char*, std::size_t) -> lf_status { return LF_ERROR; };
    BOOST_TEST(table.stats(d, &sink, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(table.take(d, nullptr, &(e = fresh())) == LF_ERROR);
    BOOST_TEST(table.take(d, &out, &e) == LF_OK);
    BOOST_TEST(out.length == 1);

    BOOST_TEST(table.feed(d, str(R"({"r":[{"id":"x"}]})"), &(e = fresh())) == LF_ERROR);
    BOOST_TEST(std::string_view(e.code) == "value.mismatch");
    BOOST_TEST(std::string_view(e.message).starts_with("p.t, row 1: column id"));
    lf_exchange exchange{std::make_unique<scripted_exchange>(answers{{{R"({"r":[{"id":5}]})"}}})};
    BOOST_TEST(table.decode(d, &exchange, &(e = fresh())) == LF_OK);
    table.abandon(d);
    table.abandon(nullptr);
    table.close(d);
    table.close(nullptr);
    BOOST_TEST(value_text(schema.column(0), *out.children[0], 0) == "1");  // after close
    out.release(&out);
}
