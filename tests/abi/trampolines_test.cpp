// tests/abi/trampolines_test.cpp: the barrier of the C++ layer, driven through the C tables as a host does: whatever a connector
// throws, in whatever slot, becomes an lf_error; null and short arguments are answered, not followed.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <stdexcept>

#include "../../sdk/tests/fake_host.hpp"

using namespace lakeflow;
using lakeflow::testing::fake_host;

namespace {

// Throws what the word says: "std", "int", "failure", "alloc"; any other word lets the call pass.
void throw_by(std::string_view word) {
    if (word == "std") throw std::runtime_error("from std");
    if (word == "int") throw 7;
    if (word == "alloc") throw std::bad_alloc();
    if (word == "failure") {
        throw failure(retry::rate_limited, "slow down", "wait a little", "source.rate_limited")
            .with_retry_after(1500)
            .with_vendor_code(429);
    }
}

const schema one_column = schema::ddl("id BIGINT NOT NULL");

class throwing_reader : public reader {
  public:
    throwing_reader(std::string word, std::string place) : word_(std::move(word)), place_(std::move(place)) {}
    ~throwing_reader() override { ++closed; }
    schema columns() const override {
        if (place_ == "columns") throw_by(word_);
        return one_column;
    }
    bool next(batch& out) override {
        if (place_ == "next") throw_by(word_);
        if (given_++ == 1) return false;
        batch_builder rows(one_column);
        rows["id"].append(1), rows.end_row();
        out = rows.finish();
        return true;
    }
    std::optional<json> end_offset() override {
        if (place_ == "end_offset") throw_by(word_);
        return json::parse("{\"b\": 2.0, \"a\": 1}");
    }
    void cancel() override {
        if (place_ == "cancel") throw_by(word_);
    }
    void close() override {
        if (place_ == "close") throw_by(word_);
    }
    static inline int closed = 0;

  private:
    std::string word_, place_;
    int given_ = 0;
};

class throwing_writer : public batch_writer {
  public:
    explicit throwing_writer(std::string word) : word_(std::move(word)) {}
    void write(batch) override { throw_by(word_); }
    json commit() override { return throw_by(word_), json::object({{"rows", 1}}); }
    json abort() override { return throw_by(word_), json::object({{"batch_ids", json::array()}}); }
    void cancel() override { throw_by(word_); }
    void close() override { throw_by(word_); }

