// tests/land/make_lakes.cpp: Delta tables of every mode, with every type, every odd name and every value that a statistic could hide, for
// tests/e2e/readers_test.py. `make-lakes FOLDER` lands some batches into each, begins one more, prints what it has made as a line of
// JSON, waits for a line, commits that batch and some more, and prints again. What it prints is what readers must find.
#include <cmath>
#include <iostream>
#include <limits>
#include <set>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/duck/test_batches.h"
#include "host/land/destination.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

// Every type; the columns of every table behind its key and sequence.
constexpr const char* every_type =
    "b BOOLEAN, i TINYINT, s SMALLINT, n INT, g BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(12,2), big DECIMAL(38,4), t "
    "STRING, x "
    "BINARY, day DATE, z TIMESTAMP, l TIMESTAMP_NTZ, li ARRAY<BIGINT>, ls ARRAY<STRUCT<a: STRING, b: ARRAY<INT>>>, st "
    "STRUCT<a: INT, deep: STRUCT<b: STRING, c: ARRAY<BOOLEAN>>>, m MAP<STRING, BIGINT>";

// Names that files and Delta take as they are, and names that a table maps.
constexpr const char* odd_names =
    "`a.b` STRING, `1inch` INT, `y--1` INT, `q\"uote` STRING, `b``t` STRING, `select` STRING, UserCode STRING, `.lead` "
    "INT, "
    "`R\xc3\xa9gion` STRUCT<`Stra\xc3\x9f"
    "e`: STRING, `a.b`: INT>, `\xe6\x97\xa5\xe6\x9c\xac` STRING";
constexpr const char* mapped_names =
    "`x,y` STRING, `a;b` STRUCT<`in side`: STRING, plain: INT>, `{c}` ARRAY<STRUCT<`(d)`: INT>>, `t\tn=` MAP<STRING, "
    "STRUCT<`e f`: INT>>, `q\"uote` STRING, `Code r\xc3\xa9gion` STRING, `1inch` INT, `z z` TIMESTAMP_NTZ";

// Values at the edges of their types, now and then.
void value(column& to, std::mt19937_64& random) {
    if (random() % 16 == 0 && to.id() == type_id::float64) {
        const double odd[] = {-0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -1e300};
        return static_cast<fixed_column<double>&>(to).append(odd[random() % 4]);
    }
    if (random() % 16 == 0 && to.id() == type_id::float32) {
        const float odd[] = {-0.0F, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()};
        return static_cast<fixed_column<float>&>(to).append(odd[random() % 3]);
    }
    random_value(to, random);
}

struct table {
    std::string name;
    land_mode mode;
    flow_spec flow;
    std::unique_ptr<target> to;
    std::unique_ptr<landing> open = {};
    std::uint32_t batch = 0;
    std::set<std::int64_t> keys = {};

    table(destination& lake, std::string named, land_mode how, const std::string& ddl, const std::string& key = "id",
          const std::string& sequence = "at")
        : name(std::move(named)), mode(how) {
        flow.job = "lakes";
        flow.flow = flow.table = name;
        flow.mode = mode;
        flow.primary_keys = {key};
        flow.rereads = mode == land_mode::append && name.find("keyed") != std::string::npos;
        if (mode == land_mode::scd1 || mode == land_mode::scd2) flow.sequence_by = sequence;
        flow.schema = schema_of("`" + key + "` BIGINT NOT NULL, `" + sequence + "` TIMESTAMP NOT NULL, " + ddl);
        to = lake.open(flow);
    }

