// host/base/json.cpp: see json.h.
#include "host/base/json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

json::value parse(std::string_view text, std::string_view code, std::string_view what) {
    boost::system::error_code ec;
    json::value value = json::parse(json::string_view(text.data(), text.size()), ec);
    if (ec) {
        throw failure(std::string(code),
                      std::string(what) + " is not JSON (" + ec.message() + "): " + std::string(cut_utf8(text, 200)));
    }
    return value;
}

// Doubles that are whole numbers within int64 count as integers: 1.0 is 1 (contract 1).
bool whole_number(double d, std::int64_t& out) {
    if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != std::floor(d)) return false;
    out = static_cast<std::int64_t>(d);
    return true;
}

void write(const json::value& value, std::string& out) {
    switch (value.kind()) {
        case json::kind::string:
            out += quote_json(std::string_view(value.get_string().data(), value.get_string().size()));
            break;
        case json::kind::array: {
            out += '[';
            bool first = true;
            for (const auto& element : value.get_array()) {
                if (!first) out += ',';
                first = false;
                write(element, out);
            }
            out += ']';
            break;
        }
        case json::kind::object: {
            std::vector<const json::key_value_pair*> members;
            for (const auto& member : value.get_object()) members.push_back(&member);
            std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key() < b->key(); });
            out += '{';
            bool first = true;
            for (const auto* member : members) {
                if (!first) out += ',';
                first = false;
                out += quote_json(std::string_view(member->key().data(), member->key().size())) + ':';
                write(member->value(), out);
            }
            out += '}';
            break;
        }
        default: {
            std::int64_t whole = 0;
            if (value.is_double() && whole_number(value.get_double(), whole)) {
                out += std::to_string(whole);
            } else {
                out += json::serialize(value);
            }
        }
    }
}

json::object parse_canonical(std::string_view canonical) {
    return parse(canonical, "offset.not_an_object", "the offset").as_object();
}

}  // namespace

std::string quote_json(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    out += "\\u00";
                    out += digits[static_cast<unsigned char>(c) >> 4];
                    out += digits[static_cast<unsigned char>(c) & 15];
                } else {
                    out += c;
                }
        }
    }
    return out + '"';
}

std::string canonical_offset(std::string_view text, std::string_view what, std::size_t limit) {
    const std::string name(what);
    const auto hint = "An offset is a JSON object of strings, integers and booleans.";
    if (text.size() > limit) {
        throw failure("offset.not_an_object",
                      "the offset of " + name + " has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(limit) + " are allowed",
                      hint);
    }
    const json::value value = parse(text, "offset.not_an_object", "the offset of " + name);
    if (!value.is_object()) {
        throw failure("offset.not_an_object",
                      "the offset of " + name + " is not a JSON object: " + std::string(cut_utf8(text, 200)), hint);
    }
    for (const auto& member : value.get_object()) {
        std::int64_t whole = 0;
        const json::value& v = member.value();
        const bool fine =
            v.is_string() || v.is_int64() || v.is_bool() || (v.is_double() && whole_number(v.get_double(), whole));
        if (!fine) {
            throw failure("offset.not_primitive",
                          "the offset of " + name + " has member \"" + std::string(member.key()) +
                              "\" = " + json::serialize(v).substr(0, 100),
                          hint);
        }
    }
    std::string out;
    write(value, out);
    return out;
}

std::string offset_member(std::string_view canonical, std::string_view member) {
    const json::object object = parse_canonical(canonical);
    const auto* found = object.if_contains(json::string_view(member.data(), member.size()));
    std::string out;
    if (found) write(*found, out);
    return out;
}

std::string with_offset_member(std::string_view canonical, std::string_view member, std::string_view value_json) {
    json::object object = parse_canonical(canonical);
    object[json::string_view(member.data(), member.size())] =
        parse(value_json, "offset.not_primitive", "the offset's member");
    return canonical_offset(json::serialize(object), "the host");
}

std::vector<std::string> offset_members(std::string_view canonical) {
    std::vector<std::string> names;
    for (const auto& member : parse_canonical(canonical)) names.emplace_back(member.key());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> descriptors(std::string_view text, std::string_view what, std::size_t limit) {
    const json::value value =
        parse(text, "partition.descriptor_invalid", "get_partitions' answer for " + std::string(what));
    if (!value.is_array()) {
        throw failure("partition.descriptor_invalid",
                      "get_partitions of " + std::string(what) +
                          " did not give a JSON array: " + std::string(cut_utf8(text, 200)));
    }
    std::vector<std::string> out;
    for (const auto& element : value.get_array()) {
        std::string canonical;
        write(element, canonical);
        const std::string where = "descriptor " + std::to_string(out.size()) + " of " + std::string(what);
        if (!element.is_object()) {
            throw failure("partition.descriptor_invalid", where + " is not a JSON object: " + canonical.substr(0, 200));
        }
        if (canonical.size() > limit) {
            throw failure("partition.descriptor_invalid", where + " has " + std::to_string(canonical.size()) +
                                                              " bytes; at most " + std::to_string(limit) +
                                                              " are allowed");
        }
        out.push_back(std::move(canonical));
    }
    return out;
}

std::string canonical_json(std::string_view text, std::string_view code, std::string_view what) {
    std::string out;
    write(parse(text, code, what), out);
    return out;
}

}  // namespace lakeflow::host
