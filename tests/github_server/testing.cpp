// See testing.h.
#include "tests/github_server/testing.h"

#include <boost/json.hpp>
#include <stdexcept>

#include "tests/github_server/text.h"

namespace lakeflow::github_server::testing {

row::row(std::string text) {
    const boost::json::value parsed = boost::json::parse(text);
    for (const auto& [key, value] : parsed.as_object())
        members_[std::string(std::string_view(key))] = boost::json::serialize(value);
}

std::string row::text(const std::string& key) const {
    return std::string(std::string_view(boost::json::parse(members_.at(key)).as_string()));
}

std::int64_t row::integer(const std::string& key) const { return boost::json::parse(members_.at(key)).as_int64(); }

std::string target_of(const std::string& url) { return url.substr(url.find('/', url.find("//") + 2)); }

std::map<std::string, std::string> read_links(std::string_view header) {
    std::map<std::string, std::string> out;
    while (true) {
        const std::size_t open = header.find('<');
        if (open == std::string_view::npos) return out;
        const std::size_t close = header.find('>', open);
        const std::size_t name = header.find("rel=\"", close) + 5;
        out[std::string(header.substr(name, header.find('"', name) - name))] =
            header.substr(open + 1, close - open - 1);
        header.remove_prefix(name);
    }
}

std::vector<row> read_rows(std::string_view body) {
    std::vector<row> out;
    const boost::json::value parsed = boost::json::parse(boost::json::string_view(body.data(), body.size()));
    for (const boost::json::value& item : parsed.as_array()) out.emplace_back(boost::json::serialize(item));
    return out;
}

seen asker::get(const std::string& target, const with& more) const {
    request asked;
    asked.target = target;
    asked.host = "test";
    if (!more.authorization.empty()) asked.authorization = more.authorization;
    asked.if_none_match = more.if_none_match;
    asked.user_agent = more.user_agent;
    asked.api_version = more.api_version;
    asked.accept_encoding = more.accept_encoding;
    seen out;
    out.raw = router_->handle(asked);
    router_->finish(out.raw, out.raw.status, out.raw.sent()->size());
    out.status = out.raw.status;
    for (const auto& [name, value] : out.raw.headers) out.headers[lower(name)] = value;
    out.body = *out.raw.body;
    if (const auto link = out.headers.find("link"); link != out.headers.end()) out.links = read_links(link->second);
    if (out.status == 200 && !out.body.empty() && out.body.front() == '[' && out.body.back() == ']')
        out.rows = read_rows(out.body);
    return out;
}

std::vector<row> asker::walk(std::string target) const {
    std::vector<row> out;
    for (int pages = 0; pages < 10000; ++pages) {
        seen page = get(target);
        if (page.status != 200)
            throw std::runtime_error(target + " answered " + std::to_string(page.status) + ": " + page.body);
        for (row& one : page.rows) out.push_back(std::move(one));
        const auto next = page.links.find("next");
        if (next == page.links.end()) return out;
        target = target_of(next->second);
    }
    throw std::runtime_error("the listing has no end");
}

}  // namespace lakeflow::github_server::testing
