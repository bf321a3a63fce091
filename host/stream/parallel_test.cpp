// host/stream/parallel_test.cpp: how many reads are under way at once, and how many bytes lie between them and the landing.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "host/stream/arena.h"
#include "host/stream/budget.h"
#include "tests/support/engine_bench.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

constexpr auto cursor =
    R"({"ingestion_type":"append","cursor_field":"c","offset_cursor":{"member":"c","form":"integer"}})";

using clock_type = std::chrono::steady_clock;
double since(clock_type::time_point begin) { return std::chrono::duration<double>(clock_type::now() - begin).count(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(parallel)

// "parallelism = 8" means 8 requests in flight, however many cores there are.
BOOST_AUTO_TEST_CASE(eight_parts_are_read_at_once_on_two_cores) {
    for (const int width : {1, 3, 8, 16}) {
        engine_bench b;
        b.plugin.metadata = cursor;
        number_source source(b.plugin, 40);
        source.serve_partitions(40);
        const auto inner = b.plugin.read_partition;
        // Each part waits until `width` of them have come, or for long enough to show that they do not.
        b.plugin.read_partition = [&](const script_call& call) {
            auto read = inner(call);
            read.before = [&, width](std::size_t batch, script_instance& i) {
                if (batch != 0) return;
                for (int tries = 0; tries < 200 && b.plugin.most_reading < width; ++tries)
                    i.wait(std::chrono::milliseconds(5));
                i.wait(std::chrono::milliseconds(2));
            };
            return read;
        };
        auto plan = b.plan();
        plan.parallelism = width;
        const auto result = run_job(plan);
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(b.plugin.most_reading == width);
        BOOST_TEST(result.tables[0].rows_landed == 40);
    }
}

BOOST_AUTO_TEST_CASE(flows_share_the_arena) {
    engine_bench b;
    number_source source(b.plugin, 5);
    source.serve_simple(100);
    const auto inner = b.plugin.read_table;
    b.plugin.read_table = [&](const script_call& call) {
        auto read = inner(call);
        read.before = [](std::size_t, script_instance& i) { i.wait(std::chrono::milliseconds(5)); };
        return read;
    };
    std::vector<table_plan> tables;
    for (int i = 0; i < 12; ++i) {
        tables.push_back(b.table("t" + std::to_string(i)));
        tables.back().source = "issues";
    }
    auto plan = b.plan(tables);
    plan.parallelism = 4;
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(b.plugin.most_reading <= 4);
    BOOST_TEST(b.plugin.most_reading >= 3);
    BOOST_TEST(b.lake->most_adding <= plan.tuning.landings_at_once);
    for (const auto& t : result.tables) BOOST_TEST(t.rows_landed == 5);
}

BOOST_AUTO_TEST_CASE(the_budget_serves_in_order_and_wakes_the_cancelled) {
    byte_budget budget(100);
    cancel_token stop;
    BOOST_TEST(budget.acquire(60, stop));
    std::atomic<int> served{0};
    std::jthread large([&] {
        if (budget.acquire(90, stop)) ++served;
    });
    while (true) {  // until the large one waits
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        cancel_token now;
        now.cancel();
        if (!budget.acquire(10, now)) break;
        budget.release(10);
    }
    std::jthread small([&] {
        if (budget.acquire(10, stop)) ++served;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    BOOST_TEST(served == 0);  // the small one would fit, and does not overtake
    budget.release(60);
    large.join();
    small.join();
    BOOST_TEST(served == 2);
    BOOST_TEST(budget.used() == 100u);
    BOOST_TEST(budget.peak() == 100u);

    const auto child = std::make_shared<cancel_token>();
    std::atomic<bool> refused{false};
    std::jthread cancelled([&] { refused = !budget.acquire(50, *child); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto begin = clock_type::now();
    child->cancel();
    cancelled.join();
    BOOST_TEST(refused);
    BOOST_TEST(since(begin) < 2.0);
    budget.release(100);
    BOOST_TEST(budget.acquire(5'000, stop));  // larger than all of it: alone
    BOOST_TEST(!budget.acquire(1, *child));
    budget.release(5'000);
}

// Case 61: a slow landing does not let batches pile up.
BOOST_AUTO_TEST_CASE(bytes_between_readers_and_landing_are_bounded) {
    engine_bench b;
    b.plugin.metadata = cursor;
    const std::string large(100'000, 'x');
    std::atomic<std::int64_t> handed{0};
    std::atomic<std::int64_t> landed{0};
    std::atomic<std::int64_t> most_between{0};
    b.plugin.latest_offset = [](const script_call&) { return R"({"offset":{"c":1},"honoured":[]})"; };
    b.plugin.get_partitions = [](const script_call&) {
        std::string out;
        for (int p = 0; p < 16; ++p) out += (p ? "," : "") + std::string("{\"p\":") + std::to_string(p) + "}";
        return "[" + out + "]";
    };
    b.plugin.read_table = [](const script_call&) { return script_read{}; };
    b.plugin.read_partition = [&](const script_call& call) {
        script_read out;
        const auto part = number_source::number(call.descriptor);
        for (int i = 0; i < 8; ++i) out.batches.push_back({row(part * 100 + i, 1, large)});
        out.before = [&](std::size_t batch, script_instance&) {
            if (batch == 0) return;  // what came before was taken on
            const auto between = ++handed - landed;
            for (auto most = most_between.load();
                 between > most && !most_between.compare_exchange_weak(most, between);) {
            }
        };
        return out;
    };
    b.lake->step = [&](const std::string& step) {
        if (step == "add") ++landed;
    };
    b.lake->slow = std::chrono::milliseconds(2);
    auto plan = b.plan();
    plan.parallelism = 8;
    plan.tuning.queue_bytes = 450'000;  // four batches
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 128);
    BOOST_TEST(most_between > 1);
    BOOST_TEST(most_between <= 5);  // four, and the one that is being landed
}

// A batch larger than the whole budget passes alone, and flows whose readers wait for bytes do not block each other's landing.
BOOST_AUTO_TEST_CASE(a_budget_smaller_than_every_batch_blocks_nobody) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 60);
    source.serve_partitions(12);
    std::vector<table_plan> tables;
    for (int i = 0; i < 6; ++i) {
        tables.push_back(b.table("t" + std::to_string(i)));
        tables.back().source = "issues";
    }
    auto plan = b.plan(tables);
    plan.tuning.queue_bytes = 1;
    plan.tuning.landings_at_once = 1;
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    for (const auto& t : result.tables) BOOST_TEST(t.rows_landed == 60);
}

BOOST_AUTO_TEST_CASE(the_report_speaks_of_partitions) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 12);
    source.serve_partitions(3);
    const auto inner = b.plugin.read_partition;
    b.plugin.read_partition = [&](const script_call& call) {
        auto read = inner(call);
        if (call.descriptor.find("\"from\":0,") != std::string::npos) {
            read.before = [](std::size_t, script_instance& i) { i.wait(std::chrono::milliseconds(30)); };
        }
        return read;
    };
    const auto result = b.run();
    BOOST_TEST(result.tables[0].partition_max_seconds > 0.05);
    BOOST_TEST(result.tables[0].partition_median_seconds < result.tables[0].partition_max_seconds);
    BOOST_TEST((result.tables[0].partition_hint.find("over half of the time") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(progress_is_shown_on_the_callers_thread) {
    engine_bench b;
    number_source source(b.plugin, 40);
    source.serve_simple(10);
    const auto inner = b.plugin.read_table;
    b.plugin.read_table = [&](const script_call& call) {
        auto read = inner(call);
        read.before = [](std::size_t, script_instance& i) { i.wait(std::chrono::milliseconds(4)); };
        return read;
    };
    auto plan = b.plan();
    plan.progress_interval = std::chrono::milliseconds(2);
    const auto caller = std::this_thread::get_id();
    std::vector<run_progress> shown;
    plan.on_progress = [&](const run_progress& p) {
        BOOST_TEST((std::this_thread::get_id() == caller));
        shown.push_back(p);
    };
    run_job(plan);
    BOOST_REQUIRE(shown.size() > 2u);
    BOOST_TEST(shown.front().tables[0].flow == "issues");
    BOOST_TEST(shown.back().tables[0].done);
    BOOST_TEST(shown.back().tables[0].rows == 40);
    BOOST_TEST(shown.back().tables[0].rows_landed == 40);
    BOOST_TEST(shown.back().tables[0].batches == 4);
    for (std::size_t i = 1; i < shown.size(); ++i) BOOST_TEST(shown[i].tables[0].rows >= shown[i - 1].tables[0].rows);
}

BOOST_AUTO_TEST_SUITE_END()
