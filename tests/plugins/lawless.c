/*
 * A plugin in plain C whose tables are right but for one thing each: the law that the table's name tells. It is right altogether
 * until the connection says `defects = true`; then every table has three rows more, and its defect. Table "sound" has none.
 * tests/e2e/laws_test.py runs the host over each of them.
 *
 * Every table's rows are those of number_rows.h with offsets {"n": <the last row's number>}.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <time.h>

#include "number_rows.h"

#define TEXT(literal) \
    { literal, sizeof(literal) - 1 }

/* ---------------------------------------------------------------- tables */

struct reader;
typedef lf_status (*next_slot)(struct reader* reader, struct ArrowArray* out, lf_error* error);

typedef struct spec {
    const char* name;
    const char* metadata;    /* of the defective table; NULL: the usual */
    const char* end;         /* what end_offset writes; NULL: the right one */
    const char* latest;      /* latest_offset's whole answer; not NULL: the table is partitioned */
    const char* descriptors; /* get_partitions' whole answer; not NULL: the table is partitioned */
    next_slot next;          /* instead of the right one */
    void (*spoil)(struct ArrowArray* batch, rows_block* rows);
    int rows;      /* 0: none are read */
    int reader;    /* one of READER_* */
    const char* n; /* how its numbers are kept: NULL for {"n": number}; "page": the metadata name no offset_cursor */
} spec;

enum { READER_RIGHT, READER_NONE, READER_WITHOUT_NEXT, READER_WITHOUT_SCHEMA, READER_OTHER_SCHEMA, READER_NO_END };

#define USUAL_METADATA                                                                 \
    "{\"ingestion_type\":\"append\",\"primary_keys\":[\"id\"],\"cursor_field\":\"n\"," \
    "\"offset_cursor\":{\"member\":\"n\",\"form\":\"integer\"}}"
#define WITHOUT_CURSOR "{\"ingestion_type\":\"append\",\"primary_keys\":[\"id\"],\"cursor_field\":\"n\"}"

static void short_column(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[2].length = 2;
}
static void negative_length(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[0].length = -1;
}
static void endless_length(struct ArrowArray* batch, rows_block* rows) {
    (void)rows;
    batch->length = INT64_C(1) << 40;
}
static void offset_past_the_end(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[1].offset = 1;
    rows->columns[1].length = 2;
}
static void nulls_without_bitmap(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[1].null_count = 2;
}
static void nulls_that_lie(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->n_buffers[0] = rows->some;
    rows->columns[1].null_count = 0;
}
static void offsets_decrease(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->name_offsets[1] = 1000;
}
static void offsets_below_zero(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->name_offsets[0] = -8;
}
static void lists_past_their_elements(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->mark_offsets[3] = 99;
}
static void list_without_child(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[3].children = NULL;
}
static void no_data(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->id_buffers[1] = NULL;
}
static void too_few_buffers(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[2].n_buffers = 2;
}
static void not_utf8(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->names[0] = (char)0xFF;
}
static void released_column(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->columns[1].release = NULL;
}
static void one_column_fewer(struct ArrowArray* batch, rows_block* rows) {
    (void)rows;
    batch->n_children = COLUMNS - 1;
}
static void null_in_required(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->id_buffers[0] = rows->some;
    rows->columns[0].null_count = 1;
}
static void null_key(struct ArrowArray* batch, rows_block* rows) {
    (void)batch;
    rows->name_buffers[0] = rows->some;
    rows->columns[2].null_count = 1;
}

static lf_status next_without_array(struct reader* reader, struct ArrowArray* out, lf_error* error);
static lf_status next_of_no_status(struct reader* reader, struct ArrowArray* out, lf_error* error);
static lf_status next_of_no_retry(struct reader* reader, struct ArrowArray* out, lf_error* error);
static lf_status next_waits_for_cancel(struct reader* reader, struct ArrowArray* out, lf_error* error);
static lf_status next_heeds_nothing(struct reader* reader, struct ArrowArray* out, lf_error* error);
static lf_status next_is_always_empty(struct reader* reader, struct ArrowArray* out, lf_error* error);

#define SECRET "\001"    /* stands for the connection's token */
#define HUGE_TEXT "\002" /* stands for 70,000 letters */

