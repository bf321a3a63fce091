// host/rows/csv.cpp: see csv.h.
#include "host/rows/csv.h"

#include "host/arrow/utf8.h"
#include "host/base/error.h"

namespace lakeflow::host {

void csv_parser::fail(const char* why, std::uint64_t at) const {
    throw failure("source.protocol", who_ + ": the text is not CSV at byte " + std::to_string(at) + ": " + why);
}

void csv_parser::reset() {
    state_ = state::field_begin;
    field_.clear();
    quoted_ = false;
    record_begun_ = false;
    offset_ = 0;
}

void csv_parser::end_field(csv_sink& sink, std::uint64_t at) {
    if (!utf8_valid(field_.data(), field_.data() + field_.size())) fail("the field before it is not UTF-8", at);
    sink.field(field_, quoted_);
    field_.clear();
    quoted_ = false;
    state_ = state::field_begin;
}

void csv_parser::end_record(csv_sink& sink, std::uint64_t at) {
    end_field(sink, at);
    record_begun_ = false;
    sink.end_record();
}

void csv_parser::feed(std::string_view bytes, csv_sink& sink) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        switch (state_) {
            case state::carriage_return:
                if (c != '\n') fail("a carriage return without a line feed", offset_ + i);
                end_record(sink, offset_ + i);
                continue;
            case state::quote_in_quoted:
                if (c == '"') {
                    field_ += '"';
                    state_ = state::quoted;
                    continue;
                }
                if (c != ',' && c != '\n' && c != '\r') fail("text after a closing quote", offset_ + i);
                break;
            case state::quoted: {
                const std::size_t end = bytes.find('"', i);
                const std::size_t stop = end == std::string_view::npos ? bytes.size() : end;
                field_.append(bytes.data() + i, stop - i);
                i = stop;
                if (stop < bytes.size()) state_ = state::quote_in_quoted;
                continue;
            }
            case state::field_begin:
                if (c == '"') {
                    quoted_ = true;
                    record_begun_ = true;
                    state_ = state::quoted;
                    continue;
                }
                break;
            case state::plain:
                if (c == '"') fail("a quote inside a field that does not begin with one", offset_ + i);
                break;
        }
        if (c == ',') {
            record_begun_ = true;
            end_field(sink, offset_ + i);
        } else if (c == '\n') {
            end_record(sink, offset_ + i);
        } else if (c == '\r') {
            state_ = state::carriage_return;
        } else {
            const std::size_t end = bytes.find_first_of(",\n\r\"", i);
            const std::size_t stop = end == std::string_view::npos ? bytes.size() : end;
            field_.append(bytes.data() + i, stop - i);
            i = stop - 1;
            record_begun_ = true;
            state_ = state::plain;
        }
    }
    offset_ += bytes.size();
}

void csv_parser::finish(csv_sink& sink) {
    if (state_ == state::quoted) fail("the text ends inside quotes", offset_);
    if (state_ == state::carriage_return || record_begun_) end_record(sink, offset_);
}

}  // namespace lakeflow::host
