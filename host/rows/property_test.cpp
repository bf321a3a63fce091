// host/rows/property_test.cpp: random schemas and rows, written as JSON in many forms, must come back as they were. The seed is in
// the message of a failure; LAKEFLOW_SEED runs it again.
#include <charconv>
#include <cstdlib>
#include <random>

#include "host/base/json.h"
#include "host/base/time.h"
#include "host/rows/rows_testing.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

struct type {
    enum class kind { boolean, integer, real, decimal, text, date, instant, list, structure, map };
    kind k = kind::text;
    std::vector<type> members;  // struct: m0, m1, ..; list: one; map: one

    std::string ddl() const {
        switch (k) {
            case kind::boolean: return "BOOLEAN";
            case kind::integer: return "BIGINT";
            case kind::real: return "DOUBLE";
            case kind::decimal: return "DECIMAL(20,3)";
            case kind::text: return "STRING";
            case kind::date: return "DATE";
            case kind::instant: return "TIMESTAMP";
            case kind::list: return "ARRAY<" + members[0].ddl() + ">";
            case kind::map: return "MAP<STRING, " + members[0].ddl() + ">";
            case kind::structure: break;
        }
        std::string out = "STRUCT<";
        for (std::size_t i = 0; i < members.size(); ++i)
            out += (i ? ", m" : "m") + std::to_string(i) + ": " + members[i].ddl();
        return out + ">";
    }
};

// A value as JSON, and as value_text prints it on its own and inside another.
struct value {
    std::string json;
    std::string alone;
    std::string inside;
};

