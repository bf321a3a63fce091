// host/plugin/connector.cpp: see connector.h. An instance is cancelled through its context's token: that ends waits inside the host's
// services by itself, and calls the plugin's own cancel slots for waits of its own.
#include "host/plugin/connector.h"

#include <utility>

#include "host/base/json.h"
#include "host/base/text.h"
#include "host/plugin/calls.h"
#include "host/plugin/guarded.h"
#include "host/plugin/metadata.h"
#include "host/plugin/services.h"
#include "host/rows/rescue.h"

namespace lakeflow::host {
namespace {

lf_str optional_text(const std::optional<std::string>& text) { return text ? to_abi(*text) : lf_str{nullptr, 0}; }

// True if `slot` of `table` is there. Tables of an older plugin may be shorter.
#define LF_SLOT(table, type, slot) ((table) && LF_HAS(table, type, slot) && (table)->slot)

lf_read_args read_args(const read_request& r) {
    lf_read_args args{};
    args.struct_size = sizeof args;
    args.table = to_abi(r.table);
    args.options = to_abi(r.options);
    args.start = optional_text(r.start);
    args.end = optional_text(r.end);
    args.bound = optional_text(r.bound);
    args.limits = to_abi(r.limits);
    args.scan = to_abi(r.scan);
    if (!r.descriptor.empty()) args.descriptor = to_abi(r.descriptor);
    return args;
}

}  // namespace

// See guarded.h.
void refuse_secrets(const flow_context& flow, std::string_view text, std::string_view what) {
    if (!flow.redactor->found_in(text)) return;
    throw failure(
        "secret.in_descriptor",
        std::string(what) + " holds the value of a secret option: " + flow.redactor->redact(cut_utf8(text, 300)),
        "Offsets, descriptors and commit messages are stored and logged; the plugin must take secrets from its "
        "options.");
}

plugin_reader::plugin_reader(lf_reader* raw, std::shared_ptr<flow_context> flow, std::shared_ptr<cancel_token> stop,
                             std::string what)
    : raw_(raw), flow_(std::move(flow)), stop_(std::move(stop)), what_(std::move(what)) {
    const bool complete =
        LF_HAS(raw_, lf_reader, close) && raw_->close && raw_->schema && raw_->next && raw_->end_offset && raw_->cancel;
    if (!complete) {
        raw_ = nullptr;  // it cannot even be closed
        throw failure("plugin.missing_slot",
                      what_ + ": the reader lacks required slots (schema, next, end_offset, cancel, close)",
                      "The plugin is incomplete; ask its vendor.");
    }
    cancel_id_ = stop_->on_cancel([this] { raw_->cancel(raw_); });
    try {
        guarded(*flow_, *stop_, [&] {
            call_error e;
            arrow_schema schema;
            e.check(raw_->schema(raw_, schema.out(), e.out()), what_ + ", schema of the reader");
            if (!schema) throw failure("records.invalid_array", what_ + ": the reader gave no schema");
            check_schema(*schema.get(), what_);
            given_ = std::make_shared<const arrow_schema>(std::move(schema));
            schema_ = flow_->rescue ? std::make_shared<const arrow_schema>(with_rescued(*given_->get())) : given_;
        });
    } catch (...) {
        stop_->remove(cancel_id_);
        raw_->close(raw_);
        throw;
    }
}

plugin_reader::~plugin_reader() {
    stop_->remove(cancel_id_);
    raw_->close(raw_);
}

std::optional<record_batch> plugin_reader::next() {
    if (ended_) return std::nullopt;
    if (failed_) throw failure("plugin.contract", what_ + ": the reader was asked for more after it had failed");
    failed_ = true;  // until this call has succeeded
    auto batch = guarded(*flow_, *stop_, [&]() -> std::optional<record_batch> {
        stop_->check();
        call_error e;
        arrow_array array;
        const lf_status status = raw_->next(raw_, array.out(), e.out());
        if (status == LF_END) {
            ended_ = true;
            return std::nullopt;
        }
        e.check(status, what_ + ", next");
        if (!array) throw failure("records.invalid_array", what_ + ": next said that there is a batch, and gave none");
        check_array(*given_->get(), *array.get(), what_);
        return record_batch{schema_, flow_->rescue ? reveal_last(std::move(array)) : std::move(array)};
    });
    failed_ = false;
    return batch;
}

std::optional<std::string> plugin_reader::end_offset() {
    if (!ended_) throw failure("plugin.contract", what_ + ": an end offset was asked for before the end of the read");
    return guarded(*flow_, *stop_, [&]() -> std::optional<std::string> {
        call_error e;
        text_sink sink;
        e.check(raw_->end_offset(raw_, sink.out(), e.out()), what_ + ", end_offset");
        if (!sink.written()) return std::nullopt;
        refuse_secrets(*flow_, sink.text(), "the end offset of " + what_);
        return canonical_offset(sink.text(), what_);
    });
}

void plugin_reader::cancel() noexcept { raw_->cancel(raw_); }

plugin_connector::plugin_connector(std::shared_ptr<const plugin> p, const std::string& options,
                                   std::shared_ptr<flow_context> flow, std::shared_ptr<cancel_token> stop,
                                   std::uint32_t pace_share)
    : plugin_(std::move(p)),
      context_{std::move(flow), std::make_shared<cancel_token>(std::move(stop)), pace_share, nullptr} {
    guarded(*context_.flow, *context_.cancelled, [&] {
        lf_create_args args{};
        args.struct_size = sizeof args;
        args.pace_share = pace_share;
        args.context = &context_;
        args.host = host_table();
        args.options = to_abi(options);
        args.run_id = to_abi(context_.flow->run_id);
        args.init_time_us = context_.flow->init_time_us;
        call_error e;
        e.check(plugin_->connector->create(&args, &raw_, e.out()), plugin_->id + ", create");
        if (!raw_)
            throw failure("plugin.contract", plugin_->id + ": create said that it succeeded, and gave no instance");
    });
    if (LF_SLOT(plugin_->connector, lf_connector_v1, cancel)) {
        cancel_id_ = context_.cancelled->on_cancel([this] { plugin_->connector->cancel(raw_); });
    }
}

plugin_connector::~plugin_connector() {
    context_.cancelled->remove(cancel_id_);
    plugin_->connector->destroy(raw_);
}

std::string plugin_connector::what(std::string_view table) const { return plugin_->id + "/" + std::string(table); }

std::vector<std::string> plugin_connector::list_tables() {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        text_sink sink;
        e.check(plugin_->connector->list_tables(raw_, sink.out(), e.out()), plugin_->id + ", list_tables");
        return parse_names(sink.text(), plugin_->id + ", list_tables");
    });
}

