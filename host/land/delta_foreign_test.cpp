// host/land/delta_foreign_test.cpp: tables that Apache Spark and delta-rs made: deletion vectors, checkpoints of several files and of the
// second specification, logs of ten thousand files, and features that are refused by name. tests/data/delta_tables.tar.gz is Spark's own
// writing (tests/tools/make_delta_tables.py).
#include <boost/crc.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <random>

#include "host/land/delta/deletion_vector.h"
#include "host/land/delta/delta.h"
#include "host/land/delta/evolution.h"
#include "host/land/delta/log.h"
#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

std::string log_file(const std::string& table, std::int64_t version, const std::string& ending = "json") {
    const std::string digits = std::to_string(version);
    return table + "/_delta_log/" + std::string(20 - digits.size(), '0') + digits + "." + ending;
}

// Spark's tables in a folder of this test's own.
struct spark_lake : lake {
    spark_lake() {
        BOOST_REQUIRE(
            std::system(("tar -xzf " LAKEFLOW_TEST_DATA "/delta_tables.tar.gz -C " + folder.path()).c_str()) == 0);
    }
    std::string table_of(const std::string& name) const { return folder.path() + "/" + name; }
};

flow_spec flow_of(const std::string& table, land_mode mode) {
    flow_spec flow;
    flow.job = "job";
    flow.flow = flow.table = table;
    flow.mode = mode;
    flow.primary_keys = {"id"};
    flow.schema = schema_of("id BIGINT, n INT, title STRING");
    return flow;
}

record_batch rows(std::int64_t from, std::int64_t count, const std::string& title, std::int64_t step = 1) {
    return make_batch(flow_of("", land_mode::append).schema, count, [&](struct_column& t, std::int64_t row) {
        at<i64>(t, 0).append(from + row * step);
        at<fixed_column<std::int32_t>>(t, 1).append(1);
        at<text_column>(t, 2).append(title);
    });
}

record_batch tombstones(const std::vector<std::int64_t>& ids) {
    return make_batch(
        schema_of("id BIGINT NOT NULL"), static_cast<std::int64_t>(ids.size()),
        [&](struct_column& t, std::int64_t row) { at<i64>(t, 0).append(ids[static_cast<std::size_t>(row)]); });
}

// What `vectors` holds: of 0 to 9999 the odd numbers but 3, without 12000 to 15999, 20001, 20050 and 20099.
constexpr std::int64_t vector_table_rows = 4999 + 6000 + 97;

std::string number(std::map<std::string, std::string> read, const char* what) { return read[what]; }

delta::snapshot read_log(const std::string& table, std::int64_t* resident_kib = nullptr) {
    const auto database = duck::database::open({});
    delta::delta_log log(
        make_local_store(table), [&] { return database; }, {}, "t");
    delta::snapshot state;
    log.update(state);
    if (resident_kib) {
        std::ifstream status("/proc/self/status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("VmRSS:")) *resident_kib = std::stol(line.substr(6));
        }
    }
    return state;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_vectors)

