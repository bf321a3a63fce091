// tests/support/postgres_server.cpp: see postgres_server.h.
#include "tests/support/postgres_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "host/base/text.h"

namespace lakeflow::host::testing {
namespace {

namespace fs = std::filesystem;

// Where Debian keeps the programs, the newest version first.
std::string program(const std::string& name) {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", none)) {
        if (fs::exists(entry.path() / "bin" / name)) found.push_back((entry.path() / "bin" / name).string());
    }
    std::sort(found.rbegin(), found.rend());
    return found.empty() ? std::string() : found.front();
}

const passwd* account() {
    if (::geteuid() != 0) return nullptr;
    if (const passwd* p = ::getpwnam("postgres")) return p;
    return ::getpwnam("nobody");
}

std::uint16_t free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool ok = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (fd >= 0) ::close(fd);
    if (!ok) throw std::runtime_error("no free port");
    return ntohs(address.sin_port);
}

pid_t run_as(const passwd* user, const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, 0);
    ::dup2(to, 1);
    ::dup2(to, 2);
    if (user && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
        ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGINT);
    if (::getppid() != parent) ::_exit(126);
    ::setenv("LC_ALL", "C", 1);
    ::unsetenv("PGOPTIONS");
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

bool answers(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool ok = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return ok;
}

}  // namespace

bool postgres_server::available() { return !program("initdb").empty(); }

postgres_server::postgres_server(bool fast) : password_("pw-" + random_id().substr(0, 12)), fast_(fast) {
    const passwd* user = account();
    const std::string root = folder_.string();
    if (user && ::chown(root.c_str(), user->pw_uid, user->pw_gid) != 0)
        throw std::runtime_error("cannot give " + root + " away");
    std::ofstream(root + "/password") << password_ << "\n";
    const pid_t made = run_as(user,
                              {program("initdb"), "-D", root + "/data", "-U", "lakeflow", "-E", "UTF8", "--locale=C",
                               "-N", "-A", "scram-sha-256", "--pwfile=" + root + "/password"},
                              root + "/log");
    int status = 0;
    ::waitpid(made, &status, 0);
    if (status != 0) throw std::runtime_error("initdb failed:\n" + log());
    start();
}

postgres_server::~postgres_server() { stop(); }

std::string postgres_server::dsn_at(std::uint16_t port) const {
    return "host=127.0.0.1 port=" + std::to_string(port) + " dbname=postgres user=lakeflow password=" + password_;
}

void postgres_server::start() {
    for (int attempt = 0; attempt < 3; ++attempt) {
        const bool first = port_ == 0;
        if (first) port_ = free_port();
        std::vector<std::string> words{program("postgres"),        "-D", folder_.string() + "/data",   "-p",
                                       std::to_string(port_),      "-c", "listen_addresses=127.0.0.1", "-c",
                                       "unix_socket_directories=", "-c", "max_connections=40",         "-c",
                                       "shared_buffers=32MB",      "-c", "log_statement=all"};
        if (fast_) {
            for (const char* setting : {"fsync=off", "synchronous_commit=off", "full_page_writes=off"}) {
                words.emplace_back("-c");
                words.emplace_back(setting);
            }
        }
        pid_ = run_as(account(), words, folder_.string() + "/log");
        for (int i = 0; i < 1500; ++i) {
            int status = 0;
            if (::waitpid(pid_, &status, WNOHANG) == pid_) {
                pid_ = -1;
                break;
            }
            // It listens before it takes anyone in; its log says when it does.
            if (answers(port_) && log().find("database system is ready") != std::string::npos) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        stop();
        if (first) port_ = 0;  // somebody else was quicker
    }
    throw std::runtime_error("PostgreSQL did not start:\n" + log());
}

void postgres_server::stop() noexcept {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGINT);  // its "fast" shutdown
    int status = 0;
    for (int i = 0; i < 500; ++i) {
        if (::waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::kill(pid_, SIGQUIT);
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
}

void postgres_server::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    // Its own processes see that within a moment, and a new server waits for them.
    for (int i = 0; i < 500 && answers(port_); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void postgres_server::restart() {
    stop();
    std::error_code none;
    fs::remove(folder_.path() / "log", none);
    start();
}

std::string postgres_server::log() const {
    std::ifstream in(folder_.string() + "/log");
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace lakeflow::host::testing
