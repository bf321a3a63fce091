// plugins/http_api/service.cpp: see service.hpp.
#include "service.hpp"

#include <algorithm>

namespace lakeflow::http_api {
namespace {

void write_query(std::string& url, const parameters& all) {
    for (const parameter& one : all) {
        if (one.value.is_array()) {
            for (const json& item : one.value.items()) url = url_add(url, one.name, plain_text(item));
        } else {
            url = url_add(url, one.name, plain_text(one.value));
        }
    }
}

std::string form_body(const parameters& all) {
    std::string url;
    write_query(url, all);
    return url.empty() ? url : url.substr(1);
}

}  // namespace

void put(json& into, std::string_view name, const json& value) {
    if (name.empty() || name.front() != '/') {
        into.set(name, value);
        return;
    }
    name.remove_prefix(1);
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
        into.set(name, value);
        return;
    }
    const std::string_view head = name.substr(0, slash);
    json inner = into.find(head) != nullptr && into.at(head).is_object() ? into.at(head) : json::object();
    put(inner, name.substr(slash), value);
    into.set(head, std::move(inner));
}

std::string plain_text(const json& value) { return value.is_text() ? value.as_text() : value.dump(); }

service::service(const environment& env, std::shared_ptr<const declaration> all)
    : host_(static_cast<const services&>(env)),
      all_(std::move(all)),
      init_time_us_(env.init_time_us),
      identity_(env.run_id + "\n" + std::to_string(env.init_time_us) + "\n" + env.options.canonical()) {}

std::string service::address(std::string_view path) const {
    if (path.substr(0, 7) == "http://" || path.substr(0, 8) == "https://") return std::string(path);
    url_parts base = url_parts::split(all_->base_url);
    std::optional<std::string> query;
    if (const std::size_t mark = path.find('?'); mark != std::string_view::npos) {
        query = std::string(path.substr(mark + 1));
        path = path.substr(0, mark);
    }
    if (!path.empty()) {
        while (!base.path.empty() && base.path.back() == '/') base.path.pop_back();
        while (!path.empty() && path.front() == '/') path.remove_prefix(1);
        base.path += "/" + std::string(path);
    }
    if (query) base.query = base.query && !base.query->empty() ? *base.query + "&" + *query : *query;
    return base.join();
}

request service::make(std::string_view method, const std::string& url) const {
    request out(url);
    out.method = method;
    out.within(all_->base_url);
    for (const json::member& one : all_->headers.members()) out.header(one.name, one.value.as_text());
    if (!all_->auth.is_null()) out.with_auth(all_->auth);
    return out;
}

request service::ask(const resource& of, std::string_view path, const parameters& sent) const {
    parameters all;
    for (const json::member& one : of.params.members()) all.push_back({one.name, one.value});
    all.insert(all.end(), sent.begin(), sent.end());
    std::string url = address(path);
    if (of.body.empty()) {
        write_query(url, all);
        request out = make(of.method, url);
        if (of.method == "POST") out.post("").idempotent();
        return out;
    }
    request out = make(of.method, url);
    if (of.body == "form") {
        out.post(form_body(all), "application/x-www-form-urlencoded");
    } else {
        json body = json::object();
        for (const parameter& one : all) put(body, one.name, one.value);
        out.post(body.dump());
    }
    // A search by POST changes nothing: it may be sent again.
    return out.idempotent();
}

request service::page(const resource& of, std::string_view path, const parameters& fixed, const position& at,
                      std::int64_t size) const {
    const paging_rule& rule = of.paging;
    parameters sent = fixed;
    switch (rule.kind) {
        case paging_kind::page: sent.push_back({rule.page, rule.first + at.index}); break;
        case paging_kind::offset: sent.push_back({rule.offset, rule.first + at.row}); break;
        case paging_kind::cursor:
        case paging_kind::last_id:
            if (at.token) sent.push_back({rule.param, *at.token});
            break;
        case paging_kind::link:
        case paging_kind::next_url:
        case paging_kind::none: break;
    }
    if (size > 0 && !rule.size.empty()) sent.push_back({rule.size, size});
    request out = ask(of, path, sent);
    if (at.url) out.url = *at.url;
    return out;
}

std::optional<std::int64_t> service::read_total(const json* value) {
    if (value == nullptr) return std::nullopt;
    std::optional<std::int64_t> out;
    if (value->is_text()) {
        // Content-Range says it behind a slash: "0-24/3573".
        const std::string& text = value->as_text();
        const std::size_t slash = text.rfind('/');
        out = detail::plain_integer(slash == std::string::npos ? text : text.substr(slash + 1));
    }
    if (value->is_number()) {
        try {
            out = value->as_int();
        } catch (const failure&) {
            return std::nullopt;  // a fraction is no count
        }
    }
    return out && *out >= 0 ? out : std::nullopt;
}

request service::total_request(const resource& of, std::string_view path, const parameters& fixed) const {
    resource asked = of;
    if (!of.total->path.empty()) asked.paging = {};
    request out = page(asked, of.total->path.empty() ? path : std::string_view(of.total->path), fixed, {}, 1);
    if (of.body.empty()) out.method = of.total->method;
    return out;
}

std::optional<std::int64_t> service::total(const resource& of, std::string_view path, const parameters& fixed) const {
    const total_rule& rule = *of.total;
    resource asked = of;
    if (!rule.path.empty()) {
        path = rule.path;
        asked.paging = {};
    }
    const auto by = [&](std::string_view method) {
        request wanted = page(asked, path, fixed, {}, 1);
        if (of.body.empty()) wanted.method = method;
        return wanted;
    };
    if (rule.method == "HEAD" && of.body.empty()) {
        request wanted = by("HEAD");
        wanted.body.reset();
        for (int refused : {400, 404, 405, 501}) wanted.accept(refused);
        exchange answer = host_.http.start(wanted);
        const int status = answer.head();
        const auto value = status < 400 ? answer.header(rule.at.header) : std::nullopt;
        if (value) {
            const json text(*value);
            return read_total(&text);
        }
        // A service that does not do HEAD is asked for one row.
    }
    if (!rule.at.header.empty()) {
        exchange answer = host_.http.start(by(of.method));
        answer.head();
        const auto value = answer.header(rule.at.header);
        const json text(value.value_or(""));
        return read_total(&text);
    }
    const json document = host_.http.get_json(by(of.method));
    return read_total(document.pointer(rule.at.pointer));
}

std::string service::show(const request& wanted) {
    std::string out = wanted.method + " " + wanted.url;
    if (wanted.body && !wanted.body->empty()) out += " " + *wanted.body;
    return out;
}

}  // namespace lakeflow::http_api
