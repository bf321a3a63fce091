// lakeflow/cpp/text.hpp: between lf_str, sinks and C++ text. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lakeflow/abi.h"

namespace lakeflow {

// Borrowed C text as a view; absent and empty both give an empty view: ask `absent` where the two differ.
constexpr std::string_view view(lf_str text) {
    return text.data == nullptr ? std::string_view{} : std::string_view{text.data, text.size};
}

constexpr bool absent(lf_str text) { return text.data == nullptr; }

// A view as borrowed C text. Never absent: an empty view gives "".
constexpr lf_str str(std::string_view text) { return {text.data() == nullptr ? "" : text.data(), text.size()}; }

// Absent text, which differs from "".
constexpr lf_str no_str() { return {nullptr, 0}; }

// A sink that collects text in a string: for the services that write text. Hand out `sink()`, read `text` afterwards.
class text_sink {
  public:
    text_sink() {
        sink_.struct_size = sizeof(lf_sink);
        sink_.reserved = 0;
        sink_.state = this;
        sink_.write = &text_sink::write;
    }
    text_sink(const text_sink&) = delete;
    text_sink& operator=(const text_sink&) = delete;

    const lf_sink* sink() const { return &sink_; }
    std::string text;

  private:
    static lf_status write(void* state, const char* data, size_t size) {
        try {
            static_cast<text_sink*>(state)->text.append(data == nullptr ? "" : data, data == nullptr ? 0 : size);
            return LF_OK;
        } catch (...) {
            return LF_ERROR;  // out of memory: the caller sees that the receiver takes no more
        }
    }

    lf_sink sink_;
};

}  // namespace lakeflow
