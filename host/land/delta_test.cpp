// host/land/delta_test.cpp: batches into Delta tables in each mode, read back by delta-rs and by DuckDB's delta extension.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <random>

#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

BOOST_AUTO_TEST_SUITE(delta_append)

BOOST_AUTO_TEST_CASE(lands_and_is_read_by_others) {
    lake l;
    auto target = l.open(land_mode::append);
    BOOST_TEST(!target->committed().has_value());
    BOOST_TEST(target->take_over() == 1u);
    const land_result first = land(*target, at_batch(1), issues(1, 3000), issues(3001, 2000));
    BOOST_TEST(first.rows_landed == 5000);
    BOOST_TEST(first.files_written == 1);
    BOOST_TEST(first.version == "0");
    const land_result second = land(*target, at_batch(2), issues(5001, 10));
    BOOST_TEST(second.rows_landed == 10);
    check_rows(l.table(), expected(1, 5010));
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == "5010");
    BOOST_TEST(read["distinct_keys"] == "5010");
    BOOST_TEST(read["version"] == "1");
    BOOST_TEST((target->committed() == at_batch(2)));
    // Another process sees the same, and none of it has needed DuckDB.
    destination_options other = l.options;
    other.duckdb_library = "/nonexistent";
    auto again = make_destination(other, {}, nullptr)->open(issue_flow(land_mode::append));
    BOOST_TEST((again->committed() == at_batch(2)));
    BOOST_TEST(again->take_over() == 2u);
}

BOOST_AUTO_TEST_CASE(a_batch_without_rows_moves_the_position) {
    lake l;
    auto target = l.open(land_mode::append);
    BOOST_TEST(land(*target, at_batch(1)).committed);
    BOOST_TEST(land(*target, at_batch(2)).rows_landed == 0);
    BOOST_TEST(read_back(l.table())["rows"] == "0");
    BOOST_TEST((l.open(land_mode::append)->committed() == at_batch(2)));
    BOOST_TEST(data_files(l.table()).empty());
}

