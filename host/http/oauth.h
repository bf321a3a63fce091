// host/http/oauth.h: access tokens of OAuth2 grants (contract 30): asked for when there is none that holds, once for all threads that need
// it. A refresh token that its server replaces is spent, so the new one is written and synced before its first use, and processes that
// share a grant share its file under a lock. Any thread; calls may wait for the token's server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host/base/context.h"

namespace lakeflow::host {

class http_service;

struct oauth_grant {
    std::string grant;  // "client_credentials", "refresh_token"
    std::string token_url, client_id, client_secret, refresh_token, scope;
    std::string store;   // the file of a refresh token; empty: one of its own in the folder of the process
    bool basic = false;  // the client names itself in a header, not in the body

    // Equal for equal grants; holds no secret.
    std::string identity() const;
};

// Where refresh tokens live that name no file of their own, and what a relative `store` is relative to. Set before the first run.
void set_oauth_folders(std::string tokens, std::string job);

class oauth_tokens {
  public:
    // The process's own; leaked on purpose.
    static oauth_tokens& instance();

    // An access token of the grant that is not `refused` (the one that its service answered 401 to; empty: none was). Throws source.auth
    // where the grant is not honoured, and whatever became of the request.
    std::string access(http_service& http, const lf_context& context, const oauth_grant& grant,
                       const std::string& refused);

    // Tests stop the work where a kill would: called with "answered", "written" and "synced"; what it throws ends the call.
    std::function<void(const char*)> at_step;

  private:
    struct held;
    class turn;
    std::shared_ptr<held> find(const oauth_grant& grant);

    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<held>> grants_;
};

}  // namespace lakeflow::host
