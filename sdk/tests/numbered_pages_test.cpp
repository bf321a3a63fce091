// sdk/tests/numbered_pages_test.cpp: the example of partitions, driven as a host does (contract 13), each part on a fresh instance.
#include <boost/test/unit_test.hpp>
#include <set>

#include "fake_host.hpp"

using namespace lakeflow;
using lakeflow::testing::fake_host;

LF_DECLARE_ENTRY;  // defined by the example, which is linked into this test

namespace {

struct driver {
    fake_host fake;
    lf_error error = empty_error();
    const lf_connector_v1* table;
    const lf_partition_v1* parts;

    driver() {
        const lf_plugin* plugin = lakeflow_plugin_entry(LF_ABI_VERSION, fake.host(), &error);
        BOOST_REQUIRE(plugin != nullptr);
        table = static_cast<const lf_connector_v1*>(plugin->interface(LF_LITERAL(LF_CONNECTOR_ID)));
        parts = static_cast<const lf_partition_v1*>(plugin->interface(LF_LITERAL(LF_PARTITION_ID)));
    }

    lf_connector* fresh() {
        lf_create_args args{};
        args.struct_size = sizeof args;
        args.host = fake.host();
        args.context = fake.context();
        args.options = LF_LITERAL("{}");
        lf_connector* out = nullptr;
        BOOST_REQUIRE(table->create(&args, &out, &error) == LF_OK);
        return out;
    }

    std::string plan(lf_str start, lf_str end) {
        lf_plan_args args{};
        args.struct_size = sizeof args;
        args.table = LF_LITERAL("pages");
        args.start = start, args.end = end;
        text_sink out;
        lf_connector* planner = fresh();
        BOOST_TEST(parts->get_partitions(planner, &args, out.sink(), &error) == LF_OK);
        table->destroy(planner);
        return out.text;
    }

    // The pages that one part gives, and how many rows.
    std::pair<std::set<int64_t>, int64_t> read(const std::string& descriptor) {
        lf_read_args args{};
        args.struct_size = sizeof args;
        args.table = LF_LITERAL("pages");
        args.descriptor = str(descriptor);
        lf_connector* worker = fresh();
        lf_reader* reader = nullptr;
        BOOST_REQUIRE(parts->read_partition(worker, &args, &reader, &error) == LF_OK);
        std::set<int64_t> pages;
        int64_t rows = 0;
        ArrowArray raw;
        while (reader->next(reader, &raw, &error) == LF_OK) {
            batch part(&raw);
            rows += part.rows();
            for (int64_t i = 0; i < part.rows(); ++i)
                pages.insert(static_cast<const int64_t*>(part->children[0]->buffers[1])[i]);
        }
        text_sink none;
        BOOST_TEST(reader->end_offset(reader, none.sink(), &error) == LF_OK);
        BOOST_TEST(none.text == "");
        reader->close(reader);
        table->destroy(worker);
        return {pages, rows};
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_is_ten_descriptors) {
    driver d;
    json all = json::parse(d.plan(no_str(), no_str()));
    BOOST_TEST(all.size() == 10u);
    std::set<int64_t> seen;
    for (const json& one : all.items()) {
        auto [pages, rows] = d.read(one.dump());
        BOOST_TEST(rows == 3);
        seen.merge(pages);
    }
    BOOST_TEST(seen.size() == 10u);
}

BOOST_AUTO_TEST_CASE(offsets_bound_a_stream) {
    driver d;
    BOOST_TEST(d.plan(LF_LITERAL("{\"page\":3}"), LF_LITERAL("{\"page\":7}")) ==
               "[{\"page\":4},{\"page\":5},{\"page\":6},{\"page\":7}]");
    BOOST_TEST(d.plan(LF_LITERAL("{\"page\":7}"), LF_LITERAL("{\"page\":7}")) == "[]");
    BOOST_TEST(json::parse(d.plan(LF_LITERAL("{}"), LF_LITERAL("{\"page\":2}"))).size() == 2u);
}

BOOST_AUTO_TEST_CASE(limits_bound_a_micro_batch) {
    driver d;
    lf_connector* planner = d.fresh();
    auto ask = [&](lf_str start, lf_str limits) {
        lf_latest_args args{};
        args.struct_size = sizeof args;
        args.table = LF_LITERAL("pages");
        args.start = start, args.limits = limits;
        text_sink out;
        BOOST_TEST(d.parts->latest_offset(planner, &args, out.sink(), &d.error) == LF_OK);
        return out.text;
    };
    BOOST_TEST(ask(LF_LITERAL("{}"), LF_LITERAL("{}")) == "{\"offset\":{\"page\":10},\"honoured\":[]}");
    BOOST_TEST(ask(LF_LITERAL("{\"page\":4}"), LF_LITERAL("{\"max_rows\":7}")) ==
               "{\"offset\":{\"page\":6},\"honoured\":[\"max_rows\"]}");
    BOOST_TEST(ask(LF_LITERAL("{\"page\":10}"), LF_LITERAL("{\"max_rows\":1}")) ==
               "{\"offset\":{\"page\":10},\"honoured\":[\"max_rows\"]}");
    d.table->destroy(planner);
}
