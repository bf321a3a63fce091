// host/state/record_test.cpp: the bytes of a state file, and who wins when state and destination differ.
#include "host/state/record.h"

#include <boost/test/unit_test.hpp>

#include "host/base/text.h"

using namespace lakeflow::host;

namespace {

flow_record sample() {
    flow_record r;
    r.committed = {3, 7, R"({"c":"q\"\\x"})", "{}"};
    r.end = R"({"c":"z"})";
    r.deletes_end = R"({"d":1})";
    r.planned =
        planned_batch{3, 8, R"({"c":"z"})", R"({"c":"zz"})", R"({"d":1})", 1'772'359'200'123'456, R"({"c":"zzz"})"};
    r.run_id = "run-1";
    r.written_us = 1'772'359'201'000'000;
    return r;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(record)

BOOST_AUTO_TEST_CASE(a_record_comes_back_as_it_went) {
    const auto bytes = encode_record("job", "flow", 12, sample());
    BOOST_TEST(bytes.starts_with("lakeflow-state 1 12 "));
    const auto back = decode_record("job", "flow", bytes);
    BOOST_REQUIRE((back.kind == file_kind::good));
    BOOST_TEST(back.generation == 12u);
    BOOST_TEST((back.record == sample()));
    auto bare = sample();
    bare.planned.reset();
    BOOST_TEST((decode_record("job", "flow", encode_record("job", "flow", 1, bare)).record == bare));
    bare.planned = sample().planned;
    bare.planned->bound.reset();
    BOOST_TEST((decode_record("job", "flow", encode_record("job", "flow", 1, bare)).record == bare));
}

BOOST_AUTO_TEST_CASE(every_cut_is_torn_or_empty_and_never_good) {
    const auto bytes = encode_record("job", "flow", 12, sample());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto kind = decode_record("job", "flow", bytes.substr(0, size)).kind;
        BOOST_REQUIRE_MESSAGE((kind == (size == 0 ? file_kind::empty : file_kind::torn)), "cut at " << size);
    }
    BOOST_TEST((decode_record("job", "flow", bytes + "x").kind == file_kind::torn));
}

BOOST_AUTO_TEST_CASE(every_changed_byte_is_found) {
    const auto bytes = encode_record("job", "flow", 12, sample());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto changed = bytes;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        BOOST_REQUIRE_MESSAGE((decode_record("job", "flow", changed).kind != file_kind::good), "changed at " << i);
    }
}

