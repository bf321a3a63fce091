// host/http/message.h: what a person is told when a request fails, and the error codes that go with statuses. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/error.h"
#include "host/http/answer.h"

namespace lakeflow::host {

// At most `size` bytes of `bytes` on one line: control characters and runs of spaces become one space, what is not UTF-8
// becomes '?'; "..." if something was cut.
std::string printable(std::string_view bytes, std::size_t size);

// What the messages of one exchange have in common.
struct request_facts {
    std::string method;
    std::string shown_url;         // without credentials
    bool had_credential = false;   // one was configured
    bool sent_credential = false;  // and went out with this request
    int tries = 1;
};

// "GET https://host/path said 404 Not Found: {"message": ...}" with code, class, hint and vendor_code.
error status_error(const request_facts& facts, const answer_head& head, std::string_view body);
// The same for an answer that asks to wait longer than is allowed, or once too often.
error limit_error(const request_facts& facts, const answer_head& head, std::string_view body, std::int64_t wait_us,
                  std::int64_t max_wait_us);
// For a connection that gave no answer.
error wire_error(const request_facts& facts, const wire_failure& why);

// "12 s", "4 min", "350 ms": for people.
std::string human_duration(std::int64_t us);

}  // namespace lakeflow::host
