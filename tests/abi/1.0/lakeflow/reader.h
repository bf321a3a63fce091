/*
 * lakeflow/reader.h: a stream of record batches, and the arguments of every call that opens one.
 */
#ifndef LAKEFLOW_READER_H
#define LAKEFLOW_READER_H

#include "lakeflow/abi.h"
#include "lakeflow/arrow.h"

LF_EXTERN_C_BEGIN

/*
 * What to read. Offsets are canonical JSON objects of strings, integers and booleans: one line, sorted keys, at most
 * 64 KiB. start.data == NULL: a batch read, of the whole table. start "{}": the beginning of a stream. The two differ.
 */
typedef struct lf_read_args {
    uint32_t struct_size;
    uint32_t reserved;
    lf_str table;
    lf_str options;    /* JSON object: the table's options, validated, with defaults */
    lf_str start;      /* read what lies after it; absent: batch */
    lf_str end;        /* read (start, end] again, exactly; absent: as far as the source and `bound` go */
    lf_str bound;      /* the run's bound: an end offset must not pass it; absent: none known */
    lf_str limits;     /* JSON object, see latest_offset; "{}": all available */
    lf_str scan;       /* the accepted scan document (lakeflow/scan.h); "{}": everything */
    lf_str descriptor; /* read_partition only: one element of get_partitions' array */
} lf_read_args;

/*
 * An open read. The plugin allocates it; the host calls the slots below and last of all close, once.
 * States: open -> (next ...) -> ended | failed -> closed. All slots are required.
 */
typedef struct lf_reader {
    uint32_t struct_size;
    uint32_t reserved;
    void* state; /* the plugin's own */

    /*
     * Writes the schema of the batches: the table's, or the one that the scan's reply promised.
     * Required.
     * [control]; in state open or ended.
     * *out is the caller's and is released by it.
     * LF_ERROR leaves *out released (release == NULL).
     */
    lf_status (*schema)(struct lf_reader* reader, struct ArrowSchema* out, lf_error* error);

    /*
     * Gives the next batch. May block on the source; cancel and the context's own cancellation end the wait.
     * Required.
     * [control].
     * *out is the caller's: see arrow.h.
     * LF_OK: *out is a batch. LF_END: no more, *out untouched. LF_ERROR: the reader has failed for good.
     */
    lf_status (*next)(struct lf_reader* reader, struct ArrowArray* out, lf_error* error);

    /*
     * Writes where this read ended, as an offset. Known only once next has said LF_END. A read without an offset (a
     * batch, a partition) writes nothing.
     * Required.
     * [control]; only in state ended.
     * The text is copied by the sink.
     * LF_ERROR after failure or before the end.
     */
    lf_status (*end_offset)(struct lf_reader* reader, const lf_sink* out, lf_error* error);

    /*
     * Asks a running next to return soon (100 ms), with LF_RETRY_CANCELLED; later calls of next say the same.
     * Required.
     * [any]; idempotent, does not wait.
     * -
     * Cannot fail.
     */
    void (*cancel)(struct lf_reader* reader);

    /*
     * Ends the read in any state and frees the reader; does not drain the source.
     * Required.
     * [control]; no other call runs or follows.
     * Arrays that were given out stay valid.
     * Cannot fail.
     */
    void (*close)(struct lf_reader* reader);
} lf_reader;

LF_EXTERN_C_END
#endif
