// host/query/print.cpp: see print.h.
#include "host/query/print.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/query/values.h"

namespace lakeflow::host {
namespace {

using sink = std::function<bool(std::string_view)>;

void put(const sink& out, std::string_view text) {
    if (!out(text)) throw failure("cancelled", "nobody reads the rows any more", {}, retry_class::cancelled);
}

class base : public row_printer {
  public:
    explicit base(sink out) : out_(std::move(out)) {}
    void begin(const std::vector<std::string>& names, const std::vector<duck::value_type>& types) override {
        names_ = names;
        types_ = types;
    }
    void end() override {}

  protected:
    sink out_;
    std::vector<std::string> names_;
    std::vector<duck::value_type> types_;
    std::string line_;
};

class json_lines final : public base {
  public:
    using base::base;
    void row(const duck::result& rows) override {
        line_ = "{";
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (i) line_ += ',';
            line_ += quote_json(names_[i]) + ":";
            append_json(rows[i], types_[i], line_);
        }
        put(out_, line_ += "}\n");
    }
};

// RFC 4180, lines ended by a line feed. A null is empty, an empty text stands in quotes.
class csv final : public base {
  public:
    using base::base;
    void begin(const std::vector<std::string>& names, const std::vector<duck::value_type>& types) override {
        base::begin(names, types);
        line_.clear();
        for (const auto& name : names) line_ += (line_.empty() ? "" : ",") + quoted(name);
        put(out_, line_ += "\n");
    }
    void row(const duck::result& rows) override {
        line_.clear();
        for (std::size_t i = 0; i < names_.size(); ++i) {
            bool null = false;
            const auto text = plain_text(rows[i], types_[i], null);
            if (i) line_ += ',';
            if (!null) line_ += quoted(text);
        }
        put(out_, line_ += "\n");
    }

  private:
    static std::string quoted(const std::string& text) {
        if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return text;
        std::string out = "\"";
        for (const char c : text) {
            if (c == '"') out += '"';
            out += c;
        }
        return out + "\"";
    }
};

// Columns that stand below each other. The widths are those of the first rows; a later value that is wider pushes its line out.
class table final : public base {
  public:
    using base::base;
    void begin(const std::vector<std::string>& names, const std::vector<duck::value_type>& types) override {
        base::begin(names, types);
        keep(names);
    }
    void row(const duck::result& rows) override {
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            bool null = false;
            auto text = plain_text(rows[i], types_[i], null);
            // A line break or a tab would break the table, an escape the terminal.
            std::string safe;
            for (const char c : text) safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
            cells.push_back(null ? "NULL" : width_of(safe) > most_width ? cut(safe) : safe);
        }
        ++rows_;
        if (flowing_) return print(cells);
        keep(std::move(cells));
        if (first_.size() > most_rows) flow();
    }
    void end() override {
        flow();
        put(out_, "(" + human_count(rows_) + (rows_ == 1 ? " row)\n" : " rows)\n"));
    }

  private:
    static constexpr std::size_t most_rows = 1'000;
    static constexpr std::size_t most_width = 60;

    static std::size_t width_of(const std::string& text) {
        return static_cast<std::size_t>(std::count_if(
            text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
    }
    static std::string cut(const std::string& text) {
        std::size_t at = 0;
        for (std::size_t seen = 0; at < text.size() && seen < most_width - 1; ++seen) {
            ++at;
            while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) ++at;
        }
        return text.substr(0, at) + "…";
    }

    void keep(std::vector<std::string> cells) {
        widths_.resize(cells.size());
        for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
        first_.push_back(std::move(cells));
    }
    void flow() {
        if (flowing_) return;
        flowing_ = true;
        bool heading = true;
        for (const auto& cells : first_) {
            print(cells);
            if (!std::exchange(heading, false)) continue;
            std::string rule;
            for (const auto width : widths_) rule += (rule.empty() ? "" : "  ") + std::string(width, '-');
            put(out_, rule + "\n");
        }
        first_.clear();
    }
    void print(const std::vector<std::string>& cells) {
        line_.clear();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const auto width = width_of(cells[i]);
            const std::string pad(widths_[i] > width ? widths_[i] - width : 0, ' ');
            line_ += (i ? "  " : "") + (is_number(types_[i]) ? pad + cells[i] : cells[i] + pad);
        }
        line_.erase(line_.find_last_not_of(' ') + 1);
        put(out_, line_ += "\n");
    }

    std::vector<std::vector<std::string>> first_;
    std::vector<std::size_t> widths_;
    std::uint64_t rows_ = 0;
    bool flowing_ = false;
};

}  // namespace

std::unique_ptr<row_printer> make_printer(row_format format, sink out) {
    switch (format) {
        case row_format::csv: return std::make_unique<csv>(std::move(out));
        case row_format::table: return std::make_unique<table>(std::move(out));
        default: return std::make_unique<json_lines>(std::move(out));
    }
}

}  // namespace lakeflow::host
