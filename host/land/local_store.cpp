// host/land/local_store.cpp: a store in a folder of this machine. Any thread; see store.h.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/store.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const std::string& path, int code) {
    std::string hint;
    if (code == ENOSPC || code == EDQUOT) hint = "free space on that disk and run again; no commit was made";
    if (code == EACCES || code == EPERM || code == EROFS) hint = "give the user of this job the right to write there";
    throw failure("destination.io",
                  std::string("cannot ") + what + " " + path + ": " + std::generic_category().message(code), hint);
}

class file_handle {
  public:
    file_handle(const std::string& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
    ~file_handle() {
        if (fd_ >= 0) ::close(fd_);
    }
    file_handle(const file_handle&) = delete;
    file_handle& operator=(const file_handle&) = delete;

    bool good() const noexcept { return fd_ >= 0; }
    int get() const noexcept { return fd_; }
    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail("write", path_, errno);
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    void sync() {
        if (::fsync(fd_) != 0) fail("sync", path_, errno);
    }

  private:
    std::string path_;
    int fd_;
};

void sync_folder(const std::string& path) {
    const std::string folder = fs::path(path).parent_path().string();
    file_handle handle(folder, O_RDONLY | O_DIRECTORY);
    if (!handle.good()) fail("open", folder, errno);
    // Some file systems cannot sync a folder; they keep names in order by themselves.
    if (::fsync(handle.get()) != 0 && errno != EINVAL) fail("sync", folder, errno);
}

class local_store final : public store {
  public:
    explicit local_store(std::string root) : root_(std::move(root)) {}

    std::string path(const std::string& name) const override { return name.empty() ? root_ : root_ + "/" + name; }

    std::optional<std::string> get(const std::string& name) override {
        const std::string file = path(name);
        file_handle handle(file, O_RDONLY);
        if (!handle.good()) {
            if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
            fail("open", file, errno);
        }
        struct stat about {};
        if (::fstat(handle.get(), &about) != 0) fail("read", file, errno);
        std::string bytes;
        bytes.resize(static_cast<std::size_t>(about.st_size));
        std::size_t at = 0;
        while (at < bytes.size()) {
            const ssize_t n = ::read(handle.get(), bytes.data() + at, bytes.size() - at);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail("read", file, errno);
            if (n == 0) break;
            at += static_cast<std::size_t>(n);
        }
        bytes.resize(at);
        return bytes;
    }

    std::vector<std::string> list(const std::string& folder) override {
        std::vector<std::string> names;
        std::error_code failed;
        fs::directory_iterator entries(path(folder), failed);
        if (failed) {
            if (failed == std::errc::no_such_file_or_directory) return names;
            fail("list", path(folder), failed.value());
        }
        for (; entries != fs::directory_iterator(); entries.increment(failed)) {
            if (!entries->is_directory(failed)) names.push_back(entries->path().filename().string());
        }
        if (failed) fail("list", path(folder), failed.value());
        std::sort(names.begin(), names.end());
        return names;
    }

    std::optional<std::int64_t> modified_ms(const std::string& name) override {
        struct stat about {};
        if (::stat(path(name).c_str(), &about) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
            fail("look at", path(name), errno);
        }
        return static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1000 + about.st_mtim.tv_nsec / 1'000'000;
    }

    void put(const std::string& name, std::string_view bytes) override {
        const std::string file = path(name);
        const std::string temporary = write_temporary(file, bytes);
        if (::rename(temporary.c_str(), file.c_str()) != 0) {
            const int code = errno;
            ::unlink(temporary.c_str());
            fail("rename to", file, code);
        }
        sync_folder(file);
    }

    bool put_if_absent(const std::string& name, std::string_view bytes) override {
        const std::string file = path(name);
        const std::string temporary = write_temporary(file, bytes);
        const int code = create(temporary, file);
        ::unlink(temporary.c_str());
        if (code == EEXIST) return false;
        if (code == ENOSYS) {
            throw failure("destination.no_atomic_create",
                          "the file system of " + file + " has neither link(2) nor renameat2(2) without replacing",
                          "put the table on a local or NFS file system; two writers could not share it here");
        }
        if (code != 0) fail("create", file, code);
        sync_folder(file);
        return true;
    }

    void remove(const std::string& name) override {
        std::error_code failed;
        fs::remove(path(name), failed);
        if (failed && failed != std::errc::no_such_file_or_directory) fail("remove", path(name), failed.value());
    }

    void rename(const std::string& from, const std::string& to) override {
        if (::rename(path(from).c_str(), path(to).c_str()) != 0) fail("rename", path(from), errno);
    }

    void make_folder(const std::string& name) override { make_folders(path(name)); }

    void sync(const std::string& name) override {
        const std::string file = path(name);
        {
            file_handle handle(file, O_RDONLY);
            if (!handle.good()) fail("open", file, errno);
            handle.sync();
        }
        sync_folder(file);
    }

  private:
    static void make_folders(const std::string& folder) {
        std::error_code failed;
        fs::create_directories(folder, failed);
        if (failed) fail("make the folder", folder, failed.value());
    }

    // A complete, durable file beside the one that is meant. Readers of a table skip names that begin with a dot.
    static std::string write_temporary(const std::string& file, std::string_view bytes) {
        const fs::path target(file);
        const std::string temporary =
            (target.parent_path() / ("." + target.filename().string() + "." + random_id() + ".tmp")).string();
        const auto open = [&] { return std::make_unique<file_handle>(temporary, O_WRONLY | O_CREAT | O_EXCL); };
        auto handle = open();
        if (!handle->good() && errno == ENOENT) {
            make_folders(target.parent_path().string());
            handle = open();
        }
        if (!handle->good()) fail("create", temporary, errno);
        try {
            handle->write(bytes);
            handle->sync();
        } catch (...) {
            ::unlink(temporary.c_str());
            throw;
        }
        return temporary;
    }

    // 0, EEXIST, ENOSYS where no way is known, or another error.
    static int create(const std::string& temporary, const std::string& file) {
        if (::link(temporary.c_str(), file.c_str()) == 0) return 0;
        const int code = errno;
        if (code != EPERM && code != EOPNOTSUPP && code != ENOSYS && code != EMLINK && code != EINVAL) return code;
        if (::syscall(SYS_renameat2, AT_FDCWD, temporary.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0)
            return 0;
        return errno == EINVAL ? ENOSYS : errno;
    }

    std::string root_;
};

}  // namespace

std::shared_ptr<store> make_local_store(std::string root) { return std::make_shared<local_store>(std::move(root)); }

}  // namespace lakeflow::host
