// A resource as a destination (contract 28), through the slots of lakeflow.writer/1.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <map>
#include <mutex>
#include <set>

#include "host/plugin/writing.h"
#include "tests/http_api/harness.h"

namespace lakeflow::http_api_test {
namespace {

using lines = std::vector<std::string>;

constexpr std::string_view orders =
    R"({"orders":{"schema":"id BIGINT NOT NULL, name STRING, ts TIMESTAMP","primary_keys":["id"],"columns":{"ts":{"format":"epoch_ms"}},
        "write":{"path":"orders/batch","records":"/data/items","batch_size":10,"id":"/id","truncate":{"path":"orders"},
                 "rollback":{"method":"DELETE","path":"orders/batch/{id}"},"commit":{"path":"orders/commit/{key}"},
                 "committed":{"path":"orders/commit/{key}"}}}})";

// A service that keeps batches by their idempotency key.
struct shop {
    std::string operator()(const asked& a) {
        const std::scoped_lock lock(mutex);
        const std::string key = a.header("Idempotency-Key");
        if (a.method == "POST" && a.path == "/api/orders/batch") {
            if (fail_at > 0 && ++posts == fail_at) return answer(400, R"({"error":"no"})");
            if (!batches.contains(key)) ids[key] = "b" + std::to_string(ids.size() + 1);
            batches[key] = a.body;
            return answer(201, R"({"id":")" + ids[key] + "\"}");
        }
        if (a.method == "DELETE" && a.path == "/api/orders") return ++truncated, batches.clear(), answer(204, "");
        if (a.method == "DELETE") {
            const std::string id = a.path.substr(a.path.rfind('/') + 1);
            if (id == stubborn) return answer(409, "{}");
            std::erase_if(batches, [&](const auto& one) { return ids[one.first] == id; });
            return answer(200, "{}");
        }
        if (a.method == "POST") return committed.insert(a.path).second ? answer(200, "{}") : answer(200, "{}");
        return committed.contains(a.path) ? answer(200, "{}") : answer(404, "{}");
    }
    std::size_t rows() {
        std::size_t out = 0;
        for (const auto& [key, body] : batches) out += json::parse(body).at("data").at("items").size();
        return out;
    }
    std::mutex mutex;
    std::map<std::string, std::string> batches, ids;
    std::set<std::string> committed;
    int posts = 0, fail_at = 0, truncated = 0;
    std::string stubborn;
};

const schema columns = schema::ddl("id BIGINT NOT NULL, name STRING, ts TIMESTAMP");

batch some_rows(std::int64_t first, std::int64_t last) {
    batch_builder out(columns);
    for (std::int64_t id = first; id <= last; ++id) {
        out["id"].append(id);
        if (id % 2 == 0) out["name"].append("n\"" + std::to_string(id));
        out["ts"].append(id * 1'000'000);
        out.end_row();
    }
    return out.finish();
}

// One write by the slots.
class write {
  public:
    write(bench& b, std::string mode, std::string key = "job/flow/7")
        : b_(b), mode_(std::move(mode)), key_(std::move(key)), driver_(b, "orders") {}

