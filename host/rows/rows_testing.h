// host/rows/rows_testing.h: for the tests of this floor: decodes a text whole, in pieces of one byte and of three, demands that all
// three say the same, and gives the rows as texts.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/base/error.h"
#include "host/rows/decoder.h"

namespace lakeflow::host::testing {

struct outcome {
    std::vector<std::string> rows;  // "1|null|x"
    std::string code;               // empty if it went well
    std::string message;
    std::string hint;
    std::string stats;
    std::vector<std::string> captures;  // "absent" for one that the document did not have
    friend bool operator==(const outcome&, const outcome&) = default;
};

inline std::vector<std::string> rows_of(const arrow_schema& schema, const arrow_array& batch) {
    std::vector<std::string> rows;
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
        std::string line;
        for (std::int64_t c = 0; c < schema.columns(); ++c)
            line += (c ? "|" : "") + value_text(schema.column(c), *batch.get()->children[c], row);
        rows.push_back(line);
    }
    return rows;
}

inline outcome decode_in_pieces(const arrow_schema& schema, std::string_view spec, std::string_view text,
                                std::size_t piece, const lf_context* context = nullptr) {
    outcome result;
    try {
        decoder d(context, *schema.get(), spec);
        try {
            // A pointer of its own for each piece, so that reading past it is seen by AddressSanitizer.
            for (std::size_t at = 0; at < text.size(); at += piece) {
                const std::vector<char> bytes(
                    text.begin() + static_cast<std::ptrdiff_t>(at),
                    text.begin() + static_cast<std::ptrdiff_t>(std::min(at + piece, text.size())));
                d.feed({bytes.data(), bytes.size()});
            }
            d.finish();
        } catch (const failure&) {
            arrow_array none;
            BOOST_TEST(!d.take(none), "a document that failed gave rows");
            throw;
        }
        result.stats = d.stats();
        for (std::size_t i = 0; i < d.captures(); ++i) result.captures.push_back(d.capture(i).value_or("absent"));
        arrow_array batch;
        while (d.take(batch)) {
            check_array(*schema.get(), *batch.get(), "decoded");
            const auto rows = rows_of(schema, batch);
            result.rows.insert(result.rows.end(), rows.begin(), rows.end());
        }
    } catch (const failure& f) {
        result.code = f.get().code;
        result.message = f.get().message;
        result.hint = f.get().hint;
    }
    return result;
}

inline outcome decode_text(std::string_view ddl, std::string_view spec, std::string_view text,
                           const lf_context* context = nullptr) {
    const arrow_schema schema = parse_ddl(ddl);
    outcome whole = decode_in_pieces(schema, spec, text, text.size() + 1, context);
    for (const std::size_t piece : {1, 3}) {
        const outcome parts = decode_in_pieces(schema, spec, text, piece, context);
        BOOST_TEST((parts == whole), "pieces of " << piece << " differ for " << text << ": " << parts.message << " and "
                                                  << whole.message);
    }
    return whole;
}

// One value in one column: its text, or "code: message".
inline std::string decode_value(const std::string& type, const std::string& json, const std::string& rule = {}) {
    const std::string spec = rule.empty() ? "{}" : "{\"columns\":{\"v\":" + rule + "}}";
    const outcome o = decode_text("v " + type, spec, "[{\"v\":" + json + "}]");
    if (!o.code.empty()) return o.code + ": " + o.message;
    return o.rows.size() == 1 ? o.rows[0] : "rows: " + std::to_string(o.rows.size());
}

}  // namespace lakeflow::host::testing
