// host/http/auth.cpp: see auth.h.
#include "host/http/auth.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdint>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/http/message.h"

namespace lakeflow::host {
namespace {

[[noreturn]] void refuse(std::string code, std::string message, std::string hint = {}) {
    throw failure(std::move(code), std::move(message), std::move(hint), retry_class::invalid);
}

boost::json::value parse(std::string_view json, const char* code, const char* what) {
    boost::system::error_code ec;
    boost::json::value value = boost::json::parse(json, ec);
    if (ec) refuse(code, std::string(what) + " is not JSON: " + ec.message());
    return value;
}

bool has_control(std::string_view value) noexcept {
    return std::any_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

// A member of auth that must be a text.
std::string text_member(const boost::json::object& auth, std::string_view type, std::string_view name,
                        bool may_be_empty = false) {
    const auto* value = auth.if_contains(name);
    const std::string where = "auth of type " + std::string(type);
    if (value == nullptr) refuse("config.auth", where + " needs \"" + std::string(name) + "\"");
    if (!value->is_string()) refuse("config.auth", where + ": \"" + std::string(name) + "\" is not a text");
    const std::string_view text(value->get_string().data(), value->get_string().size());
    if (text.empty() && !may_be_empty) {
        refuse("config.auth", where + ": \"" + std::string(name) + "\" is empty",
               "check the environment variable or file that it comes from");
    }
    if (has_control(text)) {
        refuse("config.auth", where + ": \"" + std::string(name) + "\" holds a line break or another control character",
               "the file that it comes from may end with an empty line");
    }
    return std::string(text);
}

void check_members(const boost::json::object& auth, std::string_view type,
                   std::initializer_list<std::string_view> known) {
    for (const auto& member : auth) {
        const std::string_view name(member.key().data(), member.key().size());
        if (name != "type" && std::find(known.begin(), known.end(), name) == known.end()) {
            refuse("config.auth", "auth of type " + std::string(type) + " has no \"" + std::string(name) + "\"");
        }
    }
}

std::shared_ptr<const oauth_grant> parse_grant(const boost::json::object& auth, secrets& redactor) {
    const std::string_view type = "oauth2";
    check_members(
        auth, type,
        {"grant", "token_url", "client_id", "client_secret", "refresh_token", "scope", "store", "client_auth"});
    const auto optional = [&](std::string_view name) {
        return auth.contains(name) ? text_member(auth, type, name, true) : std::string();
    };
    oauth_grant out;
    out.grant = auth.contains("grant") ? text_member(auth, type, "grant") : "client_credentials";
    if (out.grant != "client_credentials" && out.grant != "refresh_token") {
        refuse("config.auth", "auth of type oauth2 has an unknown grant \"" + printable(out.grant, 100) + "\"",
               "one of client_credentials, refresh_token");
    }
    out.token_url = text_member(auth, type, "token_url");
    out.client_id = text_member(auth, type, "client_id");
    out.client_secret = optional("client_secret");
    if (out.grant == "refresh_token") out.refresh_token = text_member(auth, type, "refresh_token");
    out.scope = optional("scope");
    out.store = optional("store");
    const std::string client_auth = optional("client_auth");
    if (!client_auth.empty() && client_auth != "basic" && client_auth != "body") {
        refuse("config.auth", "auth of type oauth2: client_auth is \"" + printable(client_auth, 100) + "\"",
               "one of body, basic");
    }
    out.basic = client_auth == "basic";
    redactor.add(out.client_secret);
    redactor.add(out.refresh_token);
    return std::make_shared<const oauth_grant>(std::move(out));
}

}  // namespace

bool is_token(std::string_view text) noexcept {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               marks.find(c) != marks.npos;
    });
}

bool is_credential_header(std::string_view name) {
    const std::string lower = lower_ascii(name);
    if (lower == "authorization" || lower == "cookie") return true;
    constexpr std::array<std::string_view, 5> marks = {"token", "api-key", "apikey", "secret", "password"};
    return std::any_of(marks.begin(), marks.end(),
                       [&](std::string_view mark) { return lower.find(mark) != std::string::npos; });
}