    lf_write_args args(std::uint32_t partition = 0, std::uint32_t attempt = 0) {
        lf_write_args out{};
        out.struct_size = sizeof out;
        out.partitions = 2;
        out.table = str("orders");
        out.options = str(b_.options);
        out.run_id = str("run");
        out.mode = str(mode_);
        out.key = str(key_);
        out.schema = arrow_.get();
        out.partition = partition;
        out.attempt = attempt;
        return out;
    }
    void begin() {
        lf_error error = empty_error();
        text_sink out;
        const lf_write_args a = args();
        check(b_.plugin().writer->begin(driver_.handle, &a, out.sink(), &error), error);
    }
    // Writes rows in one partition; gives the message, of commit or after a failure of abort.
    std::string part(std::uint32_t partition, std::int64_t first, std::int64_t last, std::uint32_t attempt = 0,
                     bool abort = false) {
        bench::raw worker(b_, "orders");
        lf_error error = empty_error();
        const lf_write_args a = args(partition, attempt);
        lf_writer* writer = nullptr;
        check(b_.plugin().writer->open_writer(worker.handle, &a, &writer, &error), error);
        ArrowArray array{};
        some_rows(first, last).move_to(&array);
        text_sink out;
        failed = writer->write(writer, &array, &error) != LF_OK;
        if (!failed && !abort) failed = writer->commit(writer, out.sink(), &error) != LF_OK;
        if (failed || abort) writer->abort(writer, out.sink(), &error);
        writer->close(writer);
        return out.text;
    }
    void commit(const std::string& messages) {
        lf_error error = empty_error();
        const lf_write_args a = args();
        check(b_.plugin().writer->commit(driver_.handle, &a, str(messages), &error), error);
    }
    std::string abort(const std::string& messages) {
        lf_error error = empty_error();
        const lf_write_args a = args();
        text_sink out;
        check(b_.plugin().writer->abort(driver_.handle, &a, str(messages), out.sink(), &error), error);
        return out.text;
    }
    bool was_committed() {
        lf_error error = empty_error();
        const lf_write_args a = args();
        std::int32_t out = 0;
        check(b_.plugin().writer->was_committed(driver_.handle, &a, &out, &error), error);
        return out != 0;
    }
    bool failed = false;

  private:
    bench& b_;
    std::string mode_, key_;
    arrow_schema arrow_ = columns.to_arrow();
    bench::raw driver_;
};

std::string code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const failure& why) {
        return why.code();
    }
    return "none";
}

BOOST_AUTO_TEST_SUITE(writing)

BOOST_AUTO_TEST_CASE(rows_are_posted_in_batches_and_committed_once) {
    shop source;
    bench b([&](const asked& a, int) { return source(a); });
    b.resources = orders;
    BOOST_TEST(b.instance("orders")->metadata("orders", "{}").capabilities.size() == 4u);
    write w(b, "append");
    w.begin();
    BOOST_TEST(!w.was_committed());
    const std::string first = w.part(0, 1, 25), second = w.part(1, 26, 30);
    BOOST_TEST(first == R"({"partition":0,"attempt":0,"rows":25,"batch_ids":["b1","b2","b3"]})");
    w.commit("[" + first + "," + second + "]");
    BOOST_TEST(source.rows() == 30u);
    BOOST_TEST(source.committed.size() == 1u);
    BOOST_TEST(w.was_committed());
    BOOST_TEST(source.batches.at("job/flow/7-0-0")
                   .find(R"({"data":{"items":[{"id":1,"name":null,"ts":1000},{"id":2,"name":"n\"2","ts":2000})") == 0u);
}

