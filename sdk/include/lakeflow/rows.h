/*
 * lakeflow/rows.h: "lakeflow.rows/1": JSON or CSV bytes, as they arrive, to Arrow columns, in one pass.
 *
 * SPEC, a JSON object:
 *   "format"    "json" (default): a document; "jsonl": one row a line; "csv": with a header line
 *   "records"   JSON pointer to the array of rows, or to one row that is an object: "/data/items"; "" (default): the
 *               document itself. null or absent in the document: no rows
 *   "columns"   {"name": C}, for columns that are not simply the row's member of that name:
 *                 {"path": "/commit/author/name"}   a pointer inside the row
 *                 {"value": v}                      a constant: text, integer, boolean or null
 *                 {"format": "epoch_s" | "epoch_ms" | "epoch_us" | "rfc3339" | "date"}   the unit of an instant
 *                 {"json": true}                    the value's JSON text, in a text column, also of a scalar
 *                 {"scalar": "name"}                a struct, or a list of structs, in which a scalar may stand for a struct:
 *                                                   it becomes the struct's member of that name, the others null
 *   "captures"  ["/meta/next", ...]    values of the document outside the rows, given by `capture`
 *   "watch"     ["updated_at"]         columns whose smallest, largest and last value `stats` gives, over all rows seen
 *   "keep"      [{"column": c, "op": "<" | "<=" | ">" | ">=" | "=" | "<>" | "is_null" | "is_not_null", "value": v}]   rows that fail one are
 *               counted and dropped as they are read; a comparison with null fails, unless the element says "or_null": true. Instants are compared as instants: v is
 *               RFC 3339 text or int64 microseconds
 *   "drop_keys" {"columns": ["id"], "values": [[1], [2]]}   rows with one of these keys are counted and dropped
 *   "context"   {"number": 7}           shown in messages about values: which page, which parent
 * An unknown member is refused.
 *
 * TYPE RULES. Integers are exact or a mismatch: 7.0 and 7E0 are 7, a double is never on the way. Decimals check precision
 * and scale. An instant is RFC 3339 with any offset, or an epoch number of the stated unit; text without a zone goes only
 * into a column without one. An object or array in a text column is its compact JSON text with numbers as they stood; a
 * scalar is the text of it. {} , null, a missing member and null elements are kept apart where the type can. A key that
 * appears twice is a mismatch. A mismatch follows the table's policy: "fail" names table, key, column and value; with "null" the column is
 * null, with "quarantine" the row is left out, and the host lands it in a side table. The plugin need do nothing for it.
 * Text that is not JSON (lone surrogates and invalid UTF-8 among it) fails the page as "source.protocol" with the byte
 * offset. A BOM is skipped; the depth is at most 256. Members that no column asks for are parsed and dropped.
 */
#ifndef LAKEFLOW_ROWS_H
#define LAKEFLOW_ROWS_H

#include "lakeflow/abi.h"
#include "lakeflow/arrow.h"
#include "lakeflow/http.h"

LF_EXTERN_C_BEGIN

#define LF_ROWS_ID "lakeflow.rows/1"

typedef struct lf_decoder lf_decoder;

typedef struct lf_rows_args {
    uint32_t struct_size;
    uint32_t reserved;
    const struct ArrowSchema* schema; /* the columns wanted, in order; borrowed for the call */
    lf_str spec;                      /* absent: "{}" */
} lf_rows_args;

typedef struct lf_rows_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Opens a decoder. It outlives one document: each page of a table goes through the same decoder.
     * Required.
     * [any].
     * *out is the caller's until close.
     * LF_RETRY_INVALID: a spec or schema that makes no sense; "schema.unsupported" for a type.
     */
    lf_status (*open)(lf_context* context, const lf_rows_args* args, lf_decoder** out, lf_error* error);

    /*
     * Reads the whole body of an exchange as one document. A body that breaks off, is not JSON or has a content type that
     * cannot be right is asked for again (http.h, retry): rows of a broken page never come out.
     * Required.
     * [serial], after head has succeeded on the exchange.
     * -
     * LF_ERROR: the attempts are used up, a value does not fit ("value.mismatch"), or cancelled; the document's rows are
     * gone.
     */
    lf_status (*decode)(lf_decoder* decoder, lf_exchange* exchange, lf_error* error);

    /*
     * Takes the next bytes of a document that the plugin fetched itself.
     * Required.
     * [serial].
     * The bytes are borrowed for the call.
     * LF_ERROR: as decode; abandon or close follows.
     */
    lf_status (*feed)(lf_decoder* decoder, lf_str bytes, lf_error* error);

    /*
     * Ends a document that was fed: its rows become available.
     * Required.
     * [serial].
     * -
     * LF_ERROR: the document was cut; its rows are gone.
     */
    lf_status (*finish)(lf_decoder* decoder, lf_error* error);

    /*
     * Drops the document that is being fed, and its rows.
     * Required.
     * [serial].
     * -
     * Cannot fail.
     */
    void (*abandon)(lf_decoder* decoder);

    /*
     * Moves the rows of all finished documents out as one batch.
     * Required.
     * [serial].
     * *out is the caller's.
     * LF_END if there are none; *out untouched.
     */
    lf_status (*take)(lf_decoder* decoder, struct ArrowArray* out, lf_error* error);

    /*
     * Writes the JSON text of a captured value of the last document; nothing if the document does not have it.
     * Required.
     * [serial], after decode or finish.
     * The text is copied by the sink.
     * LF_ERROR: no such index.
     */
    lf_status (*capture)(lf_decoder* decoder, uint32_t index, const lf_sink* out, lf_error* error);

    /*
     * Writes counts of the last document as JSON: {"rows": all rows in it, "kept": those that stay, "pending": rows that
     * take would give now, "pending_bytes": their size, "bad": rows whose values do not fit and that the host puts aside (only where there
     * are some; they are among the rows and not kept), "min": {"updated_at": v}, "max": {..}, "last": {..}, "nulls": {..}}; instants in RFC 3339
     * UTC with as many digits as needed, integers and text as JSON.
     * Required.
     * [serial], after decode or finish.
     * The text is copied by the sink.
     * Cannot fail but by the sink.
     */
    lf_status (*stats)(lf_decoder* decoder, const lf_sink* out, lf_error* error);

    /*
     * Frees a decoder in any state.
     * Required.
     * [serial]; the last call.
     * Batches that were taken stay valid.
     * Cannot fail.
     */
    void (*close)(lf_decoder* decoder);
} lf_rows_v1;

LF_EXTERN_C_END
#endif
