// tests/bench/floor.cpp: what a load of issues cannot do without, each part alone, in CPU seconds of this process:
//   (a) download the pages on one connection and pass over them with a SAX parser that keeps nothing;
//   (b) DuckDB's COPY of the same rows' Arrow columns to Parquet, one thread, zstd level 1.
//   bench-floor PLUGIN.so PORT OWNER REPO TOKEN FOLDER      prints one line of JSON
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/duck/duck.h"
#include "host/plugin/connector.h"
#include "host/plugin/loader.h"

namespace {

using namespace lakeflow::host;

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Takes every event and keeps nothing.
struct nothing {
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
    using error = boost::json::error_code;
    using text = boost::json::string_view;
    bool on_document_begin(error&) { return true; }
    bool on_document_end(error&) { return true; }
    bool on_object_begin(error&) { return true; }
    bool on_object_end(std::size_t, error&) { return true; }
    bool on_array_begin(error&) { return true; }
    bool on_array_end(std::size_t, error&) { return true; }
    bool on_key_part(text, std::size_t, error&) { return true; }
    bool on_key(text, std::size_t, error&) { return true; }
    bool on_string_part(text, std::size_t, error&) { return true; }
    bool on_string(text, std::size_t, error&) { return true; }
    bool on_number_part(text, error&) { return true; }
    bool on_int64(std::int64_t, text, error&) { return true; }
    bool on_uint64(std::uint64_t, text, error&) { return true; }
    bool on_double(double, text, error&) { return true; }
    bool on_bool(bool, error&) { return true; }
    bool on_null(error&) { return true; }
    bool on_comment_part(text, error&) { return true; }
    bool on_comment(text, error&) { return true; }
};

// One keep-alive connection; bodies with a Content-Length, as the server is told to send them.
class wire {
  public:
    explicit wire(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)), buffer_(1 << 18) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("no connection");
    }
    ~wire() { close(socket_); }
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    // Sends a request and passes the body on, piece by piece; returns its size.
    template <class F>
    std::size_t get(const std::string& target, const std::string& token, F&& piece) {
        const std::string request =
            "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench-floor\r\nAuthorization: Bearer " +
            token + "\r\n\r\n";
        if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            throw std::runtime_error("send");
        std::string head;
        std::size_t at = std::string::npos;
        while (at == std::string::npos) {
            head.append(buffer_.data(), receive());
            at = head.find("\r\n\r\n");
        }
        if (!head.starts_with("HTTP/1.1 200")) throw std::runtime_error(head.substr(0, head.find('\r')));
        const std::string_view field = "\r\nContent-Length: ";
        const std::size_t length_at = head.find(field);
        std::size_t length = 0;
        if (length_at == std::string::npos) throw std::runtime_error("no Content-Length");
        std::from_chars(head.data() + length_at + field.size(), head.data() + head.size(), length);
        std::size_t left = length - (head.size() - at - 4);
        piece(head.data() + at + 4, head.size() - at - 4, left == 0);
        while (left > 0) {
            const std::size_t got = receive();
            left -= got;
            piece(buffer_.data(), got, left == 0);
        }
        return length;
    }

  private:
    std::size_t receive() {
        const ssize_t got = recv(socket_, buffer_.data(), buffer_.size(), 0);
        if (got <= 0) throw std::runtime_error("the server closed the connection");
        return static_cast<std::size_t>(got);
    }

    int socket_;
    std::vector<char> buffer_;
};

struct pass {
    double cpu = 0;
    std::size_t bytes = 0;
    int pages = 0;
};

pass download(std::uint16_t port, const std::string& repository, const std::string& token) {
    pass out;
    const double begin = cpu_seconds();
    wire connection(port);
    boost::json::basic_parser<nothing> parser{boost::json::parse_options()};
    for (std::size_t size = 3; size > 2;) {  // the page after the last is "[]"
        parser.reset();
        const std::string target =
            "/repos/" + repository +
            "/issues?state=all&sort=created&direction=asc&per_page=100&page=" + std::to_string(++out.pages);
        size = connection.get(target, token, [&](const char* data, std::size_t count, bool last) {
            boost::json::error_code ec;
            parser.write_some(!last, data, count, ec);
            if (ec) throw std::runtime_error(ec.message());
        });
        out.bytes += size;
    }
    out.cpu = cpu_seconds() - begin;
    return out;
}

// The rows of the table as the plugin gives them, all in memory: not measured.
std::vector<record_batch> rows_of(const std::string& plugin_file, std::uint16_t port, const std::string& owner,
                                  const std::string& repo, const std::string& token) {
    auto flow = std::make_shared<flow_context>();
    flow->redactor = std::make_shared<secrets>();
    flow->init_time_us = system_clock().now_us();
    plugin_connector connector(
        load_plugin(plugin_file, {}),
        "{\"base_url\":\"http://127.0.0.1:" + std::to_string(port) + "\",\"token\":\"" + token + "\"}", flow,
        std::make_shared<cancel_token>());
    read_request request;
    request.table = "issues";
    request.options = "{\"owner\":\"" + owner + "\",\"repo\":\"" + repo + "\"}";
    const auto reader = connector.read_table(request);
    std::vector<record_batch> batches;
    while (auto batch = reader->next()) batches.push_back(std::move(*batch));
    return batches;
}

class memory_source final : public duck::batch_source {
  public:
    explicit memory_source(std::vector<record_batch> batches) : batches_(std::move(batches)) {}
    bool next(record_batch& out) override {
        if (at_ == batches_.size()) return false;
        out = std::move(batches_[at_++]);
        return true;
    }

  private:
    std::vector<record_batch> batches_;
    std::size_t at_ = 0;
};

double copy(std::vector<record_batch> batches, const std::string& folder) {
    const auto schema = batches.front().schema;
    const auto database = duck::database::open(
        {.library = {}, .path = {}, .memory_bytes = std::size_t{1} << 30, .temp_directory = folder});
    duck::connection connection = database->connect();
    const duck::scan scan = connection.add_scan(schema, std::make_shared<memory_source>(std::move(batches)));
    const double begin = cpu_seconds();
    connection.query("COPY (SELECT * FROM " + scan.sql() + ") TO '" + folder +
                     "/floor.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 20480)");
    return cpu_seconds() - begin;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    try {
        const auto port = static_cast<std::uint16_t>(std::stoi(argv[2]));
        const pass a = download(port, std::string(argv[3]) + "/" + argv[4], argv[5]);
        auto batches = rows_of(argv[1], port, argv[3], argv[4], argv[5]);
        std::int64_t rows = 0;
        for (const auto& batch : batches) rows += batch.rows();
        const double b = copy(std::move(batches), argv[6]);
        std::printf("{\"pages\":%d,\"bytes\":%zu,\"rows\":%lld,\"download_and_sax_cpu\":%.3f,\"copy_cpu\":%.3f}\n",
                    a.pages - 1, a.bytes, static_cast<long long>(rows), a.cpu, b);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench-floor: %s\n", e.what());
        return 1;
    }
    return 0;
}
