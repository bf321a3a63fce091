// host/http/inflate.h: gzip and deflate bodies as a stream: several gzip members, trailers verified, zlib-wrapped and raw
// deflate. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace lakeflow::host {

class inflater {
  public:
    enum class coding { gzip, deflate };
    explicit inflater(coding kind);
    ~inflater();
    inflater(inflater&&) noexcept;
    inflater& operator=(inflater&&) noexcept;

    // The next input; only once the last one is used up. Borrowed until then.
    void feed(std::string_view bytes);
    bool needs_input() const noexcept;

    // The next piece of output, at most 128 KiB, valid until the next call; empty: feed more. Throws failure
    // source.protocol for data that does not inflate or whose checksum is wrong.
    std::string_view next();

    // True if the stream may end here: at the end of a member, or before any byte.
    bool complete() const noexcept;

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

// "gzip", "x-gzip", "deflate", "identity", "" -> how to read a body. Throws source.protocol for any other coding.
std::unique_ptr<inflater> inflater_for(std::string_view content_encoding);

}  // namespace lakeflow::host
