// The rules of listings, links, conditions and credentials, asked of the router without a socket.
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/github_server/router.h"
#include "tests/github_server/testing.h"
#include "tests/github_server/text.h"

using namespace lakeflow::github_server;
using namespace lakeflow::github_server::testing;

namespace {

server_config corpus(std::uint32_t issues, std::uint32_t pulls = 0) {
    server_config config;
    repository_config repo;
    repo.issues = issues;
    repo.pulls = pulls;
    repo.comments = issues;
    repo.commits = 90;
    repo.branches = 4;
    repo.reviews_per_pull = 3;
    config.repositories = {repo};
    return config;
}

}  // namespace

BOOST_AUTO_TEST_CASE(per_page_is_clamped_as_github_does) {
    asker ask(corpus(250));
    const auto size = [&](const std::string& query) {
        return ask.get("/repos/octo/demo/issues?state=all&" + query).rows.size();
    };
    BOOST_TEST(size("") == 30U);
    BOOST_TEST(size("per_page=0") == 30U);
    BOOST_TEST(size("per_page=-7") == 30U);
    BOOST_TEST(size("per_page=abc") == 30U);
    BOOST_TEST(size("per_page=7") == 7U);
    BOOST_TEST(size("per_page=1000") == 100U);
    BOOST_TEST(size("per_page=100&page=3") == 50U);
    BOOST_TEST(size("per_page=100&page=4") == 0U);
    BOOST_TEST(size("per_page=100&page=0") == 100U);
}

BOOST_AUTO_TEST_CASE(link_names_pages_and_uses_the_id_of_the_repository) {
    asker ask(corpus(250));
    const auto first = ask.get("/repos/octo/demo/issues?state=all&per_page=100");
    BOOST_TEST(first.links.at("next") == "http://test/repositories/1296269/issues?state=all&per_page=100&page=2");
    BOOST_TEST(first.links.at("last") == "http://test/repositories/1296269/issues?state=all&per_page=100&page=3");
    BOOST_TEST(!first.links.contains("prev"));
    const auto last = ask.get("/repositories/1296269/issues?state=all&per_page=100&page=3");
    BOOST_TEST(last.links.at("prev") == "http://test/repositories/1296269/issues?state=all&per_page=100&page=2");
    BOOST_TEST(last.links.at("first") == "http://test/repositories/1296269/issues?state=all&per_page=100&page=1");
    BOOST_TEST(!last.links.contains("next"));
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=all&per_page=100&page=9").links.at("prev") ==
               "http://test/repositories/1296269/issues?state=all&per_page=100&page=3");
    BOOST_TEST(ask.get("/repos/octo/demo/assignees").links.empty());
}

BOOST_AUTO_TEST_CASE(every_row_comes_once_in_each_order) {
    for (const std::string ties : {"by_number", "hashed"}) {
        server_config config = corpus(257, 40);
        config.repositories[0].distinct_updated = 3;
        config.repositories[0].tie_order = ties;
        asker ask(config);
        for (const std::string query : {"sort=updated&direction=asc", "sort=updated&direction=desc",
                                        "sort=created&direction=asc", "", "sort=comments"}) {
            const auto rows = ask.walk("/repos/octo/demo/issues?state=all&per_page=20&" + query);
            BOOST_TEST(rows.size() == 257U);
            std::set<std::int64_t> ids;
            for (const auto& row : rows) ids.insert(row.integer("id"));
            BOOST_TEST(ids.size() == 257U);
        }
    }
}

BOOST_AUTO_TEST_CASE(orders_and_their_defaults) {
    asker ask(corpus(120, 60));
    const auto ascending = [&](const std::string& path, const std::string& key) {
        const auto rows = ask.get(path).rows;
        BOOST_REQUIRE(rows.size() > 10U);
        return rows.front().text(key) < rows.back().text(key);
    };
    BOOST_TEST(!ascending("/repos/octo/demo/issues?state=all", "created_at"));
    BOOST_TEST(!ascending("/repos/octo/demo/issues?state=all&sort=updated", "updated_at"));
    BOOST_TEST(ascending("/repos/octo/demo/issues?state=all&sort=updated&direction=asc", "updated_at"));
    BOOST_TEST(!ascending("/repos/octo/demo/pulls?state=all", "created_at"));
    BOOST_TEST(ascending("/repos/octo/demo/pulls?state=all&sort=updated", "updated_at"));
    BOOST_TEST(!ascending("/repos/octo/demo/pulls?state=all&sort=updated&direction=desc", "updated_at"));
    BOOST_TEST(ascending("/repos/octo/demo/issues/comments", "created_at"));
    BOOST_TEST(ascending("/repos/octo/demo/issues/comments?direction=desc", "created_at"));
    BOOST_TEST(!ascending("/repos/octo/demo/issues/comments?sort=updated", "updated_at"));
}