class generator {
  public:
    explicit generator(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    type make_type(int depth) {
        type t;
        t.k = static_cast<type::kind>(below(depth > 2 ? 7 : 10));
        const std::size_t members = t.k == type::kind::structure ? 1 + below(4) : t.k >= type::kind::list ? 1 : 0;
        for (std::size_t i = 0; i < members; ++i) t.members.push_back(make_type(depth + 1));
        return t;
    }

    std::string space() { return below(6) == 0 ? std::string(1 + below(3), " \t\n\r"[below(4)]) : std::string(); }

    value make(const type& t) {
        if (below(7) == 0) return {"null", "null", "null"};
        switch (t.k) {
            case type::kind::boolean: return below(2) ? plain("true") : plain("false");
            case type::kind::integer: return integer();
            case type::kind::real: return real();
            case type::kind::decimal: return decimal();
            case type::kind::text: return text();
            case type::kind::date: {
                const std::string day = format_date(static_cast<std::int32_t>(below(100'000)) - 20'000);
                return {"\"" + day + "\"", day, "\"" + day + "\""};
            }
            case type::kind::instant: return instant();
            case type::kind::list: {
                value v{"[", "[", ""};
                for (std::size_t i = below(4); i > 0; --i) append(v, "", "", make(t.members[0]), i > 1);
                return closed(v, "]");
            }
            case type::kind::map: {
                value v{"{", "{", ""};
                const std::size_t count = below(20);
                for (std::size_t i = 0; i < count; ++i) {
                    const std::string key = "\"k" + std::to_string(i) + "\":";
                    append(v, key, key, make(t.members[0]), i + 1 < count);
                }
                return closed(v, "}");
            }
            case type::kind::structure: return structure(t);
        }
        return {};
    }

  private:
    static value plain(const std::string& s) { return {s, s, s}; }

    void append(value& v, const std::string& json_key, const std::string& key, const value& part, bool more) {
        v.json += space() + json_key + space() + part.json + space() + (more ? "," : "");
        v.alone += key + part.inside + (more ? "," : "");
    }
    static value closed(value v, const char* bracket) {
        v.json += bracket;
        v.alone += bracket;
        v.inside = v.alone;
        return v;
    }

    value structure(const type& t) {
        std::vector<std::string> parts;
        std::string printed = "{";
        for (std::size_t i = 0; i < t.members.size(); ++i) {
            const std::string name = "m" + std::to_string(i);
            value v = make(t.members[i]);
            if (below(8) == 0)
                v = {"", "null", "null"};  // missing
            else
                parts.push_back("\"" + name + "\"" + space() + ":" + space() + v.json);
            printed += (printed.size() > 1 ? ",\"" : "\"") + name + "\":" + v.inside;
        }
        if (below(4) == 0) parts.push_back(R"("unknown":{"m0":[1,{"m1":null}]})");
        std::shuffle(parts.begin(), parts.end(), random_);
        std::string json = "{";
        for (std::size_t i = 0; i < parts.size(); ++i) json += (i ? "," : "") + space() + parts[i] + space();
        return {json + "}", printed + "}", printed + "}"};
    }

    value integer() {
        const auto i = static_cast<std::int64_t>(random_() >> below(64)) * (below(2) ? 1 : -1);
        const std::string digits = std::to_string(i);
        switch (below(4)) {
            case 0: return {digits + ".0", digits, digits};
            case 1: return {i == 0 ? "0e-2" : digits + "00e-2", digits, digits};  // JSON has no leading zeros
            default: return plain(digits);
        }
    }

    value real() {
        const double d = static_cast<double>(static_cast<std::int64_t>(random_())) /
                         static_cast<double>(1 + random_() % 1'000'000'007);
        char text[64];
        const std::string shown(text, std::to_chars(text, text + sizeof text, d).ptr);
        return plain(shown);
    }

    value decimal() {
        const std::string whole = std::to_string(random_() % 100'000'000);
        const std::string fraction = std::to_string(1000 + below(1000)).substr(1);
        const std::string shown = (below(2) && whole != "0" ? "-" : "") + whole + "." + fraction;
        return {below(2) ? "\"" + shown + "\"" : shown, shown, shown};
    }

    value instant() {
        const std::int64_t us = static_cast<std::int64_t>(random_() % 4'000'000'000'000'000) - 1'000'000'000'000'000;
        const std::int64_t rounded = below(2) ? us / 1'000'000 * 1'000'000 : us;
        const std::string shown = format_rfc3339(rounded);
        std::string json = shown;
        if (below(3) == 0) {  // the same instant with an offset
            json = format_rfc3339(rounded + 90 * 60'000'000ll);
            json = json.substr(0, json.size() - 1) + "+01:30";
        }
        return {"\"" + json + "\"", shown, "\"" + shown + "\""};
    }

    value text() {
        std::string raw;
        std::string json = "\"";
        for (std::size_t i = below(below(10) == 0 ? 300 : 12); i > 0; --i) {
            switch (below(6)) {
                case 0: raw += '\n', json += below(2) ? "\\n" : "\\u000A"; break;
                case 1: raw += "\xC3\xA9", json += below(2) ? "\xC3\xA9" : "\\u00e9"; break;
                case 2: raw += "\xF0\x9F\x98\x80", json += below(2) ? "\xF0\x9F\x98\x80" : "\\uD83D\\uDE00"; break;
                case 3: raw += '"', json += "\\\""; break;
                case 4: raw += '\0', json += "\\u0000"; break;
                default: raw += "plain ", json += "plain ";
            }
        }
        return {json + "\"", raw, quote_json(raw)};
    }

    std::mt19937_64 random_;
};

std::uint64_t seed_of_the_run() {
    const char* given = std::getenv("LAKEFLOW_SEED");
    const std::string_view text = given ? given : "";
    std::uint64_t seed = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), seed).ec == std::errc() && !text.empty()) return seed;
    return std::random_device{}();
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_rows_come_back) {
    const std::uint64_t seed = seed_of_the_run();
    BOOST_TEST_MESSAGE("seed " << seed);
    for (std::uint64_t round = 0; round < 150; ++round) {
        generator g(seed + round);
        const std::size_t columns = 1 + g.below(6);
        std::vector<type> types;
        std::string ddl;
        for (std::size_t c = 0; c < columns; ++c) {
            types.push_back(g.make_type(0));
            ddl += (c ? ", c" : "c") + std::to_string(c) + " " + types.back().ddl();
        }
        const arrow_schema schema = parse_ddl(ddl);
        decoder d(nullptr, *schema.get(), "",
                  decoder_limits{g.below(2) ? std::size_t{200} : std::size_t{1} << 30, 300});
        std::vector<std::string> expected;
        std::vector<std::string> got;
        const auto take = [&] {
            arrow_array batch;
            while (d.take(batch)) {
                check_array(*schema.get(), *batch.get(), "decoded");
                const auto rows = rows_of(schema, batch);
                got.insert(got.end(), rows.begin(), rows.end());
            }
        };
        for (std::size_t document = 1 + g.below(4); document > 0; --document) {
            std::vector<std::string> rows;
            std::string json = g.space() + "[";
            for (std::size_t row = g.below(12); row > 0; --row) {
                std::string line;
                json += g.space() + "{";
                for (std::size_t c = 0; c < columns; ++c) {
                    const value v = g.make(types[c]);
                    json += (c ? ",\"c" : "\"c") + std::to_string(c) + "\":" + g.space() + v.json + g.space();
                    line += (c ? "|" : "") + v.alone;
                }
                json += row > 1 ? "}," : "}";
                rows.push_back(line);
            }
            json += "]" + g.space();
            const bool broken = g.below(4) == 0;
            if (broken) json.resize(g.below(json.rfind(']') + 1));
            try {
                for (std::size_t at = 0; at < json.size();) {
                    const std::size_t piece = 1 + g.below(40);
                    d.feed(std::string_view(json).substr(at, piece));
                    at += piece;
                    if (g.below(30) == 0) take();  // in the middle of a document: only rows of earlier ones
                }
                d.finish();
                BOOST_TEST(!broken);
                expected.insert(expected.end(), rows.begin(), rows.end());
            } catch (const failure& f) {
                BOOST_TEST((broken && f.get().code == "source.protocol"), "seed " << seed + round << ": " << f.what()
                                                                                  << "\n"
                                                                                  << ddl);
            }
            if (g.below(2)) take();
        }
        take();
        BOOST_TEST(got == expected, "seed " << seed + round << ", " << ddl);
    }
}
