/*
 * lakeflow/layout.h: the layout of ABI 1.0 on 64-bit systems, checked where a plugin or a host is compiled: a packed struct or
 * a foreign data model is a compile error, not a crash. Sizes are those of 1.0; a later minor version adds asserts of its own.
 */
#ifndef LAKEFLOW_LAYOUT_H
#define LAKEFLOW_LAYOUT_H

#include "lakeflow/connector.h"
#include "lakeflow/entry.h"
#include "lakeflow/http.h"
#include "lakeflow/namespaces.h"
#include "lakeflow/partition.h"
#include "lakeflow/rows.h"
#include "lakeflow/scan.h"
#include "lakeflow/services.h"
#include "lakeflow/writer.h"

#if defined(__LP64__)
#ifdef __cplusplus
#define LF_ASSERT(condition) static_assert(condition, #condition)
#else
#define LF_ASSERT(condition) _Static_assert(condition, #condition)
#endif

LF_ASSERT(sizeof(bool) == 1);
LF_ASSERT(sizeof(void (*)(void)) == 8);
LF_ASSERT(sizeof(lf_str) == 16 && offsetof(lf_str, size) == 8);
LF_ASSERT(sizeof(lf_error) == 2648 && offsetof(lf_error, message) == 600);
LF_ASSERT(sizeof(lf_sink) == 24 && offsetof(lf_sink, write) == 16);
LF_ASSERT(sizeof(struct ArrowSchema) == 72 && offsetof(struct ArrowSchema, private_data) == 64);
LF_ASSERT(sizeof(struct ArrowArray) == 80 && offsetof(struct ArrowArray, private_data) == 72);
LF_ASSERT(sizeof(lf_create_args) == 64 && offsetof(lf_create_args, init_time_us) == 56);
LF_ASSERT(sizeof(lf_connector_v1) == 112 && offsetof(lf_connector_v1, stop) == 104);
LF_ASSERT(sizeof(lf_host) == 48 && offsetof(lf_host, service) == 40);
LF_ASSERT(sizeof(lf_plugin) == 120 && offsetof(lf_plugin, interface) == 112);
LF_ASSERT(sizeof(lf_http_request) == 144 && offsetof(lf_http_request, max_body_bytes) == 136);
LF_ASSERT(sizeof(lf_http_v1) == 64 && offsetof(lf_http_v1, close) == 56);
LF_ASSERT(sizeof(lf_namespaces_v1) == 24 && offsetof(lf_namespaces_v1, list_tables_in_namespace) == 16);
LF_ASSERT(sizeof(lf_latest_args) == 88 && offsetof(lf_latest_args, limits) == 72);
LF_ASSERT(sizeof(lf_plan_args) == 88 && offsetof(lf_plan_args, scan) == 72);
LF_ASSERT(sizeof(lf_partition_v1) == 40 && offsetof(lf_partition_v1, latest_offset) == 32);
LF_ASSERT(sizeof(lf_read_args) == 136 && offsetof(lf_read_args, descriptor) == 120);
LF_ASSERT(sizeof(lf_reader) == 56 && offsetof(lf_reader, close) == 48);
LF_ASSERT(sizeof(lf_rows_args) == 32 && offsetof(lf_rows_args, spec) == 16);
LF_ASSERT(sizeof(lf_rows_v1) == 80 && offsetof(lf_rows_v1, close) == 72);
LF_ASSERT(sizeof(lf_scan_v1) == 24 && offsetof(lf_scan_v1, explain) == 16);
LF_ASSERT(sizeof(lf_log_v1) == 24 && offsetof(lf_log_v1, enabled) == 16);
LF_ASSERT(sizeof(lf_clock_v1) == 32 && offsetof(lf_clock_v1, init_time_us) == 24);
LF_ASSERT(sizeof(lf_cancel_v1) == 24 && offsetof(lf_cancel_v1, wait_ms) == 16);
LF_ASSERT(sizeof(lf_metrics_v1) == 24 && offsetof(lf_metrics_v1, set) == 16);
LF_ASSERT(sizeof(lf_write_args) == 104 && offsetof(lf_write_args, attempt) == 100);
LF_ASSERT(sizeof(lf_writer) == 56 && offsetof(lf_writer, close) == 48);
LF_ASSERT(sizeof(lf_writer_v1) == 48 && offsetof(lf_writer_v1, was_committed) == 40);

#undef LF_ASSERT
#endif
#endif
