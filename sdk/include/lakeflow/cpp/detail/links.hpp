// lakeflow/cpp/detail/links.hpp: the parser of Link headers (RFC 8288, section 3 and appendix B). Included by url.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/cpp/url.hpp"

namespace lakeflow {
namespace detail {

inline std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

class link_parser {
  public:
    link_parser(std::string_view header, std::string_view base) : text_(header), base_(base) {}

    std::vector<web_link> all() {
        std::vector<web_link> out;
        while (at_ < text_.size()) {
            skip(" \t,");
            if (at_ >= text_.size()) break;
            size_t end = text_[at_] == '<' ? text_.find('>', at_) : std::string_view::npos;
            if (end == std::string_view::npos) break;  // not a link value: what follows cannot be told apart
            web_link link;
            link.target = url_resolve(base_, text_.substr(at_ + 1, end - at_ - 1));
            at_ = end + 1;
            parameters(link);
            out.push_back(std::move(link));
        }
        return out;
    }

  private:
    void skip(std::string_view characters) {
        while (at_ < text_.size() && characters.find(text_[at_]) != std::string_view::npos) ++at_;
    }
    std::string_view until(std::string_view characters) {
        size_t from = at_;
        at_ = std::min(text_.find_first_of(characters, at_), text_.size());
        return text_.substr(from, at_ - from);
    }

    void parameters(web_link& link) {
        while (true) {
            skip(" \t");
            if (at_ >= text_.size() || text_[at_] == ',') return;
            if (text_[at_] != ';') {
                until(",;");
                continue;
            }
            ++at_;
            skip(" \t");
            std::string name = lower(until(" \t=;,"));
            skip(" \t");
            std::string value;
            if (at_ < text_.size() && text_[at_] == '=') {
                ++at_;
                skip(" \t");
                value = at_ < text_.size() && text_[at_] == '"' ? quoted() : std::string(until(" \t;,"));
            }
            bool first = std::none_of(link.parameters.begin(), link.parameters.end(),
                                      [&](const auto& known) { return known.first == name; });
            if (!name.empty() && first) link.parameters.emplace_back(std::move(name), std::move(value));
        }
    }

    std::string quoted() {
        std::string out;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            out.push_back(text_[at_]);
        }
        if (at_ < text_.size()) ++at_;
        return out;
    }

    std::string_view text_, base_;
    size_t at_ = 0;
};

}  // namespace detail

inline bool web_link::has_rel(std::string_view wanted) const {
    for (const auto& [name, value] : parameters) {
        if (name != "rel") continue;
        std::string all = detail::lower(value);
        std::string_view rest = all;
        while (!rest.empty()) {
            size_t end = std::min(rest.find_first_of(" \t"), rest.size());
            if (rest.substr(0, end) == wanted) return true;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return false;
}

inline std::vector<web_link> parse_links(std::string_view header, std::string_view base) {
    return detail::link_parser(header, base).all();
}

inline std::optional<std::string> link_to(std::string_view header, std::string_view relation, std::string_view base) {
    for (web_link& link : parse_links(header, base))
        if (link.has_rel(relation)) return std::move(link.target);
    return std::nullopt;
}

}  // namespace lakeflow
