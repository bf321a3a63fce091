// host/rows/machine_values.cpp: the type rules (design section 5): what a text, number, true, false or null becomes in a column.
#include <limits>

#include "host/arrow/decimal.h"
#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/rows/machine.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t day_us = 86'400'000'000;

template <class T>
fixed_column<T>& fixed(const slot* s) noexcept {
    return *static_cast<fixed_column<T>*>(s->out);
}

std::string_view name_of(time_form form) noexcept {
    switch (form) {
        case time_form::rfc3339: return "rfc3339";
        case time_form::epoch_s: return "epoch_s";
        case time_form::epoch_ms: return "epoch_ms";
        case time_form::epoch_us: return "epoch_us";
        case time_form::date: return "date";
    }
    return {};
}

bool is_epoch(const slot* s) noexcept {
    return s->has_form &&
           (s->form == time_form::epoch_s || s->form == time_form::epoch_ms || s->form == time_form::epoch_us);
}

}  // namespace

void machine::instead_of_struct(slot* s, const std::function<void(slot*)>& give) {
    ++s->below->object;
    give(s->scalar);
    complete(*s->below);
    s->below->out->end_value();
}

void machine::text_value(slot* s, std::string_view text) {
    switch (s->kind) {
        case slot_kind::skip: return;
        case slot_kind::text: return static_cast<text_column*>(s->out)->append(text);
        case slot_kind::json: {
            std::string quoted = "\"";
            append_escaped(quoted, text);
            return static_cast<text_column*>(s->out)->append(quoted + "\"");
        }
        case slot_kind::boolean:
        case slot_kind::int8:
        case slot_kind::int16:
        case slot_kind::int32:
        case slot_kind::int64:
        case slot_kind::float32:
        case slot_kind::float64: wrong_text(s, text, "is a text, not " + type_name(*s->node));
        case slot_kind::decimal: return decimal(s, text, true);
        case slot_kind::binary: {
            std::string bytes;
            if (!decode_base64(text, bytes)) wrong_text(s, text, "is not base64, which BINARY is read from");
            return static_cast<text_column*>(s->out)->append(bytes);
        }
        case slot_kind::date: {
            const auto days = parse_date(text);
            if (!days) wrong_text(s, text, "is not a date like 2026-03-01");
            return fixed<std::int32_t>(s).append(*days);
        }
        case slot_kind::instant:
        case slot_kind::local_instant: return instant_text(s, text);
        case slot_kind::object:
            if (s->scalar) return instead_of_struct(s, [&](slot* member) { text_value(member, text); });
            if (s->document && !s->item) return;
            break;
        case slot_kind::element: return text_value(next_element(), text);
        case slot_kind::several:
            for (slot* taker : s->takers) text_value(taker, text);
            return;
        case slot_kind::row:
            if (mends_ && !replaying_) return raw_row(quote_json(text));
            break;
        case slot_kind::rescued: return rescue(s, quote_json(text));
        case slot_kind::capture: {
            std::string quoted = "\"";
            append_escaped(quoted, text);
            return capture(s, quoted + "\"");
        }
        default: break;
    }
    std::string shown = "the text \"";
    append_escaped(shown, cut_utf8(text, 100));
    wrong_kind(s, shown + "\"");
}

template <class T>
void machine::integer(slot* s, std::string_view text, const std::int64_t* exact) {
    constexpr auto max = static_cast<std::int64_t>((std::uint64_t{1} << (8 * sizeof(T) - 1)) - 1);
    constexpr std::int64_t min = -max - 1;
    std::int64_t value = 0;
    number_result result = number_result::ok;
    if (exact) {
        value = *exact;
        if (value < min || value > max) result = number_result::out_of_range;
    } else {
        result = parse_integer(text, min, max, value);
    }
    if (result == number_result::ok) return fixed<T>(s).append(static_cast<T>(value));
    const std::string type = type_name(*s->node);
    wrong(s, cut_utf8(text, 100),
          result == number_result::out_of_range ? "is out of the range of " + type
                                                : "is not a whole number, which " + type + " needs");
}

template <class T>
void machine::real(slot* s, std::string_view text) {
    T value{};
    if (parse_real(text, value) != number_result::ok)
        wrong(s, cut_utf8(text, 100), "is out of the range of " + type_name(*s->node));
    fixed<T>(s).append(value);
}

void machine::decimal(slot* s, std::string_view text, bool quoted) {
    int128 value = 0;
    const decimal_result result = parse_decimal(text, s->precision, s->scale, value);
    if (result == decimal_result::ok) return fixed<int128>(s).append(value);
    const std::string type = type_name(*s->node);
    const std::string rule = result == decimal_result::not_a_number   ? "is not a number, which " + type + " needs"
                             : result == decimal_result::out_of_range ? "has too many digits for " + type
                                                                      : "has digits past the scale of " + type;
    if (quoted) wrong_text(s, text, rule);
    wrong(s, cut_utf8(text, 100), rule);
}

void machine::instant_text(slot* s, std::string_view text) {
    if (is_epoch(s)) wrong_text(s, text, "is a text, and the column's format is " + std::string(name_of(s->form)));
    if (s->has_form && s->form == time_form::date) {
        const auto days = parse_date(text);
        if (!days) wrong_text(s, text, "is not a date like 2026-03-01");
        return fixed<std::int64_t>(s).append(*days * day_us);
    }
    if (s->kind == slot_kind::local_instant) {
        const auto local = parse_local_us(text);
        if (local) return fixed<std::int64_t>(s).append(*local);
        wrong_text(s, text,
                   parse_rfc3339_us(text) ? "has a zone, and TIMESTAMP_NTZ has none"
                                          : "is not a date and time like 2026-03-01T10:00:00.123456");
    }
    std::int64_t us = 0;
    if (instants_.parse(text, us)) return fixed<std::int64_t>(s).append(us);
    wrong_text(s, text,
               parse_local_us(text) ? "has no zone, which an instant needs"
                                    : "is not an RFC 3339 instant with microseconds at most");
}

