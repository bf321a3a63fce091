// github-server: prints one line of JSON with its ports when it listens, ends on SIGTERM or SIGINT, or when stdin closes if asked to.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tests/github_server/server.h"

namespace {

constexpr const char* help =
    "github-server: a loopback server with GitHub's REST rules and a made-up corpus\n"
    "  --repo owner/name (repeatable)  --issues N --pulls N --comments N --commits N --reviews-per-pull N --branches "
    "N\n"
    "  --seed S  --port P  --tls  --ca-out FILE  --token T (repeatable)  --latency-ms N  --deep "
    "ok|refuse_rows:N|refuse_pages:N\n"
    "  --config FILE.json  --faults FILE.json  --exit-with-stdin\n"
    "Every key of config.h is an option; tests/github_server/README.md has the control calls.\n";

void wait_for_the_end(bool with_stdin) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    const int signals = signalfd(-1, &set, SFD_CLOEXEC);
    std::array<pollfd, 2> watched{{{signals, POLLIN, 0}, {with_stdin ? STDIN_FILENO : -1, POLLIN, 0}}};
    for (;;) {
        if (poll(watched.data(), watched.size(), -1) < 0) continue;
        if (watched[0].revents != 0) break;
        std::array<char, 256> ignored;
        if (watched[1].revents != 0 && read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) break;
    }
    close(signals);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        // Blocked before any thread starts, so that only the signalfd sees them.
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        signal(SIGPIPE, SIG_IGN);
        const lakeflow::github_server::arguments asked =
            lakeflow::github_server::parse_arguments(std::vector<std::string>(argv + 1, argv + argc));
        if (asked.help) {
            std::cout << help;
            return 0;
        }
        const lakeflow::github_server::server serving(asked.config);
        std::cout << "{\"port\":" << serving.port() << ",\"tls_port\":" << serving.tls_port() << ",\"url\":\""
                  << serving.url() << "\"}" << std::endl;
        wait_for_the_end(asked.exit_with_stdin);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
