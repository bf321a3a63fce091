// tests/bench/decode_bench.cpp: what the decoder costs above the parser alone. Makes 500 different pages of 100 issues as GitHub sends
// them, in memory, and prints JSON: CPU seconds and MB/s of an empty SAX pass, of the decoder into 28 columns, and of the check of the
// batches. Usage: decode-bench [pages] [repeats]
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/rows/decoder.h"

namespace {

namespace json = boost::json;
using namespace lakeflow::host;

constexpr std::size_t rows_a_page = 100;
constexpr std::size_t piece = 64 * 1024;  // as they come from a socket

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class page_maker {
  public:
    std::string page() {
        std::string out = "[";
        for (std::size_t i = 0; i < rows_a_page; ++i) {
            if (i) out += ',';
            issue(out);
        }
        return out + "]";
    }

  private:
    std::size_t random(std::size_t below) { return random_() % below; }

    void words(std::string& out, std::size_t count) {
        static constexpr std::string_view all[] = {"parquet",
                                                   "the",
                                                   "reader",
                                                   "fails",
                                                   "with",
                                                   "a",
                                                   "nested",
                                                   "list",
                                                   "when",
                                                   "batch",
                                                   "size",
                                                   "is",
                                                   "zero",
                                                   "arrow",
                                                   "C++",
                                                   "Python",
                                                   "null",
                                                   "panic",
                                                   "build",
                                                   "on",
                                                   "x86",
                                                   "caf\xC3\xA9",
                                                   "Gr\xC3\xB6\xC3\x9F"
                                                   "e",
                                                   "error:"};
        for (std::size_t i = 0; i < count; ++i) {
            if (i) out += random(12) == 0 ? "\\r\\n" : " ";
            out += all[random(std::size(all))];
        }
    }

    void instant(std::string& out) {
        char text[32];
        std::snprintf(text, sizeof text, "\"20%02zu-%02zu-%02zuT%02zu:%02zu:%02zuZ\"", 15 + random(11), 1 + random(12),
                      1 + random(28), random(24), random(60), random(60));
        out += text;
    }

    void user(std::string& out) {
        const std::string login = "user" + std::to_string(random(5000));
        const std::string url = "https://api.github.com/users/" + login;
        out += "{\"login\":\"" + login + "\",\"id\":" + std::to_string(1000 + random(90'000'000)) +
               ",\"node_id\":\"MDQ6VXNlcj" + std::to_string(random(1'000'000)) +
               "\",\"avatar_url\":\"https://avatars.githubusercontent.com/u/" + std::to_string(random(90'000'000)) +
               "?v=4\",\"gravatar_id\":\"\",\"url\":\"" + url + "\",\"html_url\":\"https://github.com/" + login +
               "\",\"followers_url\":\"" + url + "/followers\",\"following_url\":\"" + url +
               "/following{/other_user}\",\"gists_url\":\"" + url + "/gists{/gist_id}\",\"starred_url\":\"" + url +
               "/starred{/owner}{/repo}\",\"subscriptions_url\":\"" + url +
               "/subscriptions\",\"organizations_url\":\"" + url + "/orgs\",\"repos_url\":\"" + url +
               "/repos\",\"events_url\":\"" + url + "/events{/privacy}\",\"received_events_url\":\"" + url +
               "/received_events\",\"type\":\"User\",\"user_view_type\":\"public\",\"site_admin\":false}";
    }

    void issue(std::string& out) {
        const std::string number = std::to_string(++number_);
        const std::string url = "https://api.github.com/repos/apache/arrow/issues/" + number;
        out += "{\"url\":\"" + url +
               "\",\"repository_url\":\"https://api.github.com/repos/apache/arrow\",\"labels_url\":\"" + url +
               "/labels{/name}\",\"comments_url\":\"" + url + "/comments\",\"events_url\":\"" + url +
               "/events\",\"html_url\":\"https://github.com/apache/arrow/issues/" + number +
               "\",\"id\":" + std::to_string(2'000'000'000 + number_ * 17) + ",\"node_id\":\"I_kwDOBPlYLs5" + number +
               "\",\"number\":" + number + ",\"title\":\"";
        words(out, 4 + random(8));
        out += "\",\"user\":";
        user(out);
        out += ",\"labels\":[";
        const std::size_t labels = random(3);
        for (std::size_t i = 0; i < labels; ++i) {
            const std::string id = std::to_string(random(40));
            out += (i ? ",{\"id\":14007" : "{\"id\":14007") + id + ",\"node_id\":\"MDU6TGFiZWw" + id +
                   "\",\"url\":\"https://api.github.com/repos/apache/arrow/labels/bug" + id + "\",\"name\":\"bug" + id +
                   "\",\"color\":\"d73a4a\",\"default\":false,\"description\":\"Something that is wrong\"}";
        }
        out += "],\"state\":\"";
        const bool closed = random(2) == 0;
        out += closed ? "closed" : "open";
        out += "\",\"locked\":false,\"assignee\":";
        const bool assigned = random(4) == 0;
        if (assigned)
            user(out);
        else
            out += "null";
        out += ",\"assignees\":[";
        if (assigned) user(out);
        out += "],\"milestone\":";
        if (random(8) == 0) {
            out += "{\"url\":\"" + url +
                   "\",\"id\":77,\"number\":3,\"title\":\"18.0.0\",\"description\":null,\"state\":\"open\",\"created_"
                   "at\":";
            instant(out);
            out += ",\"updated_at\":";
            instant(out);
            out += ",\"due_on\":null,\"closed_at\":null}";
        } else {
            out += "null";
        }
        out += ",\"comments\":" + std::to_string(random(40)) + ",\"created_at\":";
        instant(out);
        out += ",\"updated_at\":";
        instant(out);
        out += ",\"closed_at\":";
        if (closed)
            instant(out);
        else
            out += "null";
        out += ",\"author_association\":\"CONTRIBUTOR\",\"active_lock_reason\":null,\"body\":\"";
        words(out, random(60));
        out += "\",\"closed_by\":null,\"reactions\":{\"url\":\"" + url +
               "/reactions\",\"total_count\":" + std::to_string(random(9)) +
               ",\"+1\":0,\"-1\":0,\"laugh\":0,\"hooray\":0,\"confused\":0,\"heart\":" + std::to_string(random(3)) +
               ",\"rocket\":0,\"eyes\":0},\"timeline_url\":\"" + url +
               "/timeline\",\"performed_via_github_app\":null,\"state_reason\":" + (closed ? "\"completed\"" : "null") +
               "}";
    }

    std::mt19937_64 random_{7};
    std::size_t number_ = 0;
};

struct nothing {
    static constexpr std::size_t max_object_size = std::size_t(-1);
    static constexpr std::size_t max_array_size = std::size_t(-1);
    static constexpr std::size_t max_key_size = std::size_t(-1);
    static constexpr std::size_t max_string_size = std::size_t(-1);
    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) { return true; }
    bool on_object_end(std::size_t, json::error_code&) { return true; }
    bool on_array_begin(json::error_code&) { return true; }
    bool on_array_end(std::size_t, json::error_code&) { return true; }
    bool on_key_part(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_key(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
    bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
    bool on_double(double, json::string_view, json::error_code&) { return true; }
    bool on_bool(bool, json::error_code&) { return true; }
    bool on_null(json::error_code&) { return true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }
};

bool sax(const std::vector<std::string>& pages) {
    json::basic_parser<nothing> parser(json::parse_options{});
    for (const std::string& page : pages) {
        parser.reset();
        json::error_code ec;
        for (std::size_t at = 0; at < page.size() && !ec; at += piece)
            parser.write_some(at + piece < page.size(), page.data() + at, std::min(piece, page.size() - at), ec);
        if (ec) return false;
    }
    return true;
}

#define USER "STRUCT<login: STRING, id: BIGINT, node_id: STRING, type: STRING, site_admin: BOOLEAN>"
constexpr std::string_view columns =
    "id BIGINT NOT NULL, node_id STRING, number BIGINT NOT NULL, repository_owner STRING NOT NULL, repository_name "
    "STRING NOT NULL, "
    "title STRING, body STRING, state STRING, locked BOOLEAN, comments BIGINT, created_at TIMESTAMP, updated_at "
    "TIMESTAMP, "
    "closed_at TIMESTAMP, author_association STRING, url STRING, html_url STRING, labels_url STRING, comments_url "
    "STRING, "
    "events_url STRING, timeline_url STRING, state_reason STRING, user " USER ", assignee " USER
    ", assignees ARRAY<" USER
    ">, labels ARRAY<STRUCT<id: BIGINT, node_id: STRING, name: STRING, color: STRING, description: STRING, default: "
    "BOOLEAN>>, "
    "milestone STRUCT<id: BIGINT, number: BIGINT, title: STRING, description: STRING, state: STRING, created_at: "
    "TIMESTAMP, "
    "updated_at: TIMESTAMP, due_on: TIMESTAMP>, pull_request STRUCT<merged_at: TIMESTAMP, url: STRING>, "
    "reactions STRUCT<url: STRING, total_count: BIGINT, `+1`: BIGINT, `-1`: BIGINT, laugh: BIGINT, confused: BIGINT, "
    "heart: BIGINT, "
    "hooray: BIGINT, eyes: BIGINT, rocket: BIGINT>";
constexpr std::string_view spec =
    R"({"columns":{"repository_owner":{"value":"apache"},"repository_name":{"value":"arrow"},"labels":{"scalar":"name"}},
        "watch":["updated_at"],"keep":[{"column":"updated_at","op":">=","value":"2000-01-01T00:00:00Z"}]})";

std::size_t number_of(const char* text, std::size_t otherwise) {
    std::size_t value = 0;
    const std::string_view t = text ? text : "";
    return std::from_chars(t.data(), t.data() + t.size(), value).ec == std::errc() && value > 0 ? value : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t count = number_of(argc > 1 ? argv[1] : nullptr, 500);
    const std::size_t repeats = number_of(argc > 2 ? argv[2] : nullptr, 3);
    std::vector<std::string> pages;
    std::size_t bytes = 0;
    page_maker maker;
    for (std::size_t i = 0; i < count; ++i) {
        pages.push_back(maker.page());
        bytes += pages.back().size();
    }
    const arrow_schema schema = parse_ddl(columns);
    double best_sax = 1e9;
    double best_decode = 1e9;
    double best_check = 1e9;
    std::size_t arrow_bytes = 0;
    std::int64_t rows = 0;
    for (std::size_t r = 0; r < repeats; ++r) {
        double begin = cpu_seconds();
        if (!sax(pages)) return 1;
        best_sax = std::min(best_sax, cpu_seconds() - begin);

        double checking = 0;
        arrow_bytes = 0;
        rows = 0;
        begin = cpu_seconds();
        decoder d(nullptr, *schema.get(), spec);
        for (const std::string& page : pages) {
            for (std::size_t at = 0; at < page.size(); at += piece) d.feed(std::string_view(page).substr(at, piece));
            d.finish();
            arrow_array batch;
            if (!d.take(batch)) return 1;
            const double check = cpu_seconds();
            check_array(*schema.get(), *batch.get(), "bench");
            checking += cpu_seconds() - check;
            arrow_bytes += memory_size(*schema.get(), *batch.get());
            rows += batch.rows();
        }
        best_decode = std::min(best_decode, cpu_seconds() - begin - checking);
        best_check = std::min(best_check, checking);
    }
    const double mb = static_cast<double>(bytes) / 1e6;
    std::printf(
        "{\"pages\":%zu,\"rows\":%lld,\"json_mb\":%.1f,\"arrow_mb\":%.1f,"
        "\"sax\":{\"cpu_s\":%.3f,\"mb_s\":%.0f},\"decode\":{\"cpu_s\":%.3f,\"mb_s\":%.0f},"
        "\"above_sax_cpu_s\":%.3f,\"check\":{\"cpu_s\":%.4f,\"mb_s\":%.0f}}\n",
        count, static_cast<long long>(rows), mb, static_cast<double>(arrow_bytes) / 1e6, best_sax, mb / best_sax,
        best_decode, mb / best_decode, best_decode - best_sax, best_check,
        static_cast<double>(arrow_bytes) / 1e6 / best_check);
    return 0;
}