BOOST_AUTO_TEST_CASE(state_and_pull_requests) {
    asker ask(corpus(200, 50));
    std::size_t open = 0;
    for (const auto& row : ask.walk("/repos/octo/demo/issues?per_page=100")) {
        BOOST_TEST(row.text("state") == "open");
        ++open;
    }
    std::size_t closed = 0;
    for (const auto& row : ask.walk("/repos/octo/demo/issues?per_page=100&state=closed")) {
        BOOST_TEST(row.text("state") == "closed");
        ++closed;
    }
    BOOST_TEST(open + closed == 200U);
    std::set<std::int64_t> from_issues, from_pulls;
    for (const auto& row : ask.walk("/repos/octo/demo/issues?per_page=100&state=all"))
        if (row.has("pull_request")) from_issues.insert(row.integer("number"));
    for (const auto& row : ask.walk("/repos/octo/demo/pulls?per_page=100&state=all"))
        from_pulls.insert(row.integer("number"));
    BOOST_TEST(from_pulls.size() == 50U);
    BOOST_TEST((from_issues == from_pulls));
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=opened").status == 422);
    BOOST_TEST(ask.get("/repos/octo/demo/issues?sort=name").status == 422);
    BOOST_TEST(ask.get("/repos/octo/demo/issues?labels=bug").status == 501);
}

BOOST_AUTO_TEST_CASE(since_is_inclusive_on_updated_and_unknown_to_pulls) {
    asker ask(corpus(300, 60));
    const auto rows = ask.walk("/repos/octo/demo/issues?state=all&per_page=100&sort=updated&direction=asc");
    const std::string middle = rows[150].text("updated_at");
    std::size_t expected = 0;
    for (const auto& row : rows) expected += row.text("updated_at") >= middle ? 1 : 0;
    for (const std::string order :
         {"sort=updated&direction=asc", "sort=updated&direction=desc", "sort=created&direction=asc"}) {
        const auto found = ask.walk("/repos/octo/demo/issues?state=all&per_page=7&" + order + "&since=" + middle);
        BOOST_TEST(found.size() == expected);
        bool boundary = false;
        for (const auto& row : found) {
            BOOST_TEST(row.text("updated_at") >= middle);
            boundary = boundary || row.text("updated_at") == middle;
        }
        BOOST_TEST(boundary);
    }
    BOOST_TEST(ask.walk("/repos/octo/demo/pulls?state=all&per_page=100&since=" + middle).size() == 60U);
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=all&since=1970-01-01T00:00:00Z").rows.empty());
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=all&since=1970-01-01T00:00:01Z").rows.size() == 30U);
    BOOST_TEST(ask.get("/repos/octo/demo/issues?since=yesterday").status == 422);
    BOOST_TEST(ask.get("/repos/octo/demo/issues/comments?since=2024-05-31T23:59:59Z").status == 200);
}

BOOST_AUTO_TEST_CASE(deep_pages_are_refused_and_links_carry_cursors) {
    for (const std::string mode : {"refuse_pages:4", "refuse_rows:100"}) {
        server_config config = corpus(257);
        config.repositories[0].distinct_updated = 2;
        config.repositories[0].deep = mode;
        asker ask(config);
        const std::string path = "/repos/octo/demo/issues?state=all&per_page=20&";
        BOOST_TEST(ask.get(path + "page=4").status == 200);
        const auto refused = ask.get(path + "page=5");
        BOOST_TEST(refused.status == 422);
        BOOST_TEST(refused.body.find("please use cursor based pagination (after/before)") != std::string::npos);
        for (const std::string order : {"sort=updated&direction=asc", "sort=updated&direction=desc", "sort=created",
                                        "sort=created&direction=asc"}) {
            const auto first = ask.get(path + order);
            BOOST_TEST(first.links.at("next").find("after=") != std::string::npos);
            BOOST_TEST(!first.links.contains("last"));
            std::set<std::int64_t> ids;
            for (const auto& row : ask.walk(path + order)) ids.insert(row.integer("id"));
            BOOST_TEST(ids.size() == 257U);
            // And back again with before=.
            const auto second = ask.get(target_of(first.links.at("next")));
            const auto back = ask.get(target_of(second.links.at("prev")));
            BOOST_TEST(back.body == first.body);
        }
        BOOST_TEST(ask.get(path + "after=nonsense").status == 422);
        // Other tables still count pages.
        BOOST_TEST(ask.get("/repos/octo/demo/issues/comments?per_page=20&page=9").status == 200);
    }
}

