// host/rows/spec.h: the spec of a decoder (lakeflow/rows.h), parsed. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

enum class rows_format { json, jsonl, csv };
enum class time_form { rfc3339, epoch_s, epoch_ms, epoch_us, date };
enum class compare_op { less, less_equal, greater, greater_equal, equal, not_equal, is_null, is_not_null };

// A scalar of the spec; a number keeps its text.
struct spec_value {
    enum class kind { null_, boolean, number, text };
    kind type = kind::null_;
    bool flag = false;
    std::string text;
};

struct column_rule {
    std::string column;
    std::optional<std::vector<std::string>> path;  // tokens of the pointer
    std::optional<spec_value> value;
    std::optional<time_form> format;
    bool json = false;
    std::optional<std::string> scalar;
};

struct keep_rule {
    std::string column;
    compare_op op = compare_op::equal;
    spec_value value;
    bool or_null = false;  // a row without a value passes
};

struct rows_spec {
    rows_format format = rows_format::json;
    std::vector<std::string> records;  // tokens of the pointer
    std::string records_text;
    std::vector<column_rule> columns;
    std::vector<std::vector<std::string>> captures;
    std::vector<std::string> watch;
    std::vector<keep_rule> keep;
    std::vector<std::string> drop_columns;
    std::vector<std::vector<spec_value>> drop_values;
    std::string context;  // JSON text; empty if there is none
};

// Throws config.rows_spec (retry class invalid) naming the member, and the near one if it is unknown.
rows_spec parse_rows_spec(std::string_view json);

[[noreturn]] void bad_spec(const std::string& why, const std::string& hint = {});

// The tokens of a JSON pointer (RFC 6901).
std::vector<std::string> pointer_tokens(std::string_view pointer, std::string_view member);

}  // namespace lakeflow::host
