// A private certification authority and a server certificate signed by it, made at start. Any thread.
#pragma once

#include <string>

#include "tests/github_server/config.h"

namespace lakeflow::github_server {

struct tls_identity {
    std::string authority_pem;  // what a client must trust
    std::string certificate_pem;
    std::string key_pem;
};
// config.tls_fault: expired (ended yesterday), self_signed (by itself, not by the authority). config.tls_names: names and addresses.
tls_identity make_tls_identity(const server_config& config);

}  // namespace lakeflow::github_server
