/*
 * lakeflow/partition.h: "lakeflow.partition/1", for sources whose reads can be split.
 * Batch set: get_partitions, read_partition; streams stay on read_table. Stream set: latest_offset as well; serves both.
 */
#ifndef LAKEFLOW_PARTITION_H
#define LAKEFLOW_PARTITION_H

#include "lakeflow/connector.h"

LF_EXTERN_C_BEGIN

#define LF_PARTITION_ID "lakeflow.partition/1"

typedef struct lf_latest_args {
    uint32_t struct_size;
    uint32_t reserved;
    lf_str table;
    lf_str options;
    lf_str start; /* the last committed end; "{}" at the beginning */
    lf_str bound; /* the run's bound; absent while it is being taken */
    /*
     * JSON object, members combined: {"max_rows": n}, {"max_bytes": n}, {"min_rows": n, "max_delay_ms": n}; "{}" is all
     * available.
     */
    lf_str limits;
} lf_latest_args;

typedef struct lf_plan_args {
    uint32_t struct_size;
    uint32_t parallelism; /* how many partitions are read at once: a hint */
    lf_str table;
    lf_str options;
    lf_str start; /* absent together with end: the whole table */
    lf_str end;
    lf_str scan; /* the accepted scan document; "{}": everything */
} lf_plan_args;

typedef struct lf_partition_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Says whether a table takes the partitioned path: *out = 1, or 0 for the simple one.
     * Optional; absent: 1 for every table.
     * [control].
     * -
     * LF_ERROR fails the table.
     */
    lf_status (*is_partitioned)(lf_connector* connector, lf_str table, lf_str options, int32_t* out, lf_error* error);

    /*
     * Writes a JSON array of descriptors: JSON objects of any shape, at most 64 KiB each, that hold all that a fresh
     * instance in another process needs to read its part, and no secret. With offsets it splits (start, end]; equal
     * offsets give []. The parts do not overlap and leave no gap.
     * Required.
     * [control].
     * The text is copied by the sink.
     * LF_RETRY_UNSUPPORTED declines: a batch then takes read_table; inside a stream every error fails the batch.
     */
    lf_status (*get_partitions)(lf_connector* connector, const lf_plan_args* args, const lf_sink* out, lf_error* error);

    /*
     * Opens one part. args->start and args->end are the batch's offsets, absent in a batch read.
     * Required.
     * [control], on a fresh instance that has seen no other call.
     * *out is the host's until its close.
     * LF_ERROR leaves *out NULL.
     */
    lf_status (*read_partition)(lf_connector* connector, const lf_read_args* args, lf_reader** out, lf_error* error);

    /*
     * Writes {"offset": {...}, "honoured": ["max_rows", ...]}: the end of the next micro-batch after start, within the
     * limits, and which limit kinds it obeyed. Equal to start: nothing more for now. A cheap metadata call: it reads no
     * rows, keeps no state, and its cost does not grow with the table.
     * Optional: its presence makes the stream set.
     * [control].
     * The text is copied by the sink.
     * LF_ERROR fails the batch, or is retried by its class.
     */
    lf_status (*latest_offset)(lf_connector* connector, const lf_latest_args* args, const lf_sink* out,
                               lf_error* error);
} lf_partition_v1;

LF_EXTERN_C_END
#endif
