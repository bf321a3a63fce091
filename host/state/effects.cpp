// host/state/effects.cpp: the seam's real side, on POSIX files.
#include "host/state/effects.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "host/base/clock.h"
#include "host/base/error.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const fs::path& path, int code) {
    const std::string hint = code == ENOSPC || code == EDQUOT ? "the disk that holds the state directory is full"
                                                              : "the state directory has to be readable and writable";
    throw failure("state.io", std::string(what) + " " + path.string() + ": " + std::generic_category().message(code),
                  hint);
}

class descriptor {
  public:
    descriptor(const fs::path& path, int flags, const char* what) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
        if (fd_ < 0) fail(what, path, errno);
    }
    ~descriptor() { ::close(fd_); }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int get() const noexcept { return fd_; }

  private:
    int fd_;
};

void sync_path(const fs::path& path, int flags, const char* what) {
    const descriptor file(path, flags, what);
    if (::fsync(file.get()) != 0) fail(what, path, errno);
}

class posix_effects final : public effects {
  public:
    void make_directories(const fs::path& folder) override {
        std::error_code code;
        fs::create_directories(folder, code);
        if (code) fail("cannot make the folder", folder, code.value());
    }

    std::optional<std::string> read(const fs::path& file) override {
        const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) return std::nullopt;
        if (fd < 0) fail("cannot open", file, errno);
        std::string out;
        char buffer[16 * 1024];
        ssize_t got = 0;
        while ((got = ::read(fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
            if (got > 0) out.append(buffer, static_cast<std::size_t>(got));
        }
        const int code = errno;
        ::close(fd);
        if (got < 0) fail("cannot read", file, code);
        return out;
    }

    void write(const fs::path& file, std::string_view bytes) override {
        const descriptor out(file, O_WRONLY | O_CREAT | O_TRUNC, "cannot write");
        while (!bytes.empty()) {
            const ssize_t put = ::write(out.get(), bytes.data(), bytes.size());
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) fail("cannot write", file, errno);
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
    }

    void sync(const fs::path& file) override { sync_path(file, O_RDONLY, "cannot sync"); }

    void rename(const fs::path& from, const fs::path& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) fail("cannot rename to", to, errno);
    }

    void sync_directory(const fs::path& folder) override {
        sync_path(folder, O_RDONLY | O_DIRECTORY, "cannot sync the folder");
    }

    void remove(const fs::path& file) override {
        if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail("cannot remove", file, errno);
    }

    std::vector<std::string> list(const fs::path& folder) override {
        std::vector<std::string> out;
        std::error_code code;
        fs::directory_iterator it(folder, code);
        if (code && code.value() != ENOENT) fail("cannot list", folder, code.value());
        if (code) return out;
        for (const auto& entry : it) out.push_back(entry.path().filename().string());
        std::sort(out.begin(), out.end());
        return out;
    }

    std::int64_t now_us() override { return system_clock().now_us(); }
};

}  // namespace

std::shared_ptr<effects> real_effects() { return std::make_shared<posix_effects>(); }

}  // namespace lakeflow::host
