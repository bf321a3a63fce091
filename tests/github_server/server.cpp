// See server.h.
#include "tests/github_server/server.h"

#include <stdexcept>

#include "tests/github_server/router.h"
#include "tests/github_server/transport.h"

namespace lakeflow::github_server {

struct server::parts {
    explicit parts(const server_config& config) : answers(config), serving(answers, config) {}
    router answers;
    transport serving;
};

server::server(const server_config& config) : parts_(std::make_unique<parts>(config)) {}
server::~server() = default;

std::uint16_t server::port() const { return parts_->serving.port(); }
std::uint16_t server::tls_port() const { return parts_->serving.tls_port(); }
std::string server::url() const { return "http://127.0.0.1:" + std::to_string(port()); }
std::string server::tls_url() const { return "https://localhost:" + std::to_string(tls_port()); }

std::string server::control(std::string_view op, std::string_view arguments) {
    return parts_->answers.controls().operate(op, arguments);
}

std::string server::truth(std::string_view table, std::string_view query) {
    const control_reply given =
        parts_->answers.controls().call("GET", "/truth/" + std::string(table) + "?" + std::string(query), "");
    if (given.status != 200) throw std::invalid_argument(given.body);
    return given.body;
}

stats_snapshot server::stats() const { return parts_->answers.seen().snapshot(); }
std::deque<request_record> server::requests() const { return parts_->answers.seen().requests(); }

}  // namespace lakeflow::github_server
