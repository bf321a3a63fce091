// tests/support/breaking_proxy.cpp: see breaking_proxy.h.
#include "tests/support/breaking_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace lakeflow::host::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

bool send_all(int to, const char* bytes, std::size_t size) {
    while (size > 0) {
        const ssize_t n = ::send(to, bytes, size, MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace

breaking_proxy::breaking_proxy(std::uint16_t to) : to_(to) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        ::close(listener_);
        throw std::runtime_error("the proxy cannot listen");
    }
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] {
        while (!ends_) {
            pollfd waiting{listener_, POLLIN, 0};
            if (::poll(&waiting, 1, 50) <= 0) continue;
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client >= 0) threads_.emplace_back([this, client] { serve(client); });
        }
    });
}

breaking_proxy::~breaking_proxy() {
    ends_ = true;
    accepting_.join();
    for (auto& thread : threads_) thread.join();
    ::close(listener_);
}

void breaking_proxy::break_at(const std::string& word, bool arrives) {
    const std::lock_guard guard(mutex_);
    word_ = word;
    arrives_ = arrives;
}

void breaking_proxy::serve(int client) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(to_);
    bool open = ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    std::array<char, 65536> bytes{};
    while (open && !ends_) {
        std::array<pollfd, 2> waiting{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
        if (::poll(waiting.data(), 2, 50) <= 0) continue;
        for (int from = 0; from < 2 && open; ++from) {
            if (!waiting[static_cast<std::size_t>(from)].revents) continue;
            const ssize_t n = ::recv(from == 0 ? client : server, bytes.data(), bytes.size(), 0);
            if (n <= 0) {
                open = false;
                break;
            }
            const std::string_view text(bytes.data(), static_cast<std::size_t>(n));
            bool cut = false, arrives = false;
            if (from == 0) {
                const std::lock_guard guard(mutex_);
                cut = !word_.empty() && text.find(word_) != std::string_view::npos;
                arrives = arrives_;
                if (cut) word_.clear();
            }
            if (!cut || arrives) open = send_all(from == 0 ? server : client, text.data(), text.size());
            if (!cut) continue;
            if (arrives) ::recv(server, bytes.data(), bytes.size(), 0);  // the answer, which nobody gets
            broke_ = true;
            open = false;
        }
    }
    ::close(client);
    ::close(server);
}

}  // namespace lakeflow::host::testing
