// plugins/github/client.cpp: see client.hpp.
#include "client.hpp"

#include <charconv>

#include "instant.hpp"

namespace lakeflow::github {

client::client(const environment& env, const table& what, settings chosen)
    : host_(static_cast<const services&>(env)),
      init_time_us_(env.init_time_us),
      table_(what),
      settings_(std::move(chosen)),
      base_url_(env.options.text("base_url", "https://api.github.com")),
      token_(env.options.text("token")),
      api_version_(env.options.text("api_version", "2022-11-28")) {
    settings_.require(table_);
}

std::string client::listing() const {
    switch (table_.of) {
        case scope::repository: {
            std::string repository = url_path(base_url_, {"repos", settings_.owner, settings_.repo});
            return repository + "/" + std::string(table_.path);
        }
        case scope::account:
            return settings_.org.empty() ? url_path(base_url_, {"users", settings_.owner, "repos"})
                                         : url_path(base_url_, {"orgs", settings_.org, "repos"});
        case scope::token: break;
    }
    url_parts base = url_parts::split(base_url_);
    while (!base.path.empty() && base.path.back() == '/') base.path.pop_back();
    base.path += "/" + std::string(table_.path);
    return base.join();
}

std::string client::listing(const json& descriptor) const {
    std::string moved = descriptor.is_object() ? descriptor.text("at") : std::string();
    return moved.empty() ? listing() : url_resolve(base_url_, moved);
}

void client::remember_move(json& descriptor, const std::string& answered) const {
    url_parts there = url_parts::split(answered), here = url_parts::split(listing());
    // Another origin is the host's to judge, at each request anew.
    if (there.scheme == here.scheme && there.authority == here.authority && there.path != here.path) {
        descriptor.set("at", there.path);
    }
}

exchange client::get(const std::string& url, std::string_view etag, std::initializer_list<int> accepted) const {
    request wanted(url);
    wanted.within(base_url_).bearer(token_);
    wanted.header("Accept", "application/vnd.github+json").header("X-GitHub-Api-Version", api_version_);
    if (!etag.empty()) wanted.header("If-None-Match", etag).accept(304);
    for (int status : accepted) wanted.accept(status);
    return host_.http.start(wanted);
}

int client::head(exchange& answer) const {
    try {
        return answer.head();
    } catch (const failure& error) {
        throw explain(error);
    }
}

failure client::explain(const failure& original) const {
    std::string subject = settings_.subject(table_);
    auto say = [&](retry how, std::string_view what, std::string hint, std::string_view code) {
        failure out(how, subject + ": " + std::string(what) + ": " + original.message(), std::move(hint),
                    std::string(code));
        return out.with_vendor_code(original.vendor_code());
    };
    std::string where = table_.of == scope::repository ? settings_.owner + "/" + settings_.repo
                        : table_.of == scope::account  ? (settings_.org.empty() ? settings_.owner : settings_.org)
                                                       : std::string("the user");
    switch (original.vendor_code()) {
        case 401:
            return say(retry::auth, token_.empty() ? "GitHub asks for a token" : "GitHub refuses the token",
                       "set a valid token in [connection]: token = { env = \"GITHUB_TOKEN\" }", "source.auth");
        case 403:
            return say(retry::auth, "the token lacks the right to read this",
                       "give the token read access to " + std::string(table_.name) + " of " + where +
                           ", and authorise it for the organisation's single sign-on",
                       "source.auth");
        case 404:
            return say(retry::not_found, "GitHub does not find it",
                       "check the spelling of " + where + "; GitHub also answers 404 where the token " +
                           (token_.empty() ? "(none is set) " : "") + "may not see it",
                       "source.not_found");
        case 410:
            return say(retry::not_found, "it is switched off or gone",
                       "issues may be switched off in the settings of " + where + ": remove the table from the job",
                       "source.not_found");
        case 451:
            return say(retry::not_found, "GitHub withholds it for legal reasons", "remove the table from the job",
                       "source.not_found");
        default: break;
    }
    failure out = original;
    return out.in(subject);
}

page_links client::links(const exchange& answer) const {
    page_links out;
    auto text = answer.header("Link");
    if (!text || text->empty()) return out;
    for (web_link& link : parse_links(*text, answer.final_url())) {
        if (link.has_rel("next") && !out.next) {
            out.opaque = url_query(link.target, "after").has_value();
            out.next = std::move(link.target);
        } else if (link.has_rel("last")) {
            std::string number = url_query(link.target, "page").value_or("");
            std::from_chars(number.data(), number.data() + number.size(), out.last);
        }
    }
    return out;
}

extent client::measure(const std::string& listing_of_one) const {
    exchange answer = get(listing_of_one);
    head(answer);
    page_links found = links(answer);
    extent out;
    out.opaque = found.opaque;
    out.answered = answer.final_url();
    // Read in any case: that leaves the connection to the next request.
    json rows = json::parse(answer.text());
    if (!rows.is_array()) throw protocol(settings_.subject(table_) + ": a listing is no array: " + out.answered);
    if (!rows.empty()) out.first = rows.items().front().integer("id");
    if (found.last > 0) out.rows = found.last;
    if (!found.next) out.rows = static_cast<std::int64_t>(rows.size());
    return out;
}

std::int64_t client::date_us(const exchange& answer) const {
    auto text = answer.header("Date");
    auto date = text ? parse_http_date(*text) : std::nullopt;
    return date ? *date : host_.clock.now_us();
}

rows_spec client::spec() const {
    rows_spec out;
    schema wanted = columns();
    auto constant = [&](std::string_view column, const std::string& value) {
        if (wanted.find(column) != nullptr) out.constant(column, value);
    };
    if (table_.of == scope::repository) {
        constant("repository_owner", settings_.owner);
        constant("repository_name", settings_.repo);
    }
    for (const column_path& one : table_.paths) out.path(one.column, one.pointer);
    // GitHub's description allows a label to be its bare name.
    if (wanted.find("labels") != nullptr) out.scalar("labels", "name");
    return out;
}

}  // namespace lakeflow::github
