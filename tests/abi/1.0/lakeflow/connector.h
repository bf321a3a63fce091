/*
 * lakeflow/connector.h: "lakeflow.connector/1", which every plugin has: instances, tables, the simple read path, and
 * what a trigger tells a source.
 */
#ifndef LAKEFLOW_CONNECTOR_H
#define LAKEFLOW_CONNECTOR_H

#include "lakeflow/abi.h"
#include "lakeflow/arrow.h"
#include "lakeflow/reader.h"

LF_EXTERN_C_BEGIN

#define LF_CONNECTOR_ID "lakeflow.connector/1"

/* One instance of a connector, opaque to the host. */
typedef struct lf_connector lf_connector;

struct lf_host; /* entry.h */

typedef struct lf_create_args {
    uint32_t struct_size;
    uint32_t pace_share; /* this process's share of the source's rate, in 1/1000: 1000 is all of it */
    lf_context* context; /* hand it to services; valid until destroy has returned */
    /*
     * Whose context it is. Two copies of a host may live in one process, so services are asked of this one, not of the one that
     * called the entry function last.
     */
    const struct lf_host* host;
    lf_str options;       /* JSON object: the connection's options, validated, with defaults and secrets filled in */
    lf_str run_id;        /* unique to the run; for request ids and logs */
    int64_t init_time_us; /* when the run began, microseconds since 1970 UTC: the clock that bounds it */
} lf_create_args;

typedef struct lf_connector_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Makes an instance. Does no I/O: it must be cheap, since the host makes one for each worker, and one that fails on a
     * wrong option only.
     * Required.
     * [any].
     * *out is the host's until destroy; the arguments are borrowed.
     * LF_ERROR leaves *out NULL.
     */
    lf_status (*create)(const lf_create_args* args, lf_connector** out, lf_error* error);

    /*
     * Frees an instance. All its readers and writers are closed before.
     * Required.
     * [control]; the last call.
     * Arrays that were given out stay valid.
     * Cannot fail.
     */
    void (*destroy)(lf_connector* connector);

    /*
     * Asks a running call of this instance, and its readers, to return soon (100 ms), with LF_RETRY_CANCELLED. Waits
     * inside the host's services are ended by the host itself.
     * Optional.
     * [any]; idempotent, does not wait.
     * -
     * Cannot fail.
     */
    void (*cancel)(lf_connector* connector);

    /*
     * Writes a JSON array of the names of the tables, unique, in a stable order.
     * Required. A plugin with lakeflow.namespaces/1 lists its default namespace, or nothing.
     * [control].
     * The text is copied by the sink.
     * LF_ERROR: the source could not be asked.
     */
    lf_status (*list_tables)(lf_connector* connector, const lf_sink* out, lf_error* error);

    /*
     * Gives a table's schema. Pure: the same arguments give the same answer as long as the source does not change.
     * Required.
     * [control].
     * *out is the host's and is released by it.
     * LF_RETRY_NOT_FOUND for an unknown table; *out stays released.
     */
    lf_status (*table_schema)(lf_connector* connector, lf_str table, lf_str options, struct ArrowSchema* out,
                              lf_error* error);

    /*
     * Writes a table's metadata as JSON:
     *   "ingestion_type"  "snapshot" | "cdc" | "cdc_with_deletes" | "append"     (required)
     *   "primary_keys"    ["id"]                    required but for append
     *   "cursor_field"    "updated_at"              required for cdc and cdc_with_deletes
     *   "offset_cursor"   {"member": "updated_at", "form": "rfc3339"|"epoch_s"|"epoch_ms"|"integer"|"text"}
     *                     only then does the host compare, cap and report lag; else offsets are equal or not
     *   "replayable"      true: (start, end] can be read again (default); false: the host spools a batch until it is
     *                     committed
     *   "windowed"        true: the plugin cuts its own batches, the bound is the init time alone (default false)
     *   "rereads"         true: a read may bring rows at or below its start again (inclusive or look-back) (default false)
     *   "external_schema" true: the user may give the schema (default false); the table's options then have a member
     *                     "read_schema", the schema as Spark DDL, beside those of the options schema
     *   "whole_snapshot"  true: one read_table gives all of a snapshot, so the host does not ask for a further piece
     *                     (default false)
     *   "capabilities"    any of "batch_read", "stream_read", "batch_write", "truncate", "upsert" (rows replace those of
     *                     their key) (default the first two)
     * Required.
     * [control].
     * The text is copied by the sink.
     * LF_RETRY_NOT_FOUND for an unknown table.
     */
    lf_status (*table_metadata)(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out,
                                lf_error* error);

    /*
     * Opens the simple read. start absent: the whole table, once. Else what lies after start; the host calls again with
     * the end offset until it no longer moves. Rows with an unmoved offset are a breach; an offset that moves without
     * rows is lawful. A snapshot's offset is a validator: the same offset and no rows (unchanged), or the whole table and
     * another offset; a snapshot that is read in pieces has a position until its last piece.
     * Required.
     * [control].
     * *out is the host's until its close.
     * LF_ERROR leaves *out NULL; or the reader's first next fails.
     */
    lf_status (*read_table)(lf_connector* connector, const lf_read_args* args, lf_reader** out, lf_error* error);

    /*
     * The same protocol for tombstones, with an offset of its own. Rows need the primary keys and the cursor field; other
     * columns may be null or absent.
     * Optional; required if a table's ingestion type is cdc_with_deletes.
     * [control].
     * *out is the host's until its close.
     * LF_ERROR leaves *out NULL.
     */
    lf_status (*read_table_deletes)(lf_connector* connector, const lf_read_args* args, lf_reader** out,
                                    lf_error* error);

    /*
     * Records the target of an available-now run: writes the offset past which this run does not go.
     * Optional; absent: latest_offset(start, all available), or the init time alone where the table is "windowed".
     * [control]; once a table and run, on the planning instance, before its first latest_offset.
     * The text is copied by the sink.
     * LF_ERROR fails the table.
     */
    lf_status (*prepare_for_trigger_available_now)(lf_connector* connector, lf_str table, lf_str options,
                                                   const lf_sink* out, lf_error* error);

    /*
     * Writes the limits that apply when the job states none, as JSON (see latest_offset); "{}" is all available.
     * Optional; absent: all available.
     * [control].
     * The text is copied by the sink.
     * LF_ERROR fails the table.
     */
    lf_status (*default_read_limit)(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out,
                                    lf_error* error);

    /*
     * Writes the newest offset that the source has now, for the lag in reports. Cheap.
     * Optional; absent: the lag is unknown.
     * [control]; at most once a batch.
     * The text is copied by the sink.
     * LF_ERROR is logged, no more.
     */
    lf_status (*report_latest_offset)(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out,
                                      lf_error* error);

    /*
     * Says that everything up to `end` is durable. Advice: may come late, twice, in another process, or never.
     * Optional.
     * [control].
     * -
     * LF_ERROR is logged, no more.
     */
    lf_status (*commit)(lf_connector* connector, lf_str table, lf_str options, lf_str end, lf_error* error);

    /*
     * Says that the run is over for this table, after success, failure or a signal.
     * Optional.
     * [control]; once, on the planning instance, before destroy.
     * -
     * Cannot fail.
     */
    void (*stop)(lf_connector* connector, lf_str table);
} lf_connector_v1;

LF_EXTERN_C_END
#endif
