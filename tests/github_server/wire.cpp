// See wire.h.
#include "tests/github_server/wire.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace lakeflow::github_server {
namespace {

constexpr std::size_t chunk_size = 16384;

std::string chunk_mark(std::size_t size, bool first) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
    return (first ? "" : "\r\n") + std::string(digits.data(), end) + "\r\n";
}

}  // namespace

std::string_view reason(int status) {
    switch (status) {
        case 200: return "OK";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 304: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 422: return "Unprocessable Entity";
        case 429: return "Too Many Requests";
        case 451: return "Unavailable For Legal Reasons";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        default: return "Status";
    }
}

wire make_wire(const answer& given, bool head_request, bool keep_alive) {
    wire out;
    out.body = given.sent();
    const delivery& how = given.how;
    const bool bodiless = head_request || given.status == 304 || given.status == 204;
    const std::string_view body = bodiless ? std::string_view{} : std::string_view(*out.body);
    const bool chunked = how.chunked && !bodiless;
    out.close_after = !keep_alive || how.close || how.close_silently || how.cut_at.has_value();
    out.reset_after = how.reset;
    out.pause_ms = how.drip_ms;

    std::string head = "HTTP/1.1 " + std::to_string(given.status) + " " + std::string(reason(given.status)) + "\r\n";
    for (const auto& [name, value] : given.headers) head.append(name).append(": ").append(value).append("\r\n");
    if (given.packed && !bodiless) head += "Content-Encoding: gzip\r\n";
    if (chunked)
        head += "Transfer-Encoding: chunked\r\n";
    else if (given.status != 304)
        head += "Content-Length: " + std::to_string(out.body->size()) + "\r\n";
    head += !keep_alive || how.close ? "Connection: close\r\n\r\n" : "\r\n";
    out.framing.push_back(std::move(head));

    // The body, framed; then split into batches.
    std::vector<std::string_view> pieces;
    const std::string_view sent = body.substr(0, how.cut_at.value_or(body.size()));
    out.body_bytes = sent.size();
    if (chunked && how.cut_at) {
        // One chunk that announces more than will come.
        pieces.push_back(
            out.framing.emplace_back(chunk_mark(std::max<std::size_t>(body.size(), sent.size() + 1), true)));
        pieces.push_back(sent);
    } else if (chunked) {
        for (std::size_t at = 0; at < sent.size(); at += chunk_size) {
            const std::string_view piece = sent.substr(at, chunk_size);
            pieces.push_back(out.framing.emplace_back(chunk_mark(piece.size(), at == 0)));
            pieces.push_back(piece);
        }
        pieces.push_back(out.framing.emplace_back(sent.empty() ? "0\r\n\r\n" : "\r\n0\r\n\r\n"));
    } else if (!sent.empty()) {
        pieces.push_back(sent);
    }
    out.batches.push_back({std::string_view(out.framing.front())});
    for (std::string_view piece : pieces) {
        if (how.drip_bytes == 0) {
            out.batches.front().push_back(piece);
            continue;
        }
        for (; !piece.empty(); piece.remove_prefix(std::min(piece.size(), how.drip_bytes)))
            out.batches.push_back({piece.substr(0, how.drip_bytes)});
    }
    return out;
}

}  // namespace lakeflow::github_server
