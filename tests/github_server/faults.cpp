// See faults.h. The script's JSON is read in faults_json.cpp.
#include "tests/github_server/faults.h"

#include <algorithm>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

template <class Rule>
bool due(Rule& rule) {
    ++rule.seen;
    if (rule.seen < rule.from) return false;
    if (rule.times >= 0 && rule.seen >= rule.from + static_cast<std::uint64_t>(rule.times)) return false;
    ++rule.fired;
    return true;
}

std::string fill(std::string text, const std::string& target) {
    constexpr std::string_view mark = "{target}";
    if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), target);
    return text;
}

void error(answer& out, int status, std::string_view message, std::string_view page) {
    std::string body = "{\"message\":";
    append_json(body, message);
    body.append(",\"documentation_url\":\"https://docs.github.com/")
        .append(page)
        .append("\",\"status\":\"")
        .append(std::to_string(status))
        .append("\"}");
    out.status = status;
    out.body = std::make_shared<const std::string>(std::move(body));
    out.packed.reset();
    for (const std::string_view name : {"ETag", "Link", "Content-Encoding"}) out.remove(name);
}

void set_body(answer& out, std::string body) {
    out.body = std::make_shared<const std::string>(std::move(body));
    out.packed.reset();
    out.remove("Content-Encoding");
    out.remove("ETag");
}

void cut(const fault& rule, answer& out) {
    const std::size_t size = out.sent()->size();
    if (rule.mode == "element" || rule.mode == "array") {
        set_body(out, cut_after_element(*out.body, rule.at.value_or(1), rule.mode == "array"));
    } else if (rule.mode == "gzip") {
        std::string packed = gzip(*out.body);
        packed.resize(packed.size() -
                      std::min<std::size_t>(packed.size(), 8));  // CRC and length are the last eight bytes
        set_body(out, std::move(packed));
        out.set("Content-Encoding", "gzip");
    } else {
        out.how.chunked = rule.mode == "chunked";
        out.how.cut_at = std::min<std::size_t>(rule.at.value_or(size / 2), size);
    }
}

void apply_kind(const fault& rule, const request& asked, std::int64_t now, answer& out) {
    if (rule.kind == "html") {
        out.status = rule.status.value_or(200);
        set_body(out,
                 "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head><body><h1>We are having a "
                 "problem</h1></body></html>\n");
        out.set("Content-Type", "text/html; charset=utf-8");
    } else if (rule.kind == "empty") {
        set_body(out, "[]");
    } else if (rule.kind == "null") {
        set_body(out, "null");
    } else if (rule.kind == "secondary_limit") {
        error(out, rule.status.value_or(403),
              "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
              "rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits");
    } else if (rule.kind == "primary_limit") {
        error(out, rule.status.value_or(403), "API rate limit exceeded for user ID 1.",
              "rest/overview/rate-limits-for-the-rest-api");
        out.set("X-RateLimit-Remaining", "0");
        out.set("X-RateLimit-Reset", std::to_string(now + static_cast<std::int64_t>(rule.at.value_or(1))));
    } else if (rule.kind == "bad_credentials") {
        error(out, 401, "Bad credentials", "rest");
    } else if (rule.kind == "redirect") {
        out.status = rule.status.value_or(302);
        set_body(out, "");
        out.set("Location", fill(rule.to, asked.target));
    } else if (rule.kind == "cut") {
        cut(rule, out);
    } else if (rule.kind == "reset") {
        out.how.reset = true;
        if (rule.at) out.how.cut_at = std::min<std::size_t>(*rule.at, out.sent()->size());
    } else if (rule.kind == "hang") {
        out.how.hang = true;
    } else if (rule.kind == "close") {
        out.how.close_silently = true;
    }
}

}  // namespace

void fault_script::add(fault rule) {
    rule.pattern = std::regex(rule.path, std::regex::ECMAScript | std::regex::optimize);
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(rule));
}

void fault_script::add(trigger rule) {
    rule.pattern = std::regex(rule.path, std::regex::ECMAScript | std::regex::optimize);
    const std::lock_guard lock(mutex_);
    triggers_.push_back(std::move(rule));
}

void fault_script::clear() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
    triggers_.clear();
}

