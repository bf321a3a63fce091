// OAuth2: tokens are asked for once, renewed when they are refused, and a refresh token that was replaced is never used again.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "host/http/oauth.h"
#include "host/http/test_server.h"

namespace lakeflow::host::test {
namespace {

namespace fs = std::filesystem;

struct folder {
    folder()
        : path((fs::temp_directory_path() /
                ("lakeflow-oauth-" + std::to_string(::getpid()) + "-" + std::to_string(++count)))
                   .string()) {
        fs::create_directories(path);
    }
    ~folder() {
        std::error_code ec;
        fs::remove_all(path, ec);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    std::string path;
    static inline std::atomic<int> count{0};
};

std::string field(const std::string& request, const std::string& name) {
    const std::string body = "&" + request.substr(request.find("\r\n\r\n") + 4);
    const auto at = body.find("&" + name + "=");
    return at == std::string::npos ? ""
                                   : body.substr(at + name.size() + 2, body.find('&', at + 1) - at - name.size() - 2);
}

// A server that replaces its refresh token each time, and revokes the grant when a spent one comes back.
class rotating_server {
  public:
    rotating_server()
        : server([this](const std::string& request, int) {
              const std::scoped_lock lock(mutex);
              if (request.find("POST /token") == 0) return token(request);
              const std::string given = header_of(request, "Authorization");
              if (given == "Bearer " + access && !expired) return answer(200, "[]");
              expired = false;
              return answer(401, "{}");
          }) {}

    std::string token(const std::string& request) {
        ++refreshes;
        const std::string given = field(request, "refresh_token");
        if (given != current) {
            reused = true;
            return answer(400, R"({"error":"invalid_grant"})");
        }
        current = "refresh-canary-" + std::to_string(refreshes + 1);
        access = "access-canary-" + std::to_string(refreshes);
        return answer(200, R"({"access_token":")" + access + R"(","refresh_token":")" + current + R"(","expires_in":)" +
                               lives + "}");
    }

    std::string grant(const std::string& store) const {
        return R"({"type":"oauth2","grant":"refresh_token","token_url":")" + server.url("/token") +
               R"(","client_id":"c1","client_secret":"client-secret-canary","refresh_token":"refresh-canary-1","store":")" +
               store + "\"}";
    }

    std::mutex mutex;
    std::string current = "refresh-canary-1", access, lives = "3600";
    int refreshes = 0;
    bool reused = false, expired = false;
    simple_server server;
};

http_request get(const std::string& url, const std::string& auth) {
    http_request out;
    out.url = url;
    out.auth = auth;
    return out;
}

BOOST_AUTO_TEST_SUITE(oauth)

BOOST_AUTO_TEST_CASE(client_credentials_give_a_token_once_and_again_when_it_is_refused) {
    std::atomic<int> tokens{0}, served{0};
    std::atomic<bool> refuse{false};
    simple_server server([&](const std::string& request, int) {
        if (request.find("POST /token") == 0) {
            ++tokens;
            BOOST_TEST(field(request, "grant_type") == "client_credentials");
            BOOST_TEST(field(request, "client_id") == "c%201");
            BOOST_TEST(field(request, "scope") == "read");
            return answer(200,
                          R"({"access_token":"tok-canary-)" + std::to_string(tokens) + R"(","token_type":"bearer"})");
        }
        if (refuse.exchange(false)) return answer(401, "{}");
        ++served;
        return header_of(request, "Authorization") == "Bearer tok-canary-" + std::to_string(tokens) ? answer(200, "[]")
                                                                                                    : answer(403, "{}");
    });
    http_service service(quick_settings());
    test_context c;
    const std::string auth = R"({"type":"oauth2","grant":"client_credentials","token_url":")" + server.url("/token") +
                             R"(","client_id":"c 1","client_secret":"s-canary","scope":"read"})";
    for (int i = 0; i < 3; ++i) BOOST_TEST(fetch(service, c.context, get(server.url("/a"), auth)).status == 200);
    BOOST_TEST(tokens == 1);
    refuse = true;
    BOOST_TEST(fetch(service, c.context, get(server.url("/a"), auth)).status == 200);
    BOOST_TEST(tokens == 2);
    BOOST_TEST(c.log().find("canary") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_grant_that_is_refused_says_what_to_do) {
    simple_server server([](const std::string&, int) {
        return answer(400, R"({"error":"invalid_client","error_description":"no such"})");
    });
    http_service service(quick_settings());
    test_context c;
    const std::string auth = R"({"type":"oauth2","token_url":")" + server.url("/token") + R"(","client_id":"c2"})";
    const error e = error_of([&] { fetch(service, c.context, get(server.url("/a"), auth)); });
    BOOST_TEST(e.code == "source.auth");
    BOOST_TEST((e.retry == retry_class::auth));
    BOOST_TEST(e.message.find("invalid_client") != std::string::npos);
    BOOST_TEST(!e.hint.empty());
}

