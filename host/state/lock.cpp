// host/state/lock.cpp: see lock.h.
#include "host/state/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int code) {
    throw failure("state.io", "cannot lock " + file.string() + ": " + std::generic_category().message(code),
                  "the state directory has to lie on a file system with flock, readable and writable");
}

// "host\tpid\tstart\trun id\n"
std::string encode(const lock_holder& h) {
    return h.host + "\t" + std::to_string(h.pid) + "\t" + format_rfc3339(h.started_us) + "\t" + h.run_id + "\n";
}

std::string read_all(int fd) {
    std::array<char, 1024> buffer{};
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
    return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

// What the file says of its holder, in words; empty if it says nothing.
std::string described(const std::string& content) {
    const auto fields = split(trim(content), '\t');
    if (fields.size() < 4) return {};
    return "pid " + fields[1] + " on " + fields[0] + ", which began at " + fields[2] + " (run " + fields[3] + ")";
}

void put(int fd, const std::filesystem::path& file, const std::string& content) {
    if (::ftruncate(fd, 0) != 0 ||
        ::pwrite(fd, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()) || ::fsync(fd) != 0) {
        fail(file, errno);
    }
}

bool same_file(int fd, const std::filesystem::path& file) noexcept {
    struct stat mine {};
    struct stat theirs {};
    return ::fstat(fd, &mine) == 0 && ::stat(file.c_str(), &theirs) == 0 && mine.st_ino == theirs.st_ino &&
           mine.st_dev == theirs.st_dev;
}

}  // namespace

lock_holder this_process(const std::string& run_id, std::int64_t started_us) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '?';
    return {name.data(), ::getpid(), started_us, run_id};
}

job_lock::job_lock(std::filesystem::path file, const lock_holder& me, bool take_over) : file_(std::move(file)) {
    // Another run may put a new file under the name between open and flock: then the one that was locked is not the lock.
    for (;;) {
        const int fd = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) fail(file_, errno);
        if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
            if (same_file(fd, file_)) {
                take_free(fd, me);
                return;
            }
            ::close(fd);
            continue;
        }
        const int code = errno;
        const std::string holder = described(read_all(fd));
        ::close(fd);
        if (code == EINTR) continue;
        if (code != EWOULDBLOCK) fail(file_, code);
        if (take_over) {
            taken_from_ = holder.empty() ? "a run that did not name itself" : holder;
            take_by_force(me);
            return;
        }
        throw failure("state.locked",
                      "another run of this job is going on: " +
                          (holder.empty() ? std::string("its holder did not name itself") : holder) + "; the lock is " +
                          file_.string(),
                      "wait until it has ended or stop it; `run --take-over` takes the job from it, and its next "
                      "commit then fails");
    }
}

void job_lock::take_free(int fd, const lock_holder& me) {
    fd_ = fd;
    taken_from_ = described(read_all(fd));
    try {
        put(fd, file_, encode(me));
    } catch (...) {
        ::close(fd);
        throw;
    }
}

void job_lock::take_by_force(const lock_holder& me) {
    auto fresh = file_;
    fresh += "." + random_id();
    const int fd = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) fail(fresh, errno);
    try {
        if (::flock(fd, LOCK_EX | LOCK_NB) != 0) fail(fresh, errno);
        put(fd, fresh, encode(me));
        if (::rename(fresh.c_str(), file_.c_str()) != 0) fail(file_, errno);
    } catch (...) {
        ::unlink(fresh.c_str());
        ::close(fd);
        throw;
    }
    fd_ = fd;
}

job_lock::~job_lock() {
    // An empty file is a lock that was given back: only a dead holder's name is left behind.
    if (held() && ::ftruncate(fd_, 0) != 0) errno = 0;
    ::close(fd_);
}

bool job_lock::held() const noexcept { return fd_ >= 0 && same_file(fd_, file_); }

}  // namespace lakeflow::host