arrow_schema plugin_connector::table_schema(const std::string& table, const std::string& options) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        arrow_schema schema;
        e.check(plugin_->connector->table_schema(raw_, to_abi(table), to_abi(options), schema.out(), e.out()),
                what(table) + ", table_schema");
        if (!schema)
            throw failure("plugin.contract", what(table) + ": table_schema said that it succeeded, and gave no schema");
        check_schema(*schema.get(), what(table));
        return schema;
    });
}

table_metadata plugin_connector::metadata(const std::string& table, const std::string& options) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        text_sink sink;
        e.check(plugin_->connector->table_metadata(raw_, to_abi(table), to_abi(options), sink.out(), e.out()),
                what(table) + ", table_metadata");
        return parse_metadata(sink.text(), what(table) + ", table_metadata");
    });
}

std::unique_ptr<plugin_reader> plugin_connector::read_table(const read_request& request) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        const lf_read_args args = read_args(request);
        lf_reader* raw = nullptr;
        e.check(plugin_->connector->read_table(raw_, &args, &raw, e.out()), what(request.table) + ", read_table");
        if (!raw)
            throw failure("plugin.contract",
                          what(request.table) + ": read_table said that it succeeded, and gave no reader");
        return std::unique_ptr<plugin_reader>(
            new plugin_reader(raw, context_.flow, context_.cancelled, what(request.table)));
    });
}

