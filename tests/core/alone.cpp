// Links lakeflow_core and nothing else of the host: what a JVM module will do. Loads a plugin and reads it, from two threads, without the
// engine, and shows that the core wrote nothing to stdout and left the signals alone.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include "host/plugin/connector.h"
#include "host/plugin/loader.h"

namespace {

int rows_of(const std::shared_ptr<const lakeflow::host::plugin>& p) {
    using namespace lakeflow::host;
    auto flow = std::make_shared<flow_context>();
    flow->plugin = p->id;
    flow->redactor = std::make_shared<secrets>();
    plugin_connector connector(p, "{}", flow, std::make_shared<cancel_token>());
    read_request request;
    request.table = "numbers";
    const auto reader = connector.read_table(request);
    int rows = 0;
    while (const auto batch = reader->next()) rows += static_cast<int>(batch->rows());
    return rows;
}

// The default ones; a sanitizer's own SIGSEGV handler is no work of the host's.
bool handlers_are_default() {
    std::vector<int> signals{SIGINT, SIGTERM, SIGCHLD, SIGPIPE};
#ifndef __SANITIZE_ADDRESS__
    signals.push_back(SIGSEGV);
#endif
    for (const int signal : signals) {
        struct sigaction now {};
        sigaction(signal, nullptr, &now);
        if (now.sa_handler != SIG_DFL) return false;
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const auto p = lakeflow::host::load_plugin(argv[1], {});
    int rows = 0;
    std::thread worker([&] { rows = rows_of(p); });
    worker.join();
    const bool right = rows == 3 && rows_of(p) == 3 && handlers_are_default();
    std::fprintf(stderr, "%d rows, handlers %s\n", rows, handlers_are_default() ? "default" : "changed");
    return right ? 0 : 1;
}