BOOST_AUTO_TEST_CASE(a_replay_changes_nothing_and_an_unknown_past_is_fenced) {  // case 47
    lake l;
    auto target = l.open(land_mode::append);
    for (std::uint32_t batch = 1; batch <= 5; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
    for (const std::uint32_t batch : {5u, 4u, 5u}) {
        const land_result again = land(*target, at_batch(batch), issues(batch * 10, 10));
        BOOST_TEST(!again.committed);
        BOOST_TEST(again.rows_landed == 0);
    }
    position other = at_batch(4);
    other.end = "{\"n\":\"elsewhere\"}";
    BOOST_TEST(code_of([&] { land(*target, other, issues(1, 1)); }) == "state.fenced");
    check_rows(l.table(), expected(10, 50));
    BOOST_TEST(commits(l.table()).size() == 5u);
    BOOST_TEST(data_files(l.table()).size() == 5u);
}

BOOST_AUTO_TEST_CASE(rows_that_come_again_are_dropped_by_key) {
    lake l;
    flow_spec flow = issue_flow(land_mode::append);
    flow.rereads = true;
    auto target = l.to->open(flow);
    // The first batch brings some rows twice, too.
    const land_result first = land(*target, at_batch(1), issues(1, 100), issues(91, 110));
    BOOST_TEST(first.rows_landed == 200);
    BOOST_TEST(first.rows_again == 10);
    const land_result second = land(*target, at_batch(2), issues(151, 100, "changed"));
    BOOST_TEST(second.rows_landed == 50);
    BOOST_TEST(second.rows_again == 50);
    const land_result third = land(*target, at_batch(3), issues(1, 250, "again"));
    BOOST_TEST(third.rows_landed == 0);
    BOOST_TEST(third.rows_again == 250);
    auto rows = expected(1, 200);
    rows.merge(expected(201, 50, "changed"));
    check_rows(l.table(), rows);
    BOOST_TEST(read_back(l.table())["rows"] == "250");
}

BOOST_AUTO_TEST_CASE(text_keys_that_come_again) {
    lake l;
    flow_spec flow = issue_flow(land_mode::append);
    flow.primary_keys = {"title", "id"};
    flow.rereads = true;
    auto target = l.to->open(flow);
    land(*target, at_batch(1), issues(1, 100));
    const land_result second = land(*target, at_batch(2), issues(51, 100), issues(1, 5, "other"));
    BOOST_TEST(second.rows_landed == 55);
    BOOST_TEST(second.rows_again == 50);
}

BOOST_AUTO_TEST_CASE(a_null_key_is_refused) {
    lake l;
    flow_spec flow = issue_flow(land_mode::append);
    flow.schema = schema_of("id BIGINT, title STRING");
    flow.cursor.clear();
    flow.rereads = true;
    auto target = l.to->open(flow);
    auto landing = target->begin();
    auto rows = make_batch(flow.schema, 2, [](struct_column& t, std::int64_t row) {
        row == 1 ? t.child(0).append_null() : at<i64>(t, 0).append(7);
        at<text_column>(t, 1).append("x");
    });
    BOOST_TEST(code_of([&] { landing->add(0, std::move(rows)); }) == "key.null");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_scd1)

BOOST_AUTO_TEST_CASE(seven_updates_touch_at_most_seven_of_many_files) {
    lake l(250);
    auto target = l.open(land_mode::scd1);
    const land_result first = land(*target, at_batch(1), issues(1, 2000), issues(2001, 3000));
    BOOST_TEST(first.rows_landed == 5000);
    BOOST_TEST(first.files_written == 20);
    std::vector<issue> rows;
    for (const std::int64_t id : {3, 700, 1400, 2100, 2800, 3500, 4999}) rows.push_back({id, 9'000'000, "edited"});
    for (const std::int64_t id : {5001, 5002, 5003}) rows.push_back({id, 9'000'000, "new"});
    const land_result second = land(*target, at_batch(2), issues(rows));
    BOOST_TEST(second.rows_landed == 10);
    BOOST_TEST(second.files_rewritten == 7);
    BOOST_TEST(second.files_written == 1);
    auto all = expected(1, 5000);
    for (const issue& i : rows) all[i.id] = i.title;
    check_rows(l.table(), all);
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == "5003");
    BOOST_TEST(read["distinct_keys"] == "5003");
    // Files of the first load lie apart: nine of ten files are not even opened for a key.
    BOOST_TEST(read_back(l.table(), "--where 'id = 2100'")["rows"] == "1");
}

BOOST_AUTO_TEST_CASE(the_last_of_a_key_wins_by_sequence_then_arrival) {  // case 50
    lake l;
    auto target = l.open(land_mode::scd1);
    const land_result first =
        land(*target, at_batch(1), issues({{1, 3, "three"}, {1, 1, "one"}, {2, 5, "a"}, {2, 5, "b"}, {3, 1, "x"}}));
    BOOST_TEST(first.rows_landed == 3);
    check_rows(l.table(), {{1, "three"}, {2, "b"}, {3, "x"}});
    // Older than the table: dropped. Equal sequence: the later arrival wins. Just so: again.
    const land_result second =
        land(*target, at_batch(2), issues({{1, 2, "two"}, {2, 5, "c"}, {3, 1, "x"}, {4, 1, "new"}}));
    BOOST_TEST(second.rows_landed == 2);
    BOOST_TEST(second.rows_again == 1);
    check_rows(l.table(), {{1, "three"}, {2, "c"}, {3, "x"}, {4, "new"}});
}

