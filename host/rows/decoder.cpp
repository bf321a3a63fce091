// host/rows/decoder.cpp: documents: feeds parsers, marks where a document's rows begin, and takes them back when it fails. The one
// file around Boost.JSON's parser.
#include "host/rows/decoder.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/http/http.h"
#include "host/rows/content.h"
#include "host/rows/csv.h"
#include "host/rows/machine.h"
#include "host/rows/rescue.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

constexpr std::size_t slice = std::size_t{16} << 20;  // bytes between two looks at the sizes and the cancellation

std::string_view sv(json::string_view s) noexcept { return {s.data(), s.size()}; }

// Boost.JSON's events, handed to a machine. A handler that returns is one that goes on: errors are exceptions.
struct events {
    static constexpr std::size_t max_object_size = std::size_t(-1);
    static constexpr std::size_t max_array_size = std::size_t(-1);
    static constexpr std::size_t max_key_size = std::size_t{1} << 20;
    static constexpr std::size_t max_string_size = std::size_t(-1);

    machine* m;

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) { return m->object_begin(), true; }
    bool on_object_end(std::size_t, json::error_code&) { return m->object_end(), true; }
    bool on_array_begin(json::error_code&) { return m->array_begin(), true; }
    bool on_array_end(std::size_t, json::error_code&) { return m->array_end(), true; }
    bool on_key_part(json::string_view s, std::size_t, json::error_code&) { return m->key_part(sv(s)), true; }
    bool on_key(json::string_view s, std::size_t, json::error_code&) { return m->key(sv(s)), true; }
    bool on_string_part(json::string_view s, std::size_t, json::error_code&) { return m->string_part(sv(s)), true; }
    bool on_string(json::string_view s, std::size_t, json::error_code&) { return m->string(sv(s)), true; }
    bool on_number_part(json::string_view s, json::error_code&) { return m->number_part(sv(s)), true; }
    bool on_int64(std::int64_t i, json::string_view s, json::error_code&) { return m->number(sv(s), &i), true; }
    bool on_uint64(std::uint64_t, json::string_view s, json::error_code&) { return m->number(sv(s), nullptr), true; }
    bool on_double(double, json::string_view s, json::error_code&) { return m->number(sv(s), nullptr), true; }
    bool on_bool(bool b, json::error_code&) { return m->boolean(b), true; }
    bool on_null(json::error_code&) { return m->null(), true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }
};

using parser = json::basic_parser<events>;

json::parse_options options() {
    json::parse_options result;
    result.max_depth = 256;
    return result;
}

}  // namespace

struct decoder::impl final : csv_sink {
    virtual ~impl() = default;
    impl(const lf_context* context, const ArrowSchema& schema, std::string_view spec, decoder_limits limits)
        : limits_(limits),
          plan_(schema, parse_rows_spec(spec), context && context->flow && context->flow->rescue),
          machine_(plan_, context),
          parser_(options(), events{&machine_}),
          csv_(machine_.who()) {
        if (context) cancelled_ = context->cancelled;
        if (context) mismatches_ = context->mismatches;
        machine_.replay = [this](std::string_view text) {
            parser p(options(), events{&machine_});
            json::error_code ec;
            const std::size_t n = p.write_some(false, text.data(), text.size(), ec);
            if (!ec && n == text.size()) return std::string();
            return ec ? ec.message() : std::string("text after the end");
        };
        machine_.after_row = [this] {
            if (plan_.table->widest() > limits_.widest_column) seal();
        };
        machine_.begin_document();
        last_ = machine_.take_counts();
    }

    void start() {
        open_ = true;
        offset_ = 0;
        bom_ = 0;
        line_open_ = false;
        mark_ = plan_.table->length();
        machine_.begin_document();
        machine_.begin(plan_.spec.format == rows_format::json ? plan_.root : plan_.row);
        parser_.reset();
        csv_.reset();
        header_.clear();
        has_header_ = false;
        field_ = 0;
        fields_.clear();
    }

    void abandon() noexcept {
        if (!open_) return;
        open_ = false;
        sealed_.resize(finished_);
        plan_.table->truncate(mark_);
        machine_.begin(skip_slot());
        parser_.reset();
    }

