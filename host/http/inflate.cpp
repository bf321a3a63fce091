// host/http/inflate.cpp: see inflate.h.
#include "host/http/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/http/message.h"

namespace lakeflow::host {
namespace {

constexpr std::size_t output_size = 128 * 1024;

[[noreturn]] void broken(std::string_view why) {
    throw failure("source.protocol", "the compressed body does not inflate: " + std::string(why), {},
                  retry_class::transient);
}

}  // namespace

struct inflater::impl {
    explicit impl(coding c) : kind(c), out(output_size) {}
    ~impl() {
        if (open) inflateEnd(&stream);
    }
    impl(const impl&) = delete;
    impl& operator=(const impl&) = delete;

    void start(int window_bits) {
        stream.next_in = nullptr;
        stream.avail_in = 0;
        if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
        open = true;
        member = true;
    }

    // Chooses between zlib-wrapped and raw deflate by the first two bytes: the standard says the one, many servers send the
    // other. Returns false while there are too few.
    bool choose_deflate() {
        while (seen < 2 && !input.empty()) {
            first[seen++] = static_cast<unsigned char>(input.front());
            input.remove_prefix(1);
        }
        if (seen < 2) return false;
        const bool wrapped = (first[0] & 0x0f) == Z_DEFLATED && (first[0] * 256 + first[1]) % 31 == 0;
        start(wrapped ? MAX_WBITS : -MAX_WBITS);
        prefix = std::string_view(reinterpret_cast<const char*>(first.data()), 2);
        return true;
    }

    coding kind;
    z_stream stream{};
    bool open = false;
    bool member = false;  // inside a member
    bool ended = false;   // at least one member was whole
    bool filled = false;  // the last output filled the buffer, so there may be more without input
    std::array<unsigned char, 2> first{};
    std::size_t seen = 0;
    std::string_view prefix;  // bytes that choose_deflate looked at
    std::string_view input;
    std::vector<char> out;
};

inflater::inflater(coding kind) : impl_(std::make_unique<impl>(kind)) {}
inflater::~inflater() = default;
inflater::inflater(inflater&&) noexcept = default;
inflater& inflater::operator=(inflater&&) noexcept = default;

void inflater::feed(std::string_view bytes) { impl_->input = bytes; }

bool inflater::needs_input() const noexcept { return impl_->input.empty() && impl_->prefix.empty() && !impl_->filled; }

bool inflater::complete() const noexcept { return !impl_->member && impl_->seen != 1 && needs_input(); }

std::string_view inflater::next() {
    impl& z = *impl_;
    std::size_t written = 0;
    z.filled = false;
    while (written < z.out.size()) {
        if (!z.member) {
            if (z.input.empty()) break;
            if (z.ended) {
                // After a member there may be another, or padding with zeros.
                const auto zeros = std::min(z.input.find_first_not_of('\0'), z.input.size());
                z.input.remove_prefix(zeros);
                if (z.input.empty()) break;
                if (z.kind != coding::gzip) broken("there are bytes after its end");
                inflateReset(&z.stream);
                z.member = true;
            } else if (z.kind == coding::gzip) {
                z.start(16 + MAX_WBITS);
            } else if (!z.choose_deflate()) {
                break;
            }
        }
        std::string_view& source = z.prefix.empty() ? z.input : z.prefix;
        // zlib keeps output that did not fit, so it is asked even without input until it leaves room.
        const auto given = std::min<std::size_t>(source.size(), 1u << 30);
        z.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(source.data()));
        z.stream.avail_in = static_cast<uInt>(given);
        z.stream.next_out = reinterpret_cast<Bytef*>(z.out.data() + written);
        z.stream.avail_out = static_cast<uInt>(z.out.size() - written);
        const int code = ::inflate(&z.stream, Z_NO_FLUSH);
        source.remove_prefix(given - z.stream.avail_in);
        written = z.out.size() - z.stream.avail_out;
        if (code == Z_STREAM_END) {
            z.member = false;
            z.ended = true;
            continue;
        }
        if (code == Z_BUF_ERROR || (code == Z_OK && z.stream.avail_out != 0)) {
            if (z.input.empty() && z.prefix.empty()) break;
            if (code == Z_BUF_ERROR) broken("no progress");
            continue;
        }
        if (code != Z_OK) broken(z.stream.msg != nullptr ? z.stream.msg : "a bad stream");
    }
    z.filled = written == z.out.size() && z.member;
    return {z.out.data(), written};
}

std::unique_ptr<inflater> inflater_for(std::string_view content_encoding) {
    const std::string coding = lower_ascii(trim(content_encoding));
    if (coding.empty() || coding == "identity") return nullptr;
    if (coding == "gzip" || coding == "x-gzip") return std::make_unique<inflater>(inflater::coding::gzip);
    if (coding == "deflate") return std::make_unique<inflater>(inflater::coding::deflate);
    throw failure("source.protocol",
                  "the body has the content coding \"" + printable(coding, 60) + "\", which was not asked for",
                  "only gzip and deflate are read", retry_class::permanent);
}

}  // namespace lakeflow::host
