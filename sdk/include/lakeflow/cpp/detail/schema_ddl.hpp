// lakeflow/cpp/detail/schema_ddl.hpp: Spark's DDL text of a schema, read and written. Included by schema.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/cpp/detail/number.hpp"
#include "lakeflow/cpp/schema.hpp"

namespace lakeflow {
namespace detail {

// column [:] TYPE [NOT NULL] [COMMENT 'text'], ...   Names may stand in backquotes, doubled inside.
class ddl_parser {
  public:
    explicit ddl_parser(std::string_view text) : text_(text) {}

    std::vector<field> all() {
        std::vector<field> out = fields();
        if (at_ != text_.size()) fail("unexpected text");
        return out;
    }

  private:
    static constexpr int max_depth = 64;

    [[noreturn]] void fail(std::string_view what) const {
        throw invalid("schema text, at byte " + std::to_string(at_) + ": " + std::string(what),
                      "write it as Spark does: id BIGINT NOT NULL, user STRUCT<login: STRING>");
    }
    void space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    bool take(char c) {
        space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void must(char c) {
        if (!take(c)) fail(std::string("'") + c + "' is missing");
    }
    static bool word_character(char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '$' ||
               static_cast<unsigned char>(c) >= 0x80;
    }
    std::string word() {
        space();
        size_t from = at_;
        while (at_ < text_.size() && word_character(text_[at_])) ++at_;
        return std::string(text_.substr(from, at_ - from));
    }
    std::string name() {
        if (!take('`')) {
            std::string out = word();
            if (out.empty()) fail("a column's name is missing");
            return out;
        }
        std::string out;
        while (at_ < text_.size()) {
            if (text_[at_] == '`') {
                ++at_;
                if (at_ >= text_.size() || text_[at_] != '`') return out;
            }
            out.push_back(text_[at_++]);
        }
        fail("a name is not closed");
    }
    static std::string upper(std::string text) {
        for (char& c : text)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        return text;
    }
    // Takes a keyword if it is next.
    bool keyword(std::string_view wanted) {
        size_t before = at_;
        if (upper(word()) == wanted) return true;
        at_ = before;
        return false;
    }

    std::vector<field> fields() {
        std::vector<field> out;
        space();
        do {
            std::string column = name();
            take(':');
            lakeflow::type kind = one_type();
            bool nullable = true;
            if (keyword("NOT")) {
                if (!keyword("NULL")) fail("NULL is missing after NOT");
                nullable = false;
            }
            if (keyword("COMMENT")) comment();
            for (const field& known : out)
                if (known.name == column) fail("the column '" + column + "' appears twice");
            out.push_back({std::move(column), std::move(kind), nullable});
        } while (take(','));
        space();
        return out;
    }

    void comment() {
        space();
        char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '\'' && quote != '"') fail("a comment's text is missing");
        for (++at_; at_ < text_.size(); ++at_) {
            bool doubled = text_[at_] == quote && at_ + 1 < text_.size() && text_[at_ + 1] == quote;
            if (text_[at_] == quote && !doubled) break;
            if (text_[at_] == '\\' || doubled) ++at_;
        }
        if (at_ >= text_.size()) fail("a comment is not closed");
        ++at_;
    }

