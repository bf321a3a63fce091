/*
 * lakeflow/services.h: the small services that a host offers: log, clock, cancel, metrics. http.h and rows.h are the large
 * ones. A plugin asks the host of lf_create_args for them, by id: host->service(host, LF_LITERAL(LF_LOG_ID)).
 * A context is the one of lf_create_args.
 */
#ifndef LAKEFLOW_SERVICES_H
#define LAKEFLOW_SERVICES_H

#include "lakeflow/abi.h"

LF_EXTERN_C_BEGIN

#define LF_LOG_ID "lakeflow.log/1"
#define LF_CLOCK_ID "lakeflow.clock/1"
#define LF_CANCEL_ID "lakeflow.cancel/1"
#define LF_METRICS_ID "lakeflow.metrics/1"

#define LF_LOG_TRACE 0
#define LF_LOG_DEBUG 1
#define LF_LOG_INFO 2
#define LF_LOG_WARN 3
#define LF_LOG_ERROR 4

typedef struct lf_log_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Logs one line; the host adds time, plugin and table, and takes out secrets.
     * Required.
     * [any].
     * The text is copied.
     * Cannot fail; an unknown level counts as LF_LOG_INFO.
     */
    void (*write)(lf_context* context, int32_t level, lf_str text);

    /*
     * Says whether a line of this level would be written, so that costly text need not be made.
     * Required.
     * [any].
     * -
     * Cannot fail.
     */
    bool (*enabled)(lf_context* context, int32_t level);
} lf_log_v1;

typedef struct lf_clock_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Gives the wall clock, microseconds since 1970 UTC.
     * Required.
     * [any].
     * -
     * Cannot fail.
     */
    int64_t (*now_us)(lf_context* context);

    /*
     * Gives a clock that never goes back, microseconds since some moment.
     * Required.
     * [any].
     * -
     * Cannot fail.
     */
    int64_t (*monotonic_us)(lf_context* context);

    /*
     * Says when the run began: the frozen clock that bounds it, microseconds since 1970 UTC.
     * Required.
     * [any].
     * -
     * Cannot fail.
     */
    int64_t (*init_time_us)(lf_context* context);
} lf_clock_v1;

typedef struct lf_cancel_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Says whether the host wants this instance to stop.
     * Required.
     * [any].
     * -
     * Cannot fail.
     */
    bool (*requested)(lf_context* context);

    /*
     * Waits so many milliseconds, or less if cancelled: LF_OK waited, LF_END cancelled. Never sleep another way.
     * Required.
     * [any].
     * -
     * Cannot fail.
     */
    lf_status (*wait_ms)(lf_context* context, int64_t milliseconds);
} lf_cancel_v1;

typedef struct lf_metrics_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Adds to a counter of this table ("items_skipped"); it appears in the report.
     * Required.
     * [any].
     * The name is copied.
     * Cannot fail.
     */
    void (*add)(lf_context* context, lf_str name, int64_t delta);

    /*
     * Sets a gauge of this table: "pages_total", "pages_done" and "rows_total" are shown as progress.
     * Required.
     * [any].
     * The name is copied.
     * Cannot fail.
     */
    void (*set)(lf_context* context, lf_str name, int64_t value);
} lf_metrics_v1;

LF_EXTERN_C_END
#endif
