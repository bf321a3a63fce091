// The http-api plugin as the host loads it, against a scripted server on loopback, through the C ABI and the host's own http and rows.
// One thread uses it; parts may be read on several.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/base/error.h"
#include "host/http/test_server.h"
#include "host/plugin/connector.h"
#include "host/plugin/plugin.h"
#include "lakeflow/lakeflow.hpp"

namespace lakeflow::http_api_test {

using host::test::answer;
using host::test::error_of;

// One request, taken apart.
struct asked {
    std::string method, target, path, body, whole;
    std::vector<std::pair<std::string, std::string>> query;  // decoded

    std::string value(std::string_view name, std::string_view fallback = "") const;
    std::int64_t number(std::string_view name, std::int64_t fallback) const;
    bool has(std::string_view name) const;
    std::string header(std::string_view name) const { return host::test::header_of(whole, name); }
};
asked read_request(const std::string& message);

using handler = std::function<std::string(const asked&, int k)>;

struct outcome {
    std::vector<host::record_batch> batches;
    std::string end;
    std::size_t partitions = 0;

    std::int64_t rows() const;
    // All values of a column, as text, in the order in which they came.
    std::vector<std::string> column(std::string_view name) const;
    // The same as whole numbers, sorted.
    std::vector<std::int64_t> ids(std::string_view name = "id") const;
};

// 1, 2, ... n.
std::vector<std::int64_t> up_to(std::int64_t n, std::int64_t from = 1);

class bench {
  public:
    explicit bench(handler answer);

    host::test::simple_server server;
    std::string resources = "{}";  // JSON
    std::string more;              // members of the connection: "\"api_key\":\"k\","
    std::string options = "{}";    // of the table
    int workers = 1;
    std::int64_t init_time_us = 1'780'272'000'000'000;  // 2026-06-01T00:00:00Z

    // The whole table by its parts, each on a fresh instance; or by the simple read.
    outcome batch(const std::string& table, const std::string& scan = "{}");
    outcome serial(const std::string& table, const std::string& scan = "{}");
    // (start, end] by parts.
    outcome range(const std::string& table, const std::string& start, const std::string& end);
    // The simple read from `start`, until it no longer moves.
    outcome follow(const std::string& table, const std::string& start = "{}");
    outcome deletes(const std::string& table, const std::string& start = "{}");
    std::vector<std::string> parts(const std::string& table, const std::string& scan = "{}");

    // The slots of lakeflow.scan/1, raw.
    json plan(const std::string& table, const std::string& request);
    json explain(const std::string& table, const std::string& scan);

    std::unique_ptr<host::plugin_connector> instance(const std::string& table);
    // An instance by the C table alone, for slots that the host's object does not wrap.
    class raw {
      public:
        raw(bench& of, const std::string& table);
        ~raw();
        raw(const raw&) = delete;
        raw& operator=(const raw&) = delete;
        lf_connector* handle = nullptr;

      private:
        const host::plugin& plugin_;
        lf_context context_;
    };
    // Every request's first line without the version: "GET /orders?page=1".
    std::vector<std::string> lines() const;
    std::string connection() const;
    const host::plugin& plugin() const { return *plugin_; }
    const std::shared_ptr<host::flow_context>& flow() const { return flow_; }

  private:
    void read_parts(const std::vector<std::string>& parts, host::read_request request, outcome& out);
    json call_scan(bool plan, const std::string& table, const std::string& argument);

    std::shared_ptr<const host::plugin> plugin_;
    std::shared_ptr<host::flow_context> flow_;
};

}  // namespace lakeflow::http_api_test