std::unique_ptr<plugin_reader> plugin_connector::read_table_deletes(const read_request& request) {
    if (!plugin_->has_deletes()) {
        throw failure("plugin.missing_slot",
                      what(request.table) + " has deletes, and the plugin has no read_table_deletes",
                      "The plugin is incomplete; ask its vendor.");
    }
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        const lf_read_args args = read_args(request);
        lf_reader* raw = nullptr;
        e.check(plugin_->connector->read_table_deletes(raw_, &args, &raw, e.out()),
                what(request.table) + ", read_table_deletes");
        if (!raw)
            throw failure("plugin.contract",
                          what(request.table) + ": read_table_deletes said that it succeeded, and gave no reader");
        return std::unique_ptr<plugin_reader>(
            new plugin_reader(raw, context_.flow, context_.cancelled, what(request.table) + " (deletes)"));
    });
}

bool plugin_connector::is_partitioned(const std::string& table, const std::string& options) {
    if (!plugin_->has_batch_partitions()) return false;
    if (!LF_SLOT(plugin_->partition, lf_partition_v1, is_partitioned)) return true;
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        std::int32_t out = 0;
        e.check(plugin_->partition->is_partitioned(raw_, to_abi(table), to_abi(options), &out, e.out()),
                what(table) + ", is_partitioned");
        return out != 0;
    });
}

std::vector<std::string> plugin_connector::get_partitions(const read_request& request, std::uint32_t parallelism) {
    if (request.start.has_value() != request.end.has_value()) {
        throw failure("plugin.contract", what(request.table) + ": get_partitions takes both offsets or neither");
    }
    return guarded(*context_.flow, *context_.cancelled, [&] {
        lf_plan_args args{};
        args.struct_size = sizeof args;
        args.parallelism = parallelism;
        args.table = to_abi(request.table);
        args.options = to_abi(request.options);
        args.start = optional_text(request.start);
        args.end = optional_text(request.end);
        args.scan = to_abi(request.scan);
        call_error e;
        text_sink sink;
        e.check(plugin_->partition->get_partitions(raw_, &args, sink.out(), e.out()),
                what(request.table) + ", get_partitions");
        refuse_secrets(*context_.flow, sink.text(), "a descriptor of " + what(request.table));
        return descriptors(sink.text(), what(request.table));
    });
}

std::unique_ptr<plugin_reader> plugin_connector::read_partition(const read_request& request) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        const lf_read_args args = read_args(request);
        lf_reader* raw = nullptr;
        e.check(plugin_->partition->read_partition(raw_, &args, &raw, e.out()),
                what(request.table) + ", read_partition");
        if (!raw)
            throw failure("plugin.contract",
                          what(request.table) + ": read_partition said that it succeeded, and gave no reader");
        return std::unique_ptr<plugin_reader>(
            new plugin_reader(raw, context_.flow, context_.cancelled, what(request.table)));
    });
}

latest plugin_connector::latest_offset(const read_request& request) {
    if (!plugin_->has_stream_partitions())
        throw failure("plugin.missing_slot", what(request.table) + ": the plugin has no latest_offset");
    return guarded(*context_.flow, *context_.cancelled, [&] {
        lf_latest_args args{};
        args.struct_size = sizeof args;
        args.table = to_abi(request.table);
        args.options = to_abi(request.options);
        args.start = optional_text(request.start);
        args.bound = optional_text(request.bound);
        args.limits = to_abi(request.limits);
        call_error e;
        text_sink sink;
        e.check(plugin_->partition->latest_offset(raw_, &args, sink.out(), e.out()),
                what(request.table) + ", latest_offset");
        refuse_secrets(*context_.flow, sink.text(), "the latest offset of " + what(request.table));
        return parse_latest(sink.text(), what(request.table) + ", latest_offset");
    });
}

std::optional<std::string> plugin_connector::plan_scan(const std::string& table, const std::string& options,
                                                       const std::string& request) {
    if (!LF_SLOT(plugin_->scan, lf_scan_v1, plan)) return std::nullopt;
    return guarded(*context_.flow, *context_.cancelled, [&]() -> std::optional<std::string> {
        const std::string where = what(table) + ", plan of the scan";
        call_error e;
        text_sink sink;
        const auto status =
            plugin_->scan->plan(raw_, to_abi(table), to_abi(options), to_abi(request), sink.out(), e.out());
        if (status == LF_ERROR && e.get(where).retry == retry_class::unsupported) return std::nullopt;
        e.check(status, where);
        refuse_secrets(*context_.flow, sink.text(), "the accepted scan of " + what(table));
        return sink.take();
    });
}