BOOST_AUTO_TEST_CASE(a_second_attempt_leaves_nothing_twice) {
    shop source;
    bench b([&](const asked& a, int) { return source(a); });
    b.resources = orders;
    write w(b, "append");
    w.begin();
    const std::string first = w.part(0, 1, 25, 0), again = w.part(0, 1, 25, 1);
    BOOST_TEST(source.rows() == 25u);
    BOOST_TEST(again.find(R"("batch_ids":["b1","b2","b3"])") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failure_is_rolled_back_and_what_cannot_be_is_named) {
    shop source;
    source.fail_at = 3;
    bench b([&](const asked& a, int) { return source(a); });
    b.resources = orders;
    write w(b, "append");
    w.begin();
    const std::string message = w.part(0, 1, 45);
    BOOST_TEST(w.failed);
    BOOST_TEST(message == R"({"partition":0,"attempt":0,"rows":20,"batch_ids":["b1","b2"]})");
    BOOST_TEST(source.rows() == 20u);
    BOOST_TEST(w.abort("[" + message + "]") == "[]");
    BOOST_TEST(source.rows() == 0u);
    const std::string other = w.part(1, 1, 15, 0, true);
    BOOST_TEST(source.rows() == 10u);  // an abort sends nothing more
    source.stubborn = "b3";
    BOOST_TEST(w.abort("[" + other + "]") == R"(["b3"])");
}

BOOST_AUTO_TEST_CASE(modes_that_the_service_cannot_do_are_refused_before_a_request) {
    shop source;
    bench b([&](const asked& a, int) { return source(a); });
    b.resources = orders;
    BOOST_TEST(code_of([&] { write(b, "upsert").begin(); }) == "config.mode");
    write(b, "truncate").begin();
    BOOST_TEST(source.truncated == 1);
    b.resources = R"({"orders":{"schema":"id BIGINT","write":{"path":"x"}}})";
    BOOST_TEST(code_of([&] { write(b, "truncate").begin(); }) == "config.mode");
    BOOST_TEST(code_of([&] { write(b, "append").begin(); }) == "config.columns");
    b.resources = R"({"orders":{"schema":"id BIGINT"}})";
    BOOST_TEST(code_of([&] { write(b, "append").begin(); }) == "config.not_writable");
    BOOST_TEST(b.lines().size() == 1u);
}

BOOST_AUTO_TEST_CASE(one_row_a_request_where_the_service_takes_no_more) {
    shop source;
    std::mutex mutex;
    lines bodies;
    bench b([&](const asked& a, int) {
        const std::scoped_lock lock(mutex);
        bodies.push_back(a.body);
        return answer(201, a.body);
    });
    b.resources = R"({"orders":{"write":{"path":"orders","rows":"object","id":"/id"}}})";
    write w(b, "append");
    w.begin();
    BOOST_TEST(w.part(0, 1, 3).find(R"("batch_ids":["1","2","3"])") != std::string::npos);
    BOOST_TEST(bodies.size() == 3u);
    BOOST_TEST(bodies.front() == R"({"id":1,"name":null,"ts":"1970-01-01T00:00:01Z"})");
}

BOOST_AUTO_TEST_CASE(a_batch_that_the_service_gives_no_name_is_known_by_its_key) {
    bench b([&](const asked&, int) { return answer(200, "{}"); });
    b.resources = R"({"orders":{"write":{"path":"orders","batch_size":2}}})";
    write w(b, "append", "job/flow/7-ab");
    w.begin();
    const std::string message = w.part(1, 1, 3);
    BOOST_TEST(message.find(R"("batch_ids":["job/flow/7-ab-1-0","job/flow/7-ab-1-1"])") != std::string::npos, message);
    // It cannot be rolled back, and is named.
    BOOST_TEST(w.abort("[" + message + "]") == R"(["job/flow/7-ab-1-0","job/flow/7-ab-1-1"])");
}

BOOST_AUTO_TEST_CASE(a_writer_closes_in_any_state_and_more_than_once) {
    shop source;
    bench b([&](const asked& a, int) { return source(a); });
    b.resources = orders;
    host::write_request request;
    request.table = "orders";
    request.options = b.options;
    request.mode = "append";
    request.key = "k";
    host::arrow_schema arrow;
    columns.to_arrow().move_to(arrow.out());
    request.schema = std::make_shared<const host::arrow_schema>(std::move(arrow));
    for (const std::string state : {"open", "committed", "aborted", "failed"}) {
        const auto instance = b.instance("orders");
        const auto writer = instance->open_writer(request);
        host::record_batch rows{request.schema, {}};
        some_rows(1, 15).move_to(rows.array.out());
        source.posts = 0;
        source.fail_at = state == "failed" ? 1 : 0;
        bool failed = false;
        try {
            writer->write(std::move(rows));
        } catch (const host::failure&) {
            failed = true;
        }
        BOOST_TEST(failed == (state == "failed"));
        if (state == "committed") BOOST_TEST(writer->commit().rows == 15);
        if (state == "aborted") BOOST_TEST(writer->abort().rows == 10);
        writer->close();
        writer->close();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::http_api_test
