// See listing.h.
#include "tests/github_server/listing.h"

#include <algorithm>
#include <stdexcept>

namespace lakeflow::github_server {
namespace {

void replace(parameters& query, std::string_view name, std::string value) {
    for (auto& [key, old] : query) {
        if (key == name) {
            old = std::move(value);
            return;
        }
    }
    query.emplace_back(name, std::move(value));
}

void append_link(std::string& out, std::string_view url, const parameters& query, std::string_view relation) {
    out.append(out.empty() ? "<" : ", <")
        .append(url)
        .append("?")
        .append(render_query(query))
        .append(">; rel=\"")
        .append(relation)
        .append("\"");
}

}  // namespace

page_request read_page(const parameters& query) {
    page_request out;
    if (const std::string* text = find_parameter(query, "per_page")) {
        const std::int64_t size = to_integer(*text).value_or(0);
        if (size > 0) out.per_page = static_cast<std::uint32_t>(std::min<std::int64_t>(size, 100));
    }
    if (const std::string* text = find_parameter(query, "page")) {
        const std::int64_t number = to_integer(*text).value_or(0);
        if (number > 0) out.page = static_cast<std::uint64_t>(std::min<std::int64_t>(number, 1'000'000'000));
    }
    return out;
}

deep_rule read_deep(std::string_view text) {
    deep_rule out;
    if (text == "ok") return out;
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const auto number = colon == std::string_view::npos ? std::nullopt : to_integer(text.substr(colon + 1));
    if (!number || *number < 0 || (name != "refuse_rows" && name != "refuse_pages"))
        throw std::invalid_argument("deep: ok, refuse_rows:N or refuse_pages:N is expected, got " + std::string(text));
    out.refuses = true;
    (name == "refuse_rows" ? out.rows : out.pages) = static_cast<std::uint64_t>(*number);
    return out;
}

std::string write_cursor(const sort_value& at) {
    return base64url("cursor:v2:" + std::to_string(at.first) + ":" + std::to_string(at.second));
}

std::optional<sort_value> read_cursor(std::string_view text) {
    const auto plain = from_base64(text);
    constexpr std::string_view head = "cursor:v2:";
    if (!plain || plain->substr(0, head.size()) != head) return std::nullopt;
    const std::string_view rest = std::string_view(*plain).substr(head.size());
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto value = to_integer(rest.substr(0, colon));
    std::uint64_t tie = 0;
    for (const char c : rest.substr(colon + 1)) {
        if (c < '0' || c > '9') return std::nullopt;
        tie = tie * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!value) return std::nullopt;
    return sort_value{*value, tie};
}

std::string page_links(std::string_view url, const parameters& query, const page_request& asked, std::uint64_t total) {
    const std::uint64_t last = std::max<std::uint64_t>(1, (total + asked.per_page - 1) / asked.per_page);
    std::string out;
    const auto link = [&](std::uint64_t number, std::string_view relation) {
        parameters there = query;
        replace(there, "page", std::to_string(number));
        append_link(out, url, there, relation);
    };
    if (asked.page > 1) link(std::min(asked.page - 1, last), "prev");
    if (asked.page < last) {
        link(asked.page + 1, "next");
        link(last, "last");
    }
    if (asked.page > 1) link(1, "first");
    return out;
}

std::string cursor_links(std::string_view url, const parameters& query, const page_request& asked,
                         const std::optional<sort_value>& next, const std::optional<sort_value>& previous) {
    std::string out;
    const auto link = [&](std::string_view name, const sort_value& at, std::uint64_t number,
                          std::string_view relation) {
        parameters there = query;
        std::erase_if(there,
                      [](const auto& parameter) { return parameter.first == "after" || parameter.first == "before"; });
        replace(there, name, write_cursor(at));
        replace(there, "page", std::to_string(number));
        append_link(out, url, there, relation);
    };
    if (next) link("after", *next, asked.page + 1, "next");
    if (previous) link("before", *previous, asked.page > 1 ? asked.page - 1 : 1, "prev");
    return out;
}

}  // namespace lakeflow::github_server
