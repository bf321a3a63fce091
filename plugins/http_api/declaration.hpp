// plugins/http_api/declaration.hpp: what [connection] says about a service and its resources, as values (design section 8, contract
// 18 to 37). Read and checked once an instance, before any request; immutable afterwards. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::http_api {

// Where an answer says something: a value of its document, or a header.
struct spot {
    std::string pointer, header;

    explicit operator bool() const { return !pointer.empty() || !header.empty(); }
};

enum class paging_kind { none, page, offset, cursor, last_id, link, next_url };

struct paging_rule {
    paging_kind kind = paging_kind::none;
    std::string page;            // page: the parameter of the page's number
    std::string offset;          // offset: the parameter of the first row's place
    std::string param;           // cursor, last_id: the parameter of the token
    std::string size;            // the parameter of the rows a request; empty: the service has a size of its own
    std::int64_t page_size = 0;  // 0: fetch_size
    std::int64_t first = 0;      // page: the number of the first page; offset: the place of the first row
    spot next;                   // cursor, next_url
    spot more;                   // whether there is a further page, where the service says it
    std::string field;           // last_id: the row's value that the next page begins after
};

struct total_rule {
    spot at;
    std::string method;  // "HEAD", "GET"; empty: HEAD for a header, GET for a pointer
    std::string path;    // empty: the resource's own
};

// A request parameter and the text that a value becomes in it: {"filter", "updated>='{}'"}.
struct sent_value {
    std::string param;
    std::string pattern = "{}";

    std::string fill(std::string_view value) const;
};

struct cursor_rule {
    std::string field;
    std::optional<sent_value> from, to;
    std::string format;  // of instants in requests; empty: rfc3339, or as the column's type is written
    std::optional<std::int64_t> window_us;
    std::int64_t lookback_us = 0;
    std::string missing = "fail";  // fail, include, skip: rows without a cursor
    bool inclusive = true;         // from: the service gives rows at the bound too
    std::string start;             // where the table begins, for the first windows; empty: not known
};

// How one column lies in the answers.
struct column_rule {
    std::string name;
    std::string format;  // the unit of an instant
    std::string path;    // a pointer inside the row
    std::string type;    // DDL, in the place of the inferred one
    std::string parent;  // for_each: the parent's column that this one repeats
    bool json = false;   // the JSON text of the value
};

struct filter_rule {
    std::string column;
    bool exact = true;
    std::string format;          // of instants, in the requests
    std::string list = "comma";  // comma, repeat: how `in` is written
    std::vector<std::pair<std::string, sent_value>> operators;

    const sent_value* find(std::string_view op) const;
};

struct sort_rule {
    std::string by, order;                                    // two parameters: _sort=a,b&_order=desc,asc ...
    std::string param, ascending = "{}", descending = "-{}";  // ... or one: sort=-a,b
    std::string nulls;                                        // first, last, smallest, largest; empty: not known
    std::vector<std::string> columns;  // that the service sorts by as the host would; empty: all but text
};

struct aggregate_rule {
    std::string path, group_by, functions, records;
    std::string list = "comma";
    std::vector<std::string> columns;  // that may be grouped by; empty: those that have filters
    std::vector<std::string> allowed;  // count, sum, min, max
};

// Parts by the declared values of one column.
struct split_rule {
    std::string field;
    sent_value by;
    std::vector<std::string> values;
};

struct delete_rule {
    std::string field;          // a row whose field is true is a tombstone ...
    std::string path, records;  // ... or tombstones are a list of their own
    std::optional<cursor_rule> cursor;
};

// One call of the write path: {"DELETE", "orders/batch/{id}"}.
struct call_rule {
    std::string method, path;
};

struct write_rule {
    std::string path, method, records, id;
    std::string rows = "array";  // array, object (one row a request), jsonl
    std::string key_header = "Idempotency-Key";
    std::int64_t batch_size = 0;  // 0: the resource's
    bool upsert = false;          // the service replaces a row that has the key already
    std::optional<call_rule> truncate, rollback, commit, committed;
};

// Numbers that a table may set for itself.
struct sizes {
    std::int64_t num_partitions = 4, rows_per_partition = 1000, fetch_size = 200, batch_size = 100;
};

struct resource {
    std::string name, path, records;
    std::string method = "GET";
    std::string body;  // "": parameters go into the address; "form", "json"
    json params = json::object();
    std::string ddl;  // empty: inferred
    std::vector<std::string> primary_keys;
    ingestion kind = ingestion::snapshot;
    std::optional<cursor_rule> cursor;
    paging_rule paging;
    std::optional<total_rule> total;
    std::optional<split_rule> split;
    std::vector<column_rule> columns;
    std::vector<filter_rule> filters;
    std::string list = "comma";
    std::string columns_param, limit_param;
    std::optional<sort_rule> sort;
    std::optional<aggregate_rule> aggregate;
    std::optional<delete_rule> deletes;
    std::optional<write_rule> write;
    std::string for_each;
    std::vector<int> skipped;  // statuses of a child's listing that mean "none here"
    bool verify = false;
    sizes numbers;

    const column_rule* rule_of(std::string_view column) const;
    // The rows of one request.
    std::int64_t page_size() const { return paging.page_size > 0 ? paging.page_size : numbers.fetch_size; }
};

struct declaration {
    std::string base_url;
    json auth, headers = json::object();
    std::vector<resource> resources;

    // Throws invalid() for the first thing that is wrong.
    static declaration from(const json& options);
    // Throws not_found(), naming the near one.
    const resource& find(std::string_view table) const;
};

// The resource with what the table's own options (and those of a scan) say.
resource with_options(const resource& of, const json& options);

// The column names of a path's or header's placeholders: "orders/{id}/items" has "id".
std::vector<std::string> placeholders(std::string_view pattern);
// Every {name} replaced by what `value` gives, escaped as one path segment.
std::string fill_path(std::string_view pattern, const std::vector<std::pair<std::string, std::string>>& values);

// "7d", "90s", "500ms" in microseconds.
std::optional<std::int64_t> parse_duration(std::string_view text);

class keys;

// For declaration*.cpp: the parts of a resource that have a shape of their own.
void read_paging(keys& from, resource& into);
void read_cursor(keys& from, resource& into);
void read_filters(keys& from, resource& into);
void read_sort(keys& from, resource& into);
void read_aggregate(keys& from, resource& into);
void read_deletes(keys& from, resource& into);
void read_write(keys& from, resource& into);
std::string need_pointer(const keys& from, std::string_view name, std::string pointer);
json read_auth(const json* given, std::string_view api_key);

}  // namespace lakeflow::http_api
