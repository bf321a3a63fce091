// plugins/http_api/service.hpp: the service behind the connection: addresses, parameters, requests, and how many rows it says that
// there are. Immutable; readers share it. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "declaration.hpp"

namespace lakeflow::http_api {

// One request parameter. Texts and numbers; in a JSON body anything. A list is written as the parameter repeated.
struct parameter {
    std::string name;
    json value;
};
using parameters = std::vector<parameter>;

// A scalar as it stands in an address: texts as they are, numbers by their digits.
std::string plain_text(const json& value);

// Sets a member; a name that is a JSON pointer leads to a nested one: "/page/size".
void put(json& into, std::string_view name, const json& value);

// Where a walk stands: by number, by token, or by the address that the service gave.
struct position {
    std::int64_t row = 0;    // of the listing
    std::int64_t index = 0;  // of the page, from 0
    std::optional<json> token;
    std::optional<std::string> url;
};

class service {
  public:
    service(const environment& env, std::shared_ptr<const declaration> all);

    const services& host() const { return host_; }
    const declaration& all() const { return *all_; }
    std::int64_t init_time_us() const { return init_time_us_; }
    // Tells one run's reads of one connection from all others.
    const std::string& identity() const { return identity_; }

    // The address of a path below base_url.
    std::string address(std::string_view path) const;
    // A request of any kind, with the connection's headers and credential.
    request make(std::string_view method, const std::string& url) const;
    // A request for rows, by the resource's method: its own params, then `sent`.
    request ask(const resource& of, std::string_view path, const parameters& sent) const;
    // The request of one page; `size` rows are asked for where the service can be told (0: not).
    request page(const resource& of, std::string_view path, const parameters& fixed, const position& at,
                 std::int64_t size) const;

    // The rows that the service states; nothing where it does not know (null, absent, negative).
    std::optional<std::int64_t> total(const resource& of, std::string_view path, const parameters& fixed) const;
    // The request that asks for it first.
    request total_request(const resource& of, std::string_view path, const parameters& fixed) const;
    // What an answer says about the total by the way; nothing where it says nothing.
    static std::optional<std::int64_t> read_total(const json* value);

    // "GET https://host/path?a=b": for explain, without the credential.
    static std::string show(const request& wanted);

  private:
    services host_;
    std::shared_ptr<const declaration> all_;
    std::int64_t init_time_us_;
    std::string identity_;
};

}  // namespace lakeflow::http_api
