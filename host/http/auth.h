// host/http/auth.h: the JSON texts of a request (contract 30: auth, headers, accept_status), read and checked, so that nothing
// that reaches the wire can smuggle in a line. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/secrets.h"
#include "host/http/oauth.h"

namespace lakeflow::host {

using header_list = std::vector<std::pair<std::string, std::string>>;

// A credential in the form in which it is sent: as one header, or as one query parameter.
struct credential {
    enum class place { none, header, query };
    place where = place::none;
    std::string name;
    std::string value;
    std::shared_ptr<const oauth_grant> grant;  // the value is an access token of it; empty until it is asked for
};

// Reads `auth`; its secret values are added to `redactor`. Throws config.auth.
credential parse_auth(std::string_view json, secrets& redactor);

// A JSON object of strings. Throws config.headers.
header_list parse_headers(std::string_view json);

// A JSON array of statuses from 100 to 599. Throws config.accept_status.
std::vector<int> parse_accept_status(std::string_view json);

// Throws config.headers for a name that is no token, a value with a control character, or a header that the host sets itself
// (Host, Content-Length, Transfer-Encoding, Connection and their like).
void check_headers(const header_list& headers);

// True for a header that names whoever asks: its value is shown nowhere and goes to its own origin alone.
bool is_credential_header(std::string_view name);

// True for the characters of a header name or method (RFC 9110 section 5.6.2).
bool is_token(std::string_view text) noexcept;

}  // namespace lakeflow::host
