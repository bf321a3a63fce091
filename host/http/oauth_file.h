// host/http/oauth_file.h: the file of a refresh token: read, replaced durably, locked. For host/http/oauth.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "host/base/cancel.h"

namespace lakeflow::host {

struct oauth_state {
    std::string refresh_token;
    std::string configured;  // the digest of the token in the job that this one came from
    std::string access_token;
    std::int64_t expires_us = 0;  // 0: not known
};

class oauth_file {
  public:
    explicit oauth_file(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }
    // Under the lock. An empty state where there is no file. Throws state.corrupt for one that cannot be read.
    oauth_state read() const;
    // Writes beside it, syncs, renames, syncs the folder: mode 0600. Throws state.io.
    void write(const oauth_state& state, const std::function<void(const char*)>& at_step) const;

    // Held while one process asks for a token; waits for another's, and ends the wait when cancelled.
    class lock {
      public:
        lock(const oauth_file& file, const cancel_token& stop);
        ~lock();
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;

      private:
        int handle_ = -1;
    };

  private:
    std::string path_;
};

}  // namespace lakeflow::host
