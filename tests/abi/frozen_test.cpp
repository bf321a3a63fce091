// tests/abi/frozen_test.cpp: a plugin built from the frozen headers of ABI 1.0, loaded and read with today's.
#include <dlfcn.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>

#include "../../sdk/tests/fake_host.hpp"

using namespace lakeflow;
using lakeflow::testing::fake_host;

namespace {

struct loaded {
    fake_host fake;
    const lf_plugin* plugin = nullptr;
    const lf_connector_v1* table = nullptr;
    lf_connector* instance = nullptr;
    lf_error error = empty_error();

    loaded() {
        void* library = dlopen(std::getenv("FROZEN_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
        BOOST_REQUIRE(library != nullptr);
        auto entry = reinterpret_cast<lf_entry_fn>(dlsym(library, LF_ENTRY_SYMBOL));
        BOOST_REQUIRE(entry != nullptr);
        plugin = entry(LF_ABI_VERSION, fake.host(), &error);
        BOOST_REQUIRE(plugin != nullptr);
        table = static_cast<const lf_connector_v1*>(plugin->interface(LF_LITERAL(LF_CONNECTOR_ID)));
        BOOST_REQUIRE(table != nullptr);
        lf_create_args args{};
        args.struct_size = sizeof args;
        args.context = fake.context();
        args.host = fake.host();
        args.options = LF_LITERAL("{}");
        BOOST_REQUIRE(table->create(&args, &instance, &error) == LF_OK);
    }
    ~loaded() { table->destroy(instance); }
};

// Sum of the squares, and the end offset, of one read.
std::pair<int64_t, std::string> read(loaded& l, lf_str start, lf_str end) {
    lf_read_args args{};
    args.struct_size = sizeof args;
    args.table = LF_LITERAL("squares");
    args.start = start, args.end = end;
    args.bound = args.descriptor = no_str();
    args.options = args.limits = args.scan = LF_LITERAL("{}");
    lf_reader* reader = nullptr;
    BOOST_REQUIRE(l.table->read_table(l.instance, &args, &reader, &l.error) == LF_OK);
    BOOST_TEST(LF_HAS(reader, lf_reader, close));
    int64_t sum = 0;
    ArrowArray array;
    while (reader->next(reader, &array, &l.error) == LF_OK) {
        batch rows(&array);
        for (int64_t i = 0; i < rows.rows(); ++i) sum += static_cast<const int64_t*>(rows->children[1]->buffers[1])[i];
    }
    text_sink offset;
    BOOST_TEST(reader->end_offset(reader, offset.sink(), &l.error) == LF_OK);
    reader->close(reader);
    return {sum, offset.text};
}

}  // namespace

BOOST_AUTO_TEST_CASE(identity_schema_and_metadata) {
    loaded l;
    BOOST_TEST(view(l.plugin->id) == "squares");
    BOOST_TEST(l.plugin->abi_version == 1000u);
    arrow_schema columns;
    BOOST_TEST(l.table->table_schema(l.instance, LF_LITERAL("squares"), LF_LITERAL("{}"), columns.receive(),
                                     &l.error) == LF_OK);
    BOOST_TEST(schema::from_arrow(*columns.get()).ddl() == "n BIGINT NOT NULL, square BIGINT NOT NULL");
    BOOST_TEST(l.table->table_schema(l.instance, LF_LITERAL("x"), LF_LITERAL("{}"), columns.receive(), &l.error) ==
               LF_ERROR);
    BOOST_TEST(l.error.retry == LF_RETRY_NOT_FOUND);
    BOOST_TEST(l.table->cancel == nullptr);  // an optional slot that this plugin leaves empty
}

BOOST_AUTO_TEST_CASE(reads_batches_and_streams) {
    loaded l;
    const int64_t all = 1000LL * 1001 * 2001 / 6;
    auto [batch_sum, batch_end] = read(l, no_str(), no_str());
    BOOST_TEST(batch_sum == all);
    BOOST_TEST(batch_end == "");
    auto [stream_sum, stream_end] = read(l, LF_LITERAL("{}"), no_str());
    BOOST_TEST(stream_sum == all);
    BOOST_TEST(stream_end == "{\"n\":1000}");
    auto [rest, rest_end] = read(l, LF_LITERAL("{\"n\":998}"), no_str());
    BOOST_TEST(rest == 999LL * 999 + 1000LL * 1000);
    auto [replayed, replayed_end] = read(l, LF_LITERAL("{\"n\":1}"), LF_LITERAL("{\"n\":3}"));
    BOOST_TEST(replayed == 4 + 9);
    BOOST_TEST(replayed_end == "{\"n\":3}");
    auto [none, none_end] = read(l, LF_LITERAL("{\"n\":1000}"), no_str());
    BOOST_TEST(none == 0);
    BOOST_TEST(none_end == "{\"n\":1000}");
}

BOOST_AUTO_TEST_CASE(an_array_and_its_columns_outlive_everything) {
    ArrowArray kept, column;
    {
        loaded l;
        lf_read_args args{};
        args.struct_size = sizeof args;
        args.table = LF_LITERAL("squares");
        lf_reader* reader = nullptr;
        BOOST_REQUIRE(l.table->read_table(l.instance, &args, &reader, &l.error) == LF_OK);
        BOOST_REQUIRE(reader->next(reader, &kept, &l.error) == LF_OK);
        ArrowArray later;
        BOOST_REQUIRE(reader->next(reader, &later, &l.error) == LF_OK);
        reader->close(reader);
        later.release(&later);
    }
    column = *kept.children[1];
    kept.children[1]->release = nullptr;
    kept.release(&kept);
    BOOST_TEST(static_cast<const int64_t*>(column.buffers[1])[399] == 400 * 400);
    column.release(&column);
}
