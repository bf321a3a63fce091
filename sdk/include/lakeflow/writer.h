/*
 * lakeflow/writer.h: "lakeflow.writer/1", for sources that can be a destination too.
 * A job opens one writer a partition, each ends in a commit message, and the job commits once with all of them, or aborts.
 */
#ifndef LAKEFLOW_WRITER_H
#define LAKEFLOW_WRITER_H

#include "lakeflow/arrow.h"
#include "lakeflow/connector.h"

LF_EXTERN_C_BEGIN

#define LF_WRITER_ID "lakeflow.writer/1"

typedef struct lf_write_args {
    uint32_t struct_size;
    uint32_t partitions; /* how many writers this write has */
    lf_str table;
    lf_str options;
    lf_str run_id;
    lf_str mode; /* "append" | "upsert" | "truncate" (all rows are replaced) */
    lf_str key; /* identity of this write: equal for a retry, also in another process; goes out as an idempotency key */
    const struct ArrowSchema* schema; /* borrowed for the call */
    uint32_t partition;               /* open_writer: which one, from 0 */
    uint32_t attempt;                 /* open_writer: from 0; a retried or speculative writer has another */
} lf_write_args;

/* One open writer. The plugin allocates it. States: open -> committed | aborted | failed -> closed. All slots required. */
typedef struct lf_writer {
    uint32_t struct_size;
    uint32_t reserved;
    void* state;

    /*
     * Takes a batch, buffers, and posts full chunks. A chunk's idempotency key is made of key, partition and chunk number.
     * Required.
     * [control].
     * The array moves: the writer releases it, also on failure.
     * LF_ERROR: only abort and close may follow.
     */
    lf_status (*write)(struct lf_writer* writer, struct ArrowArray* batch, lf_error* error);

    /*
     * Flushes and writes the commit message: {"partition", "attempt", "rows", "batch_ids": [...], ...}.
     * Required.
     * [control]; once.
     * The text is copied by the sink.
     * LF_ERROR: only abort and close may follow.
     */
    lf_status (*commit)(struct lf_writer* writer, const lf_sink* message, lf_error* error);

    /*
     * Drops what is buffered, sends nothing more, and writes the message of what was already posted, for the roll-back.
     * Required.
     * [control]; once; also after a failure.
     * The text is copied by the sink.
     * LF_ERROR is logged; what could be told was told.
     */
    lf_status (*abort)(struct lf_writer* writer, const lf_sink* message, lf_error* error);

    /*
     * Asks a running call to return soon (100 ms).
     * Required.
     * [any]; idempotent.
     * -
     * Cannot fail.
     */
    void (*cancel)(struct lf_writer* writer);

    /*
     * Frees the writer in any state.
     * Required.
     * [control]; the last call.
     * -
     * Cannot fail.
     */
    void (*close)(struct lf_writer* writer);
} lf_writer;

typedef struct lf_writer_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Begins a write on the driver: checks mode and schema, truncates where the mode says so. Writes a JSON document that
     * each open_writer gets as args->options' member "begin".
     * Required.
     * [control]; once a write, before any writer.
     * The text is copied by the sink.
     * LF_RETRY_UNSUPPORTED for a mode that the service cannot do, before any request.
     */
    lf_status (*begin)(lf_connector* connector, const lf_write_args* args, const lf_sink* out, lf_error* error);

    /*
     * Opens the writer of one partition.
     * Required.
     * [control], on a fresh instance.
     * *out is the host's until its close.
     * LF_ERROR leaves *out NULL.
     */
    lf_status (*open_writer)(lf_connector* connector, const lf_write_args* args, lf_writer** out, lf_error* error);

    /*
     * Commits the write with the messages of all writers, a JSON array.
     * Required.
     * [control]; once a write.
     * -
     * LF_ERROR: the host aborts.
     */
    lf_status (*commit)(lf_connector* connector, const lf_write_args* args, lf_str messages, lf_error* error);

    /*
     * Rolls back what the messages say was posted. Writes a JSON array of the batch ids that could not be rolled back.
     * Required.
     * [control].
     * The text is copied by the sink.
     * LF_ERROR: none could be.
     */
    lf_status (*abort)(lf_connector* connector, const lf_write_args* args, lf_str messages, const lf_sink* out,
                       lf_error* error);

    /*
     * Says whether a write of this key was committed: *out = 1 yes, 0 no. Asked after a crash.
     * Optional; absent: the host writes again under the same key.
     * [control].
     * -
     * LF_ERROR: not known; the table fails.
     */
    lf_status (*was_committed)(lf_connector* connector, const lf_write_args* args, int32_t* out, lf_error* error);
} lf_writer_v1;

LF_EXTERN_C_END
#endif