static const spec specs[] = {
    {.name = "sound", .rows = 3},
    /* offsets */
    {.name = "end_is_an_array", .end = "[4]", .rows = 3},
    {.name = "end_is_not_json", .end = "{\"n\":", .rows = 3},
    {.name = "end_is_huge", .end = "{\"n\":6,\"k\":\"" HUGE_TEXT "\"}", .rows = 3},
    {.name = "end_has_a_fraction", .end = "{\"n\":6.5}", .rows = 3},
    {.name = "end_has_a_null", .end = "{\"n\":null}", .rows = 3},
    {.name = "end_is_nested", .end = "{\"n\":{\"at\":6}}", .rows = 3},
    {.name = "latest_is_an_array", .latest = "{\"offset\":[6],\"honoured\":[]}", .rows = 3},
    {.name = "rows_without_progress", .end = "{\"n\":3}", .rows = 3},
    {.name = "returns_to_an_offset", .metadata = WITHOUT_CURSOR, .n = "returns"},
    {.name = "goes_back", .end = "{\"n\":2}", .rows = 3},
    {.name = "plans_backwards", .latest = "{\"offset\":{\"n\":1},\"honoured\":[]}", .rows = 3},
    {.name = "reads_past_the_bound", .end = "{\"k\":\"x\",\"n\":9}", .rows = 3},
    {.name = "plans_past_the_bound", .latest = "{\"offset\":{\"k\":\"x\",\"n\":9},\"honoured\":[]}", .rows = 3},
    {.name = "never_comes_nearer", .metadata = WITHOUT_CURSOR, .n = "page"},
    /* arrays */
    {.name = "no_array", .next = next_without_array},
    {.name = "short_column", .spoil = short_column, .rows = 3},
    {.name = "negative_length", .spoil = negative_length, .rows = 3},
    {.name = "endless_length", .spoil = endless_length, .rows = 3},
    {.name = "offset_past_the_end", .spoil = offset_past_the_end, .rows = 3},
    {.name = "nulls_without_bitmap", .spoil = nulls_without_bitmap, .rows = 3},
    {.name = "nulls_that_lie", .spoil = nulls_that_lie, .rows = 3},
    {.name = "offsets_decrease", .spoil = offsets_decrease, .rows = 3},
    {.name = "offsets_below_zero", .spoil = offsets_below_zero, .rows = 3},
    {.name = "lists_past_their_elements", .spoil = lists_past_their_elements, .rows = 3},
    {.name = "list_without_child", .spoil = list_without_child, .rows = 3},
    {.name = "no_data", .spoil = no_data, .rows = 3},
    {.name = "too_few_buffers", .spoil = too_few_buffers, .rows = 3},
    {.name = "not_utf8", .spoil = not_utf8, .rows = 3},
    {.name = "released_column", .spoil = released_column, .rows = 3},
    {.name = "no_schema", .reader = READER_WITHOUT_SCHEMA, .rows = 3},
    {.name = "one_column_fewer", .spoil = one_column_fewer, .rows = 3},
    {.name = "other_schema", .reader = READER_OTHER_SCHEMA, .rows = 3},
    {.name = "null_in_required", .spoil = null_in_required, .rows = 3},
    {.name = "null_key", .spoil = null_key, .rows = 3},
    /* descriptors */
    {.name = "descriptor_is_text", .descriptors = "[\"4\"]", .rows = 3},
    {.name = "descriptors_in_an_object", .descriptors = "{\"from\":4}", .rows = 3},
    {.name = "descriptor_is_huge", .descriptors = "[{\"k\":\"" HUGE_TEXT "\"}]", .rows = 3},
    /* calls */
    {.name = "reader_without_next", .reader = READER_WITHOUT_NEXT},
    {.name = "deletes_without_slot",
     .metadata = "{\"ingestion_type\":\"cdc_with_deletes\",\"primary_keys\":[\"id\"],\"cursor_field\":\"n\"}",
     .rows = 3},
    {.name = "status_that_does_not_exist", .next = next_of_no_status},
    {.name = "retry_class_that_does_not_exist", .next = next_of_no_retry},
    {.name = "no_reader", .reader = READER_NONE},
    {.name = "no_end_offset", .reader = READER_NO_END, .rows = 3},
    {.name = "latest_without_offset", .latest = "{\"honoured\":[]}", .rows = 3},
    {.name = "metadata_are_not_json", .metadata = "{\"ingestion_type\":", .rows = 3},
    {.name = "hangs_until_cancelled", .next = next_waits_for_cancel},
    {.name = "hangs_for_good", .next = next_heeds_nothing},
    {.name = "is_empty_for_ever", .next = next_is_always_empty},
    /* secrets */
    {.name = "secret_in_end", .end = "{\"n\":6,\"k\":\"" SECRET "\"}", .rows = 3},
    {.name = "secret_in_latest", .latest = "{\"offset\":{\"n\":6,\"k\":\"" SECRET "\"},\"honoured\":[]}", .rows = 3},
    {.name = "secret_in_descriptor", .descriptors = "[{\"from\":4,\"key\":\"" SECRET "\"}]", .rows = 3},
};

