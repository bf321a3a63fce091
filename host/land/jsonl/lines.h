// host/land/jsonl/lines.h: a file that is written, and lines that wait for it. For the jsonl destination alone. Used by one thread at a time.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "host/arrow/arrow.h"
#include "host/base/error.h"
#include "host/land/json_row.h"

namespace lakeflow::host::jsonl {

inline constexpr std::size_t kept_in_memory = 4 << 20;  // of a batch's lines; the rest waits in a file

[[noreturn]] inline void fail(const char* what, const std::string& path) {
    const int code = errno;
    throw failure("destination.io",
                  std::string("cannot ") + what + " " + path + ": " + std::generic_category().message(code),
                  code == ENOSPC ? "free space on that disk and run again" : "");
}

class descriptor {
  public:
    descriptor(std::string path, int flags, mode_t mode = 0644)
        : path_(std::move(path)), fd_(::open(path_.c_str(), flags | O_CLOEXEC, mode)) {
        if (fd_ < 0) fail("open", path_);
    }
    ~descriptor() { ::close(fd_); }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    int get() const noexcept { return fd_; }
    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail("write", path_);
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    std::int64_t size() const {
        struct stat about {};
        if (::fstat(fd_, &about) != 0) fail("read", path_);
        return about.st_size;
    }
    void cut(std::int64_t length) const {
        if (::ftruncate(fd_, length) != 0) fail("cut", path_);
    }
    void sync() const {
        if (::fsync(fd_) != 0) fail("sync", path_);
    }
    void lock() const {
        while (::flock(fd_, LOCK_EX) != 0) {
            if (errno != EINTR) fail("lock", path_);
        }
    }

  private:
    std::string path_;
    int fd_;
};

// Lines of a batch, in order of arrival: in memory up to a bound, then in a file of their own.
class line_buffer {
  public:
    explicit line_buffer(std::string spill) : spill_(std::move(spill)) {}
    ~line_buffer() {
        if (file_) ::unlink(spill_.c_str());
    }
    // `wanted` says whether a row is to be written.
    template <class Wanted>
    void add(const record_batch& rows, Wanted wanted) {
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
            if (!wanted(row)) continue;
            append_json_row(*rows.schema->get(), *rows.array.get(), row, lines_);
            lines_ += '\n';
            ++rows_;
        }
        if (spill_.empty() || lines_.size() < kept_in_memory) return;
        if (!file_) {
            std::filesystem::create_directories(std::filesystem::path(spill_).parent_path());
            file_ = std::make_unique<descriptor>(spill_, O_RDWR | O_CREAT | O_TRUNC);
        }
        file_->write(lines_);
        lines_.clear();
    }
    std::int64_t rows() const noexcept { return rows_; }
    template <class Sink>
    void give(Sink sink) const {
        if (file_) {
            std::string some(1 << 20, '\0');
            for (std::int64_t at = 0;;) {
                const ssize_t n = ::pread(file_->get(), some.data(), some.size(), at);
                if (n < 0 && errno == EINTR) continue;
                if (n < 0) fail("read", spill_);
                if (n == 0) break;
                sink(std::string_view(some).substr(0, static_cast<std::size_t>(n)));
                at += n;
            }
        }
        if (!lines_.empty()) sink(std::string_view(lines_));
    }

    // Each line without its end, but for those whose numbers are left out.
    template <class Sink>
    void give_lines(const std::unordered_set<std::int64_t>& left_out, Sink sink) const {
        std::string line;
        std::int64_t number = 0;
        give([&](std::string_view bytes) {
            for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
                line.append(bytes.substr(0, end));
                if (!left_out.contains(number++)) sink(std::string_view(line));
                line.clear();
            }
            line.append(bytes);
        });
    }

  private:
    std::string spill_;
    std::string lines_;
    std::unique_ptr<descriptor> file_;
    std::int64_t rows_ = 0;
};

}  // namespace lakeflow::host::jsonl
