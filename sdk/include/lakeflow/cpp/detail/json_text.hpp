// lakeflow/cpp/detail/json_text.hpp: the parser and the writer of `json`. Included by json.hpp. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "lakeflow/cpp/detail/number.hpp"
#include "lakeflow/cpp/detail/utf8.hpp"
#include "lakeflow/cpp/json.hpp"

namespace lakeflow {
namespace detail {

// JSON text of a string, quotes included. NUL and other control characters are escaped, the rest stands as UTF-8.
inline void append_quoted(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    out.push_back('"');
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        switch (c) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default:
                if (byte < 0x20) {
                    out += "\\u00";
                    out.push_back(hex[byte >> 4]);
                    out.push_back(hex[byte & 15]);
                } else {
                    out.push_back(c);
                }
        }
    }
    out.push_back('"');
}

// A recursive descent over one document.
class json_parser {
  public:
    explicit json_parser(std::string_view text) : text_(text) {}

    json document() {
        json out = value(0);
        space();
        if (at_ != text_.size()) fail("text after the end");
        return out;
    }

  private:
    static constexpr int max_depth = 256;

    [[noreturn]] void fail(const char* what) const {
        throw invalid("not JSON at byte " + std::to_string(at_) + ": " + what);
    }
    void space() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
            ++at_;
    }
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool word(std::string_view text) {
        if (text_.substr(at_, text.size()) != text) return false;
        at_ += text.size();
        return true;
    }

    json value(int depth) {
        if (depth > max_depth) fail("nested too deeply");
        space();
        if (at_ >= text_.size()) fail("it ends too early");
        switch (text_[at_]) {
            case '{': return object(depth);
            case '[': return array(depth);
            case '"': return json(string());
            case 't':
                if (word("true")) return json(true);
                break;
            case 'f':
                if (word("false")) return json(false);
                break;
            case 'n':
                if (word("null")) return json();
                break;
            default:
                if (size_t length = json_number_length(text_.substr(at_))) {
                    at_ += length;
                    return json::number(text_.substr(at_ - length, length));
                }
        }
        fail("no value");
    }

    json object(int depth) {
        json out = json::object();
        std::unordered_set<std::string> names;
        ++at_;
        space();
        if (take('}')) return out;
        std::vector<json::member> members;
        do {
            space();
            if (at_ >= text_.size() || text_[at_] != '"') fail("a member's name is missing");
            std::string name = string();
            if (!names.insert(name).second) fail("a name appears twice");
            space();
            if (!take(':')) fail("':' is missing");
            members.push_back({std::move(name), value(depth + 1)});
            space();
        } while (take(','));
        if (!take('}')) fail("'}' is missing");
        out.adopt(std::move(members));
        return out;
    }

    json array(int depth) {
        std::vector<json> items;
        ++at_;
        space();
        if (take(']')) return json::array();
        do {
            items.push_back(value(depth + 1));
            space();
        } while (take(','));
        if (!take(']')) fail("']' is missing");
        return json::array(std::move(items));
    }

    std::string string() {
        std::string out;
        ++at_;
        while (true) {
            if (at_ >= text_.size()) fail("a string is not closed");
            char c = text_[at_];
            if (c == '"') return ++at_, out;
            if (c == '\\') {
                escape(out);
                continue;
            }
            if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
            size_t length = utf8_length(text_, at_);
            if (length == 0) fail("invalid UTF-8");
            out.append(text_, at_, length);
            at_ += length;
        }
    }

    void escape(std::string& out) {
        static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
        ++at_;
        if (at_ >= text_.size()) fail("a string is not closed");
        if (text_[at_] == 'u') {
            ++at_;
            uint32_t code = hex4();
            if (code >= 0xDC00 && code <= 0xDFFF) fail("a lone surrogate");
            if (code >= 0xD800 && code <= 0xDBFF) {
                if (!word("\\u")) fail("a lone surrogate");
                uint32_t low = hex4();
                if (low < 0xDC00 || low > 0xDFFF) fail("a lone surrogate");
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            append_utf8(out, code);
            return;
        }
        size_t which = from.find(text_[at_]);
        if (which == std::string_view::npos) fail("an unknown escape");
        out.push_back(to[which]);
        ++at_;
    }

    uint32_t hex4() {
        uint32_t code = 0;
        if (at_ + 4 > text_.size()) fail("a cut escape");
        auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16);
        if (problem != std::errc{} || end != text_.data() + at_ + 4) fail("a cut escape");
        at_ += 4;
        return code;
    }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace detail

inline json json::parse(std::string_view text) { return detail::json_parser(text).document(); }

inline void json::write(std::string& out, bool sorted) const {
    switch (type()) {
        case kind::null: out += "null"; break;
        case kind::boolean: out += as_bool() ? "true" : "false"; break;
        case kind::integer: out += std::to_string(as_int()); break;
        case kind::number: {
            const std::string& text = std::get<number_text>(data_).text;
            out += sorted ? detail::canonical_number(text) : text;
            break;
        }
        case kind::text: detail::append_quoted(out, as_text()); break;
        case kind::array: {
            char before = '[';
            for (const json& item : items()) {
                out.push_back(before);
                item.write(out, sorted);
                before = ',';
            }
            if (before == '[') out.push_back('[');
            out.push_back(']');
            break;
        }
        case kind::object: {
            std::vector<const member*> order;
            for (const member& m : members()) order.push_back(&m);
            if (sorted) {
                std::sort(order.begin(), order.end(),
                          [](const member* a, const member* b) { return a->name < b->name; });
            }
            char before = '{';
            for (const member* m : order) {
                out.push_back(before);
                detail::append_quoted(out, m->name);
                out.push_back(':');
                m->value.write(out, sorted);
                before = ',';
            }
            if (before == '{') out.push_back('{');
            out.push_back('}');
            break;
        }
    }
}

inline std::string json::dump() const {
    std::string out;
    write(out, false);
    return out;
}

inline std::string json::canonical() const {
    std::string out;
    write(out, true);
    return out;
}

inline const json* json::pointer(std::string_view path) const {
    const json* here = this;
    if (!path.empty() && path.front() != '/') throw invalid("not a JSON pointer: '" + std::string(path) + "'");
    while (!path.empty()) {
        path.remove_prefix(1);
        size_t end = std::min(path.find('/'), path.size());
        std::string part;
        for (size_t i = 0; i < end; ++i) {
            bool escaped = path[i] == '~' && i + 1 < end && (path[i + 1] == '0' || path[i + 1] == '1');
            part.push_back(escaped ? (path[++i] == '0' ? '~' : '/') : path[i]);
        }
        path.remove_prefix(end);
        if (here->is_array()) {
            auto index = detail::plain_integer(part);
            if (!index || *index < 0 || static_cast<size_t>(*index) >= here->size()) return nullptr;
            here = &here->items()[static_cast<size_t>(*index)];
        } else if ((here = here->find(part)) == nullptr) {
            return nullptr;
        }
    }
    return here;
}

}  // namespace lakeflow