static const spec* find(lf_str name) {
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        if (strlen(specs[i].name) == name.size && memcmp(specs[i].name, name.data, name.size) == 0) return &specs[i];
    }
    return NULL;
}

/* ---------------------------------------------------------------- instances */

struct lf_connector {
    int defects;
    char token[64];
};

static lf_status fail(lf_error* error, lf_retry retry, const char* message) {
    error->retry = retry;
    snprintf(error->message, sizeof error->message, "%s", message);
    return LF_ERROR;
}

/* Writes `text` with its stand-ins replaced. */
static lf_status put(const lf_connector* c, const lf_sink* out, const char* text) {
    for (; *text; ++text) {
        lf_status status = LF_OK;
        if (*text == SECRET[0]) {
            status = out->write(out->state, c->token, strlen(c->token));
        } else if (*text == HUGE_TEXT[0]) {
            for (int i = 0; i < 7000 && status == LF_OK; ++i) status = out->write(out->state, "xxxxxxxxxx", 10);
        } else {
            status = out->write(out->state, text, 1);
        }
        if (status != LF_OK) return status;
    }
    return LF_OK;
}

static lf_status put_number(const lf_sink* out, const char* form, long long number) {
    char text[80];
    const int size = snprintf(text, sizeof text, form, number);
    return out->write(out->state, text, (size_t)size);
}

/* The integer after `"name":` in canonical JSON, 0 if it is not there. */
static long long number_in(lf_str json, const char* name) {
    char key[24];
    const size_t size = (size_t)snprintf(key, sizeof key, "\"%s\":", name);
    for (size_t i = 0; json.data && i + size < json.size; ++i) {
        if (memcmp(json.data + i, key, size) == 0) return atoll(json.data + i + size);
    }
    return 0;
}

static lf_status create(const lf_create_args* args, lf_connector** out, lf_error* error) {
    static const char on[] = "\"defects\":true";
    static const char key[] = "\"token\":\"";
    lf_connector* made = calloc(1, sizeof *made);
    if (!made) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    for (size_t i = 0; i < args->options.size; ++i) {
        const char* at = args->options.data + i;
        const size_t left = args->options.size - i;
        if (left >= sizeof on - 1 && memcmp(at, on, sizeof on - 1) == 0) made->defects = 1;
        if (left < sizeof key || memcmp(at, key, sizeof key - 1) != 0) continue;
        for (size_t k = 0; k + 1 < sizeof made->token && at[sizeof key - 1 + k] != '"'; ++k) {
            made->token[k] = at[sizeof key - 1 + k];
        }
    }
    *out = made;
    return LF_OK;
}

static void destroy(lf_connector* connector) { free(connector); }

static long long newest(const lf_connector* connector) { return connector->defects ? 6 : 3; }

static lf_status list_tables(lf_connector* connector, const lf_sink* out, lf_error* error) {
    (void)error;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        if (put(connector, out, i ? "\",\"" : "[\"") != LF_OK || put(connector, out, specs[i].name) != LF_OK)
            return LF_ERROR;
    }
    return put(connector, out, "\"]");
}

static lf_status table_schema(lf_connector* connector, lf_str table, lf_str options, struct ArrowSchema* out,
                              lf_error* error) {
    (void)connector;
    (void)options;
    if (!find(table)) return fail(error, LF_RETRY_NOT_FOUND, "there is no such table");
    return make_schema(out, COLUMNS, "name", 0);
}