void machine::instant_number(slot* s, std::string_view text) {
    if (!is_epoch(s))
        wrong(s, cut_utf8(text, 100),
              s->kind == slot_kind::instant && !s->has_form
                  ? std::string("is a number, and the column declares no unit (format epoch_s, epoch_ms or epoch_us)")
                  : "is a number, not " + std::string(s->has_form ? name_of(s->form) : "the text of a time") + " for " +
                        type_name(*s->node));
    std::int64_t us = 0;
    const int digits = s->form == time_form::epoch_s ? 6 : s->form == time_form::epoch_ms ? 3 : 0;
    switch (parse_epoch(text, digits, us)) {
        case number_result::ok: return fixed<std::int64_t>(s).append(us);
        case number_result::inexact: wrong(s, cut_utf8(text, 100), "has digits below a microsecond");
        default: wrong(s, cut_utf8(text, 100), "is outside the years 0001 to 9999");
    }
}

void machine::number_value(slot* s, std::string_view text, const std::int64_t* exact, bool lenient) {
    switch (s->kind) {
        case slot_kind::skip: return;
        case slot_kind::text:
        case slot_kind::json: return static_cast<text_column*>(s->out)->append(text);
        case slot_kind::int8: return integer<std::int8_t>(s, text, exact);
        case slot_kind::int16: return integer<std::int16_t>(s, text, exact);
        case slot_kind::int32: return integer<std::int32_t>(s, text, exact);
        case slot_kind::int64: return integer<std::int64_t>(s, text, exact);
        case slot_kind::float32: return real<float>(s, text);
        case slot_kind::float64: return real<double>(s, text);
        case slot_kind::decimal: return decimal(s, text, lenient);
        case slot_kind::instant:
        case slot_kind::local_instant:
        case slot_kind::date: return instant_number(s, text);
        case slot_kind::object:
            if (s->scalar)
                return instead_of_struct(s, [&](slot* member) { number_value(member, text, exact, lenient); });
            if (s->document && !s->item) return;
            break;
        case slot_kind::element: return number_value(next_element(), text, exact, lenient);
        case slot_kind::several:
            for (slot* taker : s->takers) number_value(taker, text, exact, lenient);
            return;
        case slot_kind::row:
            if (mends_ && !replaying_) return raw_row(std::string(text));
            break;
        case slot_kind::rescued: return rescue(s, text);
        case slot_kind::capture: return capture(s, std::string(text));
        default: break;
    }
    wrong_kind(s, "the number " + std::string(cut_utf8(text, 100)));
}

void machine::bool_value(slot* s, bool value) {
    const std::string_view text = value ? "true" : "false";
    switch (s->kind) {
        case slot_kind::skip: return;
        case slot_kind::boolean: return static_cast<bool_column*>(s->out)->append(value);
        case slot_kind::text:
        case slot_kind::json: return static_cast<text_column*>(s->out)->append(text);
        case slot_kind::object:
            if (s->scalar) return instead_of_struct(s, [&](slot* member) { bool_value(member, value); });
            if (s->document && !s->item) return;
            wrong_kind(s, text);
        case slot_kind::element: return bool_value(next_element(), value);
        case slot_kind::several:
            for (slot* taker : s->takers) bool_value(taker, value);
            return;
        case slot_kind::row:
            if (mends_ && !replaying_) return raw_row(std::string(text));
            wrong_kind(s, text);
        case slot_kind::rescued: return rescue(s, text);
        case slot_kind::capture: return capture(s, std::string(text));
        default: wrong_kind(s, text);
    }
}

void machine::null_value(slot* s) {
    switch (s->kind) {
        case slot_kind::skip:
        case slot_kind::records: return;
        case slot_kind::rescued: stray_.clear(); return;  // a null says nothing that its absence does not
        case slot_kind::row:
            if (mends_ && !replaying_) return raw_row("null");
            wrong_kind(s, "null");
        case slot_kind::element: return null_value(next_element());
        case slot_kind::several:
            for (slot* taker : s->takers) null_value(taker);
            return;
        case slot_kind::capture: return capture(s, "null");
        default: break;
    }
    if (!s->out) return;  // on the way: what lies below is missing
    if (!s->nullable) wrong(s, "null", "is not allowed: the column is NOT NULL", "records.null_in_required");
    s->out->append_null();
}

void machine::csv_field(slot* s, std::string_view text, bool quoted) {
    if (text.empty() && !quoted) return null_value(s);
    switch (s->kind) {
        case slot_kind::boolean:
            if (!equal_no_case(text, "true") && !equal_no_case(text, "false"))
                wrong_text(s, text, "is not true or false");
            return bool_value(s, text.size() == 4);
        case slot_kind::int8:
        case slot_kind::int16:
        case slot_kind::int32:
        case slot_kind::int64:
        case slot_kind::float32:
        case slot_kind::float64:
            if (!is_number(text, true)) wrong_text(s, text, "is not a number, which " + type_name(*s->node) + " needs");
            return number_value(s, text, nullptr, true);
        case slot_kind::instant:
            if (is_epoch(s) && is_number(text, true)) return instant_number(s, text);
            return text_value(s, text);
        case slot_kind::list:
        case slot_kind::map:
        case slot_kind::object: {
            slot* outside = current_;
            current_ = s;
            const std::string error = replay(text);
            if (!error.empty()) wrong_text(s, text, "is not JSON (" + error + ")");
            current_ = outside;
            return;
        }
        default: return text_value(s, text);
    }
}

}  // namespace lakeflow::host