    int number() {
        auto value = plain_integer(word());
        if (!value || *value < 0 || *value > 1'000'000'000) fail("a number is missing");
        return static_cast<int>(*value);
    }

    lakeflow::type one_type() {
        if (++depth_ > max_depth) fail("nested too deeply");
        lakeflow::type out = named_type(upper(word()));
        --depth_;
        return out;
    }

    lakeflow::type named_type(const std::string& word) {
        struct plain_type {
            std::string_view names;
            lakeflow::type type;
        };
        static const plain_type plain[] = {
            {"|BIGINT|LONG|", type::int64()},
            {"|STRING|", type::text()},
            {"|INT|INTEGER|", type::int32()},
            {"|BOOLEAN|BOOL|", type::boolean()},
            {"|SMALLINT|SHORT|", type::int16()},
            {"|TINYINT|BYTE|", type::int8()},
            {"|DOUBLE|", type::float64()},
            {"|FLOAT|REAL|", type::float32()},
            {"|BINARY|", type::binary()},
            {"|DATE|", type::date()},
            {"|TIMESTAMP_NTZ|", type::timestamp_ntz()},
            {"|TIMESTAMP|TIMESTAMP_LTZ|", type::timestamp()},
            {"|VOID|", type::null()},
        };
        if (word.empty()) fail("a type is missing");
        for (const plain_type& one : plain)
            if (one.names.find("|" + word + "|") != std::string_view::npos) return one.type;
        if (word == "VARCHAR" || word == "CHAR" || word == "CHARACTER") {
            must('(');
            number();
            must(')');
            return type::text();
        }
        if (word == "DECIMAL" || word == "DEC" || word == "NUMERIC") {
            int precision = 10, scale = 0;
            if (take('(')) {
                precision = number();
                if (take(',')) scale = number();
                must(')');
            }
            if (precision < 1 || precision > 38 || scale > precision) fail("such a DECIMAL does not exist");
            return type::decimal(precision, scale);
        }
        if (word == "ARRAY") {
            must('<');
            lakeflow::type element = one_type();
            must('>');
            return type::list(std::move(element));
        }
        if (word == "MAP") {
            must('<');
            lakeflow::type key = one_type();
            must(',');
            lakeflow::type value = one_type();
            must('>');
            return type::map(std::move(key), std::move(value));
        }
        if (word == "STRUCT") {
            must('<');
            if (take('>')) return type::structure({});
            std::vector<field> members = fields();
            must('>');
            return type::structure(std::move(members));
        }
        fail("'" + word + "' is not a type");
    }

    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
};

inline std::string ddl_name(const std::string& name) {
    std::string out = "`";
    bool plain = !name.empty() && !is_digit(name[0]);
    for (char c : name) {
        plain = plain && (is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
        out += c == '`' ? "``" : std::string(1, c);
    }
    return plain ? name : out + "`";
}

inline std::string ddl_fields(const std::vector<field>& fields, std::string_view between) {
    std::string out;
    for (const field& f : fields) {
        if (!out.empty()) out += ", ";
        out += ddl_name(f.name) + std::string(between) + f.type.ddl() + (f.nullable ? "" : " NOT NULL");
    }
    return out;
}

}  // namespace detail

inline std::string type::ddl() const {
    switch (kind_) {
        case type_kind::null: return "VOID";
        case type_kind::boolean: return "BOOLEAN";
        case type_kind::int8: return "TINYINT";
        case type_kind::int16: return "SMALLINT";
        case type_kind::int32: return "INT";
        case type_kind::int64: return "BIGINT";
        case type_kind::float32: return "FLOAT";
        case type_kind::float64: return "DOUBLE";
        case type_kind::decimal: return "DECIMAL(" + std::to_string(precision_) + "," + std::to_string(scale_) + ")";
        case type_kind::text:
        case type_kind::large_text: return "STRING";
        case type_kind::binary:
        case type_kind::large_binary: return "BINARY";
        case type_kind::date: return "DATE";
        case type_kind::timestamp: return "TIMESTAMP";
        case type_kind::timestamp_ntz: return "TIMESTAMP_NTZ";
        case type_kind::list: return "ARRAY<" + children_[0].type.ddl() + ">";
        case type_kind::structure: return "STRUCT<" + detail::ddl_fields(children_, ": ") + ">";
        case type_kind::map: return "MAP<" + children_[0].type.ddl() + ", " + children_[1].type.ddl() + ">";
    }
    throw permanent("a type of no kind");
}

inline schema schema::ddl(std::string_view text) { return schema(detail::ddl_parser(text).all()); }

inline std::string schema::ddl() const { return detail::ddl_fields(fields_, " "); }

}  // namespace lakeflow
