// tests/crash/shim.cpp: see shim.h. Raw system calls beneath, so that a sanitizer's own wrappers are not needed.
#include "tests/crash/shim.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

#define LAKEFLOW_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace lakeflow::crash {
namespace {

std::string* root = nullptr;  // null: nothing is counted
trace* written = nullptr;
fate planned = fate::none;
int planned_at = 0;
bool sockets_count = false;
std::atomic<bool> full{false};

bool below_root(std::string_view path) { return path.size() > root->size() && path.substr(0, root->size()) == *root; }

std::string path_of(int fd) {
    char link[32];
    char path[PATH_MAX];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const auto n = ::readlink(link, path, sizeof path);
    return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

std::string path_at(int folder, const char* path) {
    if (*path == '/' || folder == AT_FDCWD) return path;
    return path_of(folder) + "/" + path;
}

[[noreturn]] void die() {
    ::syscall(SYS_kill, ::syscall(SYS_getpid), SIGKILL);
    for (;;) ::pause();
}

bool needs_space(effect what) { return what == effect::write || what == effect::create || what == effect::folder; }

// What befalls a step.
enum class verdict { done, half_then_die, half, fails, lost };

verdict judge(effect what, const std::string& path) {
    const int number = ++written->steps;
    if (number <= trace::most) {
        auto& entry = written->at[number - 1];
        entry.what = what;
        const auto tail = path.size() < sizeof entry.name ? path : path.substr(path.size() - sizeof entry.name + 1);
        std::memcpy(entry.name, tail.c_str(), tail.size() + 1);
    }
    if (full && needs_space(what)) {
        errno = ENOSPC;
        return verdict::fails;
    }
    if (number != planned_at || planned == fate::none) return verdict::done;
    const auto strike = [&](verdict v, int code) {
        written->struck = number;
        errno = code;
        return v;
    };
    switch (planned) {
        case fate::killed: written->struck = number; die();
        case fate::torn:
            return strike(what == effect::write || what == effect::send ? verdict::half_then_die : verdict::done, 0);
        case fate::full: full = true; return strike(what == effect::write ? verdict::half : verdict::fails, ENOSPC);
        case fate::sync_fails: return strike(verdict::fails, EIO);
        case fate::answer_lost: return strike(verdict::lost, EIO);
        case fate::none: break;
    }
    return verdict::done;
}

// A step that is done whole or not at all.
template <class Done>
auto pass(effect what, const std::string& path, Done done) -> decltype(done()) {
    if (!root || !below_root(path)) return done();
    switch (judge(what, path)) {
        case verdict::fails: return -1;
        case verdict::lost:
            done();
            errno = EIO;
            return -1;
        default: return done();
    }
}

template <class Put>
ssize_t pass_write(int fd, std::size_t bytes, Put put) {
    const auto path = root ? path_of(fd) : std::string();
    if (!root || !below_root(path)) return put(bytes);
    switch (judge(effect::write, path)) {
        case verdict::done: return put(bytes);
        case verdict::half_then_die: put(bytes / 2); die();
        case verdict::half:
            if (bytes / 2 > 0) return put(bytes / 2);
            errno = ENOSPC;
            return -1;
        case verdict::fails: return -1;
        case verdict::lost:
            put(bytes);
            errno = EIO;
            return -1;
    }
    return -1;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
    const auto done = [&] { return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode)); };
    if (!root || (flags & (O_CREAT | O_TRUNC)) == 0) return done();
    const auto whole = path_at(folder, path);
    struct stat there {};
    const bool exists = ::syscall(SYS_newfstatat, AT_FDCWD, whole.c_str(), &there, 0) == 0;
    if (exists && ((flags & O_TRUNC) == 0 || there.st_size == 0)) return done();
    if (!exists && (flags & O_CREAT) == 0) return done();
    return pass(exists ? effect::cut : effect::create, whole, done);
}

}  // namespace

void arm(const std::string& folder, trace& out, fate what, int at, bool sockets) {
    static std::string kept;
    kept = folder;
    written = &out;
    planned = what;
    planned_at = at;
    full = false;
    sockets_count = sockets;
    root = &kept;
}
void disarm() { root = nullptr; }

}  // namespace lakeflow::crash

using namespace lakeflow::crash;

