// lakeflow/cpp/detail/instance.hpp: a connector object behind lf_connector, and the slots of "lakeflow.connector/1".
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "lakeflow/cpp/connector.hpp"
#include "lakeflow/cpp/detail/guard.hpp"
#include "lakeflow/cpp/detail/reader_slots.hpp"
#include "lakeflow/cpp/writer.hpp"
#include "lakeflow/entry.h"

namespace lakeflow::detail {

// The object and its sides; a side that the class does not derive from is null, and its table does not exist.
struct instance {
    std::unique_ptr<connector> self;
    lakeflow::partitions* partitions = nullptr;
    lakeflow::partitioned_stream* stream = nullptr;
    lakeflow::available_now* available_now = nullptr;
    lakeflow::reports_lag* lag = nullptr;
    lakeflow::deletes* deletes = nullptr;
    lakeflow::namespaces* namespaces = nullptr;
    lakeflow::scan* scan = nullptr;
    lakeflow::explained_scan* explained = nullptr;
    lakeflow::writer* writer = nullptr;
    lakeflow::recoverable_writer* recoverable = nullptr;

    static instance& of(lf_connector* handle) {
        need(handle, "connector");
        return *reinterpret_cast<instance*>(handle);
    }
};

// The host that called the entry function last, for hosts that do not name themselves in lf_create_args. Set to the same value
// by every call of one host; constant-initialised, so nothing runs at load.
inline std::atomic<const lf_host*>& entry_host() {
    static constinit std::atomic<const lf_host*> host{nullptr};
    return host;
}

inline json object_argument(lf_str text, const char* what) {
    json out = json_argument(text, what, json::object());
    if (!out.is_object()) throw invalid(std::string(what) + " is not a JSON object").with_code("host.contract");
    return out;
}

inline read_args read_args_of(const lf_read_args* from) {
    need(from, "arguments");
    read_args out;
    out.table = view(text_of(from, &lf_read_args::table));
    out.options = object_argument(text_of(from, &lf_read_args::options), "options");
    out.start = optional_json(text_of(from, &lf_read_args::start), "start");
    out.end = optional_json(text_of(from, &lf_read_args::end), "end");
    out.bound = optional_json(text_of(from, &lf_read_args::bound), "bound");
    out.limits = read_limits::from(object_argument(text_of(from, &lf_read_args::limits), "limits"));
    out.scan = object_argument(text_of(from, &lf_read_args::scan), "scan");
    out.descriptor = json_argument(text_of(from, &lf_read_args::descriptor), "descriptor", {});
    return out;
}

// Opens a reader into *out.
template <class Open>
lf_status open_into(lf_reader** out, lf_error* error, Open&& open) noexcept {
    return guard(error, [&] {
        need(out, "reader's place");
        *out = nullptr;
        *out = open_reader::make(open());
        return LF_OK;
    });
}

template <class T>
lf_status create(const lf_create_args* args, lf_connector** out, lf_error* error) noexcept {
    return guard(error, [&] {
        need(out, "connector's place");
        *out = nullptr;
        need(args, "arguments");
        const lf_host* host = has(args, &lf_create_args::host) ? args->host : nullptr;
        if (host == nullptr) host = entry_host().load();
        lf_context* context = has(args, &lf_create_args::context) ? args->context : nullptr;
        environment env{services(host, context), object_argument(text_of(args, &lf_create_args::options), "options"),
                        std::string(view(text_of(args, &lf_create_args::run_id))),
                        has(args, &lf_create_args::init_time_us) ? args->init_time_us : 0,
                        has(args, &lf_create_args::pace_share) ? args->pace_share : 1000};
        auto made = std::make_unique<T>(std::move(env));
        auto here = std::make_unique<instance>();
        T* self = made.get();
        if constexpr (std::is_base_of_v<partitions, T>) here->partitions = self;
        if constexpr (std::is_base_of_v<partitioned_stream, T>) here->stream = self;
        if constexpr (std::is_base_of_v<available_now, T>) here->available_now = self;
        if constexpr (std::is_base_of_v<reports_lag, T>) here->lag = self;
        if constexpr (std::is_base_of_v<deletes, T>) here->deletes = self;
        if constexpr (std::is_base_of_v<namespaces, T>) here->namespaces = self;
        if constexpr (std::is_base_of_v<scan, T>) here->scan = self;
        if constexpr (std::is_base_of_v<explained_scan, T>) here->explained = self;
        if constexpr (std::is_base_of_v<writer, T>) here->writer = self;
        if constexpr (std::is_base_of_v<recoverable_writer, T>) here->recoverable = self;
        here->self = std::move(made);
        *out = reinterpret_cast<lf_connector*>(here.release());
        return LF_OK;
    });
}

inline void destroy(lf_connector* handle) noexcept { delete reinterpret_cast<instance*>(handle); }

inline void cancel(lf_connector* handle) noexcept {
    guard_silent([&] { instance::of(handle).self->cancel(); });
}

inline lf_status list_tables(lf_connector* handle, const lf_sink* out, lf_error* error) noexcept {
    return guard(error, [&] {
        emit(out, json::array_of(instance::of(handle).self->list_tables()).dump());
        return LF_OK;
    });
}

inline lf_status table_schema(lf_connector* handle, lf_str table, lf_str options, ArrowSchema* out,
                              lf_error* error) noexcept {
    return guard(error, [&] {
        need(out, "schema");
        std::memset(out, 0, sizeof *out);
        instance::of(handle)
            .self->table_schema(view(table), object_argument(options, "options"))
            .to_arrow()
            .move_to(out);
        return LF_OK;
    });
}

inline lf_status metadata(lf_connector* handle, lf_str table, lf_str options, const lf_sink* out,
                          lf_error* error) noexcept {
    return guard(error, [&] {
        auto answer = instance::of(handle).self->table_metadata(view(table), object_argument(options, "options"));
        emit(out, answer.to_json().dump());
        return LF_OK;
    });
}

inline lf_status read_table(lf_connector* handle, const lf_read_args* args, lf_reader** out, lf_error* error) noexcept {
    return open_into(out, error, [&] { return instance::of(handle).self->read_table(read_args_of(args)); });
}

inline lf_status read_table_deletes(lf_connector* handle, const lf_read_args* args, lf_reader** out,
                                    lf_error* error) noexcept {
    return open_into(out, error, [&] { return instance::of(handle).deletes->read_table_deletes(read_args_of(args)); });
}

inline lf_status prepare(lf_connector* handle, lf_str table, lf_str options, const lf_sink* out,
                         lf_error* error) noexcept {
    return guard(error, [&] {
        json parsed = object_argument(options, "options");
        emit(out,
             instance::of(handle).available_now->prepare_for_trigger_available_now(view(table), parsed).canonical());
        return LF_OK;
    });
}

inline lf_status default_read_limit(lf_connector* handle, lf_str table, lf_str options, const lf_sink* out,
                                    lf_error* error) noexcept {
    return guard(error, [&] {
        json parsed = object_argument(options, "options");
        emit(out, instance::of(handle).self->default_read_limit(view(table), parsed).to_json().dump());
        return LF_OK;
    });
}

inline lf_status report_latest(lf_connector* handle, lf_str table, lf_str options, const lf_sink* out,
                               lf_error* error) noexcept {
    return guard(error, [&] {
        json parsed = object_argument(options, "options");
        emit(out, instance::of(handle).lag->report_latest_offset(view(table), parsed).canonical());
        return LF_OK;
    });
}

inline lf_status commit(lf_connector* handle, lf_str table, lf_str options, lf_str end, lf_error* error) noexcept {
    return guard(error, [&] {
        instance::of(handle).self->commit(view(table), object_argument(options, "options"),
                                          object_argument(end, "end"));
        return LF_OK;
    });
}

inline void stop(lf_connector* handle, lf_str table) noexcept {
    guard_silent([&] { instance::of(handle).self->stop(view(table)); });
}

template <class T>
constexpr lf_connector_v1 connector_table = {
    sizeof(lf_connector_v1),
    0,
    &create<T>,
    &destroy,
    &cancel,
    &list_tables,
    &table_schema,
    &metadata,
    &read_table,
    std::is_base_of_v<deletes, T> ? &read_table_deletes : nullptr,
    std::is_base_of_v<available_now, T> ? &prepare : nullptr,
    &default_read_limit,
    std::is_base_of_v<reports_lag, T> ? &report_latest : nullptr,
    &commit,
    &stop,
};

}  // namespace lakeflow::detail