  private:
    std::string word_;
};

// Every method throws by the table's name; readers throw by the options' "place".
class thrower : public connector,
                public partitioned_stream,
                public available_now,
                public reports_lag,
                public deletes,
                public namespaces,
                public explained_scan,
                public recoverable_writer {
  public:
    explicit thrower(environment e) : connector(std::move(e)) { throw_by(env().options.text("create")); }
    std::vector<std::string> list_tables() override {
        return throw_by(env().options.text("list")), std::vector<std::string>{"a", "b"};
    }
    schema table_schema(std::string_view table, const json&) override { return throw_by(table), one_column; }
    lakeflow::table_metadata table_metadata(std::string_view table, const json&) override {
        throw_by(table);
        return {.kind = ingestion::append, .cursor_field = "id"};
    }
    std::unique_ptr<reader> read_table(const read_args& args) override {
        if (!args.options.contains("place")) throw_by(args.table);
        if (args.table == "null") return nullptr;
        return std::make_unique<throwing_reader>(args.table, args.options.text("place"));
    }
    read_limits default_read_limit(std::string_view table, const json&) override {
        return throw_by(table), read_limits{.max_rows = 5};
    }
    void commit(std::string_view table, const json&, const json&) override { throw_by(table); }
    void stop(std::string_view table) override { throw_by(table); }
    void cancel() override { throw_by(env().options.text("cancel")); }

    bool is_partitioned(std::string_view table, const json&) override { return throw_by(table), true; }
    std::vector<json> get_partitions(const plan_args& args) override {
        throw_by(args.table);
        return {json::object({{"page", 1}}), json::object({{"page", 2}})};
    }
    std::unique_ptr<reader> read_partition(const read_args& args) override { return read_table(args); }
    latest latest_offset(const latest_args& args) override {
        throw_by(args.table);
        return {json::object({{"n", 3}}), {"max_rows"}};
    }
    json prepare_for_trigger_available_now(std::string_view table, const json&) override {
        return throw_by(table), json::object();
    }
    json report_latest_offset(std::string_view table, const json&) override { return throw_by(table), json::object(); }
    std::unique_ptr<reader> read_table_deletes(const read_args& args) override { return read_table(args); }
    std::vector<name> list_namespaces(const name& prefix) override {
        if (!prefix.empty()) throw_by(prefix[0]);
        return {{"x", "y"}};
    }
    std::vector<std::string> list_tables_in_namespace(const name& which) override {
        return throw_by(which.at(0)), std::vector<std::string>{"x.t"};
    }
    json plan_scan(std::string_view table, const json&, const json&) override {
        return throw_by(table), json::object();
    }
    json explain_scan(std::string_view table, const json&, const json&) override {
        return throw_by(table), json::object();
    }
    json begin_write(const write_args& args) override { return throw_by(args.table), json::object(); }
    std::unique_ptr<batch_writer> open_writer(const write_args& args) override {
        if (!args.options.contains("place")) throw_by(args.table);
        return std::make_unique<throwing_writer>(args.table);
    }
    void commit_write(const write_args& args, const std::vector<json>&) override { throw_by(args.table); }
    std::vector<std::string> abort_write(const write_args& args, const std::vector<json>&) override {
        return throw_by(args.table), std::vector<std::string>{"7"};
    }
    bool was_committed(const write_args& args) override { return throw_by(args.table), true; }
};

constexpr option connection_options[] = {option::text("list"), option::secret("token").must().help("a token")};
constexpr plugin_info info{.id = "thrower", .version = "1.0.0", .summary = "throws", .connection = connection_options};

}  // namespace

LAKEFLOW_PLUGIN(thrower, info)

namespace {

struct harness {
    fake_host fake;
    const lf_plugin* plugin = nullptr;
    const lf_connector_v1* connector = nullptr;
    const lf_partition_v1* partition = nullptr;
    const lf_namespaces_v1* namespaces = nullptr;
    const lf_scan_v1* scan = nullptr;
    const lf_writer_v1* writer = nullptr;
    lf_connector* instance = nullptr;
    lf_error error = empty_error();
    text_sink out;

    harness() {
        plugin = lakeflow_plugin_entry(LF_ABI_VERSION, fake.host(), &error);
        BOOST_REQUIRE(plugin != nullptr);
        connector = static_cast<const lf_connector_v1*>(plugin->interface(LF_LITERAL(LF_CONNECTOR_ID)));
        partition = static_cast<const lf_partition_v1*>(plugin->interface(LF_LITERAL(LF_PARTITION_ID)));
        namespaces = static_cast<const lf_namespaces_v1*>(plugin->interface(LF_LITERAL(LF_NAMESPACES_ID)));
        scan = static_cast<const lf_scan_v1*>(plugin->interface(LF_LITERAL(LF_SCAN_ID)));
        writer = static_cast<const lf_writer_v1*>(plugin->interface(LF_LITERAL(LF_WRITER_ID)));
        BOOST_REQUIRE((connector && partition && namespaces && scan && writer));
        BOOST_REQUIRE(create("{}") == LF_OK);
    }
    ~harness() { connector->destroy(instance); }

    lf_status create(std::string_view options) {
        lf_create_args args{};
        args.struct_size = sizeof args;
        args.context = fake.context();
        args.host = fake.host();
        args.options = str(options);
        lf_connector* made = nullptr;
        error = empty_error();
        lf_status status = connector->create(&args, &made, &error);
        BOOST_TEST((status == LF_OK) == (made != nullptr));
        if (made != nullptr) {
            if (instance != nullptr) connector->destroy(instance);
            instance = made;
        }
        return status;
    }