    // Rows that are complete leave the table, so that no column outgrows its offsets.
    void seal() {
        struct_column& table = *plan_.table;
        if (mark_ > 0) {  // those of earlier documents stay when this one fails
            sealed_.push_back(table.copy(0, mark_));
            ++finished_;
            table.erase_head(mark_);
            mark_ = 0;
        }
        if (table.length() > 0) sealed_.push_back(table.finish());
        fed_ = 0;
        machine_.tell_rows = false;
    }

    void feed(std::string_view bytes) {
        if (!open_) start();
        bytes = skip_bom(bytes);
        while (!bytes.empty()) {
            if (cancelled_) cancelled_->check();
            const std::string_view part = bytes.substr(0, slice);
            bytes.remove_prefix(part.size());
            fed_ += part.size();
            if (fed_ > limits_.look_from || plan_.table->length() > (1 << 20)) machine_.tell_rows = true;
            feed_part(part);
        }
    }

    std::string_view skip_bom(std::string_view bytes) {
        static constexpr std::string_view bom = "\xEF\xBB\xBF";
        while (bom_ < bom.size() && !bytes.empty()) {
            if (bytes[0] != bom[bom_]) {
                const std::size_t swallowed = bom_;
                bom_ = bom.size();
                offset_ = 0;
                if (swallowed > 0) feed_part(bom.substr(0, swallowed));
                break;
            }
            ++bom_;
            ++offset_;
            bytes.remove_prefix(1);
        }
        return bytes;
    }

    void feed_part(std::string_view part) {
        switch (plan_.spec.format) {
            case rows_format::json: return feed_json(part);
            case rows_format::jsonl: return feed_lines(part);
            case rows_format::csv: return csv_.feed(part, *this);
        }
    }

    [[noreturn]] void not_json(const json::error_code& ec, std::uint64_t at) const {
        if (ec == json::error::exponent_overflow)
            throw failure("value.mismatch",
                          machine_.where() + ": the number at byte " + std::to_string(at) + " is out of every range");
        const std::string why = ec == json::error::incomplete ? "it ends in the middle" : ec.message();
        throw failure("source.protocol",
                      machine_.who() + ": the text is not JSON at byte " + std::to_string(at) + ": " + why);
    }

    void feed_json(std::string_view part) {
        json::error_code ec;
        const std::size_t n = parser_.write_some(true, part.data(), part.size(), ec);
        if (ec) not_json(ec, offset_ + n);
        if (n < part.size()) not_json(json::make_error_code(json::error::extra_data), offset_ + n);
        offset_ += n;
    }

    void end_json() {
        json::error_code ec;
        parser_.write_some(false, "", 0, ec);
        if (ec) not_json(ec, offset_);
    }

    void feed_lines(std::string_view part) {
        while (!part.empty()) {
            const std::size_t end = part.find('\n');
            const std::string_view line = part.substr(0, end);
            if (line_open_ || line.find_first_not_of(" \t\r") != std::string_view::npos) {
                line_open_ = true;
                feed_json(line);
            } else {
                offset_ += line.size();
            }
            if (end == std::string_view::npos) return;
            end_line();
            ++offset_;
            part.remove_prefix(end + 1);
        }
    }

    void end_line() {
        if (!line_open_) return;
        end_json();
        line_open_ = false;
        parser_.reset();
        machine_.begin(plan_.row);
    }

    void finish() {
        if (!open_) start();
        if (cancelled_) cancelled_->check();
        if (bom_ > 0 && bom_ < 3) feed_part(std::string_view("\xEF\xBB\xBF").substr(0, bom_));
        switch (plan_.spec.format) {
            case rows_format::json: end_json(); break;
            case rows_format::jsonl: end_line(); break;
            case rows_format::csv:
                csv_.finish(*this);
                if (!has_header_)
                    throw failure("source.protocol", machine_.who() + ": the text is not CSV: there is no header line");
                break;
        }
        open_ = false;
        finished_ = sealed_.size();
        last_ = machine_.take_counts();
        // Not before: the rows of a document that breaks off are no one's.
        mismatches found = machine_.take_mismatches();
        if (mismatches_ && !found.empty()) mismatches_->add(std::move(found));
    }

