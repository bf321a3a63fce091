// host/arrow/ddl.cpp: Spark's DDL text of a schema, both ways. Any thread.
#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr int max_depth = 60;

bool is_name_byte(char c) noexcept {
    const auto u = static_cast<unsigned char>(c);
    return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u == '_' || u >= 0x80;
}

class ddl_parser {
  public:
    explicit ddl_parser(std::string_view text) : text_(text) {}

    arrow_schema parse() {
        std::vector<arrow_schema> columns;
        skip_space();
        while (at_ < text_.size()) {
            columns.push_back(field(0, false));
            if (at_ == text_.size()) break;
            expect(',', "\",\" or the end");
            if (at_ == text_.size()) fail("a column is missing after the last comma");
        }
        refuse_twice(columns);
        return make_schema("+s", "", false, std::move(columns));
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        const std::string_view rest = cut_utf8(text_.substr(at_), 20);
        throw failure("config.schema",
                      "schema: " + why + " at byte " + std::to_string(at_) +
                          (rest.empty() ? ", the end of the text" : ", before \"" + std::string(rest) + "\""),
                      "A schema is written like \"id BIGINT NOT NULL, name STRING, tags ARRAY<STRING>\".");
    }

    void skip_space() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
            ++at_;
    }

    bool accept(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        skip_space();
        return true;
    }

    void expect(char c, const char* what) {
        if (!accept(c)) fail(std::string("expected ") + what);
    }

    std::string_view word() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
        const std::string_view result = text_.substr(begin, at_ - begin);
        skip_space();
        return result;
    }

    std::string name() {
        if (at_ < text_.size() && text_[at_] == '`') {
            std::string result;
            for (++at_;; ++at_) {
                if (at_ >= text_.size()) fail("a name in back-ticks does not end");
                if (text_[at_] != '`') {
                    if (text_[at_] == '\0') fail("a name must not hold a NUL");
                    result += text_[at_];
                    continue;
                }
                if (at_ + 1 >= text_.size() || text_[at_ + 1] != '`') break;
                result += text_[at_++];
            }
            ++at_;
            skip_space();
            if (result.empty()) fail("a name is empty");
            if (!is_utf8(result)) fail("a name is not UTF-8");
            return result;
        }
        const std::string result(word());
        if (result.empty()) fail("expected a name");
        if (!is_utf8(result)) fail("a name is not UTF-8");
        return result;
    }

    bool accept_word(std::string_view expected) {
        const std::size_t before = at_;
        if (equal_no_case(word(), expected)) return true;
        at_ = before;
        return false;
    }

    void text_literal() {
        if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("expected a text in quotes");
        const char quote = text_[at_++];
        while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
        if (at_ >= text_.size()) fail("a text in quotes does not end");
        ++at_;
        skip_space();
    }

    arrow_schema field(int depth, bool colon) {
        std::string field_name = name();
        if (colon) accept(':');
        arrow_schema result = type(std::move(field_name), depth);
        if (accept_word("NOT")) {
            if (!accept_word("NULL")) fail("expected NULL");
            result.get()->flags &= ~std::int64_t{ARROW_FLAG_NULLABLE};
        }
        if (accept_word("COMMENT")) text_literal();
        return result;
    }

    int number() {
        const auto value = parse_int(word());
        if (!value || *value < 0 || *value > 1000) fail("expected a number");
        return static_cast<int>(*value);
    }

    arrow_schema decimal(std::string field_name) {
        int precision = 10;
        int scale = 0;
        if (accept('(')) {
            precision = number();
            if (accept(',')) scale = number();
            expect(')', "\")\"");
        }
        if (precision < 1 || precision > 38) fail("a DECIMAL has 1 to 38 digits");
        if (scale > precision) fail("a DECIMAL's scale is at most its precision");
        return make_schema(format_of({type_id::decimal128, precision, scale}), std::move(field_name), true);
    }

    arrow_schema type(std::string field_name, int depth) {
        if (depth > max_depth) fail("nested too deep");
        const std::size_t begin = at_;
        const std::string kind = lower_ascii(word());
        struct simple {
            std::string_view name;
            type_id id;
        };
        static constexpr simple simples[] = {
            {"boolean", type_id::boolean},
            {"tinyint", type_id::int8},
            {"byte", type_id::int8},
            {"smallint", type_id::int16},
            {"short", type_id::int16},
            {"int", type_id::int32},
            {"integer", type_id::int32},
            {"bigint", type_id::int64},
            {"long", type_id::int64},
            {"float", type_id::float32},
            {"real", type_id::float32},
            {"double", type_id::float64},
            {"string", type_id::utf8},
            {"binary", type_id::binary},
            {"date", type_id::date32},
            {"timestamp", type_id::timestamp_utc},
            {"timestamp_ltz", type_id::timestamp_utc},
            {"timestamp_ntz", type_id::timestamp_local},
            {"void", type_id::null_},
        };
        for (const simple& s : simples)
            if (kind == s.name) return make_schema(format_of({s.id}), std::move(field_name), true);
        if (kind == "decimal" || kind == "dec" || kind == "numeric") return decimal(std::move(field_name));
        if (kind == "array") {
            expect('<', "\"<\"");
            std::vector<arrow_schema> child;
            child.push_back(type("item", depth + 1));
            expect('>', "\">\"");
            return make_schema("+l", std::move(field_name), true, std::move(child));
        }
        if (kind == "map") {
            expect('<', "\"<\"");
            std::vector<arrow_schema> pair;
            pair.push_back(type("key", depth + 1));
            pair.back().get()->flags &= ~std::int64_t{ARROW_FLAG_NULLABLE};
            expect(',', "\",\"");
            pair.push_back(type("value", depth + 1));
            expect('>', "\">\"");
            std::vector<arrow_schema> entries;
            entries.push_back(make_schema("+s", "entries", false, std::move(pair)));
            return make_schema("+m", std::move(field_name), true, std::move(entries));
        }
        if (kind == "struct") {
            expect('<', "\"<\"");
            std::vector<arrow_schema> fields;
            if (!accept('>')) {
                do fields.push_back(field(depth + 1, true));
                while (accept(','));
                expect('>', "\",\" or \">\"");
            }
            refuse_twice(fields);
            return make_schema("+s", std::move(field_name), true, std::move(fields));
        }
        at_ = begin;
        std::vector<std::string> known{"decimal", "array", "map", "struct"};
        for (const simple& s : simples) known.emplace_back(s.name);
        const auto near = nearest(kind, known);
        fail(kind.empty() ? "expected a type"
                          : "unknown type " + kind + (near ? " (did you mean " + *near + "?)" : std::string()));
    }

    void refuse_twice(const std::vector<arrow_schema>& fields) const {
        for (std::size_t i = 0; i < fields.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (name_of(*fields[i].get()) == name_of(*fields[j].get()))
                    fail("the name " + std::string(name_of(*fields[i].get())) + " is there twice");
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

void append_name(std::string& out, std::string_view name) {
    bool plain = !name.empty();
    for (const char c : name) plain = plain && is_name_byte(c);
    if (plain) {
        out += name;
        return;
    }
    out += '`';
    for (const char c : name) {
        if (c == '`') out += '`';
        out += c;
    }
    out += '`';
}

void append_type(std::string& out, const ArrowSchema& node) {
    const column_type type = type_of(node);
    switch (type.id) {
        case type_id::null_: out += "VOID"; break;
        case type_id::boolean: out += "BOOLEAN"; break;
        case type_id::int8: out += "TINYINT"; break;
        case type_id::int16: out += "SMALLINT"; break;
        case type_id::int32: out += "INT"; break;
        case type_id::int64: out += "BIGINT"; break;
        case type_id::float32: out += "FLOAT"; break;
        case type_id::float64: out += "DOUBLE"; break;
        case type_id::decimal128:
            out += "DECIMAL(" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ")";
            break;
        case type_id::utf8:
        case type_id::large_utf8: out += "STRING"; break;
        case type_id::binary:
        case type_id::large_binary: out += "BINARY"; break;
        case type_id::date32: out += "DATE"; break;
        case type_id::timestamp_utc: out += "TIMESTAMP"; break;
        case type_id::timestamp_local: out += "TIMESTAMP_NTZ"; break;
        case type_id::list:
            out += "ARRAY<";
            append_type(out, list_item(node));
            out += ">";
            break;
        case type_id::map:
            out += "MAP<";
            append_type(out, map_key(node));
            out += ", ";
            append_type(out, map_value(node));
            out += ">";
            break;
        case type_id::struct_:
            out += "STRUCT<";
            for (std::int64_t i = 0; i < node.n_children; ++i) {
                if (i) out += ", ";
                append_name(out, name_of(*node.children[i]));
                out += ": ";
                append_type(out, *node.children[i]);
                if (!is_nullable(*node.children[i])) out += " NOT NULL";
            }
            out += ">";
            break;
    }
}

}  // namespace

std::string type_name(const ArrowSchema& node) {
    std::string result;
    append_type(result, node);
    return result;
}

arrow_schema parse_ddl(std::string_view ddl) { return ddl_parser(ddl).parse(); }

std::string to_ddl(const ArrowSchema& schema) {
    std::string result;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        if (i) result += ", ";
        append_name(result, name_of(*schema.children[i]));
        result += " ";
        append_type(result, *schema.children[i]);
        if (!is_nullable(*schema.children[i])) result += " NOT NULL";
    }
    return result;
}

}  // namespace lakeflow::host
