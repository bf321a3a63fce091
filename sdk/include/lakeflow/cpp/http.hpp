// lakeflow/cpp/http.hpp: requests and exchanges of "lakeflow.http/1" (http.h, which has the full rules).
// The host retries, paces, follows redirects and authenticates; a connector builds requests and reads answers.
// An exchange is used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/services.hpp"
#include "lakeflow/http.h"

namespace lakeflow {

// One request. The members may be set directly, or in a chain:
//   request("https://api.example.com/items").header("Accept", "application/json").bearer(token).accept(304)
struct request {
    request() = default;
    explicit request(std::string address) : url(std::move(address)) {}

    std::string method = "GET";
    std::string url;     // absolute; path segments and query values are escaped already (url.hpp)
    std::string origin;  // the service's own address: a link that leads elsewhere is refused; empty: url's own
    json headers;        // an object of strings, or null
    json auth;           // contract 30, or null: {"type": "bearer", "token": ".."}; it goes to `origin` alone
    std::optional<std::string> body;
    std::string content_type;
    std::vector<int> accepted;   // statuses beside 2xx that are answers, not errors
    int64_t max_body_bytes = 0;  // of the decoded body; 0: the host's limit
    uint32_t flags = 0;          // LF_HTTP_*

    request& header(std::string_view name, std::string_view value) { return headers.set(name, value), *this; }
    request& within(std::string_view service) { return origin = service, *this; }
    request& with_auth(json credential) { return auth = std::move(credential), *this; }
    // An empty token sends none.
    request& bearer(std::string_view token) {
        auth = token.empty() ? json() : json::object({{"type", "bearer"}, {"token", token}});
        return *this;
    }
    request& accept(int status) { return accepted.push_back(status), *this; }
    request& post(std::string text, std::string_view type = "application/json") {
        return method = "POST", body = std::move(text), content_type = type, *this;
    }
    // May be sent again although its method says otherwise (a search by POST, a write with an idempotency key).
    request& idempotent() { return flags |= LF_HTTP_IDEMPOTENT, *this; }
};

// A request on its way, its retries included, and its answer. Closed by the destructor.
class exchange {
  public:
    exchange() = default;
    exchange(const lf_http_v1* table, lf_exchange* handle) : table_(table), handle_(handle) {}
    exchange(exchange&& other) noexcept
        : table_(other.table_), handle_(std::exchange(other.handle_, nullptr)), status_(other.status_) {}
    exchange& operator=(exchange&& other) noexcept {
        if (this != &other) {
            close();
            table_ = other.table_, handle_ = std::exchange(other.handle_, nullptr), status_ = other.status_;
        }
        return *this;
    }
    ~exchange() { close(); }

    explicit operator bool() const { return handle_ != nullptr; }
    lf_exchange* handle() const { return handle_; }

    // Waits for the head of the final answer and gives its status: 2xx or an accepted one. Throws for the others.
    int head() {
        lf_error error = empty_error();
        check(calls().head(handle_, &status_, &error), error);
        return status_;
    }
    // The status that head() gave; 0 before.
    int status() const { return status_; }

    // A header of the answer by name, without regard to case; several of one name are joined by ", ". After head().
    std::optional<std::string> header(std::string_view name) const {
        lf_error error = empty_error();
        lf_str out = no_str();
        check(calls().header(handle_, str(name), &out, &error), error);
        if (absent(out)) return std::nullopt;
        return std::string(view(out));
    }
    // The address that answered, after redirects. After head().
    std::string final_url() const {
        lf_error error = empty_error();
        lf_str out = no_str();
        check(calls().final_url(handle_, &out, &error), error);
        return std::string(view(out));
    }

    // The next piece of the body, valid until the next call; false: the body is complete. After head().
    bool read(std::string_view& piece) {
        lf_error error = empty_error();
        lf_str out = no_str();
        if (check(calls().read(handle_, &out, &error), error) == LF_END) return false;
        piece = view(out);
        return true;
    }
    // The whole body; throws protocol() past `max` bytes. For small documents: rows go through rows.hpp.
    std::string text(size_t max = size_t{8} << 20) {
        std::string out;
        std::string_view piece;
        while (read(piece)) {
            if (out.size() + piece.size() > max) throw protocol("the answer of " + final_url() + " is too long");
            out += piece;
        }
        return out;
    }

    // Asks for the same again after a body that made no sense; head() follows. Throws when no attempt is left.
    void retry(std::string_view reason) {
        lf_error error = empty_error();
        check(calls().retry(handle_, str(reason), &error), error);
        status_ = 0;
    }

    void close() noexcept {
        if (handle_ != nullptr) table_->close(std::exchange(handle_, nullptr));
        status_ = 0;
    }

  private:
    const lf_http_v1& calls() const {
        if (handle_ == nullptr) throw permanent("no request was sent on this exchange").with_code("plugin.contract");
        return *table_;
    }

    const lf_http_v1* table_ = nullptr;
    lf_exchange* handle_ = nullptr;
    int32_t status_ = 0;
};

class http_service : public detail::service<lf_http_v1> {
  public:
    using service::service;

    // Queues a request and returns at once: start the next page before the current one is decoded.
    exchange start(const request& wanted) const {
        lf_http_request out{};
        std::string headers = wanted.headers.is_null() ? "" : wanted.headers.dump();
        std::string auth = wanted.auth.is_null() ? "" : wanted.auth.dump();
        std::string accepted = wanted.accepted.empty() ? "" : json::array_of(wanted.accepted).dump();
        auto optional = [](const std::string& text) { return text.empty() ? no_str() : str(text); };
        out.struct_size = sizeof out;
        out.flags = wanted.flags;
        out.method = optional(wanted.method);
        out.url = str(wanted.url);
        out.origin = optional(wanted.origin);
        out.headers = optional(headers);
        out.auth = optional(auth);
        out.body = wanted.body ? str(*wanted.body) : no_str();
        out.content_type = optional(wanted.content_type);
        out.accept_status = optional(accepted);
        out.max_body_bytes = wanted.max_body_bytes;
        lf_error error = empty_error();
        lf_exchange* handle = nullptr;
        check(table().start(context_, &out, &handle, &error), error);
        return {&table(), handle};
    }
    // Sends a request and reads a small JSON answer, asking again where it is not JSON.
    json get_json(const request& wanted) const {
        exchange answer = start(wanted);
        while (true) {
            answer.head();
            std::string text = answer.text();
            try {
                return json::parse(text);
            } catch (const failure& error) {
                answer.retry(error.what());
            }
        }
    }
};

}  // namespace lakeflow