static lf_status table_metadata(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out,
                                lf_error* error) {
    const spec* s = find(table);
    (void)options;
    if (!s) return fail(error, LF_RETRY_NOT_FOUND, "there is no such table");
    if (s->spoil == null_key) {
        return put(connector, out,
                   "{\"ingestion_type\":\"append\",\"primary_keys\":[\"name\",\"id\"],\"cursor_field\":\"n\","
                   "\"offset_cursor\":{\"member\":\"n\",\"form\":\"integer\"}}");
    }
    return put(connector, out, connector->defects && s->metadata ? s->metadata : USUAL_METADATA);
}

static lf_status prepare(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out, lf_error* error) {
    (void)table;
    (void)options;
    (void)error;
    return put_number(out, "{\"n\":%lld}", newest(connector));
}

/* ---------------------------------------------------------------- readers */

typedef struct reader {
    lf_reader raw;
    lf_connector* connector;
    const spec* table;
    int defects;
    long long first, last; /* rows that are still to come */
    char end[80];
    atomic_int cancelled;
    int batches;
} reader;

static reader* of(lf_reader* r) { return (reader*)r->state; }

static void nap(void) {
    const struct timespec moment = {0, 5 * 1000 * 1000};
    nanosleep(&moment, NULL);
}

static lf_status next_without_array(reader* r, struct ArrowArray* out, lf_error* error) {
    (void)r;
    (void)out;
    (void)error;
    return LF_OK;
}
static lf_status next_of_no_status(reader* r, struct ArrowArray* out, lf_error* error) {
    (void)r;
    (void)out;
    (void)error;
    return 77;
}
static lf_status next_of_no_retry(reader* r, struct ArrowArray* out, lf_error* error) {
    (void)r;
    (void)out;
    return fail(error, 99, "failed in a way of its own");
}
static lf_status next_waits_for_cancel(reader* r, struct ArrowArray* out, lf_error* error) {
    (void)out;
    while (!atomic_load(&r->cancelled)) nap();
    return fail(error, LF_RETRY_CANCELLED, "cancelled");
}
static lf_status next_heeds_nothing(reader* r, struct ArrowArray* out, lf_error* error) {
    (void)out;
    (void)error;
    while (r) nap();
    return LF_END;
}
static lf_status next_is_always_empty(reader* r, struct ArrowArray* out, lf_error* error) {
    if (atomic_load(&r->cancelled)) return fail(error, LF_RETRY_CANCELLED, "cancelled");
    nap();
    return make_rows(out, 1, 0, COLUMNS, 0) ? LF_OK : fail(error, LF_RETRY_TRANSIENT, "out of memory");
}

static lf_status reader_schema(lf_reader* raw, struct ArrowSchema* out, lf_error* error) {
    const reader* r = of(raw);
    (void)error;
    if (r->defects && r->table->reader == READER_WITHOUT_SCHEMA) return LF_OK;
    return make_schema(out, COLUMNS, r->defects && r->table->reader == READER_OTHER_SCHEMA ? "title" : "name", 0);
}

static lf_status reader_next(lf_reader* raw, struct ArrowArray* out, lf_error* error) {
    reader* r = of(raw);
    rows_block* rows;
    if (r->defects && r->table->next) return r->table->next(r, out, error);
    if (r->first > r->last) return LF_END;
    rows = make_rows(out, r->first, r->last - r->first + 1, COLUMNS, 0);
    if (!rows) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    r->first = r->last + 1;
    if (r->defects && r->table->spoil) r->table->spoil(out, rows);
    return LF_OK;
}

static lf_status reader_end_offset(lf_reader* raw, const lf_sink* out, lf_error* error) {
    const reader* r = of(raw);
    (void)error;
    if (r->defects && r->table->reader == READER_NO_END) return LF_OK;
    return put(r->connector, out, r->defects && r->table->end ? r->table->end : r->end);
}

static void reader_cancel(lf_reader* raw) { atomic_store(&of(raw)->cancelled, 1); }
static void reader_close(lf_reader* raw) { free(of(raw)); }

