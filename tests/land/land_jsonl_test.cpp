// append and snapshot into JSON lines, against the oracle.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/base/time.h"
#include "tests/support/land_oracle.h"
#include "tests/support/temporary_folder.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

std::string from_base64(std::string_view text) {
    static const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    std::uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
        if (c == '=') break;
        bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out += static_cast<char>(bits >> have & 0xff);
    }
    return out;
}

std::vector<std::string> read_lines(const std::string& path, const flow_spec& flow) {
    std::vector<std::string> rows;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        const auto object = boost::json::parse(line).as_object();
        std::string text;
        for (std::int64_t i = 0; i < flow.schema->columns(); ++i) {
            const ArrowSchema& column = flow.schema->column(i);
            const auto& value = object.at(std::string(name_of(column)));
            cell c;
            if (value.is_int64()) {
                c = value.get_int64();
            } else if (value.is_string()) {
                const std::string held(value.get_string());
                const type_id type = type_of(column).id;
                if (type == type_id::timestamp_utc) {
                    c = parse_rfc3339_us(held).value();
                } else {
                    c = type == type_id::binary ? from_base64(held) : held;
                }
            }
            text += (i ? "|" : "") + to_text(c);
        }
        rows.push_back(text);
    }
    return rows;
}

void check_mode(land_mode mode) {
    const temporary_folder folder;
    destination_options options;
    options.type = "jsonl";
    options.path = folder.string();
    const auto to = make_destination(options, {}, nullptr);
    history_options wanted;
    wanted.mode = mode;
    wanted.odd_names = true;
    for (const std::uint64_t seed : history_seeds(60)) {
        check_destination(*to, wanted, seed, [&](const flow_spec& flow) {
            return read_lines(options.path + "/" + flow.table + ".jsonl", flow);
        });
    }
}

std::string code_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const failure& f) {
        return f.get().code;
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(append_is_what_the_oracle_says) { check_mode(land_mode::append); }
BOOST_AUTO_TEST_CASE(snapshot_is_what_the_oracle_says) { check_mode(land_mode::snapshot); }

BOOST_AUTO_TEST_CASE(a_snapshot_is_guarded_and_whole) {
    const temporary_folder folder;
    destination_options options;
    options.type = "jsonl";
    options.path = folder.string();
    flow_spec flow;
    flow.job = flow.flow = flow.table = "t";
    flow.mode = land_mode::snapshot;
    flow.primary_keys = {"k"};
    flow.max_delete_ratio = 0.5;
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("k BIGINT, v STRING"));
    const auto land = [&](std::uint32_t batch, std::int64_t from, std::int64_t to) {
        auto target = make_destination(options, {}, nullptr)->open(flow);
        auto landing = target->begin();
        std::vector<std::vector<cell>> rows;
        for (std::int64_t k = from; k < to; ++k) rows.push_back({k, std::string("x")});
        if (!rows.empty()) landing->add(0, to_arrow(flow.schema, rows));
        return landing->commit({1, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"});
    };
    BOOST_TEST(land(1, 0, 10).rows_landed == 10);
    BOOST_TEST(code_of([&] { land(2, 0, 0); }) == "destination.would_empty");
    BOOST_TEST(code_of([&] { land(2, 6, 30); }) == "destination.too_many_deletes");
    BOOST_TEST(read_lines(options.path + "/t.jsonl", flow).size() == 10u);
    BOOST_TEST(land(2, 5, 30).rows_landed == 25);
    BOOST_TEST(!land(3, 5, 30).committed);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
        files += !entry.path().filename().string().starts_with(".t.jsonl.lock");
    }
    BOOST_TEST(files == 2u);  // the table and its side file
}
