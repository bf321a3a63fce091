/*
 * A fast plugin in plain C: `rows` rows of number_rows.h, made in memory, of which the first `tied` share one cursor value. Table "rows"
 * is partitioned, "simple" is read call after call; both obey max_rows. Offsets are {"id": .., "n": ..}: the cursor, and what tells
 * rows at the cursor apart. tests/e2e/ties_test.py and tests/bench/laws.py run the host over it.
 */
#include "number_rows.h"

#define TEXT(literal) \
    { literal, sizeof(literal) - 1 }
#define BATCH_ROWS 8192

struct lf_connector {
    long long rows, tied;
    int again; /* (start, end] can be read again */
};

typedef struct reader {
    lf_reader raw;
    long long next, last, tied;
    char end[96];
} reader;

static lf_status fail(lf_error* error, lf_retry retry, const char* message) {
    error->retry = retry;
    snprintf(error->message, sizeof error->message, "%s", message);
    return LF_ERROR;
}

static lf_status put(const lf_sink* out, const char* text) { return out->write(out->state, text, strlen(text)); }

/* The integer after `"name":` in compact JSON, `fallback` if it is not there. */
static long long number_in(lf_str json, const char* name, long long fallback) {
    char key[24];
    const size_t size = (size_t)snprintf(key, sizeof key, "\"%s\":", name);
    for (size_t i = 0; json.data && i + size < json.size; ++i) {
        if (memcmp(json.data + i, key, size) == 0) return atoll(json.data + i + size);
    }
    return fallback;
}

static int offset_text(char* out, size_t size, long long id, long long tied) {
    if (id == 0) return snprintf(out, size, "{}");
    return snprintf(out, size, "{\"id\":%lld,\"n\":%lld}", id, (long long)cursor_of(id, tied));
}

/* Where a batch ends that begins after `start`. */
static long long end_of(const lf_connector* c, lf_str start, lf_str bound, lf_str limits) {
    const long long from = number_in(start, "id", 0);
    const long long most = number_in(limits, "max_rows", 0);
    long long end = number_in(bound, "id", c->rows);
    if (end > c->rows) end = c->rows;
    if (most > 0 && end > from + most) end = from + most;
    return end < from ? from : end;
}

static lf_status create(const lf_create_args* args, lf_connector** out, lf_error* error) {
    lf_connector* made = calloc(1, sizeof *made);
    if (!made) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    made->rows = number_in(args->options, "rows", 1000);
    made->tied = number_in(args->options, "tied", 0);
    made->again = number_in(args->options, "once", 0) == 0;
    *out = made;
    return LF_OK;
}

static void destroy(lf_connector* c) { free(c); }

