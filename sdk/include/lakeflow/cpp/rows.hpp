// lakeflow/cpp/rows.hpp: decoders of "lakeflow.rows/1" (rows.h, which has the spec and the type rules): JSON bytes to batches.
//   decoder d = env().rows.open(schema, rows_spec().records("/data/items").capture("/meta/next"));
//   d.decode(exchange);  while (d.take(batch)) ...;  d.capture(0);  d.stats().rows
// A decoder outlives one document: each page of a table goes through the same one. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/cpp/batch.hpp"
#include "lakeflow/cpp/http.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/rows.h"

namespace lakeflow {

// How rows lie in a document. Each call adds to the spec's JSON (rows.h).
class rows_spec {
  public:
    rows_spec() : spec_(json::object()) {}
    explicit rows_spec(json spec) : spec_(std::move(spec)) {}

    // "json" (default), "jsonl" or "csv".
    rows_spec& format(std::string_view name) { return set("format", name); }
    // JSON pointer to the array of rows, or to the one row.
    rows_spec& records(std::string_view pointer) { return set("records", pointer); }
    // A column that lies deeper in the row: path("author_name", "/commit/author/name").
    rows_spec& path(std::string_view column, std::string_view pointer) { return column_rule(column, "path", pointer); }
    // A column with one value for all rows: text, integer, boolean or null.
    rows_spec& constant(std::string_view column, json value) { return column_rule(column, "value", std::move(value)); }
    // The unit of an instant: "epoch_s", "epoch_ms", "epoch_us", "rfc3339", "date".
    rows_spec& unit(std::string_view column, std::string_view name) { return column_rule(column, "format", name); }
    // The JSON text of the value, in a text column.
    rows_spec& json_text(std::string_view column) { return column_rule(column, "json", true); }
    // A struct, or list of structs, in which a scalar may stand for a struct: it becomes the member of that name.
    rows_spec& scalar(std::string_view column, std::string_view member) {
        return column_rule(column, "scalar", member);
    }
    // A value of the document outside the rows; decoder::capture gives it by its position.
    rows_spec& capture(std::string_view pointer) { return push("captures", pointer); }
    // A column whose smallest, largest and last value stats() gives.
    rows_spec& watch(std::string_view column) { return push("watch", column); }
    // Rows that fail this are counted and dropped: keep("updated_at", ">", "2026-01-01T00:00:00Z"). A row without a value fails,
    // unless or_null says otherwise.
    rows_spec& keep(std::string_view column, std::string_view op, json value = {}, bool or_null = false) {
        json one = json::object({{"column", column}, {"op", op}, {"value", std::move(value)}});
        if (or_null) one.set("or_null", true);
        return push("keep", std::move(one));
    }
    // Rows with one of these keys are counted and dropped; values: one array of key values each.
    rows_spec& drop_keys(const std::vector<std::string>& columns, json values) {
        return set("drop_keys", json::object({{"columns", json::array_of(columns)}, {"values", std::move(values)}}));
    }
    // Shown in messages about values: which page, which parent.
    rows_spec& context(std::string_view name, json value) {
        json all = spec_.find("context") != nullptr ? spec_.at("context") : json::object();
        return set("context", all.set(name, std::move(value)));
    }

    const json& as_json() const { return spec_; }

  private:
    rows_spec& set(std::string_view name, json value) { return spec_.set(name, std::move(value)), *this; }
    rows_spec& push(std::string_view name, json value) {
        json all = spec_.find(name) != nullptr ? spec_.at(name) : json::array();
        return set(name, all.push(std::move(value)));
    }
    rows_spec& column_rule(std::string_view column, std::string_view name, json value) {
        json all = spec_.find("columns") != nullptr ? spec_.at("columns") : json::object();
        json one = all.find(column) != nullptr ? all.at(column) : json::object();
        one.set(name, std::move(value));
        return set("columns", all.set(column, std::move(one)));
    }
    json spec_;
};

// Counts of the last document.
struct rows_stats {
    int64_t rows = 0;           // all rows in it
    int64_t kept = 0;           // those that stay
    int64_t pending = 0;        // rows that take() would give now
    int64_t pending_bytes = 0;  // their size
    // Of the watched columns, by name: RFC 3339 text, integers or text; and how many rows had none.
    json min = json::object(), max = json::object(), last = json::object(), nulls = json::object();
    int64_t bad =
        0;  // of the rows, those with a value that does not fit: the host puts them aside, and take() does not give them

