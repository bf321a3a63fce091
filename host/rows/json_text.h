// host/rows/json_text.h: writes a JSON value again, compactly, from the events of a parser; numbers as they stood. Notices a key
// that stands twice in one object. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

// Appends the inside of a JSON string: escapes only what JSON demands.
void append_escaped(std::string& out, std::string_view text);

class json_text {
  public:
    bool active() const noexcept { return depth_ > 0; }
    std::string& text() noexcept { return out_; }

    void clear();  // before the next value
    void begin_object();
    void begin_array();
    // True if the value is complete.
    bool end_object() { return end('}'); }
    bool end_array() { return end(']'); }
    void string_part(std::string_view part);
    void string_end(std::string_view last);
    void key_part(std::string_view part);
    // False if the key stands twice in its object.
    bool key_end(std::string_view last);
    void literal(std::string_view text) {  // a number, true, false, null
        comma();
        out_ += text;
    }
    // The last key, for messages.
    std::string_view last_key() const noexcept { return std::string_view(out_).substr(key_begin_, key_size_); }

  private:
    struct seen {
        std::uint64_t hash = 0;
        std::uint64_t generation = 0;  // of the value that it belongs to: clear() is one addition
        std::uint32_t object = 0;
        std::size_t begin = 0;
        std::size_t size = 0;
    };

    void comma();
    bool end(char bracket);
    bool remember(std::string_view key);
    void grow();

    std::string out_;
    int depth_ = 0;
    bool in_string_ = false;
    std::size_t key_begin_ = 0;
    std::size_t key_size_ = 0;
    std::vector<std::uint32_t> objects_;  // ids of the open objects; 0 for an array
    std::uint32_t next_object_ = 0;
    std::vector<seen> table_;  // open addressing, a power of two
    std::size_t used_ = 0;
    std::uint64_t generation_ = 1;
};

}  // namespace lakeflow::host