BOOST_AUTO_TEST_CASE(a_cursor_keeps_its_place_while_rows_move) {
    server_config config = corpus(100);
    config.repositories[0].deep = "refuse_pages:2";
    asker ask(config);
    const auto first = ask.get("/repos/octo/demo/issues?state=all&per_page=40&sort=updated&direction=asc");
    ask.control("edit", R"({"numbers":[)" + std::to_string(first.rows[3].integer("number")) + "]}");
    std::set<std::int64_t> rest;
    for (const auto& row : ask.walk(target_of(first.links.at("next")))) rest.insert(row.integer("id"));
    // The 60 others, and the edited row again at the end.
    BOOST_TEST(rest.size() == 61U);
    BOOST_TEST(rest.contains(first.rows[3].integer("id")));
}

BOOST_AUTO_TEST_CASE(etag_answers_304_until_something_changes) {
    server_config config = corpus(100);
    config.rate_limit = 10;
    asker ask(config);
    const std::string path = "/repos/octo/demo/issues?state=all&sort=updated&direction=desc";
    const auto first = ask.get(path);
    BOOST_TEST(first.headers.at("x-ratelimit-used") == "1");
    const auto second = ask.get(path, {.if_none_match = first.headers.at("etag")});
    BOOST_TEST(second.status == 304);
    BOOST_TEST(second.body.empty());
    BOOST_TEST(second.headers.at("x-ratelimit-used") == "1");
    BOOST_TEST(second.headers.at("etag") == first.headers.at("etag"));
    ask.control("edit", R"({"count":1})");
    const auto third = ask.get(path, {.if_none_match = first.headers.at("etag")});
    BOOST_TEST(third.status == 200);
    BOOST_TEST(third.headers.at("etag") != first.headers.at("etag"));
    for (int i = 0; i < 8; ++i) ask.get(path);
    const auto limited = ask.get(path);
    BOOST_TEST(limited.status == 403);
    BOOST_TEST(limited.headers.at("x-ratelimit-remaining") == "0");
    BOOST_TEST(ask.get(path, {.if_none_match = third.headers.at("etag")}).status == 304);
}

BOOST_AUTO_TEST_CASE(credentials) {
    server_config config = corpus(5);
    config.tokens = {"good"};
    repository_config hidden;
    hidden.name = "hidden";
    hidden.is_private = true;
    config.repositories.push_back(hidden);
    asker ask(config);
    BOOST_TEST(ask.get("/repos/octo/demo/issues", {.authorization = "Bearer bad"}).status == 401);
    BOOST_TEST(ask.get("/repos/octo/demo/issues").status == 200);
    BOOST_TEST(ask.get("/repos/octo/hidden/issues").status == 404);
    BOOST_TEST(ask.get("/repos/octo/hidden/issues", {.authorization = "token good"}).status == 200);
    BOOST_TEST(ask.get("/repos/octo/hidden/issues", {.authorization = "Basic dXNlcjpnb29k"}).status == 200);
    BOOST_TEST(ask.get("/user").status == 401);
    BOOST_TEST(ask.get("/user", {.authorization = "Bearer good"}).status == 200);
    BOOST_TEST(ask.get("/repos/octo/demo", {.authorization = "Bearer good"}).body.find(clone_token) !=
               std::string::npos);
    BOOST_TEST(ask.get("/repos/octo/demo").body.find(clone_token) == std::string::npos);
    BOOST_TEST(ask.get("/repos/octo/demo", {.user_agent = ""}).status == 403);
    BOOST_TEST(ask.get("/repos/octo/nothing/issues").status == 404);
    ask.control("server", R"({"tokens":["fresh"]})");
    BOOST_TEST(ask.get("/user", {.authorization = "Bearer good"}).status == 401);
    BOOST_TEST(ask.get("/user", {.authorization = "Bearer fresh"}).status == 200);
}

BOOST_AUTO_TEST_CASE(api_versions) {
    asker ask(corpus(40, 20));
    const auto old = ask.get("/repos/octo/demo/pulls?state=all");
    BOOST_TEST(old.headers.at("x-github-api-version-selected") == "2022-11-28");
    BOOST_TEST(old.rows[0].has("merge_commit_sha"));
    BOOST_TEST(old.rows[0].has("assignee"));
    const auto fresh = ask.get("/repos/octo/demo/pulls?state=all", {.api_version = "2026-03-10"});
    BOOST_TEST(!fresh.rows[0].has("merge_commit_sha"));
    BOOST_TEST(!fresh.rows[0].has("assignee"));
    BOOST_TEST(ask.get("/repos/octo/demo/pulls", {.api_version = "2020-01-01"}).status == 400);
}