credential parse_auth(std::string_view json, secrets& redactor) {
    credential out;
    if (json.empty()) return out;
    const auto value = parse(json, "config.auth", "auth");
    if (value.is_null()) return out;
    if (!value.is_object()) refuse("config.auth", "auth is not an object");
    const auto& auth = value.get_object();
    const auto* type_value = auth.if_contains("type");
    if (type_value == nullptr || !type_value->is_string()) {
        refuse("config.auth", "auth has no \"type\"", "one of none, bearer, basic, header, query, oauth2");
    }
    const std::string type(type_value->get_string().data(), type_value->get_string().size());
    if (type == "none") return out;
    out.where = credential::place::header;
    if (type == "bearer") {
        check_members(auth, type, {"token"});
        const std::string token = text_member(auth, type, "token");
        redactor.add(token);
        out.name = "Authorization";
        out.value = "Bearer " + token;
    } else if (type == "basic") {
        check_members(auth, type, {"user", "password"});
        const std::string user = text_member(auth, type, "user");
        const std::string password = text_member(auth, type, "password", true);
        const std::string both = base64(user + ":" + password);
        redactor.add(password);
        redactor.add(both);
        out.name = "Authorization";
        out.value = "Basic " + both;
    } else if (type == "oauth2") {
        out.grant = parse_grant(auth, redactor);
        out.name = "Authorization";
    } else if (type == "header" || type == "query") {
        check_members(auth, type, {"name", "value"});
        out.name = text_member(auth, type, "name");
        out.value = text_member(auth, type, "value");
        redactor.add(out.value);
        if (type == "query") {
            out.where = credential::place::query;
        } else if (!is_token(out.name)) {
            refuse("config.auth", "auth: \"" + printable(out.name, 100) + "\" is no name of a header");
        }
    } else {
        refuse("config.auth", "auth has an unknown type \"" + printable(type, 100) + "\"",
               "one of none, bearer, basic, header, query, oauth2");
    }
    return out;
}

header_list parse_headers(std::string_view json) {
    header_list out;
    if (json.empty()) return out;
    const auto value = parse(json, "config.headers", "headers");
    if (value.is_null()) return out;
    if (!value.is_object()) refuse("config.headers", "headers is not an object of texts");
    for (const auto& member : value.get_object()) {
        const std::string name(member.key().data(), member.key().size());
        if (!member.value().is_string())
            refuse("config.headers", "header \"" + printable(name, 100) + "\" is not a text");
        out.emplace_back(name, std::string(member.value().get_string().data(), member.value().get_string().size()));
    }
    return out;
}

std::vector<int> parse_accept_status(std::string_view json) {
    std::vector<int> out;
    if (json.empty()) return out;
    const auto value = parse(json, "config.accept_status", "accept_status");
    if (!value.is_array()) refuse("config.accept_status", "accept_status is not an array of statuses");
    for (const auto& element : value.get_array()) {
        const std::int64_t status = element.is_int64() ? element.get_int64() : 0;
        if (status < 100 || status > 599) refuse("config.accept_status", "accept_status holds what is no status");
        out.push_back(static_cast<int>(status));
    }
    return out;
}

void check_headers(const header_list& headers) {
    constexpr std::array<std::string_view, 11> own = {"host",
                                                      "content-length",
                                                      "transfer-encoding",
                                                      "connection",
                                                      "keep-alive",
                                                      "proxy-connection",
                                                      "proxy-authorization",
                                                      "te",
                                                      "trailer",
                                                      "upgrade",
                                                      "expect"};
    for (const auto& [name, value] : headers) {
        if (!is_token(name)) refuse("config.headers", "\"" + printable(name, 100) + "\" is no name of a header");
        if (std::find(own.begin(), own.end(), lower_ascii(name)) != own.end()) {
            refuse("config.headers", "the header " + name + " is set by the host alone");
        }
        if (has_control(value)) {
            refuse("config.headers",
                   "the value of the header " + name + " holds a line break or another control character");
        }
    }
}

}  // namespace lakeflow::host
