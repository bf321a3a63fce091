// host/http/oauth_file.cpp: see oauth_file.h.
#include "host/http/oauth_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void broken(const std::string& what, const std::string& path) {
    throw failure("state.io", what + " " + path + ": " + std::strerror(errno),
                  "the file keeps a refresh token; its folder must be writable");
}

class descriptor {
  public:
    explicit descriptor(int handle) : handle_(handle) {}
    ~descriptor() {
        if (handle_ >= 0) ::close(handle_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int get() const { return handle_; }

  private:
    int handle_;
};

void sync_folder(const std::string& path) {
    const std::string folder = fs::path(path).parent_path().string();
    const descriptor handle(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle.get() < 0 || ::fsync(handle.get()) != 0) broken("cannot sync the folder of", path);
}

void make_folder(const std::string& path) {
    const fs::path folder = fs::path(path).parent_path();
    if (folder.empty()) return;
    std::error_code ec;
    fs::create_directories(folder, ec);
    if (ec)
        throw failure("state.io", "cannot make the folder " + folder.string() + ": " + ec.message(),
                      "it keeps a refresh token");
}

std::string text_of(const boost::json::object& object, const char* name) {
    const auto* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Nothing where there is no file.
std::optional<std::string> read_text(const std::string& path) {
    const descriptor handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (handle.get() < 0) {
        if (errno == ENOENT) return std::nullopt;
        broken("cannot read", path);
    }
    std::string text;
    char piece[4096];
    while (true) {
        const auto size = ::read(handle.get(), piece, sizeof piece);
        if (size < 0) broken("cannot read", path);
        if (size == 0) return text;
        text.append(piece, static_cast<std::size_t>(size));
    }
}

std::optional<oauth_state> parse(const std::string& text) {
    boost::system::error_code ec;
    const auto value = boost::json::parse(text, ec);
    if (ec || !value.is_object() || text_of(value.get_object(), "refresh_token").empty()) return std::nullopt;
    const auto& object = value.get_object();
    oauth_state out{text_of(object, "refresh_token"), text_of(object, "configured"), text_of(object, "access_token"),
                    0};
    const auto* expires = object.if_contains("expires_us");
    if (expires != nullptr && expires->is_int64()) out.expires_us = expires->get_int64();
    return out;
}

}  // namespace

oauth_state oauth_file::read() const {
    // A process that was killed before the rename has left the newer state beside the file, whole or not.
    const std::string newer = path_ + ".new";
    if (const auto text = read_text(newer)) {
        if (parse(*text)) {
            if (::rename(newer.c_str(), path_.c_str()) != 0) broken("cannot replace", path_);
            sync_folder(path_);
        } else {
            ::unlink(newer.c_str());
        }
    }
    const auto text = read_text(path_);
    if (!text) return {};
    auto state = parse(*text);
    if (!state) {
        throw failure("state.corrupt", "the file of a refresh token is damaged: " + path_,
                      "delete it: the refresh token of the job is tried then, and may have to be renewed");
    }
    return std::move(*state);
}

void oauth_file::write(const oauth_state& state, const std::function<void(const char*)>& at_step) const {
    make_folder(path_);
    const boost::json::object object{{"refresh_token", state.refresh_token},
                                     {"configured", state.configured},
                                     {"access_token", state.access_token},
                                     {"expires_us", state.expires_us}};
    const std::string text = boost::json::serialize(object) + "\n";
    const std::string temporary = path_ + ".new";
    ::unlink(temporary.c_str());
    {
        const descriptor handle(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (handle.get() < 0) broken("cannot write", temporary);
        std::string_view rest = text;
        while (!rest.empty()) {
            const auto size = ::write(handle.get(), rest.data(), rest.size());
            if (size < 0) broken("cannot write", temporary);
            rest.remove_prefix(static_cast<std::size_t>(size));
        }
        if (::fsync(handle.get()) != 0) broken("cannot sync", temporary);
    }
    if (at_step) at_step("written");
    if (::rename(temporary.c_str(), path_.c_str()) != 0) broken("cannot replace", path_);
    sync_folder(path_);
    if (at_step) at_step("synced");
}

oauth_file::lock::lock(const oauth_file& file, const cancel_token& stop) {
    make_folder(file.path());
    const std::string path = file.path() + ".lock";
    handle_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (handle_ < 0) broken("cannot open", path);
    while (::flock(handle_, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            ::close(handle_);
            broken("cannot lock", path);
        }
        if (!stop.wait_for(std::chrono::milliseconds(20))) {
            ::close(handle_);
            stop.check();
        }
    }
}

oauth_file::lock::~lock() { ::close(handle_); }

}  // namespace lakeflow::host