BOOST_AUTO_TEST_CASE(other_files_are_foreign) {
    BOOST_TEST((decode_record("job", "flow", "{\"a\":1}").kind == file_kind::foreign));
    BOOST_TEST((decode_record("job", "flow", std::string(4'096, '\0')).kind == file_kind::foreign));
    const auto other_flow = decode_record("job", "flow", encode_record("job", "other", 1, sample()));
    BOOST_TEST((other_flow.kind == file_kind::foreign));
    BOOST_TEST((other_flow.why.find("flow 'other' of job 'job'") != std::string::npos));
    BOOST_TEST(
        (decode_record("job", "flow", encode_record("another", "flow", 1, sample())).kind == file_kind::foreign));
    const std::string body = "{\"job\":\"job\"}\n";
    const auto partial =
        "lakeflow-state 1 1 " + std::to_string(body.size()) + " " + sha256_hex("1 " + body) + "\n" + body;
    BOOST_TEST((decode_record("job", "flow", partial).kind == file_kind::foreign));
}

BOOST_AUTO_TEST_CASE(a_later_version_is_recognised_whatever_its_form) {
    const auto future = decode_record("job", "flow", "lakeflow-state 2 something else entirely\n\x01\x02");
    BOOST_TEST((future.kind == file_kind::future));
    BOOST_TEST((future.why.find("version 2") != std::string::npos));
    BOOST_TEST((decode_record("job", "flow", "lakeflow-state 12 1 2 x\n").kind == file_kind::future));
}

BOOST_AUTO_TEST_CASE(the_destination_wins) {
    flow_record state;
    state.committed = {1, 5, R"({"c":5})", "{}"};
    state.end = R"({"c":6})";
    const auto ahead = weigh(position{1, 7, R"({"c":9})", "{}"}, state, true);
    BOOST_TEST(ahead.end == R"({"c":9})");
    BOOST_TEST(ahead.committed.batch == 7u);
    BOOST_TEST(!ahead.note.empty());
    const auto behind = weigh(position{1, 2, R"({"c":1})", "{}"}, state, true);
    BOOST_TEST(behind.end == R"({"c":1})");
    BOOST_TEST(!behind.note.empty());
    const auto gone = weigh(std::nullopt, state, true);
    BOOST_TEST(gone.end == "{}");
    BOOST_TEST(gone.committed.batch == 0u);
    BOOST_TEST((gone.note.find("from the beginning") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(the_state_adds_progress_without_rows_where_both_agree) {
    flow_record state;
    state.committed = {1, 5, R"({"c":5})", R"({"d":1})"};
    state.end = R"({"c":6})";
    state.deletes_end = R"({"d":2})";
    const auto both = weigh(position{2, 5, R"({"c":5})", R"({"d":1})"}, state, true);
    BOOST_TEST(both.end == R"({"c":6})");
    BOOST_TEST(both.deletes_end == R"({"d":2})");
    BOOST_TEST(both.note.empty());
    BOOST_TEST(both.committed.epoch == 2u);
    flow_record young;
    young.end = R"({"c":6})";
    BOOST_TEST(weigh(std::nullopt, young, true).end == R"({"c":6})");
}

BOOST_AUTO_TEST_CASE(a_planned_batch_is_replayed_only_if_it_follows_the_destination) {
    flow_record state;
    state.committed = {1, 5, R"({"c":5})", "{}"};
    state.end = R"({"c":5})";
    state.planned = planned_batch{1, 6, R"({"c":5})", R"({"c":8})", "{}", 1, std::nullopt};
    BOOST_TEST(weigh(position{1, 5, R"({"c":5})", "{}"}, state, true).replay.has_value());
    // Committed, and the process died before the mark.
    const auto done = weigh(position{1, 6, R"({"c":8})", "{}"}, state, true);
    BOOST_TEST(!done.replay.has_value());
    BOOST_TEST(done.end == R"({"c":8})");
    BOOST_TEST((done.note.find("batch 6") != std::string::npos));
    BOOST_TEST(!weigh(position{1, 4, R"({"c":4})", "{}"}, state, true).replay.has_value());
    BOOST_TEST(!weigh(std::nullopt, state, true).replay.has_value());
    flow_record first;
    first.planned = planned_batch{1, 1, "{}", R"({"c":8})", "{}", 1, std::nullopt};
    BOOST_TEST(weigh(std::nullopt, first, true).replay.has_value());
}

BOOST_AUTO_TEST_CASE(without_a_state_the_destination_serves) {
    const auto out = weigh(position{4, 9, R"({"c":9})", R"({"d":3})"}, std::nullopt, true);
    BOOST_TEST(out.end == R"({"c":9})");
    BOOST_TEST(out.deletes_end == R"({"d":3})");
    BOOST_TEST(!out.replay.has_value());
    BOOST_TEST(weigh(std::nullopt, std::nullopt, true).end == "{}");
}

BOOST_AUTO_TEST_CASE(a_destination_without_positions_leaves_them_to_the_state) {
    flow_record state;
    state.committed = {1, 5, R"({"c":5})", "{}"};
    state.end = R"({"c":5})";
    BOOST_TEST(weigh(std::nullopt, state, false).end == R"({"c":5})");
    BOOST_TEST(weigh(std::nullopt, std::nullopt, false).end == "{}");
}

BOOST_AUTO_TEST_SUITE_END()