BOOST_AUTO_TEST_CASE(identical_rows_rewrite_nothing) {
    lake l(100);
    auto target = l.open(land_mode::scd1);
    land(*target, at_batch(1), issues(1, 1000));
    const auto files = data_files(l.table());
    const land_result second = land(*target, at_batch(2), issues(101, 500));
    BOOST_TEST(second.rows_again == 500);
    BOOST_TEST(second.rows_landed == 0);
    BOOST_TEST(second.files_rewritten == 0);
    BOOST_TEST((data_files(l.table()) == files));
    BOOST_TEST((l.open(land_mode::scd1)->committed() == at_batch(2)));
}

// Eight files are written at once; more go by way of files that hold eight each.
BOOST_DATA_TEST_CASE(partitions_that_overlap_are_dealt_out_by_key_and_deduplicated,
                     boost::unit_test::data::make({500, 90}), file_rows) {
    lake l(file_rows);
    const std::int64_t files = (4000 + file_rows - 1) / file_rows;
    auto target = l.open(land_mode::scd1);
    auto landing = target->begin();
    // Two partitions over the same range, odd and even ids, and some that both have.
    std::vector<issue> odd, even;
    for (std::int64_t id = 1; id <= 4000; ++id) (id % 2 ? odd : even).push_back({id, 100, "t" + std::to_string(id)});
    for (std::int64_t id = 100; id < 200; ++id) even.push_back({id, 200, "later"});
    for (std::size_t i = 0; i < 2000; i += 500) {
        landing->add(0, issues({odd.begin() + static_cast<std::ptrdiff_t>(i),
                                odd.begin() + static_cast<std::ptrdiff_t>(i + 500)}));
        landing->add(1, issues({even.begin() + static_cast<std::ptrdiff_t>(i),
                                even.begin() + static_cast<std::ptrdiff_t>(i + 500)}));
    }
    landing->add(1, issues({even.begin() + 2000, even.end()}));
    landing->partition_done(0);
    landing->partition_done(1);
    const land_result result = landing->commit(at_batch(1));
    BOOST_TEST(result.rows_landed == 4000);
    BOOST_TEST(result.files_written == files);
    std::map<std::int64_t, std::string> all;
    for (std::int64_t id = 1; id <= 4000; ++id) all[id] = id >= 100 && id < 200 ? "later" : "t" + std::to_string(id);
    check_rows(l.table(), all);
    BOOST_TEST(data_files(l.table()).size() == static_cast<std::size_t>(files));
    // The files lie apart: one update touches one file.
    const land_result update = land(*target, at_batch(2), issues({{2001, 300, "edited"}}));
    BOOST_TEST(update.files_rewritten == 1);
    BOOST_TEST(read_back(l.table())["distinct_keys"] == "4000");
}

BOOST_AUTO_TEST_CASE(partitions_apart_make_files_apart_in_any_order) {
    lake l(300);
    auto target = l.open(land_mode::scd1);
    auto landing = target->begin();
    // Pages newest first, partitions interleaved, as a listing by creation date gives them.
    for (std::int64_t page = 0; page < 10; ++page) {
        for (std::uint32_t partition = 0; partition < 4; ++partition) {
            std::vector<issue> rows;
            for (std::int64_t i = 0; i < 100; ++i) {
                const std::int64_t id = (4 - static_cast<std::int64_t>(partition)) * 1000 - page * 100 - i;
                rows.push_back({id, 100, "t" + std::to_string(id)});
            }
            landing->add(partition, issues(rows));
        }
    }
    const land_result result = landing->commit(at_batch(1));
    BOOST_TEST(result.rows_landed == 4000);
    BOOST_TEST(result.files_written == 16);  // 3 full ones and a rest, in each of 4 partitions
    BOOST_TEST(land(*target, at_batch(2), issues({{1500, 300, "edited"}, {3999, 300, "edited"}})).files_rewritten == 2);
    BOOST_TEST(read_back(l.table())["distinct_keys"] == "4000");
}

