// See harness.h.
#include "tests/github_plugin/harness.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/plugin/loader.h"
#include "lakeflow/lakeflow.hpp"

namespace lakeflow::github_test {

server_config small_server(const repository_config& repository) {
    server_config out;
    out.profile = "lean";
    out.gzip = false;
    out.repositories = {repository};
    out.repositories[0].owner = "octo";
    out.repositories[0].name = "demo";
    return out;
}

namespace {

host::read_request request_for(const std::string& table, const std::string& options,
                               std::optional<std::string> start = {}, std::optional<std::string> end = {}) {
    host::read_request out;
    out.table = table;
    out.options = options;
    out.start = std::move(start);
    out.end = std::move(end);
    return out;
}

}  // namespace

std::int64_t outcome::rows() const {
    std::int64_t out = 0;
    for (const host::record_batch& one : batches) out += one.rows();
    return out;
}

std::vector<std::string> outcome::column(std::string_view name) const {
    std::vector<std::string> out;
    for (const host::record_batch& one : batches) {
        std::int64_t at = host::find_column(*one.schema->get(), name);
        BOOST_TEST_REQUIRE(at >= 0, "no column " << name);
        const ArrowSchema& type = one.schema->column(at);
        const ArrowArray& array = *one.array.get()->children[at];
        for (std::int64_t row = 0; row < one.rows(); ++row) out.push_back(host::value_text(type, array, row));
    }
    return out;
}

std::map<std::string, std::string> outcome::by_key(std::string_view key, std::string_view value) const {
    std::map<std::string, std::string> out;
    std::vector<std::string> keys = column(key), values = column(value);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        BOOST_TEST(out.emplace(keys[i], values[i]).second, "key " << keys[i] << " comes twice");
    }
    return out;
}

bench::bench(const server_config& config)
    : server(config),
      connection(R"({"base_url":")" + server.url() + R"(","token":"ghp_secretsecret"})"),
      plugin_(host::load_plugin(LAKEFLOW_GITHUB_PLUGIN, {})) {}

void bench::start_context(const std::string& table) {
    flow_ = std::make_shared<host::flow_context>();
    flow_->plugin = "github";
    flow_->flow = table;
    flow_->table = table;
    flow_->init_time_us = init_time_us != 0 ? init_time_us : host::system_clock().now_us();
    flow_->run_id = "test";
    flow_->redactor = std::make_shared<host::secrets>();
    flow_->http.attempts = 2;
    flow_->log = host::logger(
        host::log_level::info,
        [this](host::log_level, std::string_view, std::string_view text) { log_.emplace_back(text); }, flow_->redactor);
    log_.clear();
}

std::unique_ptr<host::plugin_connector> bench::instance(const std::string& table) {
    if (!flow_ || flow_->table != table) start_context(table);
    return std::make_unique<host::plugin_connector>(plugin_, connection, flow_, std::make_shared<host::cancel_token>());
}

