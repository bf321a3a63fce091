// host/rows/csv.h: RFC 4180 as the bytes arrive: quotes, CRLF or LF, line breaks inside quotes. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace lakeflow::host {

class csv_sink {
  public:
    virtual void field(std::string_view text, bool quoted) = 0;
    virtual void end_record() = 0;

  protected:
    ~csv_sink() = default;
};

class csv_parser {
  public:
    explicit csv_parser(std::string who) : who_(std::move(who)) {}

    // Throws source.protocol with the byte offset.
    void feed(std::string_view bytes, csv_sink& sink);
    void finish(csv_sink& sink);
    void reset();

  private:
    enum class state { field_begin, plain, quoted, quote_in_quoted, carriage_return };

    [[noreturn]] void fail(const char* why, std::uint64_t at) const;
    void end_field(csv_sink& sink, std::uint64_t at);
    void end_record(csv_sink& sink, std::uint64_t at);

    std::string who_;  // whose text it is, for messages
    state state_ = state::field_begin;
    std::string field_;
    bool quoted_ = false;
    bool record_begun_ = false;  // a comma or a byte was seen on this line
    std::uint64_t offset_ = 0;   // of the first byte of the next feed
};

}  // namespace lakeflow::host