BOOST_AUTO_TEST_CASE(bitmaps_of_the_protocol_and_of_every_container) {
    // The protocol's own examples.
    delta::deletion_vector stored{"u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6};
    BOOST_TEST(delta::file_of(stored) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin");
    BOOST_TEST(stored.id() == "uab^-aqEH.-t@S}K{vb[*k^@4");
    const delta::deletion_vector inside{"i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", -1, 40, 6};
    temporary_folder folder;
    const auto files = make_local_store(folder.path());
    BOOST_TEST((delta::read_vector(*files, inside, "f") == std::vector<std::int64_t>{3, 4, 7, 11, 18, 29}));
    // The same in the format that the protocol describes, as delta-kernel-rs has it.
    const delta::deletion_vector portable{"i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", -1, 44, 6};
    BOOST_TEST((delta::read_vector(*files, portable, "f") == std::vector<std::int64_t>{3, 4, 7, 11, 18, 29}));
    for (const auto& [text, size] : {std::pair("wi5b", 40), std::pair("wi5b~", 4), std::pair("@@@@@", 4)}) {
        const delta::deletion_vector wrong{"i", text, -1, size, 6};
        BOOST_TEST(code_of([&] { delta::read_vector(*files, wrong, "f"); }) == "destination.corrupt");
    }
    // A file whose bytes differ from what the log says, or from their own sum.
    const std::string bitmap = delta::decode_z85(inside.place).substr(0, 40);
    const auto big = [](std::uint32_t value) {
        std::string out;
        for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
        return out;
    };
    boost::crc_32_type sum;
    sum.process_bytes(bitmap.data(), bitmap.size());
    const std::string whole = std::string("\x01") + big(40) + bitmap + big(sum.checksum());
    const std::string path = folder.path() + "/elsewhere.bin";
    std::ofstream(path, std::ios::binary) << whole;
    for (const std::string& place : {path, "file://" + path, "file:" + path}) {
        const delta::deletion_vector full{"p", place, 1, 40, 6};
        BOOST_TEST(delta::read_vector(*files, full, "f").size() == 6u);
    }
    const delta::deletion_vector far{"p", "s3://bucket/x.bin", 1, 40, 6};
    BOOST_TEST(code_of([&] { delta::read_vector(*files, far, "f"); }) == "destination.unsupported_table");
    for (const delta::deletion_vector& wrong : {delta::deletion_vector{"p", path, 1, 39, 6},
                                                {"p", path, 2, 40, 6},
                                                {"p", path, 1, 40, 7},
                                                {"p", path + "x", 1, 40, 6},
                                                {"x", "", 1, 40, 6}}) {
        BOOST_TEST(code_of([&] { delta::read_vector(*files, wrong, "f"); }) == "destination.corrupt");
    }
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; ++i) {
        // Broken bytes are refused or read as other numbers; nothing reads past them.
        std::string broken = bitmap.substr(0, random() % (bitmap.size() + 1));
        for (std::uint64_t n = random() % 3; n > 0 && !broken.empty(); --n)
            broken[random() % broken.size()] = static_cast<char>(random());
        try {
            delta::parse_bitmap(broken);
        } catch (const failure& f) {
            BOOST_TEST(f.get().code == "destination.corrupt");
        }
    }
}

BOOST_AUTO_TEST_CASE(merges_see_the_rows_that_are_there) {
    spark_lake l;
    auto target = l.to->open(flow_of("vectors", land_mode::scd1));
    const std::string table = l.table_of("vectors");
    BOOST_REQUIRE(number(read_back(table), "rows") == std::to_string(vector_table_rows));
    auto landing = target->begin();
    // 4 and 20001 are gone: they come back as new rows. 5 is edited; 7 is deleted; a tombstone of 12001, which is gone, says nothing.
    landing->add(0, rows(4, 1, "back"));
    landing->add(0, rows(20001, 1, "back"));
    landing->add(0, rows(5, 1, "edited"));
    landing->add_deletes(tombstones({7, 12001}));
    const land_result result = landing->commit(at_batch(1));
    BOOST_TEST(result.rows_landed == 3);
    BOOST_TEST(result.rows_deleted == 1);
    BOOST_TEST(result.files_rewritten == 1);
    auto read = read_back(table);
    BOOST_TEST(read["rows"] == std::to_string(vector_table_rows + 1));
    BOOST_TEST(read["distinct_keys"] == read["rows"]);
    BOOST_TEST(number(read_back(table, "--where \"title = 'back'\""), "rows") == "2");
    BOOST_TEST(number(read_back(table, "--where 'id IN (3, 7, 8, 12001, 20050)'"), "rows") == "0");
    // The remove names the file with its vector; two files keep theirs, also in a checkpoint, and after it.
    const std::string commit = file_text(table + "/_delta_log/" + commits(table).back());
    BOOST_TEST(commit.find("\"deletionVector\":{\"storageType\":\"u\"") != std::string::npos);
    for (std::uint32_t batch = 2; batch <= 12; ++batch) land(*target, at_batch(batch), rows(30'000 + batch, 1, "more"));
    BOOST_TEST(number(read_back(table), "rows") == std::to_string(vector_table_rows + 12));
    const delta::snapshot state = read_log(table);
    std::int64_t gone = 0;
    for (const auto& [path, file] : state.files) gone += file.vector.rows;
    BOOST_TEST(gone == 4003);
    BOOST_TEST(
        land(*l.to->open(flow_of("vectors", land_mode::scd1)), at_batch(13), rows(12'000, 1, "again")).rows_landed ==
        1);
}

BOOST_AUTO_TEST_CASE(every_mode_and_a_compaction_work_on_vectors) {
    {
        spark_lake l;  // keyed append
        flow_spec flow = flow_of("vectors", land_mode::append);
        flow.rereads = true;
        const land_result result = land(*l.to->open(flow), at_batch(1), rows(0, 10'000, "x"));
        BOOST_TEST(result.rows_landed == 5001);
        BOOST_TEST(number(read_back(l.table_of("vectors")), "distinct_keys") ==
                   std::to_string(vector_table_rows + 5001));
    }
    {
        spark_lake l;  // snapshot: what it takes out counts the rows that are there
        const land_result result =
            land(*l.to->open(flow_of("vectors", land_mode::snapshot)), at_batch(1), rows(1, 100, "x"));
        BOOST_TEST(result.rows_landed == 100);
        BOOST_TEST(result.rows_deleted == vector_table_rows - 49);
        BOOST_TEST(number(read_back(l.table_of("vectors")), "rows") == "100");
    }
    {
        spark_lake l;  // plain append, and a compaction that makes the vectors go
        l.options.optimize_every = 1;
        l.to = make_destination(l.options, {}, nullptr);
        const land_result result =
            land(*l.to->open(flow_of("vectors", land_mode::append)), at_batch(1), rows(50'000, 5, "x"));
        BOOST_TEST(result.files_compacted == 4);
        const delta::snapshot state = read_log(l.table_of("vectors"));
        BOOST_TEST(state.files.size() == 1u);
        BOOST_TEST(!state.files.begin()->second.vector);
        BOOST_TEST(number(read_back(l.table_of("vectors")), "rows") == std::to_string(vector_table_rows + 5));
    }
}

BOOST_AUTO_TEST_CASE(a_vector_that_is_damaged_stops_the_merge) {
    spark_lake l;
    const std::string table = l.table_of("vectors");
    std::string vector;
    for (const auto& [path, file] : read_log(table).files) {
        if (file.vector.rows == 5001) vector = table + "/" + delta::file_of(file.vector);
    }
    std::string bytes = file_text(vector);
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(vector, std::ios::binary | std::ios::trunc) << bytes;
    const auto before = commits(table);
    auto target = l.to->open(flow_of("vectors", land_mode::scd1));
    BOOST_CHECK_EXCEPTION(land(*target, at_batch(1), rows(5, 1, "edited")), failure, [](const failure& f) {
        return f.get().code == "destination.corrupt" && f.get().message.find("checksum") != std::string::npos;
    });
    BOOST_TEST((commits(table) == before));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_foreign_checkpoints)

BOOST_AUTO_TEST_CASE(checkpoints_of_several_files_are_read) {
    for (const auto& [name, count] : {std::pair("v2", 110), std::pair("v2_json", 110), std::pair("multipart", 130)}) {
        BOOST_TEST_CONTEXT(name) {
            spark_lake l;
            const std::string table = l.table_of(name);
            // Only checkpoints know of the first commits.
            BOOST_TEST(!fs::exists(log_file(table, 0)));
            auto target = l.to->open(flow_of(name, land_mode::scd1));
            const land_result result = land(*target, at_batch(1), rows(45, 1, "edited"), rows(1000, 5, "new"));
            BOOST_TEST(result.files_rewritten == 1);
            BOOST_TEST(number(read_back(table), "distinct_keys") == std::to_string(count + 5));
            // The next checkpoints are of the kind that the table asks for, and alone enough.
            for (std::uint32_t batch = 2; batch <= 14; ++batch)
                land(*target, at_batch(batch), rows(2000 + batch, 1, "more"));
            const bool v2 = std::string(name) != "multipart";
            std::vector<std::string> checkpoints, sidecars;
            std::int64_t newest = 0;
            for (const auto& entry : fs::directory_iterator(table + "/_delta_log")) {
                const std::string file = entry.path().filename().string();
                if (file.find(".checkpoint.") == std::string::npos) continue;
                newest = std::max(newest, delta::leading_version(file).value());
                checkpoints.push_back(file);
            }
            BOOST_TEST(newest >= 24);
            BOOST_TEST(std::any_of(checkpoints.begin(), checkpoints.end(), [&](const std::string& file) {
                return delta::leading_version(file) == newest &&
                       (file.ends_with(std::to_string(newest) + ".checkpoint.parquet") != v2);
            }));
            for (std::int64_t version = 0; version < newest; ++version) fs::remove(log_file(table, version));
            for (const std::string& file : checkpoints) {
                if (delta::leading_version(file) != newest) fs::remove(table + "/_delta_log/" + file);
            }
            BOOST_TEST((l.to->open(flow_of(name, land_mode::scd1))->committed() == at_batch(14)));
            BOOST_TEST(number(read_back(table), "distinct_keys") == std::to_string(count + 18));
            // A broken hint is ignored and replaced; a missing part of a checkpoint makes it none.
            std::ofstream(table + "/_delta_log/_last_checkpoint", std::ios::trunc) << "{\"version\":";
            land(*l.to->open(flow_of(name, land_mode::scd1)), at_batch(15), rows(3000, 1, "more"));
            BOOST_TEST(delta::string_members(file_text(table + "/_delta_log/_last_checkpoint")).count("version") == 1u);
            BOOST_TEST(number(read_back(table), "distinct_keys") == std::to_string(count + 19));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_lacks_a_part_is_none) {
    spark_lake l;
    fs::remove_all(l.table_of("v2") + "/_delta_log/_sidecars");
    for (const auto& entry : fs::directory_iterator(l.table_of("multipart") + "/_delta_log")) {
        if (entry.path().string().find(".checkpoint.0000000001.") != std::string::npos) fs::remove(entry.path());
    }
    // Without their first commits nothing says what the tables hold; nothing is guessed.
    for (const char* name : {"v2", "multipart"})
        BOOST_TEST(code_of([&] { l.to->open(flow_of(name, land_mode::append)); }) == "destination.corrupt", name);
}

BOOST_AUTO_TEST_CASE(sidecars_that_nothing_names_go_with_the_expired_log) {
    spark_lake l;
    const std::string table = l.table_of("v2"), sidecars = table + "/_delta_log/_sidecars";
    const auto age = [](const std::string& file) {
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(24 * 40));
    };
    std::set<std::string> first;
    for (const auto& entry : fs::directory_iterator(sidecars)) first.insert(entry.path().string());
    BOOST_REQUIRE(!first.empty());
    auto target = l.to->open(flow_of("v2", land_mode::scd1));
    for (std::uint32_t batch = 1; batch <= 14; ++batch) land(*target, at_batch(batch), rows(2000 + batch, 1, "more"));
    std::ofstream(sidecars + "/being-written.parquet") << "x";
    for (const std::string& file : first) age(file);
    for (std::int64_t version = 12; version <= 25; ++version) age(log_file(table, version));
    std::int64_t removed = 0;
    for (std::uint32_t batch = 15; batch <= 27; ++batch)
        removed += land(*target, at_batch(batch), rows(2000 + batch, 1, "more")).log_files_removed;
    BOOST_TEST(removed > 12);
    for (const std::string& file : first) BOOST_TEST(!fs::exists(file));
    BOOST_TEST(fs::exists(sidecars + "/being-written.parquet"));
    BOOST_TEST(number(read_back(table), "distinct_keys") == "137");
}

// Statistics of ten thousand files are 4 MB of text; what is read and written of them stays near that.
BOOST_AUTO_TEST_CASE(a_log_of_ten_thousand_files) {
    lake l;
    {
        auto target = l.open(land_mode::scd1);
        land(*target, at_batch(1), issues(1, 10));
    }
    constexpr int commits_made = 2000, files_each = 5;
    std::int64_t id = 1'000'000;
    for (int commit = 1; commit <= commits_made; ++commit) {
        std::string text;
        for (int file = 0; file < files_each; ++file, id += 100) {
            delta::add_file add;
            add.path = "part-" + std::to_string(id) + ".parquet";
            add.size = 1000;
            const auto bound = [&](std::int64_t at) {
                return "{\"id\":" + std::to_string(at) +
                       ",\"updated_at\":\"2026-01-01T00:00:00.000Z\",\"title\":\"title of some length " +
                       std::to_string(at) + "\"}";
            };
            add.stats = "{\"numRecords\":100,\"minValues\":" + bound(id) + ",\"maxValues\":" + bound(id + 99) +
                        ",\"nullCount\":{\"id\":0,\"updated_at\":0,\"title\":0}}";
            text += delta::to_json(add);
        }
        std::ofstream(log_file(l.table(), commit)) << text;
    }
    const auto began = std::chrono::steady_clock::now();
    auto target = l.open(land_mode::scd1);
    BOOST_TEST((target->committed() == at_batch(1)));
    // The commit reads the log, finds one file of 10,001, and writes a checkpoint.
    const land_result result = land(*target, at_batch(2), issues({{5, 9'000'000, "edited"}}));
    BOOST_TEST(result.files_rewritten == 1);
    BOOST_TEST(fs::exists(log_file(l.table(), commits_made + 1, "checkpoint.parquet")));
    std::int64_t before = 0, after = 0;
    BOOST_TEST(read_log(l.table(), &before).files.size() == 10'001u);
    BOOST_TEST(read_log(l.table(), &after).files.size() == 10'001u);
    BOOST_TEST(after - before < 32 << 10);  // KiB: a second reading needs no more
    for (int version = 0; version <= commits_made; ++version) fs::remove(log_file(l.table(), version));
    std::ofstream(l.table() + "/_delta_log/_last_checkpoint", std::ios::trunc) << "not JSON";
    BOOST_TEST((l.open(land_mode::scd1)->committed() == at_batch(2)));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    BOOST_TEST_MESSAGE("10,000 files: " << took.count() << " s, " << after << " KiB resident");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_foreign_features)

BOOST_AUTO_TEST_CASE(features_of_sparks_tables_are_honoured_or_refused_by_name) {
    spark_lake l;
    struct sample {
        const char* table;
        land_mode mode;
        const char* named;  // empty: it lands
    };
    const sample samples[] = {
        {"append_only", land_mode::append, ""},
        {"append_only", land_mode::scd1, "delta.appendOnly"},
        {"append_only", land_mode::snapshot, "delta.appendOnly"},
        {"change_feed", land_mode::append, ""},
        {"change_feed", land_mode::scd1, "a change data feed"},
        {"check", land_mode::append, "a CHECK constraint (positive)"},
        {"generated", land_mode::append, "a generated column (title)"},
        {"identity", land_mode::append, "an identity column (id)"},
        {"default_value", land_mode::append, "allowColumnDefaults"},
        {"row_tracking", land_mode::append, "rowTracking"},
        {"commit_timestamps", land_mode::append, "inCommitTimestamp"},
        {"clustered", land_mode::append, "clustering"},
        {"mapped_by_id", land_mode::append, "column mapping by id"},
        {"partitioned", land_mode::append, "partition columns (n"},
    };
    for (const sample& s : samples) {
        BOOST_TEST_CONTEXT(s.table << " in " << to_string(s.mode)) {
            const std::string table = l.table_of(s.table);
            if (!*s.named) {
                land(*l.to->open(flow_of(s.table, s.mode)), at_batch(1), rows(1, 10, "x"));
                BOOST_TEST(number(read_back(table), "rows") == "10");
                continue;
            }
            const auto before = commits(table);
            const auto files = data_files(table);
            BOOST_CHECK_EXCEPTION(l.to->open(flow_of(s.table, s.mode)), failure, [&](const failure& f) {
                BOOST_TEST(f.get().message.find(s.named) != std::string::npos, f.get().message);
                return f.get().code == "destination.unsupported_table" &&
                       f.get().message.find(s.table) != std::string::npos;
            });
            BOOST_TEST((commits(table) == before));
            BOOST_TEST((data_files(table) == files));
        }
    }
}

BOOST_AUTO_TEST_CASE(constraints_of_delta_rs_are_refused_also_when_they_come_late) {
    lake l;
    land(*l.open(land_mode::scd1), at_batch(1), issues(1, 100));
    auto target = l.open(land_mode::scd1);
    auto landing = target->begin();
    landing->add(0, issues({{5, 9'000'000, "edited"}}));
    BOOST_REQUIRE(run_python("from deltalake import DeltaTable; DeltaTable('" + l.table() +
                             "').alter.add_constraint({'small': 'id < 1000'})") == 0);
    const auto refused = [](const failure& f) {
        return f.get().code == "destination.unsupported_table" &&
               f.get().message.find("a CHECK constraint (small)") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(landing->commit(at_batch(2)), failure, refused);
    landing.reset();
    BOOST_CHECK_EXCEPTION(l.open(land_mode::append), failure, refused);
    check_rows(l.table(), expected(1, 100));
    BOOST_TEST(commits(l.table()).size() == 2u);
    BOOST_TEST(data_files(l.table()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_append_only_table_of_delta_rs_takes_rows_and_compactions) {
    lake l;
    land(*l.open(land_mode::append), at_batch(1), issues(1, 100));
    BOOST_REQUIRE(run_python("from deltalake import DeltaTable; DeltaTable('" + l.table() +
                             "').alter.set_table_properties({'delta.appendOnly': 'true'})") == 0);
    l.options.optimize_every = 2;
    l.to = make_destination(l.options, {}, nullptr);
    const land_result result = land(*l.open(land_mode::append), at_batch(2), issues(101, 100));
    BOOST_TEST(result.files_compacted == 2);
    BOOST_TEST(number(read_back(l.table()), "rows") == "200");
    flow_spec merge = issue_flow(land_mode::scd2);
    merge.flow = "merge";
    BOOST_TEST(code_of([&] { l.to->open(merge); }) == "destination.unsupported_table");
}

BOOST_AUTO_TEST_SUITE_END()