    // The value of a watched column, or nothing if no row had one: last_text("updated_at").
    std::optional<std::string> text(const json& of, std::string_view column) const {
        const json* value = of.find(column);
        if (value == nullptr || value->is_null()) return std::nullopt;
        return value->is_text() ? value->as_text() : value->dump();
    }
    std::optional<std::string> max_text(std::string_view column) const { return text(max, column); }
    std::optional<std::string> min_text(std::string_view column) const { return text(min, column); }
    std::optional<std::string> last_text(std::string_view column) const { return text(last, column); }
};

class decoder {
  public:
    decoder() = default;
    decoder(const lf_rows_v1* table, lf_decoder* handle) : table_(table), handle_(handle) {}
    decoder(decoder&& other) noexcept : table_(other.table_), handle_(std::exchange(other.handle_, nullptr)) {}
    decoder& operator=(decoder&& other) noexcept {
        if (this != &other) {
            close();
            table_ = other.table_, handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~decoder() { close(); }
    explicit operator bool() const { return handle_ != nullptr; }

    // Reads the whole body of an exchange, after its head(), as one document; a broken body is asked for again.
    void decode(exchange& answer) {
        lf_error error = empty_error();
        check(calls().decode(handle_, answer.handle(), &error), error);
    }
    // For a document that the connector fetched itself: feed, feed, ..., finish; or abandon.
    void feed(std::string_view bytes) {
        lf_error error = empty_error();
        check(calls().feed(handle_, str(bytes), &error), error);
    }
    void finish() {
        lf_error error = empty_error();
        check(calls().finish(handle_, &error), error);
    }
    void abandon() { calls().abandon(handle_); }

    // Moves the rows of all finished documents out as one batch; false if there are none.
    bool take(batch& out) {
        lf_error error = empty_error();
        ArrowArray raw{};
        if (check(calls().take(handle_, &raw, &error), error) == LF_END) return false;
        out = batch(&raw);
        return true;
    }
    // A captured value of the last document; nothing if the document does not have it.
    std::optional<json> capture(uint32_t index) const {
        lf_error error = empty_error();
        text_sink out;
        check(calls().capture(handle_, index, out.sink(), &error), error);
        if (out.text.empty()) return std::nullopt;
        return json::parse(out.text);
    }
    // Counts of the last document.
    rows_stats stats() const {
        lf_error error = empty_error();
        text_sink out;
        check(calls().stats(handle_, out.sink(), &error), error);
        json all = json::parse(out.text);
        auto part = [&](std::string_view name) { return all.find(name) != nullptr ? all.at(name) : json::object(); };
        return {all.integer("rows"), all.integer("kept"), all.integer("pending"), all.integer("pending_bytes"),
                part("min"),         part("max"),         part("last"),           part("nulls"),
                all.integer("bad")};
    }

    void close() noexcept {
        if (handle_ != nullptr) table_->close(std::exchange(handle_, nullptr));
    }

  private:
    const lf_rows_v1& calls() const {
        if (handle_ == nullptr) throw permanent("this decoder is not open").with_code("plugin.contract");
        return *table_;
    }

    const lf_rows_v1* table_ = nullptr;
    lf_decoder* handle_ = nullptr;
};

class rows_service : public detail::service<lf_rows_v1> {
  public:
    using service::service;
    // Opens a decoder that gives the columns of `columns`, in their order.
    decoder open(const schema& columns, const rows_spec& spec = {}) const {
        arrow_schema arrow = columns.to_arrow();
        std::string text = spec.as_json().dump();
        lf_rows_args args{};
        args.struct_size = sizeof args;
        args.schema = arrow.get();
        args.spec = str(text);
        lf_error error = empty_error();
        lf_decoder* handle = nullptr;
        check(table().open(context_, &args, &handle, &error), error);
        return {&table(), handle};
    }
};

}  // namespace lakeflow