std::optional<std::string> plugin_connector::explain_scan(const std::string& table, const std::string& options,
                                                          const std::string& scan) {
    if (!LF_SLOT(plugin_->scan, lf_scan_v1, explain)) return std::nullopt;
    return guarded(*context_.flow, *context_.cancelled, [&]() -> std::optional<std::string> {
        call_error e;
        text_sink sink;
        e.check(plugin_->scan->explain(raw_, to_abi(table), to_abi(options), to_abi(scan), sink.out(), e.out()),
                what(table) + ", explain of the scan");
        return context_.flow->redactor->redact(sink.text());
    });
}

std::optional<std::string> plugin_connector::prepare_for_trigger_available_now(const std::string& table,
                                                                               const std::string& options) {
    if (!LF_SLOT(plugin_->connector, lf_connector_v1, prepare_for_trigger_available_now)) return std::nullopt;
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const std::string where = what(table) + ", prepare_for_trigger_available_now";
        call_error e;
        text_sink sink;
        e.check(plugin_->connector->prepare_for_trigger_available_now(raw_, to_abi(table), to_abi(options), sink.out(),
                                                                      e.out()),
                where);
        refuse_secrets(*context_.flow, sink.text(), "the target offset of " + what(table));
        return std::optional(canonical_offset(sink.text(), where));
    });
}

std::optional<std::string> plugin_connector::default_read_limit(const std::string& table, const std::string& options) {
    if (!LF_SLOT(plugin_->connector, lf_connector_v1, default_read_limit)) return std::nullopt;
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const std::string where = what(table) + ", default_read_limit";
        call_error e;
        text_sink sink;
        e.check(plugin_->connector->default_read_limit(raw_, to_abi(table), to_abi(options), sink.out(), e.out()),
                where);
        return std::optional(canonical_json(sink.text(), "plugin.contract", where));
    });
}

std::optional<std::string> plugin_connector::report_latest_offset(const std::string& table,
                                                                  const std::string& options) {
    if (!LF_SLOT(plugin_->connector, lf_connector_v1, report_latest_offset)) return std::nullopt;
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const std::string where = what(table) + ", report_latest_offset";
        call_error e;
        text_sink sink;
        e.check(plugin_->connector->report_latest_offset(raw_, to_abi(table), to_abi(options), sink.out(), e.out()),
                where);
        refuse_secrets(*context_.flow, sink.text(), "the newest offset of " + what(table));
        return std::optional(canonical_offset(sink.text(), where));
    });
}

void plugin_connector::commit(const std::string& table, const std::string& options, const std::string& end) {
    if (!LF_SLOT(plugin_->connector, lf_connector_v1, commit)) return;
    try {
        call_error e;
        e.check(plugin_->connector->commit(raw_, to_abi(table), to_abi(options), to_abi(end), e.out()),
                what(table) + ", commit");
    } catch (const failure& f) {
        context_.flow->log.write(log_level::warn, what(table),
                                 "the plugin's commit failed, which loses nothing: " + to_line(f.get()));
    }
}

void plugin_connector::stop(const std::string& table) noexcept {
    if (LF_SLOT(plugin_->connector, lf_connector_v1, stop)) plugin_->connector->stop(raw_, to_abi(table));
}

std::vector<std::string> plugin_connector::list_namespaces(const std::string& prefix) {
    if (!plugin_->namespaces) return {};
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        text_sink sink;
        e.check(plugin_->namespaces->list_namespaces(raw_, to_abi(prefix), sink.out(), e.out()),
                plugin_->id + ", list_namespaces");
        return namespaces_of(sink.text(), plugin_->id + ", list_namespaces");
    });
}

std::vector<std::string> plugin_connector::list_tables_in_namespace(const std::string& name_space) {
    if (!plugin_->namespaces) return {};
    return guarded(*context_.flow, *context_.cancelled, [&] {
        call_error e;
        text_sink sink;
        e.check(plugin_->namespaces->list_tables_in_namespace(raw_, to_abi(name_space), sink.out(), e.out()),
                plugin_->id + ", list_tables_in_namespace");
        return parse_names(sink.text(), plugin_->id + ", list_tables_in_namespace");
    });
}

void plugin_connector::cancel() noexcept { context_.cancelled->cancel(); }

}  // namespace lakeflow::host