BOOST_AUTO_TEST_CASE(files_stay_apart_when_memory_runs_out) {
    lake l;
    l.options.memory_bytes = 27 << 20;  // 8 MiB of rows that wait
    l.to = make_destination(l.options, {}, nullptr);
    auto target = l.open(land_mode::scd1);
    auto landing = target->begin();
    for (std::int64_t page = 0; page < 20; ++page) {
        for (std::uint32_t partition = 0; partition < 6; ++partition) {
            std::vector<issue> rows;
            for (std::int64_t i = 0; i < 1000; ++i) {
                const std::int64_t id = static_cast<std::int64_t>(partition) * 100'000 + page * 1000 + i;
                rows.push_back({id, 100, std::string(40, 'x')});
            }
            landing->add(partition, issues(rows));
        }
    }
    const land_result result = landing->commit(at_batch(1));
    BOOST_TEST(result.rows_landed == 120'000);
    BOOST_TEST(result.files_written >= 3);
    // One pass: the files that lie there are those that were written as the rows came.
    BOOST_TEST(
        land(*target, at_batch(2), issues({{100'500, 300, "edited"}, {510'000, 300, "edited"}})).files_rewritten == 2);
    BOOST_TEST(read_table(l.table()).rows.size() == 120'000u);
}

BOOST_AUTO_TEST_CASE(deletes_take_rows_out) {
    lake l(100);
    auto target = l.open(land_mode::scd1);
    land(*target, at_batch(1), issues(1, 300, "first", 1000));
    const auto tombstones = schema_of("id BIGINT NOT NULL, updated_at TIMESTAMP");
    const auto deletes = [&](const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
        return make_batch(tombstones, static_cast<std::int64_t>(rows.size()), [&](struct_column& t, std::int64_t row) {
            at<i64>(t, 0).append(rows[static_cast<std::size_t>(row)].first);
            at<i64>(t, 1).append(rows[static_cast<std::size_t>(row)].second);
        });
    };
    auto landing = target->begin();
    // 5 goes; 6 comes back after its tombstone; 7's tombstone is older than its row; 999 was never there.
    landing->add(0, issues({{6, 9000, "back"}, {400, 9000, "new and gone"}}));
    landing->add_deletes(deletes({{5, 5000}, {6, 8000}, {7, 1}, {999, 5000}}));
    landing->add_deletes(deletes({{400, 9000}}));
    const land_result result = landing->commit(at_batch(2));
    BOOST_TEST(result.rows_deleted == 1);
    BOOST_TEST(result.rows_landed == 1);
    auto all = expected(1, 300);
    all.erase(5);
    all[6] = "back";
    check_rows(l.table(), all);
    BOOST_TEST(read_back(l.table())["rows"] == "299");
}

BOOST_AUTO_TEST_CASE(random_batches_agree_with_a_map) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            lake l(64);
            auto target = l.open(land_mode::scd1);
            std::map<std::int64_t, issue> model;
            for (std::uint32_t batch = 1; batch <= 8; ++batch) {
                auto landing = target->begin();
                std::vector<std::vector<issue>> parts(1 + random() % 3);
                for (std::uint64_t n = random() % 200; n > 0; --n) {
                    const std::int64_t id = static_cast<std::int64_t>(random() % 300);
                    parts[random() % parts.size()].push_back(
                        {id, static_cast<std::int64_t>(random() % 50), "v" + std::to_string(random() % 3)});
                }
                for (std::uint32_t p = 0; p < parts.size(); ++p) {
                    if (parts[p].empty()) continue;
                    const auto middle = parts[p].begin() + static_cast<std::ptrdiff_t>(random() % parts[p].size());
                    landing->add(p, issues({parts[p].begin(), middle}));
                    landing->add(p, issues({middle, parts[p].end()}));
                    landing->partition_done(p);
                }
                std::map<std::int64_t, issue> newest;
                for (const auto& part : parts) {
                    for (const issue& row : part) {
                        const auto [there, fresh] = newest.emplace(row.id, row);
                        if (!fresh && row.updated >= there->second.updated) there->second = row;
                    }
                }
                for (const auto& [id, row] : newest) {
                    const auto [there, fresh] = model.emplace(id, row);
                    if (!fresh && row.updated >= there->second.updated) there->second = row;
                }
                landing->commit(at_batch(batch));
                std::map<std::int64_t, std::string> rows;
                for (const auto& [id, row] : model) rows[id] = row.title;
                check_rows(l.table(), rows);
            }
            // Nothing lies about that the log does not know.
            std::set<std::string> known;
            for (const std::string& name : commits(l.table())) {
                for (const auto& a : delta::parse_commit(file_text(l.table() + "/_delta_log/" + name), name).adds)
                    known.insert(a.path);
            }
            for (const std::string& file : data_files(l.table())) BOOST_TEST(known.contains(file));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_snapshot)

BOOST_AUTO_TEST_CASE(replaces_all_and_knows_equal_content) {
    lake l(100);
    auto target = l.open(land_mode::snapshot);
    BOOST_TEST(land(*target, at_batch(1), issues(1, 350)).rows_landed == 350);
    const auto files = data_files(l.table());
    // The same rows in another order and other files: no commit, and the validator is kept all the same.
    const land_result same = land(*target, at_batch(2), issues(201, 150), issues(1, 200));
    BOOST_TEST(!same.committed);
    BOOST_TEST(same.rows_again == 350);
    BOOST_TEST(commits(l.table()).size() == 1u);
    BOOST_TEST((data_files(l.table()) == files));
    auto other = l.open(land_mode::snapshot);
    BOOST_REQUIRE(other->committed());
    BOOST_TEST(other->committed()->end == at_batch(2).end);
    BOOST_TEST(other->committed()->batch == 1u);
    const land_result changed = land(*target, at_batch(3), issues(101, 250), issues(1, 99));
    BOOST_TEST(changed.committed);
    BOOST_TEST(changed.rows_landed == 349);
    BOOST_TEST(changed.rows_deleted == 1);
    auto rows = expected(1, 350);
    rows.erase(100);
    check_rows(l.table(), rows);
    BOOST_TEST(read_back(l.table())["rows"] == "349");
    BOOST_TEST(l.open(land_mode::snapshot)->committed()->end == at_batch(3).end);
}

BOOST_AUTO_TEST_CASE(one_value_or_one_more_copy_is_a_difference) {
    lake l;
    flow_spec flow = issue_flow(land_mode::snapshot);
    flow.primary_keys.clear();
    auto target = l.to->open(flow);
    land(*target, at_batch(1), issues(1, 50), issues(1, 50));
    BOOST_TEST(!land(*target, at_batch(2), issues(1, 50), issues(1, 50)).committed);
    // As many rows, one of them three times and another once.
    BOOST_TEST(land(*target, at_batch(3), issues(1, 50), issues(1, 49), issues(1, 1)).committed);
    BOOST_TEST(land(*target, at_batch(4), issues(1, 49), issues(1, 50), issues({{1, 1'000'001, "other"}})).committed);
}

BOOST_AUTO_TEST_CASE(an_empty_snapshot_needs_leave) {
    lake l;
    flow_spec flow = issue_flow(land_mode::snapshot);
    auto target = l.to->open(flow);
    BOOST_TEST(land(*target, at_batch(1)).committed);
    land(*target, at_batch(2), issues(1, 50));
    BOOST_TEST(code_of([&] { land(*target, at_batch(3)); }) == "destination.would_empty");
    check_rows(l.table(), expected(1, 50));
    flow.allow_empty = true;
    auto allowed = l.to->open(flow);
    BOOST_TEST(land(*allowed, at_batch(3)).rows_deleted == 50);
    BOOST_TEST(read_back(l.table())["rows"] == "0");
}

BOOST_AUTO_TEST_CASE(a_row_that_pages_brought_twice_lands_once) {
    lake l;
    auto target = l.open(land_mode::snapshot);
    land(*target, at_batch(1), issues(1, 100), issues(95, 100));
    check_rows(l.table(), expected(1, 194));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_position)

BOOST_AUTO_TEST_CASE(two_runs_from_one_position_cannot_both_commit) {
    lake l;
    auto first = l.open(land_mode::append);
    land(*first, at_batch(1, first->take_over()), issues(1, 10));
    auto slept = l.open(land_mode::append);
    const std::uint32_t old_epoch = slept->take_over();
    auto sleeping = slept->begin();
    sleeping->add(0, issues(11, 10));
    auto newer = l.open(land_mode::append);
    const std::uint32_t new_epoch = newer->take_over();
    land(*newer, at_batch(2, new_epoch), issues(11, 10));
    BOOST_TEST(code_of([&] { sleeping->commit(at_batch(2, old_epoch)); }) == "state.fenced");
    sleeping.reset();
    check_rows(l.table(), expected(1, 20));
    BOOST_TEST(data_files(l.table()).size() == 2u);
    // Asking again does not help the one that slept.
    BOOST_TEST(slept->committed()->end == at_batch(2).end);
    position later = at_batch(2, old_epoch);
    later.end = "{\"n\":\"other\"}";
    BOOST_TEST(code_of([&] { land(*slept, later, issues(21, 1)); }) == "state.fenced");
}

BOOST_AUTO_TEST_CASE(a_fence_holds_before_the_first_commit_of_the_new_run) {
    lake l;
    auto old = l.open(land_mode::append);
    land(*old, at_batch(1, 1), issues(1, 10));
    auto newer = l.open(land_mode::append);
    newer->fence(newer->take_over());
    BOOST_TEST(code_of([&] { land(*old, at_batch(2, 1), issues(11, 10)); }) == "state.fenced");
    BOOST_TEST((newer->committed() == position{2, 1, at_batch(1).end, "{}"}));
    land(*newer, at_batch(2, 2), issues(11, 10));
    check_rows(l.table(), expected(1, 20));
}

BOOST_AUTO_TEST_CASE(reset_forgets_the_position_and_keeps_the_rows) {  // contract 39
    lake l;
    auto target = l.open(land_mode::scd1);
    land(*target, at_batch(1, target->take_over()), issues(1, 10));
    target->reset();
    target->reset();
    auto again = l.open(land_mode::scd1);
    BOOST_TEST(!again->committed().has_value());
    check_rows(l.table(), expected(1, 10));
    const std::uint32_t epoch = again->take_over();
    BOOST_TEST(epoch > 1u);
    const land_result result = land(*again, at_batch(1, epoch), issues(1, 10));
    BOOST_TEST(result.rows_again == 10);
    BOOST_TEST((l.open(land_mode::scd1)->committed() == at_batch(1, epoch)));
}

BOOST_AUTO_TEST_CASE(a_missing_position_file_is_named) {
    lake l;
    auto target = l.open(land_mode::append);
    land(*target, at_batch(1), issues(1, 10));
    fs::remove_all(l.table() + "/_lakeflow");
    BOOST_CHECK_EXCEPTION(l.open(land_mode::append), failure, [](const failure& f) {
        return f.get().code == "state.corrupt" &&
               f.get().message.find("_lakeflow/issues/4294967297.json") != std::string::npos &&
               f.get().hint.find("reset issues") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(two_jobs_share_a_table_and_a_name_of_a_flow) {
    lake l;
    flow_spec a = issue_flow(land_mode::append), b = a;
    b.job = "other";
    auto first = l.to->open(a), second = l.to->open(b);
    land(*first, at_batch(1), issues(1, 10));
    position elsewhere = at_batch(1);
    elsewhere.end = "{\"n\":\"b\"}";
    land(*second, elsewhere, issues(11, 10));
    land(*first, at_batch(2), issues(21, 10));
    BOOST_TEST((l.to->open(a)->committed() == at_batch(2)));
    BOOST_TEST((l.to->open(b)->committed() == elsewhere));
    check_rows(l.table(), expected(1, 30));
}

BOOST_AUTO_TEST_SUITE_END()
