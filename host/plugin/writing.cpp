// host/plugin/writing.cpp: see writing.h.
#include "host/plugin/writing.h"

#include <boost/json.hpp>
#include <utility>

#include "host/base/text.h"
#include "host/plugin/calls.h"
#include "host/plugin/guarded.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

lf_write_args write_args(const write_request& r) {
    lf_write_args out{};
    out.struct_size = sizeof out;
    out.partitions = r.partitions;
    out.table = to_abi(r.table);
    out.options = to_abi(r.options);
    out.run_id = to_abi(r.run_id);
    out.mode = to_abi(r.mode);
    out.key = to_abi(r.key);
    out.schema = r.schema->get();
    out.partition = r.partition;
    out.attempt = r.attempt;
    return out;
}

[[noreturn]] void broken(const std::string& what, const std::string& why) {
    throw failure("plugin.contract", what + ": " + why, "The plugin breaks the contract; ask its vendor.");
}

std::string id_text(const json::value& id, const std::string& what) {
    if (id.is_string()) return std::string(id.get_string());
    if (id.is_number()) return json::serialize(id);
    broken(what, "a batch id is no text: " + json::serialize(id).substr(0, 100));
}

std::vector<std::string> ids_of(const json::value& list, const std::string& what) {
    if (!list.is_array()) broken(what, "the batch ids are no list");
    std::vector<std::string> out;
    out.reserve(list.get_array().size());
    for (const auto& id : list.get_array()) out.push_back(id_text(id, what));
    return out;
}

json::value parsed(const std::string& text, const std::string& what) {
    try {
        return json::parse(json::string_view(text.data(), text.size()));
    } catch (const std::exception&) {
        broken(what, "the answer is no JSON: " + std::string(cut_utf8(text, 200)));
    }
}

}  // namespace

plugin_writer::plugin_writer(lf_writer* raw, std::shared_ptr<flow_context> flow, std::shared_ptr<cancel_token> stop,
                             std::string what, std::uint32_t partition)
    : raw_(raw), flow_(std::move(flow)), stop_(std::move(stop)), what_(std::move(what)), partition_(partition) {
    const bool complete =
        LF_HAS(raw_, lf_writer, close) && raw_->close && raw_->write && raw_->commit && raw_->abort && raw_->cancel;
    if (!complete) {
        raw_ = nullptr;  // it cannot even be closed
        throw failure("plugin.missing_slot",
                      what_ + ": the writer lacks required slots (write, commit, abort, cancel, close)",
                      "The plugin is incomplete; ask its vendor.");
    }
    cancel_id_ = stop_->on_cancel([this] { raw_->cancel(raw_); });
}

plugin_writer::~plugin_writer() { close(); }

void plugin_writer::close() noexcept {
    if (!raw_) return;
    stop_->remove(cancel_id_);
    raw_->close(std::exchange(raw_, nullptr));
}

void plugin_writer::write(record_batch rows) {
    guarded(*flow_, *stop_, [&] {
        stop_->check();
        call_error e;
        const std::int64_t came = rows.rows();
        ArrowArray moved = rows.array.release();
        const auto status = raw_->write(raw_, &moved, e.out());
        if (moved.release) {
            moved.release(&moved);
            broken(what_ + ", write", "the batch was not taken over");
        }
        e.check(status, what_ + ", write");
        rows_ += came;
    });
}

write_message plugin_writer::commit() {
    return guarded(*flow_, *stop_, [&] {
        stop_->check();
        call_error e;
        text_sink sink;
        e.check(raw_->commit(raw_, sink.out(), e.out()), what_ + ", commit");
        auto out = read(sink.text());
        if (out.rows != rows_) {
            broken(what_ + ", commit", "the message counts " + std::to_string(out.rows) + " rows, and " +
                                           std::to_string(rows_) + " were written");
        }
        return out;
    });
}

// Also after a cancellation: it sends nothing.
write_message plugin_writer::abort() {
    call_error e;
    text_sink sink;
    e.check(raw_->abort(raw_, sink.out(), e.out()), what_ + ", abort");
    return read(sink.text());
}

write_message plugin_writer::read(const std::string& text) const {
    const std::string where = what_ + ", commit message";
    refuse_secrets(*flow_, text, "the commit message of " + what_);
    const auto value = parsed(text, where);
    if (!value.is_object()) broken(where, "it is no object: " + std::string(cut_utf8(text, 200)));
    const auto& object = value.get_object();
    write_message out;
    out.json = text;
    out.partition = partition_;
    const auto* part = object.if_contains("partition");
    const auto* rows = object.if_contains("rows");
    if (!part || !part->is_int64() || part->get_int64() != static_cast<std::int64_t>(partition_))
        broken(where, "it is not of partition " + std::to_string(partition_));
    if (!rows || !rows->is_int64() || rows->get_int64() < 0) broken(where, "it does not count its rows");
    out.rows = rows->get_int64();
    if (const auto* ids = object.if_contains("batch_ids")) out.batch_ids = ids_of(*ids, where);
    return out;
}

std::string plugin_connector::begin_write(const write_request& request) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const auto args = write_args(request);
        const std::string where = what(request.table) + ", begin of the write";
        call_error e;
        text_sink sink;
        e.check(plugin_->writer->begin(raw_, &args, sink.out(), e.out()), where);
        refuse_secrets(*context_.flow, sink.text(), "what begins the write to " + what(request.table));
        return sink.written() ? json::serialize(parsed(sink.text(), where)) : std::string("null");
    });
}

std::unique_ptr<plugin_writer> plugin_connector::open_writer(const write_request& request) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const auto args = write_args(request);
        const std::string where = what(request.table) + ", writer " + std::to_string(request.partition);
        call_error e;
        lf_writer* raw = nullptr;
        e.check(plugin_->writer->open_writer(raw_, &args, &raw, e.out()), where);
        if (!raw) broken(where, "open_writer said that it succeeded, and gave no writer");
        return std::unique_ptr<plugin_writer>(
            new plugin_writer(raw, context_.flow, context_.cancelled, where, request.partition));
    });
}

void plugin_connector::commit_write(const write_request& request, const std::string& messages) {
    guarded(*context_.flow, *context_.cancelled, [&] {
        const auto args = write_args(request);
        call_error e;
        e.check(plugin_->writer->commit(raw_, &args, to_abi(messages), e.out()),
                what(request.table) + ", commit of the write");
    });
}

std::vector<std::string> plugin_connector::abort_write(const write_request& request, const std::string& messages) {
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const auto args = write_args(request);
        const std::string where = what(request.table) + ", abort of the write";
        call_error e;
        text_sink sink;
        e.check(plugin_->writer->abort(raw_, &args, to_abi(messages), sink.out(), e.out()), where);
        if (!sink.written()) return std::vector<std::string>{};
        return ids_of(parsed(sink.text(), where), where);
    });
}

std::optional<bool> plugin_connector::was_committed(const write_request& request) {
    const auto* slots = plugin_->writer;
    if (!LF_HAS(slots, lf_writer_v1, was_committed) || !slots->was_committed) return std::nullopt;
    return guarded(*context_.flow, *context_.cancelled, [&] {
        const auto args = write_args(request);
        call_error e;
        std::int32_t out = 0;
        e.check(slots->was_committed(raw_, &args, &out, e.out()), what(request.table) + ", was_committed");
        return std::optional(out != 0);
    });
}

}  // namespace lakeflow::host