    position next() {
        ++batch;
        return {1, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"};
    }

    // Rows of the keys [from, from + count): what a row holds depends on its key and the version alone.
    record_batch rows(std::int64_t from, std::int64_t count, std::int64_t version) {
        if (mode == land_mode::snapshot) keys.clear();
        return make_batch(flow.schema, count, [&](struct_column& t, std::int64_t row) {
            const std::int64_t id = from + row;
            std::mt19937_64 random(static_cast<std::uint64_t>(id * 1000 + version));
            keys.insert(id);
            at<i64>(t, 0).append(id);
            at<i64>(t, 1).append(1'700'000'000'123'456 + version * 1'000'001 + id % 7);
            for (std::size_t i = 2; i < t.size(); ++i) value(t.child(i), random);
        });
    }
    record_batch tombstones(std::int64_t from, std::int64_t count, std::int64_t version) {
        const auto schema =
            schema_of("`" + flow.primary_keys[0] + "` BIGINT NOT NULL, `" + flow.sequence_by + "` TIMESTAMP NOT NULL");
        return make_batch(schema, count, [&](struct_column& t, std::int64_t row) {
            at<i64>(t, 0).append(from + row);
            at<i64>(t, 1).append(1'700'000'000'123'456 + version * 1'000'001 + 500'000);
            if (mode == land_mode::scd1) keys.erase(from + row);
        });
    }

    void land(std::int64_t from, std::int64_t count, std::int64_t version, std::int64_t deleted = 0) {
        auto landing = to->begin();
        landing->add(0, rows(from, count, version));
        if (deleted) landing->add_deletes(tombstones(from, deleted, version));
        landing->commit(next());
    }

    // A dozen batches: past a checkpoint. Keys are edited, come late, and some are deleted.
    void history(std::int64_t first, std::int64_t rounds) {
        const bool merges = mode == land_mode::scd1 || mode == land_mode::scd2;
        for (std::int64_t round = 0; round < rounds; ++round) {
            const std::int64_t version = first + (round % 5 == 3 ? round - 2 : round);
            const std::int64_t from =
                mode == land_mode::append && !flow.rereads ? (first + round) * 50 : (first + round) * 30;
            land(mode == land_mode::snapshot ? 1 : from, mode == land_mode::snapshot ? 200 + round : 50, version,
                 merges && round % 3 == 1 ? 5 : 0);
        }
    }
};

// One value a file, so that a wrong bound of it hides the row; the values that readers_test.py asks for.
void make_edges(destination& lake) {
    table edges(
        lake, "edges", land_mode::append,
        "z TIMESTAMP, l TIMESTAMP_NTZ, t STRING, d DOUBLE, f FLOAT, n STRUCT<v: BIGINT>, day DATE, dc DECIMAL(38,4)");
    std::string highest;
    for (int i = 0; i < 40; ++i) highest += "\xf4\x8f\xbf\xbf";
    const std::string wide(300, 'x');
    const double nan = std::numeric_limits<double>::quiet_NaN();
    struct edge {
        std::int64_t instant;
        std::string text;
        double real;
    };
    const edge values[] = {{1772366399999999, highest, 1.5},
                           {-55776556800000001, wide, -0.0},
                           {-1, "", nan},
                           {1772366400123456, "a\xc3\xa9" + wide, std::numeric_limits<double>::infinity()},
                           {4102444800000001, std::string(31, 'b') + "\xf4\x8f\xbf\xbf" + "z", -1e300},
                           {1, std::string("nul\0byte", 8), std::numeric_limits<double>::denorm_min()}};
    std::int64_t number = 0;
    for (const edge& v : values) {
        ++number;
        auto landing = edges.to->begin();
        // The odd value stands in the first row group of two.
        landing->add(
            0, make_batch(edges.flow.schema, 3000, [&](struct_column& t, std::int64_t row) {
                at<i64>(t, 0).append(number * 10'000 + row);
                at<i64>(t, 1).append(number);
                at<i64>(t, 2).append(v.instant);
                at<i64>(t, 3).append(v.instant);
                at<text_column>(t, 4).append(v.text);
                at<fixed_column<double>>(t, 5).append(row == 3 ? v.real : 0.25);
                at<fixed_column<float>>(t, 6).append(row == 3 ? static_cast<float>(v.real) : 0.25F);
                auto& n = at<struct_column>(t, 7);
                at<i64>(n, 0).append(std::numeric_limits<std::int64_t>::max() - number);
                n.end_value();
                at<fixed_column<std::int32_t>>(t, 8).append(static_cast<std::int32_t>(v.instant / 86'400'000'000));
                at<fixed_column<int128>>(t, 9).append(
                    static_cast<int128>(1'000'000'000'000'000'000) * 1'000'000'000'000 + number);
            }));
        landing->commit(edges.next());
    }
}

// Columns that come, that grow, and that get a name which must be mapped.
void make_evolved(destination& lake, std::map<std::string, std::set<std::int64_t>>& keys) {
    const char* steps[] = {
        "a INT, f FLOAT, c DECIMAL(6,2), l ARRAY<SMALLINT>, s STRUCT<v: INT>, u BIGINT",
        "a INT, f FLOAT, c DECIMAL(6,2), l ARRAY<SMALLINT>, s STRUCT<v: INT, w: STRING>, u BIGINT, late DATE",
        "a BIGINT, f DOUBLE, c DECIMAL(12,4), l ARRAY<BIGINT>, s STRUCT<v: BIGINT, w: STRING>, u STRING, late DATE"};
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::scd2}) {
        std::uint32_t batch = 0;
        const std::string name = "evolved_" + std::string(to_string(mode));
        for (const char* ddl : steps) {
            table step(lake, name, mode, ddl);
            step.batch = batch;
            step.land(batch * (mode == land_mode::append ? 60 : 40) + 1, 60, batch);
            batch = step.batch;
            keys[name].insert(step.keys.begin(), step.keys.end());
        }
    }
    // A plain table whose new column needs mapping.
    table plain(lake, "mapped_later", land_mode::scd1, "a STRING, z TIMESTAMP_NTZ");
    plain.land(1, 60, 0);
    table odd(lake, "mapped_later", land_mode::scd1, "a STRING, z TIMESTAMP_NTZ, `n o` STRUCT<`p q`: INT>");
    odd.batch = plain.batch;
    odd.land(41, 60, 1);
    keys["mapped_later"] = plain.keys;
    keys["mapped_later"].insert(odd.keys.begin(), odd.keys.end());
}

int run(const std::string& folder) {
    destination_options options;
    options.type = "delta";
    options.path = folder;
    options.max_file_rows = 100;
    const auto small = make_destination(options, {}, nullptr);
    options.max_file_rows = 1 << 20;
    const auto large = make_destination(options, {}, nullptr);

    std::map<std::string, std::set<std::int64_t>> keys;
    make_edges(*large);
    make_evolved(*small, keys);
    std::vector<table> tables;
    for (const auto& [name, mode] : {std::pair("append", land_mode::append),
                                     std::pair("append_keyed", land_mode::append), std::pair("scd1", land_mode::scd1),
                                     std::pair("scd2", land_mode::scd2), std::pair("snapshot", land_mode::snapshot)}) {
        tables.emplace_back(*small, name, mode, every_type);
    }
    tables.emplace_back(*small, "names", land_mode::scd1, odd_names);
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::scd2, land_mode::snapshot})
        tables.emplace_back(*small, "mapped_" + std::string(to_string(mode)), mode, mapped_names, "id no",
                            "updated at");

    const auto tell = [&] {
        std::string out;
        for (const table& t : tables) keys[t.name] = t.keys;
        for (const auto& [name, of] : keys)
            out += (out.empty() ? "" : ",") + quote_json(name) + ":" + std::to_string(of.size());
        std::cout << "{" << out << "}" << std::endl;
    };
    for (table& t : tables) t.history(1, 12);
    tell();
    // A batch that is written and not committed while others work on the table.
    for (table& t : tables) {
        t.open = t.to->begin();
        t.open->add(0, t.rows(t.mode == land_mode::append && !t.flow.rereads ? 20'000 : 100, 80, 50));
    }
    std::string line;
    std::getline(std::cin, line);
    for (table& t : tables) {
        t.open->commit(t.next());
        t.open.reset();
        t.history(51, 11);
    }
    tell();
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: make-lakes FOLDER\n";
        return 2;
    }
    try {
        return run(arguments[1]);
    } catch (const failure& f) {
        std::cerr << to_line(f.get()) << "\n";
        return 1;
    }
}