LAKEFLOW_INTERPOSED ssize_t write(int fd, const void* data, std::size_t bytes) {
    return pass_write(fd, bytes, [&](std::size_t n) -> ssize_t { return ::syscall(SYS_write, fd, data, n); });
}
LAKEFLOW_INTERPOSED ssize_t pwrite(int fd, const void* data, std::size_t bytes, off_t at) {
    return pass_write(fd, bytes, [&](std::size_t n) -> ssize_t { return ::syscall(SYS_pwrite64, fd, data, n, at); });
}
LAKEFLOW_INTERPOSED ssize_t pwrite64(int fd, const void* data, std::size_t bytes, off64_t at) {
    return pass_write(fd, bytes, [&](std::size_t n) -> ssize_t { return ::syscall(SYS_pwrite64, fd, data, n, at); });
}
LAKEFLOW_INTERPOSED ssize_t writev(int fd, const iovec* parts, int count) {
    if (!root) return ::syscall(SYS_writev, fd, parts, count);
    std::string all;
    for (int i = 0; i < count; ++i) all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    return write(fd, all.data(), all.size());
}

LAKEFLOW_INTERPOSED ssize_t send(int fd, const void* data, std::size_t bytes, int flags) {
    const auto put = [&](std::size_t n) -> ssize_t {
        return ::syscall(SYS_sendto, fd, data, n, flags, nullptr, static_cast<socklen_t>(0));
    };
    // A session begins with a message without a type, whose first byte is 0, and with passwords ('p').
    const char type = bytes > 0 ? *static_cast<const char*>(data) : '\0';
    if (!root || !sockets_count || type == '\0' || type == 'p') return put(bytes);
    switch (judge(effect::send, std::string("socket ") + type)) {
        case verdict::half_then_die: put(bytes / 2); die();
        case verdict::lost: {
            const auto sent = put(bytes);
            ::shutdown(fd, SHUT_RD);
            return sent;
        }
        default: return put(bytes);
    }
}

LAKEFLOW_INTERPOSED int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(AT_FDCWD, path, flags, mode);
}
LAKEFLOW_INTERPOSED int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(AT_FDCWD, path, flags, mode);
}
LAKEFLOW_INTERPOSED int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(folder, path, flags, mode);
}
LAKEFLOW_INTERPOSED int creat(const char* path, mode_t mode) {
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

LAKEFLOW_INTERPOSED int fsync(int fd) {
    return pass(effect::sync, root ? path_of(fd) : "", [&] { return static_cast<int>(::syscall(SYS_fsync, fd)); });
}
LAKEFLOW_INTERPOSED int fdatasync(int fd) {
    return pass(effect::sync, root ? path_of(fd) : "", [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); });
}
LAKEFLOW_INTERPOSED int ftruncate(int fd, off_t size) noexcept {
    return pass(effect::cut, root ? path_of(fd) : "",
                [&] { return static_cast<int>(::syscall(SYS_ftruncate, fd, size)); });
}
LAKEFLOW_INTERPOSED int fallocate(int fd, int mode, off_t at, off_t bytes) {
    return pass(effect::cut, root ? path_of(fd) : "",
                [&] { return static_cast<int>(::syscall(SYS_fallocate, fd, mode, at, bytes)); });
}

LAKEFLOW_INTERPOSED int mkdir(const char* path, mode_t mode) noexcept {
    const auto done = [&] { return static_cast<int>(::syscall(SYS_mkdir, path, mode)); };
    struct stat there {};
    if (root && ::syscall(SYS_newfstatat, AT_FDCWD, path, &there, 0) == 0) return done();
    return pass(effect::folder, path, done);
}
LAKEFLOW_INTERPOSED int rename(const char* from, const char* to) noexcept {
    return pass(effect::name, to, [&] { return static_cast<int>(::syscall(SYS_rename, from, to)); });
}
LAKEFLOW_INTERPOSED int link(const char* from, const char* to) noexcept {
    return pass(effect::name, to, [&] { return static_cast<int>(::syscall(SYS_link, from, to)); });
}
LAKEFLOW_INTERPOSED int unlink(const char* path) noexcept {
    const auto done = [&] { return static_cast<int>(::syscall(SYS_unlink, path)); };
    struct stat there {};
    if (root && ::syscall(SYS_newfstatat, AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) != 0) return done();
    return pass(effect::name, path, done);
}
LAKEFLOW_INTERPOSED int rmdir(const char* path) noexcept {
    return pass(effect::name, path, [&] { return static_cast<int>(::syscall(SYS_rmdir, path)); });
}
LAKEFLOW_INTERPOSED int remove(const char* path) noexcept {
    struct stat there {};
    if (::syscall(SYS_newfstatat, AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    return S_ISDIR(there.st_mode) ? rmdir(path) : unlink(path);
}
