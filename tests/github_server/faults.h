// Scripted faults: rules that match requests by path and count, and what each does to the answer. Thread safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/github_server/message.h"

namespace lakeflow::github_server {

struct fault {
    // When: the from-th to (from + times - 1)-th request whose target matches; times -1 is for ever.
    std::string path;  // regular expression, searched in path and query
    std::uint64_t from = 1;
    std::int64_t times = 1;
    std::optional<std::uint32_t> per_page_over;  // only requests with a larger per_page
    std::optional<bool> conditional;             // only requests with (or without) If-None-Match

    // What. Several may be set.
    std::vector<std::string> ignore_query;  // the request is answered as if these parameters were not there
    std::optional<int> status;
    std::vector<std::pair<std::string, std::string>> headers;  // set on the answer; an empty value removes
    std::optional<std::string> body;
    std::string
        kind;  // html | empty | null | secondary_limit | primary_limit | bad_credentials | redirect | cut | reset | hang | close
    std::optional<std::int64_t> retry_after;   // seconds from the Date of the answer
    std::string retry_after_form = "seconds";  // seconds | imf | rfc850 | asctime
    std::string to;                            // redirect: Location; {target} is replaced by the request's target
    std::string link;                          // self | none | a URL for rel="next"; {target} as above
    std::string mode = "length";               // cut: length | chunked | gzip | element | array
    std::optional<std::uint64_t> at;           // cut: bytes of the body, or elements; reset: bytes of the body
    delivery how;

    std::uint64_t seen = 0;  // requests that matched so far
    std::uint64_t fired = 0;
    std::regex pattern;
};

// After (or before) a request matched, the control API is told to do something: rows change between two pages.
struct trigger {
    std::string path;
    std::uint64_t from = 1;
    std::int64_t times = 1;
    bool before = false;  // run before the answer is made; else after
    std::string actions;  // JSON array of control calls: [{"op":"edit",...}]
    std::uint64_t seen = 0;
    std::uint64_t fired = 0;
    std::regex pattern;
};

class fault_script {
  public:
    // Adds rules from {"faults":[..],"triggers":[..]}. Throws std::invalid_argument naming what is wrong.
    void add(std::string_view json);
    void add(fault rule);
    void add(trigger rule);
    void clear();

    std::vector<fault> match(const request& asked);                              // each fires once by this call
    std::vector<std::string> match_triggers(const request& asked, bool before);  // actions to run
    std::string to_json() const;                                                 // rules with seen and fired

  private:
    mutable std::mutex mutex_;
    std::vector<fault> faults_;
    std::vector<trigger> triggers_;
};

// Changes an answer as the rule says. `now` is the answer's Date, `origin` the server's own, for the Link forms.
void apply(const fault& rule, const request& asked, std::string_view origin, std::int64_t now, answer& out);
// The first `count` elements of a JSON array: "[a,b" or, closed, "[a,b]".
std::string cut_after_element(std::string_view array, std::uint64_t count, bool closed);

}  // namespace lakeflow::github_server