static int is(lf_str text, const char* other) {
    return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

static lf_status list_tables(lf_connector* c, const lf_sink* out, lf_error* error) {
    (void)c;
    (void)error;
    return put(out, "[\"rows\",\"simple\"]");
}

static lf_status table_schema(lf_connector* c, lf_str table, lf_str options, struct ArrowSchema* out, lf_error* error) {
    (void)c;
    (void)options;
    if (!is(table, "rows") && !is(table, "simple")) return fail(error, LF_RETRY_NOT_FOUND, "there is no such table");
    return make_schema(out, 3, "name", 0);
}

#define METADATA(replayable)                                                                                  \
    "{\"ingestion_type\":\"cdc\",\"primary_keys\":[\"id\"],\"cursor_field\":\"n\",\"replayable\":" replayable \
    ",\"offset_cursor\":{\"member\":\"n\",\"form\":\"integer\"}}"

static lf_status table_metadata(lf_connector* c, lf_str table, lf_str options, const lf_sink* out, lf_error* error) {
    (void)table;
    (void)options;
    (void)error;
    return put(out, c->again ? METADATA("true") : METADATA("false"));
}

static lf_status reader_schema(lf_reader* raw, struct ArrowSchema* out, lf_error* error) {
    (void)raw;
    (void)error;
    return make_schema(out, 3, "name", 0);
}

static lf_status reader_next(lf_reader* raw, struct ArrowArray* out, lf_error* error) {
    reader* r = (reader*)raw->state;
    const long long left = r->last - r->next + 1;
    const long long count = left < BATCH_ROWS ? left : BATCH_ROWS;
    if (left <= 0) return LF_END;
    if (!make_rows(out, r->next, count, 3, r->tied)) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    r->next += count;
    return LF_OK;
}

static lf_status reader_end_offset(lf_reader* raw, const lf_sink* out, lf_error* error) {
    (void)error;
    return put(out, ((reader*)raw->state)->end);
}

static void reader_cancel(lf_reader* raw) { (void)raw; }
static void reader_close(lf_reader* raw) { free(raw->state); }

static lf_status open(const lf_connector* c, long long first, long long last, lf_reader** out, lf_error* error) {
    reader* made = calloc(1, sizeof *made);
    if (!made) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    made->raw = (lf_reader){sizeof(lf_reader), 0,           made, reader_schema, reader_next, reader_end_offset,
                            reader_cancel,     reader_close};
    made->next = first;
    made->last = last;
    made->tied = c->tied;
    offset_text(made->end, sizeof made->end, last, c->tied);
    *out = &made->raw;
    return LF_OK;
}

static lf_status read_table(lf_connector* c, const lf_read_args* args, lf_reader** out, lf_error* error) {
    const long long end =
        args->end.data ? number_in(args->end, "id", 0) : end_of(c, args->start, args->bound, args->limits);
    if (!c->again && args->end.data) return fail(error, LF_RETRY_PERMANENT, "a range was asked for again");
    return open(c, number_in(args->start, "id", 0) + 1, end, out, error);
}

static lf_status is_partitioned(lf_connector* c, lf_str table, lf_str options, int32_t* out, lf_error* error) {
    (void)c;
    (void)options;
    (void)error;
    *out = is(table, "rows");
    return LF_OK;
}

static lf_status latest_offset(lf_connector* c, const lf_latest_args* args, const lf_sink* out, lf_error* error) {
    char offset[96];
    char answer[160];
    (void)error;
    offset_text(offset, sizeof offset, end_of(c, args->start, args->bound, args->limits), c->tied);
    snprintf(answer, sizeof answer, "{\"offset\":%s,\"honoured\":[\"max_rows\"]}", offset);
    return put(out, answer);
}

/* Ranges of 100,000 rows. */
static lf_status get_partitions(lf_connector* c, const lf_plan_args* args, const lf_sink* out, lf_error* error) {
    const long long size = 100000;
    const long long last = args->end.data ? number_in(args->end, "id", 0) : c->rows;
    long long from = number_in(args->start, "id", 0) + 1;
    const char* comma = "[";
    (void)error;
    if (from > last) return put(out, "[]");
    for (; from <= last; from += size) {
        char part[96];
        const long long to = from + size - 1 < last ? from + size - 1 : last;
        snprintf(part, sizeof part, "%s{\"from\":%lld,\"to\":%lld}", comma, from, to);
        if (put(out, part) != LF_OK) return LF_ERROR;
        comma = ",";
    }
    return put(out, "]");
}

static lf_status read_partition(lf_connector* c, const lf_read_args* args, lf_reader** out, lf_error* error) {
    return open(c, number_in(args->descriptor, "from", 1), number_in(args->descriptor, "to", 0), out, error);
}

static const lf_connector_v1 connector_table = {
    .struct_size = sizeof(lf_connector_v1),
    .create = create,
    .destroy = destroy,
    .list_tables = list_tables,
    .table_schema = table_schema,
    .table_metadata = table_metadata,
    .read_table = read_table,
};

static const lf_partition_v1 partition_table = {
    .struct_size = sizeof(lf_partition_v1),
    .is_partitioned = is_partitioned,
    .get_partitions = get_partitions,
    .read_partition = read_partition,
    .latest_offset = latest_offset,
};

static lf_status options_schema(const lf_sink* out, lf_error* error) {
    (void)error;
    return put(out,
               "{\"connection\":{\"properties\":{"
               "\"rows\":{\"type\":\"integer\",\"default\":1000,\"description\":\"rows of each table\"},"
               "\"once\":{\"type\":\"integer\",\"default\":0,\"description\":\"1: a range cannot be read again\"},"
               "\"tied\":{\"type\":\"integer\",\"default\":0,\"description\":\"of them, those that share one cursor "
               "value\"}}},\"table\":{\"properties\":{}}}");
}

static const void* interface_of(lf_str id) {
    if (is(id, LF_CONNECTOR_ID)) return &connector_table;
    if (is(id, LF_PARTITION_ID)) return &partition_table;
    return NULL;
}

static const lf_plugin plugin_table = {
    .struct_size = sizeof(lf_plugin),
    .abi_version = LF_ABI_VERSION,
    .id = TEXT("many-rows"),
    .version = TEXT("1.0.0"),
    .summary = TEXT("rows made in memory"),
    .vendor = TEXT("tests"),
    .license = TEXT("Apache-2.0"),
    .options_schema = options_schema,
    .interface = interface_of,
};

LF_DECLARE_ENTRY {
    (void)host;
    (void)host_abi_version;
    (void)error;
    return &plugin_table;
}