    // CSV: the first record names the columns.
    void field(std::string_view text, bool quoted) override {
        const std::size_t i = field_++;
        if (!has_header_) {
            header_.emplace_back(text);
            return;
        }
        if (machine_.mends()) {
            fields_.emplace_back(text, quoted);
            return;
        }
        if (i == 0) machine_.begin_row();
        // One empty field may be an empty line, which is no row: known only when the next field or the line's end comes.
        if (i == 0 && text.empty() && !quoted && header_.size() > 1) return;
        if (i == 1 && first_empty_) give({}, false, 0);
        first_empty_ = false;
        if (i < header_.size()) give(text, quoted, i);
    }

    void give(std::string_view text, bool quoted, std::size_t i) {
        for (slot* s : by_field_[i]) machine_.csv_field(s, text, quoted);
        if (by_field_[i].empty()) machine_.csv_unknown(header_[i], text, quoted);
    }

    void check_fields(std::size_t count) const {
        if (count == header_.size()) return;
        throw failure("value.mismatch", machine_.where() + ": the line has " + std::to_string(count) +
                                            " fields and the header has " + std::to_string(header_.size()));
    }

    // A whole line, where rows are mended.
    void mend_line() {
        const auto fields = std::exchange(fields_, {});
        if (fields.size() == 1 && fields[0].first.empty() && !fields[0].second && header_.size() > 1) return;
        machine_.begin_row();
        machine_.mend_row(
            [&] {
                check_fields(fields.size());
                for (std::size_t i = 0; i < fields.size(); ++i) give(fields[i].first, fields[i].second, i);
                machine_.end_row();
            },
            [&] {
                std::string raw;
                for (std::size_t i = 0; i < fields.size(); ++i) {
                    const auto& [text, quoted] = fields[i];
                    const std::string name = i < header_.size() ? header_[i] : "#" + std::to_string(i + 1);
                    raw += (raw.empty() ? "{" : ",") + quote_json(name) + ":" +
                           (text.empty() && !quoted ? "null" : quote_json(text));
                }
                return raw.empty() ? "{}" : raw + "}";
            });
    }

    void end_record() override {
        const std::size_t fields = std::exchange(field_, 0);
        if (!has_header_) return read_header();
        if (machine_.mends()) return mend_line();
        const bool empty_line = std::exchange(first_empty_, true) && fields == 1 && header_.size() > 1;
        if (empty_line) return;
        check_fields(fields);
        machine_.end_row();
    }

    void read_header() {
        has_header_ = true;
        first_empty_ = true;
        by_field_.assign(header_.size(), {});
        std::unordered_map<std::string_view, std::size_t> places;
        for (std::size_t i = 0; i < header_.size(); ++i)
            if (!places.emplace(header_[i], i).second)
                throw failure("value.mismatch", machine_.who() + ": the header has \"" + header_[i] + "\" twice");
        for (std::size_t c = 0; c < plan_.columns.size(); ++c) {
            if (!plan_.columns[c]) continue;
            const auto at = places.find(plan_.header_names[c]);
            if (at == places.end()) {
                const auto near = nearest(plan_.header_names[c], header_);
                throw failure("value.mismatch",
                              machine_.who() + ": the header has no column \"" + plan_.header_names[c] + "\"",
                              near ? "It has \"" + *near + "\"." : std::string());
            }
            by_field_[at->second].push_back(plan_.columns[c]);
        }
    }

    bool take(arrow_array& out) {
        if (!take_whole(out)) return false;
        if (plan_.rescued) out = hide_last(std::move(out));
        return true;
    }

    bool take_whole(arrow_array& out) {
        if (finished_ > 0) {
            out = std::move(sealed_.front());
            sealed_.erase(sealed_.begin());
            --finished_;
            return true;
        }
        struct_column& table = *plan_.table;
        const std::int64_t rows = open_ ? mark_ : table.length();
        if (rows == 0) return false;
        if (open_) {
            out = table.copy(0, rows);
            table.erase_head(rows);
            mark_ = 0;
        } else {
            out = table.finish();
            fed_ = 0;
            machine_.tell_rows = false;
        }
        return true;
    }