std::vector<fault> fault_script::match(const request& asked) {
    std::vector<fault> out;
    const std::lock_guard lock(mutex_);
    for (fault& rule : faults_) {
        if (!std::regex_search(asked.target, rule.pattern)) continue;
        if (rule.conditional && *rule.conditional == asked.if_none_match.empty()) continue;
        if (rule.per_page_over) {
            const std::size_t mark = asked.target.find('?');
            const parameters query =
                mark == std::string::npos ? parameters{} : parse_query(std::string_view(asked.target).substr(mark + 1));
            const std::string* size = find_parameter(query, "per_page");
            if (!size || to_integer(*size).value_or(30) <= std::int64_t{*rule.per_page_over}) continue;
        }
        if (due(rule)) out.push_back(rule);
    }
    return out;
}

std::vector<std::string> fault_script::match_triggers(const request& asked, bool before) {
    std::vector<std::string> out;
    const std::lock_guard lock(mutex_);
    for (trigger& rule : triggers_)
        if (rule.before == before && std::regex_search(asked.target, rule.pattern) && due(rule))
            out.push_back(rule.actions);
    return out;
}

std::string fault_script::to_json() const {
    const std::lock_guard lock(mutex_);
    std::string out = "{";
    const auto list = [&out](std::string_view name, const auto& rules) {
        out.append("\"").append(name).append("\":[");
        for (const auto& rule : rules) {
            out += out.back() == '[' ? "{\"path\":" : ",{\"path\":";
            append_json(out, rule.path);
            out.append(",\"seen\":")
                .append(std::to_string(rule.seen))
                .append(",\"fired\":")
                .append(std::to_string(rule.fired))
                .append("}");
        }
        out += "]";
    };
    list("faults", faults_);
    out += ",";
    list("triggers", triggers_);
    return out += "}\n";
}

void apply(const fault& rule, const request& asked, std::string_view origin, std::int64_t now, answer& out) {
    if (rule.status && rule.kind.empty()) {
        out.status = *rule.status;
        if (!rule.body) error(out, *rule.status, *rule.status >= 500 ? "Server Error" : "Scripted", "rest");
    }
    if (!rule.kind.empty()) apply_kind(rule, asked, now, out);
    if (rule.body) set_body(out, *rule.body);
    if (rule.retry_after) {
        const std::int64_t when = now + *rule.retry_after;
        out.set("Retry-After", rule.retry_after_form == "imf"       ? http_date(when)
                               : rule.retry_after_form == "rfc850"  ? http_date(when, date_form::rfc850)
                               : rule.retry_after_form == "asctime" ? http_date(when, date_form::asctime)
                                                                    : std::to_string(*rule.retry_after));
    }
    if (rule.link == "none") {
        out.remove("Link");
    } else if (!rule.link.empty()) {
        const std::string url =
            rule.link == "self" ? std::string(origin) + asked.target : fill(rule.link, asked.target);
        out.set("Link", "<" + url + ">; rel=\"next\"");
    }
    for (const auto& [name, value] : rule.headers) {
        if (value.empty())
            out.remove(name);
        else
            out.set(name, value);
    }
    out.how.delay_ms += rule.how.delay_ms;
    if (rule.how.drip_bytes > 0) {
        out.how.drip_bytes = rule.how.drip_bytes;
        out.how.drip_ms = rule.how.drip_ms;
    }
    out.how.chunked = out.how.chunked || rule.how.chunked;
    out.how.close = out.how.close || rule.how.close;
}

std::string cut_after_element(std::string_view array, std::uint64_t count, bool closed) {
    std::uint64_t elements = 0;
    int depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < array.size(); ++i) {
        const char c = array[i];
        if (in_text) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                in_text = false;
            continue;
        }
        if (c == '"')
            in_text = true;
        else if (c == '[' || c == '{')
            ++depth;
        else if (c == ']' || c == '}')
            --depth;
        const bool ended = depth == 0 || (depth == 1 && c == ',');
        if (ended && ++elements == count) return std::string(array.substr(0, i)) + (closed ? "]" : "");
    }
    return std::string(array);
}

// answer, declared in message.h

void answer::set(std::string_view name, std::string value) {
    for (auto& [key, old] : headers) {
        if (lower(key) == lower(name)) {
            old = std::move(value);
            return;
        }
    }
    headers.emplace_back(name, std::move(value));
}

void answer::remove(std::string_view name) {
    std::erase_if(headers, [&](const auto& header) { return lower(header.first) == lower(name); });
}

const std::string* answer::header(std::string_view name) const {
    for (const auto& [key, value] : headers)
        if (lower(key) == lower(name)) return &value;
    return nullptr;
}

}  // namespace lakeflow::github_server
