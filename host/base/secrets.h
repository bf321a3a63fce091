// host/base/secrets.h: takes secret values out of everything that leaves the process as text. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

// The secret values of one job. Each value is known in its plain, percent-encoded, JSON-escaped and base64 forms (at
// all three alignments), so that a key in a query string or an Authorization header does not slip through.
class secrets {
  public:
    // Values shorter than 4 bytes are ignored: taking them out would garble every line.
    void add(std::string_view value);

    // `text` with each secret replaced by "***".
    std::string redact(std::string_view text) const;

    // True if `text` holds a secret's plain, escaped, encoded or base64 form.
    bool found_in(std::string_view text) const;

  private:
    mutable std::shared_mutex mutex_;
    std::vector<std::string> forms_;  // longest first
};

}  // namespace lakeflow::host