void bench::read_parts(const std::string& table, const std::vector<std::string>& parts, host::read_request request,
                       outcome& out) {
    std::mutex mutex;
    std::atomic<std::size_t> at{0};
    std::exception_ptr failed;
    auto work = [&] {
        try {
            for (std::size_t i = at++; i < parts.size(); i = at++) {
                host::read_request mine = request;
                mine.descriptor = parts[i];
                auto worker = instance(table);  // nothing but the descriptor is shared with the planner
                auto reader = worker->read_partition(mine);
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

outcome bench::run(const std::string& table, const std::string& start) {
    start_context(table);
    std::uint64_t before = requests();
    outcome out;
    auto planner = instance(table);
    if (!planner->is_partitioned(table, options)) {
        out = simple(table, start);
        return out;
    }
    host::read_request ask = request_for(table, options, start);
    std::string bound = planner->latest_offset(ask).offset;
    std::string limits = planner->default_read_limit(table, options).value_or("{}");
    std::string at = start;
    while (at != bound) {
        ask.start = at;
        ask.bound = bound;
        ask.limits = limits;
        std::string end = planner->latest_offset(ask).offset;
        BOOST_TEST_REQUIRE(end != at, "no progress at " << at);
        host::read_request range = request_for(table, options, at, end);
        read_parts(table, planner->get_partitions(range, parallelism), range, out);
        ++out.micro_batches;
        at = end;
    }
    planner->stop(table);
    out.end = at;
    out.requests = requests() - before;
    out.log = log_;
    out.metrics = flow_->metrics.values();
    return out;
}

outcome bench::replay(const std::string& table, const std::string& start, const std::string& end) {
    start_context(table);
    outcome out;
    host::read_request range = request_for(table, options, start, end);
    read_parts(table, instance(table)->get_partitions(range, parallelism), range, out);
    out.end = end;
    return out;
}

outcome bench::batch(const std::string& table, bool partitioned) {
    start_context(table);
    outcome out;
    host::read_request whole = request_for(table, options);
    if (partitioned) {
        read_parts(table, instance(table)->get_partitions(whole, parallelism), whole, out);
    } else {
        auto worker = instance(table);
        auto reader = worker->read_table(whole);
        while (auto one = reader->next()) out.batches.push_back(std::move(*one));
        BOOST_TEST(!reader->end_offset().has_value());
    }
    return out;
}

outcome bench::simple(const std::string& table, const std::string& start) {
    start_context(table);
    std::uint64_t before = requests();
    outcome out;
    out.end = start;
    auto worker = instance(table);
    for (int calls = 0;; ++calls) {
        BOOST_TEST_REQUIRE(calls < 20, "the simple read does not end");
        auto reader = worker->read_table(request_for(table, options, out.end));
        std::int64_t rows = 0;
        while (auto one = reader->next()) {
            rows += one->rows();
            out.batches.push_back(std::move(*one));
        }
        std::string end = reader->end_offset().value_or("");
        if (end == out.end) {
            BOOST_TEST(rows == 0, "rows without a moved offset");
            break;
        }
        ++out.micro_batches;
        out.end = end;
    }
    out.requests = requests() - before;
    out.log = log_;
    out.metrics = flow_->metrics.values();
    return out;
}

host::latest bench::latest(const std::string& table, const std::string& start, const std::string& bound,
                           const std::string& limits) {
    start_context(table);
    host::read_request ask = request_for(table, options, start);
    if (!bound.empty()) ask.bound = bound;
    ask.limits = limits;
    return instance(table)->latest_offset(ask);
}

host::table_metadata bench::metadata(const std::string& table) { return instance(table)->metadata(table, options); }
host::arrow_schema bench::schema(const std::string& table) { return instance(table)->table_schema(table, options); }

std::map<std::string, std::string> bench::truth(std::string_view table, std::string_view query,
                                                std::string_view value) {
    std::map<std::string, std::string> out;
    std::istringstream lines(server.truth(table, query));
    for (std::string line; std::getline(lines, line);) {
        lakeflow::json row = lakeflow::json::parse(line);
        const lakeflow::json& key = row.at("key");
        const lakeflow::json* found = row.find(value);
        out.emplace(key.is_text() ? key.as_text() : key.dump(), found == nullptr || found->is_null() ? "null"
                                                                : found->is_text()                   ? found->as_text()
                                                                                                     : found->dump());
    }
    return out;
}

std::deque<github_server::request_record> bench::requests_done() {
    while (server.stats().in_flight > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return server.requests();
}

std::vector<std::string> bench::targets() {
    std::vector<std::string> out;
    for (const auto& one : requests_done()) out.push_back(one.target);
    return out;
}

bool same(const std::map<std::string, std::string>& got, const std::map<std::string, std::string>& wanted) {
    for (const auto& [key, value] : wanted) {
        auto found = got.find(key);
        if (found == got.end()) {
            BOOST_TEST_MESSAGE("missing: " << key << " (of " << wanted.size() << ", got " << got.size() << ")");
            return false;
        }
        if (found->second != value) {
            BOOST_TEST_MESSAGE("key " << key << ": got " << found->second << ", wanted " << value);
            return false;
        }
    }
    if (got.size() != wanted.size()) BOOST_TEST_MESSAGE("got " << got.size() << " rows, wanted " << wanted.size());
    return got.size() == wanted.size();
}

}  // namespace lakeflow::github_test