static lf_status open(lf_connector* c, const spec* table, lf_reader** out, lf_error* error) {
    reader* made = calloc(1, sizeof *made);
    if (!made) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    made->raw = (lf_reader){sizeof(lf_reader), 0,           made, reader_schema, reader_next, reader_end_offset,
                            reader_cancel,     reader_close};
    made->connector = c;
    made->table = table;
    made->defects = c->defects;
    made->first = 1;
    if (c->defects && table->reader == READER_WITHOUT_NEXT) made->raw.next = NULL;
    *out = &made->raw;
    return LF_OK;
}

static lf_status read_table(lf_connector* c, const lf_read_args* args, lf_reader** out, lf_error* error) {
    const spec* table = find(args->table);
    const long long start = number_in(args->start, "n");
    reader* r;
    if (!table) return fail(error, LF_RETRY_NOT_FOUND, "there is no such table");
    if (c->defects && table->reader == READER_NONE) return LF_OK;
    if (open(c, table, out, error) != LF_OK) return LF_ERROR;
    r = of(*out);
    r->last = newest(c);
    if (c->defects && table->n) { /* these tables move and bring nothing */
        const long long page = number_in(args->start, "page");
        r->last = 0;
        snprintf(r->end, sizeof r->end, "{\"page\":%lld}", page + 1);
        if (strcmp(table->n, "returns") == 0 && page == 1) snprintf(r->end, sizeof r->end, "{\"n\":%lld}", 3LL);
        return LF_OK;
    }
    r->first = start + 1;
    snprintf(r->end, sizeof r->end, "{\"n\":%lld}", r->last);
    return LF_OK;
}

static int partitioned(const spec* table) { return table->latest || table->descriptors; }

static lf_status is_partitioned(lf_connector* c, lf_str table, lf_str options, int32_t* out, lf_error* error) {
    const spec* s = find(table);
    (void)c;
    (void)options;
    (void)error;
    *out = s && partitioned(s) ? 1 : 0;
    return LF_OK;
}

static lf_status latest_offset(lf_connector* c, const lf_latest_args* args, const lf_sink* out, lf_error* error) {
    const spec* s = find(args->table);
    (void)error;
    if (c->defects && s && s->latest) return put(c, out, s->latest);
    return put_number(out, "{\"offset\":{\"n\":%lld},\"honoured\":[]}", newest(c));
}

static lf_status get_partitions(lf_connector* c, const lf_plan_args* args, const lf_sink* out, lf_error* error) {
    const spec* s = find(args->table);
    (void)error;
    if (c->defects && s && s->descriptors) return put(c, out, s->descriptors);
    return put_number(out, "[{\"from\":%lld}]", number_in(args->start, "n") + 1);
}

static lf_status read_partition(lf_connector* c, const lf_read_args* args, lf_reader** out, lf_error* error) {
    const spec* table = find(args->table);
    if (!table) return fail(error, LF_RETRY_NOT_FOUND, "there is no such table");
    if (open(c, table, out, error) != LF_OK) return LF_ERROR;
    of(*out)->first = number_in(args->descriptor, "from");
    of(*out)->last = number_in(args->end, "n");
    return LF_OK;
}

static const lf_connector_v1 connector_table = {
    .struct_size = sizeof(lf_connector_v1),
    .create = create,
    .destroy = destroy,
    .list_tables = list_tables,
    .table_schema = table_schema,
    .table_metadata = table_metadata,
    .read_table = read_table,
    .prepare_for_trigger_available_now = prepare,
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
    return put(NULL, out,
               "{\"connection\":{\"properties\":{"
               "\"defects\":{\"type\":\"boolean\",\"default\":false,\"description\":\"the tables break their laws\"},"
               "\"token\":{\"type\":\"string\",\"secret\":true,\"description\":\"a secret\"}}},"
               "\"table\":{\"properties\":{}}}");
}

static const void* interface_of(lf_str id) {
    if (id.size == strlen(LF_CONNECTOR_ID) && memcmp(id.data, LF_CONNECTOR_ID, id.size) == 0) return &connector_table;
    if (id.size == strlen(LF_PARTITION_ID) && memcmp(id.data, LF_PARTITION_ID, id.size) == 0) return &partition_table;
    return NULL;
}

static const lf_plugin plugin_table = {
    .struct_size = sizeof(lf_plugin),
    .abi_version = LF_ABI_VERSION,
    .id = TEXT("lawless"),
    .version = TEXT("1.0.0"),
    .summary = TEXT("tables that break one law each"),
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