BOOST_AUTO_TEST_CASE(commits_come_from_the_head_and_filter_by_committer_date) {
    for (const std::string order : {"date", "topo"}) {
        server_config config = corpus(1);
        config.repositories[0].commit_order = order;
        asker ask(config);
        const std::string path = "/repos/octo/demo/commits?per_page=100";
        const auto all = ask.walk(path);
        BOOST_TEST(all.size() == 90U);
        std::set<std::string> shas;
        for (const auto& row : all) shas.insert(row.text("sha"));
        BOOST_TEST(shas.size() == 90U);
        const std::string head = all.front().text("sha");
        // A merged line of old dates: everything that is reachable now and was not before.
        ask.control("merge", R"({"count":4,"back":5,"first_date":"2020-02-02T00:00:00Z","step":60})");
        std::size_t added = 0, before_old_head = 0;
        bool passed = false;
        for (const auto& row : ask.walk(path)) {
            passed = passed || row.text("sha") == head;
            if (shas.contains(row.text("sha"))) continue;
            ++added;
            before_old_head += passed ? 0 : 1;
        }
        BOOST_TEST(added == 5U);
        // Only where merged lines stay together do all new rows come before the old head.
        BOOST_TEST(before_old_head == (order == "topo" ? 5U : 1U));
        const auto old = ask.walk(path + "&since=2020-02-02T00:00:00Z&until=2020-02-02T00:03:00Z");
        BOOST_TEST(old.size() == 4U);
        BOOST_TEST(ask.walk(path + "&since=2020-02-02T00:01:00Z&until=2020-02-02T00:02:00Z").size() == 2U);
        BOOST_TEST(ask.walk(path + "&sha=" + head).size() == 90U);
        BOOST_TEST(ask.get(path + "&sha=no-such-branch").status == 404);
    }
}

BOOST_AUTO_TEST_CASE(statuses_of_repositories_and_tables) {
    server_config config = corpus(5);
    for (const auto& [name, table, status] : std::vector<std::tuple<std::string, std::string, int>>{
             {"gone", "*", 404}, {"issueless", "issues", 410}, {"blocked", "*", 451}, {"forbidden", "commits", 403}}) {
        repository_config repo;
        repo.name = name;
        repo.status[table] = status;
        config.repositories.push_back(repo);
    }
    asker ask(config);
    BOOST_TEST(ask.get("/repos/octo/gone/issues").status == 404);
    BOOST_TEST(ask.get("/repos/octo/issueless/issues").status == 410);
    BOOST_TEST(ask.get("/repos/octo/issueless/pulls").status == 200);
    BOOST_TEST(ask.get("/repos/octo/blocked/commits").status == 451);
    BOOST_TEST(ask.get("/repos/octo/forbidden/commits").status == 403);
    BOOST_TEST(ask.get("/repos/octo/issueless/commits").status == 409);
    BOOST_TEST(ask.get("/repos/octo/issueless/branches").body == "[]");
    ask.control("set", R"({"repo":"octo/gone","status":{"*":200}})");
    BOOST_TEST(ask.get("/repos/octo/gone/issues").status == 200);
}

BOOST_AUTO_TEST_CASE(a_renamed_repository_redirects_to_its_id) {
    asker ask(corpus(5));
    ask.control("rename", R"({"repo":"octo/demo","to":"octo/new-name"})");
    const auto moved = ask.get("/repos/octo/demo/issues?state=all&per_page=3");
    BOOST_TEST(moved.status == 301);
    BOOST_TEST(moved.headers.at("location") == "http://test/repositories/1296269/issues?state=all&per_page=3");
    BOOST_TEST(ask.get(target_of(moved.headers.at("location"))).rows.size() == 3U);
    BOOST_TEST(ask.get("/repos/OCTO/New-Name/issues?state=all").rows.size() == 5U);
}

BOOST_AUTO_TEST_CASE(a_seed_makes_the_same_corpus_again) {
    asker one(corpus(60, 20)), two(corpus(60, 20));
    server_config other = corpus(60, 20);
    other.seed = 2;
    asker three(other);
    for (const std::string path : {"issues?state=all", "pulls?state=all", "issues/comments", "commits", "branches"}) {
        BOOST_TEST(one.get("/repos/octo/demo/" + path).body == two.get("/repos/octo/demo/" + path).body);
        BOOST_TEST(one.get("/repos/octo/demo/" + path).body != three.get("/repos/octo/demo/" + path).body);
    }
}
