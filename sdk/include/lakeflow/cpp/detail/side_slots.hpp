// lakeflow/cpp/detail/side_slots.hpp: the slots of "lakeflow.partition/1", "lakeflow.namespaces/1" and "lakeflow.scan/1".
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "lakeflow/cpp/detail/instance.hpp"

namespace lakeflow::detail {

inline lf_status is_partitioned(lf_connector* handle, lf_str table, lf_str options, int32_t* out,
                                lf_error* error) noexcept {
    return guard(error, [&] {
        need(out, "answer's place");
        *out = 0;
        json parsed = object_argument(options, "options");
        *out = instance::of(handle).partitions->is_partitioned(view(table), parsed) ? 1 : 0;
        return LF_OK;
    });
}

inline lf_status get_partitions(lf_connector* handle, const lf_plan_args* from, const lf_sink* out,
                                lf_error* error) noexcept {
    return guard(error, [&] {
        need(from, "arguments");
        plan_args args;
        args.table = view(text_of(from, &lf_plan_args::table));
        args.options = object_argument(text_of(from, &lf_plan_args::options), "options");
        args.start = optional_json(text_of(from, &lf_plan_args::start), "start");
        args.end = optional_json(text_of(from, &lf_plan_args::end), "end");
        args.scan = object_argument(text_of(from, &lf_plan_args::scan), "scan");
        if (has(from, &lf_plan_args::parallelism) && from->parallelism > 0) args.parallelism = from->parallelism;
        if (args.start.has_value() != args.end.has_value()) {
            throw invalid("get_partitions takes both offsets or none").with_code("host.contract");
        }
        json all = json::array();
        if (!args.start || *args.start != *args.end) {
            for (json& one : instance::of(handle).partitions->get_partitions(args)) all.push(std::move(one));
        }
        emit(out, all.dump());
        return LF_OK;
    });
}

inline lf_status read_partition(lf_connector* handle, const lf_read_args* args, lf_reader** out,
                                lf_error* error) noexcept {
    return open_into(out, error, [&] { return instance::of(handle).partitions->read_partition(read_args_of(args)); });
}

inline lf_status latest_offset(lf_connector* handle, const lf_latest_args* from, const lf_sink* out,
                               lf_error* error) noexcept {
    return guard(error, [&] {
        need(from, "arguments");
        latest_args args;
        args.table = view(text_of(from, &lf_latest_args::table));
        args.options = object_argument(text_of(from, &lf_latest_args::options), "options");
        args.start = object_argument(text_of(from, &lf_latest_args::start), "start");
        args.bound = optional_json(text_of(from, &lf_latest_args::bound), "bound");
        args.limits = read_limits::from(object_argument(text_of(from, &lf_latest_args::limits), "limits"));
        latest answer = instance::of(handle).stream->latest_offset(args);
        json honoured = json::array_of(answer.honoured);
        emit(out, json::object({{"offset", answer.offset}, {"honoured", honoured}}).dump());
        return LF_OK;
    });
}

template <class T>
constexpr lf_partition_v1 partition_table = {
    sizeof(lf_partition_v1), 0,
    &is_partitioned,         &get_partitions,
    &read_partition,         std::is_base_of_v<partitioned_stream, T> ? &latest_offset : nullptr,
};

inline lakeflow::namespaces::name namespace_argument(lf_str text) {
    lakeflow::namespaces::name out;
    json parts = json_argument(text, "namespace", json::array());
    for (const json& part : parts.items()) out.push_back(part.as_text());
    return out;
}

inline lf_status list_namespaces(lf_connector* handle, lf_str prefix, const lf_sink* out, lf_error* error) noexcept {
    return guard(error, [&] {
        json all = json::array();
        for (const auto& name : instance::of(handle).namespaces->list_namespaces(namespace_argument(prefix))) {
            all.push(json::array_of(name));
        }
        emit(out, all.dump());
        return LF_OK;
    });
}

inline lf_status list_tables_in_namespace(lf_connector* handle, lf_str which, const lf_sink* out,
                                          lf_error* error) noexcept {
    return guard(error, [&] {
        auto names = instance::of(handle).namespaces->list_tables_in_namespace(namespace_argument(which));
        emit(out, json::array_of(names).dump());
        return LF_OK;
    });
}

inline constexpr lf_namespaces_v1 namespaces_table = {sizeof(lf_namespaces_v1), 0, &list_namespaces,
                                                      &list_tables_in_namespace};

inline lf_status plan_scan(lf_connector* handle, lf_str table, lf_str options, lf_str request, const lf_sink* reply,
                           lf_error* error) noexcept {
    return guard(error, [&] {
        json parsed = object_argument(options, "options"), wanted = object_argument(request, "request");
        emit(reply, instance::of(handle).scan->plan_scan(view(table), parsed, wanted).dump());
        return LF_OK;
    });
}

inline lf_status explain_scan(lf_connector* handle, lf_str table, lf_str options, lf_str accepted, const lf_sink* out,
                              lf_error* error) noexcept {
    return guard(error, [&] {
        json parsed = object_argument(options, "options"), scan = object_argument(accepted, "scan");
        emit(out, instance::of(handle).explained->explain_scan(view(table), parsed, scan).dump());
        return LF_OK;
    });
}

template <class T>
constexpr lf_scan_v1 scan_table = {
    sizeof(lf_scan_v1),
    0,
    &plan_scan,
    std::is_base_of_v<explained_scan, T> ? &explain_scan : nullptr,
};

}  // namespace lakeflow::detail
