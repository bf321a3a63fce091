/*
 * lakeflow/scan.h: "lakeflow.scan/1", what a read can leave to the source.
 *
 * REQUEST, a JSON object; it grows while the host plans, and each time the whole of it is asked anew:
 *   "columns"    [[part, ...], ...]             the columns, or struct members, that are read; absent: all
 *   "filters"    [conjunct, ...]                all of them hold (AND)
 *   "aggregate"  {"group_by": [[part, ...]], "functions": [{"op": "count_star"|"count"|"sum"|"min"|"max", "column": [part]}]}
 *   "order_by"   [{"column": [part], "descending": false, "nulls_first": true}]     with "limit": a top-N
 *   "limit"      n          "offset"  n
 *   "sample"     {"method": "bernoulli"|"system", "fraction": "0.1", "seed": n}
 *   "num_partitions" n      a hint
 * CONJUNCT: {"op": o, "column": [part, ...], "type": t, "value": v}. o: "=" "<=>" "<" "<=" ">" ">=" "in" ("values": [v])
 *   "is_null" "is_not_null" "starts_with" "ends_with" "contains" ("value"), "like" ("value": a pattern of % and _ that none of
 *   these three can say, without an escape), and "and" "or" ("args": [..]), "not" ("arg"), "true", "false". "<>" is "not" of
 *   "=", NOT IN "not" of "in". A part is one name: a dot inside it is a character. t is an Arrow format string of the profile.
 *   Values: integers and booleans as JSON; float and decimal as text that round-trips; timestamps int64 microseconds (UTC);
 *   dates int32 days; text as JSON strings; binary as base64; null is allowed and makes a comparison unknown. Logic is
 *   three-valued as in SQL; a row passes if the result is true. Text compares by the bytes of its UTF-8. NaN equals NaN and
 *   is the greatest number. An empty "in" is false. An "op" that a plugin does not know is answered "no".
 * REPLY, a JSON object that echoes what was accepted, nothing else; an unknown member is refused:
 *   "filters"    ["exact" | "partial" | "no", ...]    by position. exact: the source applies it, no row that fails it
 *                comes; partial: it may spare rows, the host applies it again
 *   "columns"    "exact" | "no"            exact: just these columns come, in this order
 *   "aggregate"  "exact" | "partial" | "no"    partial: each partition gives its own groups, the host combines them; the
 *                output is the group keys, then the functions, by position: keys, "min" and "max" in the column's type, counts
 *                int64, "sum" int64 or a decimal of scale 0 for integers, a decimal of the same scale for decimals, else double
 *   "limit" "order_by" "offset" "sample"   "exact" | "partial" | "no"      limit partial: each partition gives at most n rows;
 *                order_by is of use with the limit alone; an offset or a sample that is partial counts as "no"
 *   "schema"     the output columns: [{"name": n, "type": Arrow format}, ...]; required with an aggregate
 *   "scan"       {...}   a self-contained document of what was accepted; passed back in lf_plan_args and lf_read_args
 * No aggregate and no limit is accepted while a filter is not exact. What was accepted stays accepted when the request grows. The
 * host asks for the filters first, then for the sample, then for the aggregate, or the limit with its order and offset, then for
 * the columns; a piece that is refused is not asked again. It checks rows of an exact filter on columns that come anyway.
 */
#ifndef LAKEFLOW_SCAN_H
#define LAKEFLOW_SCAN_H

#include "lakeflow/connector.h"

LF_EXTERN_C_BEGIN

#define LF_SCAN_ID "lakeflow.scan/1"

typedef struct lf_scan_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Answers a request. Pure: no I/O beyond what the schema needs, the same answer for the same request, also on another
     * instance.
     * Required.
     * [control].
     * The text is copied by the sink.
     * LF_ERROR: the table is read without pushdown only if the class is LF_RETRY_UNSUPPORTED.
     */
    lf_status (*plan)(lf_connector* connector, lf_str table, lf_str options, lf_str request, const lf_sink* reply,
                      lf_error* error);

    /*
     * Writes {"description": one line, "lines": [more lines], "requests": [first requests, secrets removed], "table": what
     * stands after "Table: ", "http-api:https://host/path orders"} for explain; each member may be left out.
     * Optional.
     * [control].
     * The text is copied by the sink.
     * LF_ERROR is shown in the place of the lines.
     */
    lf_status (*explain)(lf_connector* connector, lf_str table, lf_str options, lf_str scan, const lf_sink* out,
                         lf_error* error);
} lf_scan_v1;

LF_EXTERN_C_END
#endif