BOOST_AUTO_TEST_CASE(a_token_that_is_replaced_is_stored_and_never_used_again) {
    const folder here;
    rotating_server source;
    http_service service(quick_settings());
    test_context c;
    const std::string store = here.path + "/token.json";
    const auto read = [&] {
        return fetch(service, c.context, get(source.server.url("/a"), source.grant(store))).status;
    };
    BOOST_TEST(read() == 200);
    source.expired = true;
    BOOST_TEST(read() == 200);
    BOOST_TEST(source.refreshes == 2);
    BOOST_TEST(!source.reused);
    struct stat info {};
    BOOST_TEST(::stat(store.c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0600u);
    // Another process: it knows the job's token alone, and finds the file.
    oauth_tokens fresh;
    oauth_grant grant{"refresh_token",
                      source.server.url("/token"),
                      "c1",
                      "client-secret-canary",
                      "refresh-canary-1",
                      "",
                      store,
                      false};
    BOOST_TEST(fresh.access(service, c.context, grant, {}) == source.access);
    BOOST_TEST(source.refreshes == 2);
    BOOST_TEST(fresh.access(service, c.context, grant, source.access) == source.access);
    BOOST_TEST(source.refreshes == 3);
    BOOST_TEST(!source.reused);
    // A grant that a person has renewed wins over the file.
    source.current = "renewed-canary";
    grant.refresh_token = "renewed-canary";
    BOOST_TEST(oauth_tokens().access(service, c.context, grant, {}) == source.access);
    BOOST_TEST(!source.reused);
    // Without the file the job's own is tried, and refused.
    fs::remove(store);
    grant.refresh_token = "refresh-canary-1";
    const error e = error_of([&] { oauth_tokens().access(service, c.context, grant, {}); });
    BOOST_TEST(e.code == "source.auth");
    BOOST_TEST(e.hint.find("renewed") != std::string::npos);
    BOOST_TEST(c.log().find("canary") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(four_threads_refresh_once) {
    const folder here;
    rotating_server source;
    source.lives = "0";  // no token holds: each round has to refresh
    http_service service(quick_settings());
    test_context c;
    oauth_grant grant{
        "refresh_token", source.server.url("/token"), "c1", "s", "refresh-canary-1", "", here.path + "/t.json", false};
    std::atomic<int> failed{0};
    source.lives = "3600";
    oauth_tokens tokens, other;  // two processes, as far as memory goes
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            try {
                std::string last;
                for (int round = 0; round < 10; ++round)
                    last = (i % 2 ? tokens : other).access(service, c.context, grant, last);
            } catch (const failure&) {
                ++failed;
            }
        });
    }
    for (auto& one : threads) one.join();
    BOOST_TEST(failed == 0);
    BOOST_TEST(!source.reused);
    BOOST_TEST(source.refreshes >= 10);
}

BOOST_AUTO_TEST_CASE(a_kill_between_refresh_and_use_spends_nothing_twice) {
    for (const std::string step : {"synced", "written"}) {
        const folder here;
        rotating_server source;
        http_service service(quick_settings());
        test_context c;
        const std::string store = here.path + "/t.json";
        const oauth_grant grant{
            "refresh_token", source.server.url("/token"), "c1", "s", "refresh-canary-1", "", store, false};
        oauth_tokens().access(service, c.context, grant, {});
        const std::string first = source.access;
        oauth_tokens killed;
        killed.at_step = [&](const char* now) {
            if (now == step) throw std::runtime_error("killed");
        };
        BOOST_CHECK_THROW(killed.access(service, c.context, grant, first), std::runtime_error);
        BOOST_TEST(oauth_tokens().access(service, c.context, grant, first) == source.access);
        BOOST_TEST(source.refreshes == 2);
        BOOST_TEST(!source.reused);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_file_is_named) {
    const folder here;
    rotating_server source;
    http_service service(quick_settings());
    test_context c;
    const std::string store = here.path + "/t.json";
    std::ofstream(store) << R"({"refresh_token":"abc)";
    const oauth_grant grant{
        "refresh_token", source.server.url("/token"), "c1", "s", "refresh-canary-1", "", store, false};
    BOOST_TEST(error_of([&] { oauth_tokens().access(service, c.context, grant, {}); }).code == "state.corrupt");
    BOOST_TEST(source.refreshes == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::host::test
