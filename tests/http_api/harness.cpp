// See harness.h.
#include "tests/http_api/harness.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <exception>
#include <mutex>
#include <thread>

#include "host/base/clock.h"
#include "host/plugin/loader.h"
#include "host/plugin/services.h"

namespace lakeflow::http_api_test {
namespace {

host::read_request request_for(const std::string& table, const std::string& options, const std::string& scan) {
    host::read_request out;
    out.table = table;
    out.options = options;
    out.scan = scan;
    return out;
}

}  // namespace

std::string asked::value(std::string_view name, std::string_view fallback) const {
    for (const auto& [known, value] : query)
        if (known == name) return value;
    return std::string(fallback);
}

std::int64_t asked::number(std::string_view name, std::int64_t fallback) const {
    const std::string text = value(name);
    return text.empty() ? fallback : std::stoll(text);
}

bool asked::has(std::string_view name) const {
    return std::any_of(query.begin(), query.end(), [&](const auto& one) { return one.first == name; });
}

asked read_request(const std::string& message) {
    asked out;
    out.whole = message;
    const std::size_t first = message.find(' '), second = message.find(' ', first + 1);
    out.method = message.substr(0, first);
    out.target = message.substr(first + 1, second - first - 1);
    out.path = out.target.substr(0, out.target.find('?'));
    const std::size_t end = message.find("\r\n\r\n");
    out.body = message.substr(end + 4);
    const std::size_t mark = out.target.find('?');
    std::string_view rest =
        mark == std::string::npos ? std::string_view() : std::string_view(out.target).substr(mark + 1);
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        const std::size_t equals = std::min(one.find('='), one.size());
        out.query.emplace_back(url_decode(one.substr(0, equals), true),
                               url_decode(one.substr(std::min(equals + 1, one.size())), true));
    }
    return out;
}

std::int64_t outcome::rows() const {
    std::int64_t out = 0;
    for (const host::record_batch& one : batches) out += one.rows();
    return out;
}

std::vector<std::string> outcome::column(std::string_view name) const {
    std::vector<std::string> out;
    for (const host::record_batch& one : batches) {
        const std::int64_t at = host::find_column(*one.schema->get(), name);
        BOOST_TEST_REQUIRE(at >= 0, "no column " << name);
        for (std::int64_t row = 0; row < one.rows(); ++row) {
            out.push_back(host::value_text(one.schema->column(at), *one.array.get()->children[at],
                                           row + one.array.get()->offset));
        }
    }
    return out;
}

std::vector<std::int64_t> outcome::ids(std::string_view name) const {
    std::vector<std::int64_t> out;
    for (const std::string& one : column(name)) out.push_back(std::stoll(one));
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<std::int64_t> up_to(std::int64_t n, std::int64_t from) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = from; i <= n; ++i) out.push_back(i);
    return out;
}

bench::bench(handler reply)
    : server([reply = std::move(reply)](const std::string& message, int k) {
          const asked request = read_request(message);
          std::string out = reply(request, k);
          // The head alone, as the answer to HEAD is.
          return request.method == "HEAD" ? out.substr(0, out.find("\r\n\r\n") + 4) : out;
      }),
      plugin_(host::load_plugin(LAKEFLOW_HTTP_API_PLUGIN, {})) {}

std::string bench::connection() const {
    return R"({"base_url":")" + server.url("/api") + R"(",)" + more + R"("resources":)" + resources + "}";
}

std::unique_ptr<host::plugin_connector> bench::instance(const std::string& table) {
    if (!flow_ || flow_->table != table || flow_->init_time_us != init_time_us) {
        flow_ = std::make_shared<host::flow_context>();
        flow_->plugin = "http-api";
        flow_->flow = flow_->table = table;
        flow_->init_time_us = init_time_us;
        flow_->run_id = "test";
        flow_->redactor = std::make_shared<host::secrets>();
        flow_->http.attempts = 2;
        flow_->http.backoff_us = 2'000;
        flow_->http.proxy = "none";
    }
    return std::make_unique<host::plugin_connector>(plugin_, connection(), flow_,
                                                    std::make_shared<host::cancel_token>());
}

