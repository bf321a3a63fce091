// host/scan/predicate.cpp: see predicate.h.
#include "host/scan/predicate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "host/arrow/decimal.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"
#include "host/rows/values.h"

namespace lakeflow::host {
namespace {

struct op_name {
    std::string_view json;
    std::string_view text;
};

// In the order of predicate_op.
constexpr std::array<op_name, 18> names{{{"=", "EqualTo"},
                                         {"<=>", "EqualNullSafe"},
                                         {"<", "LessThan"},
                                         {"<=", "LessThanOrEqual"},
                                         {">", "GreaterThan"},
                                         {">=", "GreaterThanOrEqual"},
                                         {"in", "In"},
                                         {"is_null", "IsNull"},
                                         {"is_not_null", "IsNotNull"},
                                         {"starts_with", "StartsWith"},
                                         {"ends_with", "EndsWith"},
                                         {"contains", "Contains"},
                                         {"like", "Like"},
                                         {"and", "And"},
                                         {"or", "Or"},
                                         {"not", "Not"},
                                         {"true", "AlwaysTrue"},
                                         {"false", "AlwaysFalse"}}};

const op_name& name_of_op(predicate_op op) { return names.at(static_cast<std::size_t>(op)); }

// Shortest text that reads back as the same number, and that a reader takes for one: "50.0", "0.1", "1e+300", "NaN".
std::string real_text(double value, bool single) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    std::array<char, 64> buffer{};
    char* const begin = buffer.data();
    const auto end = single ? std::to_chars(begin, begin + buffer.size(), static_cast<float>(value)).ptr
                            : std::to_chars(begin, begin + buffer.size(), value).ptr;
    std::string text(begin, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string json_of(const literal& value, const column_type& type) {
    if (std::holds_alternative<std::monostate>(value)) return "null";
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    if (const auto* real = std::get_if<double>(&value)) {
        return quote_json(real_text(*real, type.id == type_id::float32));
    }
    if (const auto* decimal = std::get_if<int128>(&value)) return quote_json(decimal_text(*decimal, type.scale));
    const auto& bytes = std::get<std::string>(value);
    const bool binary = type.id == type_id::binary || type.id == type_id::large_binary;
    return quote_json(binary ? base64(bytes) : bytes);
}

std::string joined(const column_path& path) {
    std::string out;
    for (const auto& part : path) out += (out.empty() ? "" : ".") + part;
    return out;
}

}  // namespace

std::string_view to_string(predicate_op op) noexcept { return name_of_op(op).json; }

predicate make_not(predicate arg) {
    predicate out;
    out.op = predicate_op::not_;
    out.args.push_back(std::move(arg));
    return out;
}

predicate make_list(predicate_op op, std::vector<predicate> args) {
    predicate out;
    out.op = op;
    out.args = std::move(args);
    return out;
}

predicate constant(bool value) {
    predicate out;
    out.op = value ? predicate_op::always_true : predicate_op::always_false;
    return out;
}

std::string to_json(const predicate& p) {
    std::string out = "{\"op\":" + quote_json(to_string(p.op));
    if (!p.column.empty()) {
        out += ",\"column\":[";
        for (std::size_t i = 0; i < p.column.size(); ++i) out += (i ? "," : "") + quote_json(p.column[i]);
        out += "],\"type\":" + quote_json(p.format);
    }
    if (p.op == predicate_op::in) {
        out += ",\"values\":[";
        for (std::size_t i = 0; i < p.values.size(); ++i) out += (i ? "," : "") + json_of(p.values[i], p.type);
        out += "]";
    } else if (!p.values.empty()) {
        out += ",\"value\":" + json_of(p.values.front(), p.type);
    }
    if (p.op == predicate_op::not_) {
        out += ",\"arg\":" + to_json(p.args.front());
    } else if (!p.args.empty()) {
        out += ",\"args\":[";
        for (std::size_t i = 0; i < p.args.size(); ++i) out += (i ? "," : "") + to_json(p.args[i]);
        out += "]";
    }
    return out + "}";
}

std::string to_text(const literal& value, const column_type& type) {
    if (std::holds_alternative<std::monostate>(value)) return "null";
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        const bool date = type.id == type_id::date32 && *number >= -719'162 && *number <= 2'932'896;
        const bool in_range = *number >= min_instant_us && *number <= max_instant_us;
        if (date) return format_date(static_cast<std::int32_t>(*number));
        if (type.id == type_id::timestamp_utc && in_range) return format_rfc3339(*number);
        if (type.id == type_id::timestamp_local && in_range) return format_local(*number);
        return std::to_string(*number);
    }
    if (const auto* real = std::get_if<double>(&value)) return real_text(*real, type.id == type_id::float32);
    if (const auto* decimal = std::get_if<int128>(&value)) return decimal_text(*decimal, type.scale);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    const auto& bytes = std::get<std::string>(value);
    if (type.id != type_id::binary && type.id != type_id::large_binary) return bytes;
    return "0x" + hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string to_text(const predicate& p) {
    std::string out(name_of_op(p.op).text);
    out += "(";
    if (!p.column.empty()) out += joined(p.column);
    if (p.op == predicate_op::in) {
        out += ", [";
        for (std::size_t i = 0; i < p.values.size(); ++i) out += (i ? "," : "") + to_text(p.values[i], p.type);
        out += "]";
    } else if (!p.values.empty()) {
        out += ", " + to_text(p.values.front(), p.type);
    }
    for (std::size_t i = 0; i < p.args.size(); ++i) out += (i ? ", " : "") + to_text(p.args[i]);
    return out + ")";
}

void add_columns(const predicate& p, std::vector<column_path>& out) {
    if (!p.column.empty() && std::find(out.begin(), out.end(), p.column) == out.end()) out.push_back(p.column);
    for (const auto& arg : p.args) add_columns(arg, out);
}

}  // namespace lakeflow::host