    std::string stats() const {
        std::int64_t pending = open_ ? mark_ : plan_.table->length();
        std::size_t bytes = pending > 0 ? plan_.table->bytes() : 0;
        for (std::size_t i = 0; i < finished_; ++i) {
            pending += sealed_[i].rows();
            bytes += memory_size(*plan_.schema.get(), *sealed_[i].get());
        }
        std::string result = "{\"rows\":" + std::to_string(last_.rows) + ",\"kept\":" + std::to_string(last_.kept) +
                             (last_.bad > 0 ? ",\"bad\":" + std::to_string(last_.bad) : std::string()) +
                             ",\"pending\":" + std::to_string(pending) + ",\"pending_bytes\":" + std::to_string(bytes);
        const auto member = [&](const char* name, const auto& text_of) {
            result += std::string(",\"") + name + "\":{";
            for (std::size_t i = 0; i < plan_.watch.size(); ++i)
                result += (i ? "," : "") + quote_json(plan_.watch[i].name) + ":" + text_of(i);
            result += "}";
        };
        member("min", [&](std::size_t i) { return cell_json(last_.watched[i].min, *plan_.watch[i].node); });
        member("max", [&](std::size_t i) { return cell_json(last_.watched[i].max, *plan_.watch[i].node); });
        member("last", [&](std::size_t i) { return cell_json(last_.watched[i].last, *plan_.watch[i].node); });
        member("nulls", [&](std::size_t i) { return std::to_string(last_.watched[i].nulls); });
        return result + "}";
    }

    decoder_limits limits_;
    plan plan_;
    machine machine_;
    parser parser_;
    std::shared_ptr<cancel_token> cancelled_;    // may be null
    std::shared_ptr<mismatch_sink> mismatches_;  // may be null
    bool open_ = false;                          // a document is being fed
    std::uint64_t offset_ = 0;                   // of the next byte in the document
    std::size_t bom_ = 0;                        // bytes of the BOM that were seen; 3: no more are looked for
    bool line_open_ = false;                     // jsonl: the line has begun
    std::int64_t mark_ = 0;                      // rows of finished documents in the table
    std::vector<arrow_array> sealed_;            // rows that had to leave the table early
    std::size_t finished_ = 0;                   // how many of them belong to finished documents
    std::size_t fed_ = 0;                        // bytes since the table was empty
    document_counts last_;

    csv_parser csv_;
    std::vector<std::string> header_;
    bool has_header_ = false;
    std::size_t field_ = 0;
    std::vector<std::pair<std::string, bool>> fields_;  // of the line, where rows are mended
    bool first_empty_ = true;
    std::vector<std::vector<slot*>> by_field_;
};

decoder::decoder(const lf_context* context, const ArrowSchema& schema, std::string_view spec, decoder_limits limits)
    : impl_(std::make_unique<impl>(context, schema, spec.empty() ? "{}" : spec, limits)) {}
decoder::~decoder() = default;
decoder::decoder(decoder&&) noexcept = default;
decoder& decoder::operator=(decoder&&) noexcept = default;

void decoder::feed(std::string_view bytes) {
    try {
        impl_->feed(bytes);
    } catch (...) {
        impl_->abandon();
        throw;
    }
}

void decoder::finish() {
    try {
        impl_->finish();
    } catch (...) {
        impl_->abandon();
        throw;
    }
}

void decoder::abandon() noexcept { impl_->abandon(); }

void decoder::decode(exchange& answer) {
    if (impl_->open_)
        throw failure("plugin.contract", impl_->machine_.who() + ": decode between feed and finish", {},
                      retry_class::invalid);
    const int status = answer.head();
    for (;;) {
        std::string reason;
        try {
            const std::string refused = wrong_content(impl_->plan_.spec.format, answer.header("content-type"));
            if (!refused.empty()) throw failure("source.protocol", impl_->machine_.who() + ": " + refused);
            std::string_view piece;
            while (answer.read(piece)) feed(piece);
            finish();
            return;
        } catch (const failure& f) {
            abandon();
            if (f.get().code != "source.protocol" && f.get().code != "source.transient") throw;
            reason = f.get().message;
        }
        answer.retry(reason);
        const int again = answer.head();
        if (again != status)
            throw failure("source.transient",
                          impl_->machine_.who() + ": " + answer.describe() + " said " + std::to_string(status) +
                              " and, asked again, " + std::to_string(again),
                          {}, retry_class::transient);
    }
}

bool decoder::take(arrow_array& out) { return impl_->take(out); }

std::optional<std::string> decoder::capture(std::size_t index) const {
    const document_counts& last = impl_->last_;
    if (!last.captured[index]) return std::nullopt;
    return last.captures[index];
}

std::size_t decoder::captures() const noexcept { return impl_->plan_.spec.captures.size(); }

std::string decoder::stats() const { return impl_->stats(); }

}  // namespace lakeflow::host