    lf_read_args read_args(std::string_view table, std::string_view options = "{}") {
        lf_read_args args{};
        args.struct_size = sizeof args;
        args.table = str(table), args.options = str(options);
        args.start = args.end = args.bound = args.descriptor = no_str();
        args.limits = args.scan = LF_LITERAL("{}");
        return args;
    }
};

// Calls with each kind of throw and checks what arrives.
void check_barrier(harness& h, const std::function<lf_status(lf_str table, lf_error* error)>& call) {
    const struct {
        const char *word, *code, *message;
        lf_retry retry;
    } kinds[] = {{"std", "plugin.exception", "from std", LF_RETRY_PERMANENT},
                 {"int", "plugin.exception", "an exception that is no std::exception", LF_RETRY_PERMANENT},
                 {"alloc", "plugin.exception", "out of memory", LF_RETRY_PERMANENT},
                 {"failure", "source.rate_limited", "slow down", LF_RETRY_RATE_LIMITED}};
    for (const auto& kind : kinds) {
        h.error = empty_error();
        BOOST_TEST(call(str(kind.word), &h.error) == LF_ERROR, kind.word);
        BOOST_TEST(std::string(h.error.code) == kind.code);
        BOOST_TEST(std::string(h.error.message) == kind.message);
        BOOST_TEST(h.error.retry == kind.retry);
        BOOST_TEST(h.error.retry_after_ms == (kind.retry == LF_RETRY_RATE_LIMITED ? 1500 : 0));
        BOOST_TEST(call(str(kind.word), nullptr) == LF_ERROR);  // a host that wants no error text
    }
    h.error = empty_error();
    BOOST_TEST(call(LF_LITERAL("fine"), &h.error) == LF_OK, h.error.message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(identity_and_options_are_there_without_an_instance) {
    harness h;
    BOOST_TEST(view(h.plugin->id) == "thrower");
    BOOST_TEST(h.plugin->abi_version == LF_ABI_VERSION);
    BOOST_TEST(h.plugin->options_schema(h.out.sink(), &h.error) == LF_OK);
    BOOST_TEST(h.out.text ==
               R"({"connection":{"type":"object","properties":{"list":{"type":"string"},"token":{"type":"string",)"
               R"("description":"a token","secret":true}},"additionalProperties":false,"required":["token"]},)"
               R"("table":{"type":"object","properties":{},"additionalProperties":false}})");
    BOOST_TEST(h.plugin->interface(LF_LITERAL("lakeflow.connector/2")) == nullptr);
    BOOST_TEST(h.plugin->interface(no_str()) == nullptr);
}

BOOST_AUTO_TEST_CASE(another_major_version_is_refused) {
    fake_host fake;
    lf_error error = empty_error();
    BOOST_TEST(lakeflow_plugin_entry(2000, fake.host(), &error) == nullptr);
    BOOST_TEST(std::string(error.code) == "plugin.abi_version");
    BOOST_TEST(lakeflow_plugin_entry(1999, fake.host(), &error) != nullptr);
    BOOST_TEST(lakeflow_plugin_entry(1000, nullptr, &error) == nullptr);
}

BOOST_AUTO_TEST_CASE(nothing_crosses_from_create_and_list_tables) {
    harness h;
    check_barrier(h, [&](lf_str word, lf_error* error) {
        json options = json::object({{"create", view(word)}});
        if (error != nullptr) return h.create(options.dump());
        lf_create_args args{};
        args.struct_size = sizeof args;
        std::string text = options.dump();
        args.options = str(text);
        lf_connector* made = nullptr;
        return h.connector->create(&args, &made, nullptr);
    });
    check_barrier(h, [&](lf_str word, lf_error* error) {
        h.create(json::object({{"list", view(word)}}).dump());
        text_sink out;
        return h.connector->list_tables(h.instance, out.sink(), error);
    });
}

BOOST_AUTO_TEST_CASE(nothing_crosses_from_the_connector) {
    harness h;
    lf_str none = LF_LITERAL("{}");
    text_sink sink;
    const lf_sink* out = sink.sink();
    check_barrier(h, [&](lf_str table, lf_error* error) {
        ArrowSchema schema;
        lf_status status = h.connector->table_schema(h.instance, table, none, &schema, error);
        BOOST_TEST((status == LF_OK) == (schema.release != nullptr));
        if (schema.release != nullptr) schema.release(&schema);
        return status;
    });
    check_barrier(h, [&](lf_str t, lf_error* e) { return h.connector->table_metadata(h.instance, t, none, out, e); });
    check_barrier(h, [&](lf_str t, lf_error* e) {
        return h.connector->prepare_for_trigger_available_now(h.instance, t, none, out, e);
    });
    check_barrier(h,
                  [&](lf_str t, lf_error* e) { return h.connector->default_read_limit(h.instance, t, none, out, e); });
    check_barrier(
        h, [&](lf_str t, lf_error* e) { return h.connector->report_latest_offset(h.instance, t, none, out, e); });
    check_barrier(h, [&](lf_str t, lf_error* e) { return h.connector->commit(h.instance, t, none, none, e); });
    for (const char* word : {"std", "int", "failure", "fine"}) h.connector->stop(h.instance, str(word));
    for (const char* word : {"std", "int", "failure", "fine"}) {
        h.create(json::object({{"cancel", word}}).dump());
        h.connector->cancel(h.instance);
    }
}

BOOST_AUTO_TEST_CASE(nothing_crosses_from_the_other_sides) {
    harness h;
    lf_str none = LF_LITERAL("{}");
    text_sink sink;
    const lf_sink* out = sink.sink();
    int32_t answer = 0;
    check_barrier(h,
                  [&](lf_str t, lf_error* e) { return h.partition->is_partitioned(h.instance, t, none, &answer, e); });
    BOOST_TEST(answer == 1);
    lf_plan_args plan{};
    plan.struct_size = sizeof plan;
    check_barrier(h, [&](lf_str t, lf_error* e) {
        return plan.table = t, h.partition->get_partitions(h.instance, &plan, out, e);
    });
    lf_latest_args latest{};
    latest.struct_size = sizeof latest;
    check_barrier(h, [&](lf_str t, lf_error* e) {
        return latest.table = t, h.partition->latest_offset(h.instance, &latest, out, e);
    });
    check_barrier(h, [&](lf_str t, lf_error* e) { return h.scan->plan(h.instance, t, none, none, out, e); });
    check_barrier(h, [&](lf_str t, lf_error* e) { return h.scan->explain(h.instance, t, none, none, out, e); });
    check_barrier(h, [&](lf_str t, lf_error* e) {
        std::string name = json::array({json(view(t))}).dump();
        return h.namespaces->list_namespaces(h.instance, str(name), out, e);
    });
    check_barrier(h, [&](lf_str t, lf_error* e) {
        std::string name = json::array({json(view(t))}).dump();
        return h.namespaces->list_tables_in_namespace(h.instance, str(name), out, e);
    });
    lf_write_args write{};
    write.struct_size = sizeof write;
    lf_str messages = LF_LITERAL("[]");
    check_barrier(h,
                  [&](lf_str t, lf_error* e) { return write.table = t, h.writer->begin(h.instance, &write, out, e); });
    check_barrier(
        h, [&](lf_str t, lf_error* e) { return write.table = t, h.writer->commit(h.instance, &write, messages, e); });
    check_barrier(h, [&](lf_str t, lf_error* e) {
        return write.table = t, h.writer->abort(h.instance, &write, messages, out, e);
    });
    check_barrier(h, [&](lf_str t, lf_error* e) {
        return write.table = t, h.writer->was_committed(h.instance, &write, &answer, e);
    });
}

BOOST_AUTO_TEST_CASE(nothing_crosses_from_a_reader) {
    harness h;
    using open_slot = lf_status (*)(lf_connector*, const lf_read_args*, lf_reader**, lf_error*);
    for (open_slot open : {h.connector->read_table, h.connector->read_table_deletes, h.partition->read_partition}) {
        check_barrier(h, [&](lf_str table, lf_error* error) {
            lf_read_args args = h.read_args(view(table));
            lf_reader* reader = reinterpret_cast<lf_reader*>(1);
            lf_status status = open(h.instance, &args, &reader, error);
            BOOST_TEST((status == LF_OK) == (reader != nullptr));
            if (reader != nullptr) reader->close(reader);
            return status;
        });
    }
    for (const char* place : {"columns", "next", "end_offset", "cancel", "close"}) {
        std::string options = json::object({{"place", place}}).dump(), wanted = place;
        int closed = throwing_reader::closed, opened = 0;
        auto drive = [&](lf_str table, lf_error* error) {
            lf_read_args args = h.read_args(view(table), options);
            lf_reader* reader = nullptr;
            BOOST_REQUIRE(h.connector->read_table(h.instance, &args, &reader, nullptr) == LF_OK);
            ++opened;
            ArrowSchema schema;
            lf_status status = reader->schema(reader, &schema, error);
            if (schema.release != nullptr) schema.release(&schema);
            ArrowArray array{};
            while (status == LF_OK && (status = reader->next(reader, &array, error)) == LF_OK) array.release(&array);
            if (status == LF_END) {
                BOOST_TEST(reader->next(reader, &array, error) == LF_END);  // asked again, it says the same
                text_sink end;
                status = reader->end_offset(reader, end.sink(), error);
                if (status == LF_OK) BOOST_TEST(end.text == "{\"a\":1,\"b\":2}");
            }
            if (wanted == "next" && status == LF_ERROR) BOOST_TEST(reader->next(reader, &array, nullptr) == LF_ERROR);
            reader->cancel(reader);
            reader->close(reader);
            return status;
        };
        if (wanted == "cancel" || wanted == "close") {
            for (const char* word : {"std", "int", "failure", "fine"}) BOOST_TEST(drive(str(word), nullptr) == LF_OK);
        } else {
            check_barrier(h, drive);
        }
        BOOST_TEST(throwing_reader::closed - closed == opened);
    }
}

BOOST_AUTO_TEST_CASE(nothing_crosses_from_a_writer) {
    harness h;
    lf_write_args args{};
    args.struct_size = sizeof args;
    check_barrier(h, [&](lf_str table, lf_error* error) {
        args.table = table, args.options = no_str();
        lf_writer* writer = nullptr;
        lf_status status = h.writer->open_writer(h.instance, &args, &writer, error);
        BOOST_TEST((status == LF_OK) == (writer != nullptr));
        if (writer != nullptr) writer->close(writer);
        return status;
    });
    for (int slot = 0; slot < 3; ++slot) {
        check_barrier(h, [&](lf_str table, lf_error* error) {
            args.table = table, args.options = LF_LITERAL("{\"place\":\"writer\"}");
            lf_writer* writer = nullptr;
            BOOST_REQUIRE(h.writer->open_writer(h.instance, &args, &writer, nullptr) == LF_OK);
            text_sink message;
            lf_status status = LF_OK;
            if (slot == 0) {
                batch_builder rows(one_column);
                rows["id"].append(1), rows.end_row();
                ArrowArray raw;
                rows.finish().move_to(&raw);
                status = writer->write(writer, &raw, error);
                BOOST_TEST(raw.release == nullptr);  // the array moved, also on failure
                if (status == LF_ERROR) BOOST_TEST(writer->commit(writer, message.sink(), nullptr) == LF_ERROR);
            } else if (slot == 1) {
                status = writer->commit(writer, message.sink(), error);
                if (status == LF_OK) BOOST_TEST(writer->commit(writer, message.sink(), nullptr) == LF_ERROR);
            } else {
                status = writer->abort(writer, message.sink(), error);
            }
            writer->cancel(writer);
            writer->close(writer);
            return status;
        });
    }
}

BOOST_AUTO_TEST_CASE(a_cancelled_reader_says_so) {
    harness h;
    lf_read_args args = h.read_args("fine");
    lf_reader* reader = nullptr;
    BOOST_REQUIRE(h.connector->read_table(h.instance, &args, &reader, &h.error) == LF_OK);
    BOOST_TEST(reader->end_offset(reader, h.out.sink(), &h.error) == LF_ERROR);  // before the end
    reader->cancel(reader);
    reader->cancel(reader);
    ArrowArray array{};
    h.error = empty_error();
    BOOST_TEST(reader->next(reader, &array, &h.error) == LF_ERROR);
    BOOST_TEST(h.error.retry == LF_RETRY_CANCELLED);
    reader->close(reader);
}

BOOST_AUTO_TEST_CASE(null_and_short_arguments_are_answered) {
    harness h;
    lf_str none = LF_LITERAL("{}");
    BOOST_TEST(h.connector->list_tables(nullptr, h.out.sink(), &h.error) == LF_ERROR);
    BOOST_TEST(std::string(h.error.code) == "host.contract");
    BOOST_TEST(h.connector->list_tables(h.instance, nullptr, &h.error) == LF_ERROR);
    BOOST_TEST(h.connector->create(nullptr, nullptr, &h.error) == LF_ERROR);
    BOOST_TEST(h.connector->table_schema(h.instance, none, none, nullptr, &h.error) == LF_ERROR);
    BOOST_TEST(h.connector->read_table(h.instance, nullptr, nullptr, &h.error) == LF_ERROR);
    lf_reader* reader = nullptr;
    BOOST_TEST(h.connector->read_table(h.instance, nullptr, &reader, &h.error) == LF_ERROR);
    lf_read_args null_reader = h.read_args("null");
    BOOST_TEST(h.connector->read_table(h.instance, &null_reader, &reader, &h.error) == LF_ERROR);
    BOOST_TEST(std::string(h.error.code) == "plugin.contract");
    BOOST_TEST(h.partition->get_partitions(h.instance, nullptr, h.out.sink(), &h.error) == LF_ERROR);
    BOOST_TEST(h.writer->begin(h.instance, nullptr, h.out.sink(), &h.error) == LF_ERROR);
    BOOST_TEST(h.connector->table_metadata(h.instance, none, LF_LITERAL("[1]"), h.out.sink(), &h.error) == LF_ERROR);
    BOOST_TEST(h.connector->table_metadata(h.instance, none, LF_LITERAL("{"), h.out.sink(), &h.error) == LF_ERROR);
    // An older host's structs end earlier: what lies past struct_size is neither read nor written.
    lf_read_args args = h.read_args("fine");
    args.struct_size = offsetof(lf_read_args, start);
    args.start = LF_LITERAL("not JSON, and not there");
    BOOST_TEST(h.connector->read_table(h.instance, &args, &reader, &h.error) == LF_OK);
    reader->close(reader);
    lf_error old = empty_error();
    old.struct_size = offsetof(lf_error, hint);
    old.hint[0] = 'x';
    BOOST_TEST(h.connector->table_metadata(h.instance, LF_LITERAL("failure"), none, h.out.sink(), &old) == LF_ERROR);
    BOOST_TEST(std::string(old.code) == "source.rate_limited");
    BOOST_TEST(old.hint[0] == 'x');
    BOOST_TEST(old.message[0] == '\0');
    // A receiver that takes no more.
    lf_sink full{sizeof(lf_sink), 0, nullptr, [](void*, const char*, size_t) -> lf_status { return LF_ERROR; }};
    BOOST_TEST(h.connector->list_tables(h.instance, &full, &h.error) == LF_ERROR);
    h.connector->cancel(nullptr);
    h.connector->stop(nullptr, none);
    h.connector->destroy(nullptr);
}

BOOST_AUTO_TEST_CASE(long_messages_are_cut_between_characters) {
    lf_error error = empty_error();
    std::string message = "x";
    for (int i = 0; i < 2000; ++i) message += "\xc3\xa9";
    detail::write_error(&error, retry::permanent, std::string(100, 'c'), message, "");
    BOOST_TEST(std::string(error.code).size() == 63u);
    BOOST_TEST(std::string(error.message).size() == 2047u);
    BOOST_TEST(std::string(error.message).back() == '\xa9');
}

BOOST_AUTO_TEST_CASE(partitions_follow_the_offsets) {
    harness h;
    lf_plan_args plan{};
    plan.struct_size = sizeof plan;
    plan.table = LF_LITERAL("fine");
    auto ask = [&](lf_str start, lf_str end) {
        plan.start = start, plan.end = end;
        text_sink out;
        return h.partition->get_partitions(h.instance, &plan, out.sink(), &h.error) == LF_OK ? out.text : "failed";
    };
    BOOST_TEST(ask(no_str(), no_str()) == "[{\"page\":1},{\"page\":2}]");
    BOOST_TEST(ask(LF_LITERAL("{\"page\":7}"), LF_LITERAL("{\"page\":7.0}")) == "[]");
    BOOST_TEST(ask(LF_LITERAL("{}"), LF_LITERAL("{\"page\":7}")) != "[]");
    BOOST_TEST(ask(LF_LITERAL("{}"), no_str()) == "failed");
    BOOST_TEST(ask(no_str(), LF_LITERAL("{}")) == "failed");
    text_sink out;
    lf_latest_args latest{};
    latest.struct_size = sizeof latest;
    latest.table = LF_LITERAL("fine");
    BOOST_TEST(h.partition->latest_offset(h.instance, &latest, out.sink(), &h.error) == LF_OK);
    BOOST_TEST(out.text == "{\"offset\":{\"n\":3},\"honoured\":[\"max_rows\"]}");
}

namespace {

// Only what every connector has: each further slot and interface must be absent.
class smallest : public connector {
  public:
    using connector::connector;
    std::vector<std::string> list_tables() override { return {}; }
    schema table_schema(std::string_view, const json&) override { return {}; }
    lakeflow::table_metadata table_metadata(std::string_view, const json&) override { return {}; }
    std::unique_ptr<reader> read_table(const read_args&) override { return nullptr; }
};
class in_batches : public smallest, public partitions {
  public:
    using smallest::smallest;
    std::vector<json> get_partitions(const plan_args&) override { return {}; }
    std::unique_ptr<reader> read_partition(const read_args&) override { return nullptr; }
};

constexpr std::string_view needed[] = {LF_HTTP_ID, LF_ROWS_ID};
constexpr plugin_info small_info{.id = "smallest", .version = "1", .summary = "s", .needs = needed};

}  // namespace

BOOST_AUTO_TEST_CASE(an_absent_mixin_is_an_empty_slot) {
    fake_host fake;
    lf_error error = empty_error();
    const lf_plugin* plugin = detail::entry<smallest, small_info>(LF_ABI_VERSION, fake.host(), &error);
    BOOST_REQUIRE(plugin != nullptr);
    auto* connector = static_cast<const lf_connector_v1*>(plugin->interface(LF_LITERAL(LF_CONNECTOR_ID)));
    BOOST_TEST(connector->prepare_for_trigger_available_now == nullptr);
    BOOST_TEST(connector->report_latest_offset == nullptr);
    BOOST_TEST(connector->read_table_deletes == nullptr);
    for (std::string_view id : {LF_PARTITION_ID, LF_NAMESPACES_ID, LF_SCAN_ID, LF_WRITER_ID}) {
        BOOST_TEST(plugin->interface(str(id)) == nullptr);
    }
    auto* partition =
        static_cast<const lf_partition_v1*>(detail::find_interface<in_batches>(LF_LITERAL(LF_PARTITION_ID)));
    BOOST_REQUIRE(partition != nullptr);
    BOOST_TEST(partition->latest_offset == nullptr);
    fake.without_rows = true;
    error = empty_error();
    BOOST_TEST((detail::entry<smallest, small_info>(LF_ABI_VERSION, fake.host(), &error) == nullptr));
    BOOST_TEST(std::string(error.message).find(LF_ROWS_ID) != std::string::npos);
}
