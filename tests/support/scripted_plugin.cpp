// tests/support/scripted_plugin.cpp: see scripted_plugin.h.
#include "tests/support/scripted_plugin.h"

#include <algorithm>
#include <cstring>

#include "host/arrow/builder.h"
#include "host/base/text.h"

namespace lakeflow::host::testing {
namespace {

scripted_plugin* current = nullptr;

struct instance {
    scripted_plugin* script = nullptr;
    script_instance self;
};

struct reader {
    lf_reader raw{};
    instance* owner = nullptr;
    script_read what;
    std::size_t next = 0;
    bool ended = false;
};

instance& of(lf_connector* c) { return *reinterpret_cast<instance*>(c); }
reader& of(lf_reader* r) { return *static_cast<reader*>(r->state); }

lf_status failed(const script_error& e, lf_error* out) {
    out->retry = e.retry;
    out->retry_after_ms = e.retry_after_ms;
    std::snprintf(out->code, sizeof out->code, "%s", e.code.c_str());
    std::snprintf(out->message, sizeof out->message, "%s", e.message.c_str());
    return LF_ERROR;
}

template <class Call>
lf_status guarded(lf_error* out, Call call) {
    try {
        return call();
    } catch (const script_error& e) {
        return failed(e, out);
    }
}

std::optional<std::string> optional_text(lf_str s) {
    return s.data ? std::optional<std::string>(std::string(view(s))) : std::nullopt;
}

lf_status put(const lf_sink* sink, const std::string& text) {
    return sink->write(sink->state, text.data(), text.size());
}

std::string shown(const std::optional<std::string>& offset) { return offset ? *offset : "-"; }

script_call call_of(instance& i, const lf_read_args& a) {
    return {std::string(view(a.table)),
            std::string(view(a.options)),
            optional_text(a.start),
            optional_text(a.end),
            optional_text(a.bound),
            std::string(view(a.limits)),
            std::string(view(a.descriptor)),
            std::string(view(a.scan)),
            {},
            0,
            &i.self};
}

script_call call_of(instance& i, lf_str table, lf_str options) {
    script_call out;
    out.table = view(table);
    out.options = view(options);
    out.instance = &i.self;
    return out;
}

void append_number(column& column, std::int64_t number) {
    switch (column.id()) {
        case type_id::boolean: return dynamic_cast<bool_column&>(column).append(number != 0);
        case type_id::int32:
        case type_id::date32:
            return dynamic_cast<fixed_column<std::int32_t>&>(column).append(static_cast<std::int32_t>(number));
        case type_id::decimal128: return dynamic_cast<fixed_column<int128>&>(column).append(number);
        default: return dynamic_cast<fixed_column<std::int64_t>&>(column).append(number);
    }
}

arrow_array build(const arrow_schema& schema, const std::vector<cells>& rows) {
    auto table = make_table(*schema.get());
    for (const auto& r : rows) {
        for (std::size_t c = 0; c < r.size(); ++c) {
            auto& column = table->child(c);
            if (const auto* number = std::get_if<std::int64_t>(&r[c])) {
                append_number(column, *number);
            } else if (const auto* real = std::get_if<double>(&r[c])) {
                dynamic_cast<fixed_column<double>&>(column).append(*real);
            } else if (const auto* text = std::get_if<std::string>(&r[c])) {
                dynamic_cast<text_column&>(column).append(*text);
            } else {
                column.append_null();
            }
        }
        table->end_value();
    }
    return table->finish();
}

lf_status reader_schema(lf_reader* r, ArrowSchema* out, lf_error*) {
    *out = of(r).owner->script->schema_of(of(r).what.ddl).release();
    return LF_OK;
}

lf_status reader_next(lf_reader* r, ArrowArray* out, lf_error* error) {
    auto& me = of(r);
    auto& script = *me.owner->script;
    const int now = ++script.reading;
    for (int most = script.most_reading; now > most && !script.most_reading.compare_exchange_weak(most, now);) {
    }
    const auto status = guarded(error, [&] {
        if (me.what.before) me.what.before(me.next, me.owner->self);
        if (me.next == me.what.batches.size()) {
            me.ended = true;
            return LF_END;
        }
        *out = build(script.schema_of(me.what.ddl), me.what.batches[me.next++]).release();
        return LF_OK;
    });
    --script.reading;
    return status;
}

lf_status reader_end(lf_reader* r, const lf_sink* out, lf_error*) {
    return of(r).what.end ? put(out, *of(r).what.end) : LF_OK;
}

void reader_cancel(lf_reader* r) { of(r).owner->self.cancel(); }

void reader_close(lf_reader* r) {
    --of(r).owner->script->readers_open;
    const std::unique_ptr<reader> owned(&of(r));
}

lf_status open(instance& i, script_read what, lf_reader** out) {
    auto made = std::make_unique<reader>();
    made->raw = {sizeof(lf_reader), 0, made.get(), reader_schema, reader_next, reader_end, reader_cancel, reader_close};
    made->owner = &i;
    made->what = std::move(what);
    ++i.script->readers_open;
    *out = &made.release()->raw;
    return LF_OK;
}

lf_status create(const lf_create_args* args, lf_connector** out, lf_error*) {
    auto made = std::make_unique<instance>();
    made->script = current;
    made->self.init_time_us = args->init_time_us;
    made->self.run_id = view(args->run_id);
    made->self.context = args->context;
    ++current->created;
    ++current->alive;
    *out = reinterpret_cast<lf_connector*>(made.release());
    return LF_OK;
}

void destroy(lf_connector* c) {
    --of(c).script->alive;
    const std::unique_ptr<instance> owned(&of(c));
}

void cancel(lf_connector* c) { of(c).self.cancel(); }

lf_status list_tables(lf_connector*, const lf_sink* out, lf_error*) { return put(out, R"(["issues"])"); }

lf_status table_schema(lf_connector* c, lf_str table, lf_str, ArrowSchema* out, lf_error* error) {
    if (view(table) == "unknown") return failed({LF_RETRY_NOT_FOUND, "source.not_found", "no such table", 0}, error);
    *out = of(c).script->schema_of().release();
    return LF_OK;
}

lf_status table_metadata(lf_connector* c, lf_str table, lf_str, const lf_sink* out, lf_error* error) {
    if (view(table) == "unknown") return failed({LF_RETRY_NOT_FOUND, "source.not_found", "no such table", 0}, error);
    const auto& of_tables = of(c).script->metadata_of;
    const auto own = of_tables.find(std::string(view(table)));
    return put(out, own != of_tables.end() ? own->second : of(c).script->metadata);
}

lf_status read_table(lf_connector* c, const lf_read_args* a, lf_reader** out, lf_error* error) {
    const auto call = call_of(of(c), *a);
    of(c).script->note("read_table " + call.table + " " + shown(call.start) + " end=" + shown(call.end) +
                       " bound=" + shown(call.bound));
    return guarded(error, [&] { return open(of(c), of(c).script->read_table(call), out); });
}

lf_status read_deletes(lf_connector* c, const lf_read_args* a, lf_reader** out, lf_error* error) {
    const auto call = call_of(of(c), *a);
    of(c).script->note("read_table_deletes " + call.table + " " + shown(call.start));
    return guarded(error, [&] { return open(of(c), of(c).script->read_deletes(call), out); });
}

lf_status prepare(lf_connector* c, lf_str table, lf_str options, const lf_sink* out, lf_error* error) {
    of(c).script->note("prepare " + std::string(view(table)));
    return guarded(error, [&] { return put(out, of(c).script->prepare(call_of(of(c), table, options))); });
}

lf_status default_limit(lf_connector* c, lf_str table, lf_str options, const lf_sink* out, lf_error* error) {
    of(c).script->note("default_read_limit " + std::string(view(table)));
    return guarded(error, [&] { return put(out, of(c).script->default_limit(call_of(of(c), table, options))); });
}

lf_status report_latest(lf_connector* c, lf_str table, lf_str options, const lf_sink* out, lf_error* error) {
    of(c).script->note("report_latest_offset " + std::string(view(table)));
    return guarded(error, [&] { return put(out, of(c).script->report_latest(call_of(of(c), table, options))); });
}

lf_status commit(lf_connector* c, lf_str table, lf_str, lf_str end, lf_error*) {
    of(c).script->note("commit " + std::string(view(table)) + " " + std::string(view(end)));
    return LF_OK;
}

void stop(lf_connector* c, lf_str table) {
    ++of(c).script->stopped;
    of(c).script->note("stop " + std::string(view(table)));
}

lf_status is_partitioned(lf_connector* c, lf_str table, lf_str, std::int32_t* out, lf_error*) {
    *out = of(c).script->is_partitioned(std::string(view(table))) ? 1 : 0;
    return LF_OK;
}

lf_status get_partitions(lf_connector* c, const lf_plan_args* a, const lf_sink* out, lf_error* error) {
    auto call = call_of(of(c), a->table, a->options);
    call.start = optional_text(a->start);
    call.end = optional_text(a->end);
    call.scan = view(a->scan);
    call.parallelism = a->parallelism;
    of(c).script->note("get_partitions " + call.table + " " + shown(call.start) + " " + shown(call.end));
    return guarded(error, [&] { return put(out, of(c).script->get_partitions(call)); });
}

lf_status read_partition(lf_connector* c, const lf_read_args* a, lf_reader** out, lf_error* error) {
    const auto call = call_of(of(c), *a);
    of(c).script->note("read_partition " + call.table + " " + call.descriptor);
    return guarded(error, [&] { return open(of(c), of(c).script->read_partition(call), out); });
}

lf_status latest_offset(lf_connector* c, const lf_latest_args* a, const lf_sink* out, lf_error* error) {
    auto call = call_of(of(c), a->table, a->options);
    call.start = optional_text(a->start);
    call.bound = optional_text(a->bound);
    call.limits = view(a->limits);
    of(c).script->note("latest_offset " + call.table + " " + shown(call.start) + " limits=" + call.limits +
                       " bound=" + shown(call.bound));
    return guarded(error, [&] { return put(out, of(c).script->latest_offset(call)); });
}

lf_status plan_scan(lf_connector* c, lf_str table, lf_str options, lf_str request, const lf_sink* out,
                    lf_error* error) {
    auto call = call_of(of(c), table, options);
    call.request = view(request);
    of(c).script->note("plan_scan " + call.table + " " + call.request);
    return guarded(error, [&] { return put(out, of(c).script->plan_scan(call)); });
}

lf_status explain_scan(lf_connector* c, lf_str table, lf_str options, lf_str scan, const lf_sink* out,
                       lf_error* error) {
    auto call = call_of(of(c), table, options);
    call.scan = view(scan);
    return guarded(error, [&] { return put(out, of(c).script->explain_scan(call)); });
}

}  // namespace

scripted_plugin::scripted_plugin() = default;
scripted_plugin::~scripted_plugin() {
    if (current == this) current = nullptr;
}

std::shared_ptr<const plugin> scripted_plugin::use() {
    current = this;
    connector_ = {};
    connector_.struct_size = sizeof connector_;
    connector_.create = create;
    connector_.destroy = destroy;
    connector_.cancel = cancel;
    connector_.list_tables = list_tables;
    connector_.table_schema = testing::table_schema;
    connector_.table_metadata = testing::table_metadata;
    connector_.read_table = testing::read_table;
    connector_.read_table_deletes = read_deletes ? testing::read_deletes : nullptr;
    connector_.prepare_for_trigger_available_now = prepare ? testing::prepare : nullptr;
    connector_.default_read_limit = default_limit ? testing::default_limit : nullptr;
    connector_.report_latest_offset = report_latest ? testing::report_latest : nullptr;
    connector_.commit = commit;
    connector_.stop = stop;
    partition_ = {};
    partition_.struct_size = sizeof partition_;
    partition_.is_partitioned = is_partitioned ? testing::is_partitioned : nullptr;
    partition_.get_partitions = testing::get_partitions;
    partition_.read_partition = testing::read_partition;
    partition_.latest_offset = latest_offset ? testing::latest_offset : nullptr;
    scan_ = {};
    scan_.struct_size = sizeof scan_;
    scan_.plan = testing::plan_scan;
    scan_.explain = explain_scan ? testing::explain_scan : nullptr;
    auto out = std::make_shared<plugin>();
    out->id = "scripted";
    out->version = "1";
    out->connector = &connector_;
    out->partition = get_partitions ? &partition_ : nullptr;
    out->scan = plan_scan ? &scan_ : nullptr;
    return out;
}

}  // namespace lakeflow::host::testing