void bench::read_parts(const std::vector<std::string>& parts, host::read_request request, outcome& out) {
    std::mutex mutex;
    std::atomic<std::size_t> at{0};
    std::exception_ptr failed;
    instance(request.table);
    const auto work = [&] {
        try {
            for (std::size_t i = at++; i < parts.size(); i = at++) {
                host::read_request mine = request;
                mine.descriptor = parts[i];
                const auto worker = instance(request.table);
                const auto reader = worker->read_partition(mine);
                while (auto one = reader->next()) {
                    const std::scoped_lock lock(mutex);
                    out.batches.push_back(std::move(*one));
                }
            }
        } catch (...) {
            const std::scoped_lock lock(mutex);
            failed = std::current_exception();
            at = parts.size();
        }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < workers; ++i) others.emplace_back(work);
    work();
    for (std::thread& one : others) one.join();
    out.partitions += parts.size();
    if (failed) std::rethrow_exception(failed);
}

std::vector<std::string> bench::parts(const std::string& table, const std::string& scan) {
    return instance(table)->get_partitions(request_for(table, options, scan), 4);
}

outcome bench::batch(const std::string& table, const std::string& scan) {
    outcome out;
    read_parts(parts(table, scan), request_for(table, options, scan), out);
    return out;
}

outcome bench::serial(const std::string& table, const std::string& scan) {
    outcome out;
    const auto worker = instance(table);
    const auto reader = worker->read_table(request_for(table, options, scan));
    while (auto one = reader->next()) out.batches.push_back(std::move(*one));
    BOOST_TEST(!reader->end_offset().has_value());
    return out;
}

outcome bench::range(const std::string& table, const std::string& start, const std::string& end) {
    outcome out;
    host::read_request request = request_for(table, options, "{}");
    request.start = start;
    request.end = end;
    read_parts(instance(table)->get_partitions(request, 4), request, out);
    return out;
}

outcome bench::follow(const std::string& table, const std::string& start) {
    outcome out;
    out.end = start;
    const auto worker = instance(table);
    for (int calls = 0;; ++calls) {
        BOOST_TEST_REQUIRE(calls < 20, "the simple read does not end");
        host::read_request request = request_for(table, options, "{}");
        request.start = out.end;
        const auto reader = worker->read_table(request);
        std::vector<host::record_batch> came;
        while (auto one = reader->next()) came.push_back(std::move(*one));
        const std::string end = reader->end_offset().value_or("");
        if (end == out.end) break;
        for (auto& one : came) out.batches.push_back(std::move(one));
        out.end = end;
    }
    return out;
}

outcome bench::deletes(const std::string& table, const std::string& start) {
    outcome out;
    const auto worker = instance(table);
    host::read_request request = request_for(table, options, "{}");
    request.start = start;
    const auto reader = worker->read_table_deletes(request);
    while (auto one = reader->next()) out.batches.push_back(std::move(*one));
    out.end = reader->end_offset().value_or("");
    return out;
}

bench::raw::raw(bench& of, const std::string& table) : plugin_(*of.plugin_) {
    of.instance(table);
    context_ = {of.flow_, std::make_shared<host::cancel_token>(), 1000, nullptr};
    const std::string given = of.connection();
    lf_create_args args{};
    args.struct_size = sizeof args;
    args.context = &context_;
    args.host = host::host_table();
    args.options = str(given);
    args.run_id = str("run");
    args.init_time_us = of.init_time_us;
    lf_error error = empty_error();
    check(plugin_.connector->create(&args, &handle, &error), error);
}

bench::raw::~raw() { plugin_.connector->destroy(handle); }

json bench::call_scan(bool plan, const std::string& table, const std::string& argument) {
    const raw one(*this, table);
    lf_error error = empty_error();
    text_sink out;
    const auto slot = plan ? plugin_->scan->plan : plugin_->scan->explain;
    check(slot(one.handle, str(table), str(options), str(argument), out.sink(), &error), error);
    return json::parse(out.text);
}

json bench::plan(const std::string& table, const std::string& request) { return call_scan(true, table, request); }
json bench::explain(const std::string& table, const std::string& scan) { return call_scan(false, table, scan); }

std::vector<std::string> bench::lines() const {
    std::vector<std::string> out;
    for (const std::string& one : server.requests()) out.push_back(one.substr(0, one.find(" HTTP/")));
    return out;
}

}  // namespace lakeflow::http_api_test
