/* A plugin as it was written for ABI 1.0: built from the frozen headers beside it, run by every later host. Do not change it. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lakeflow/lakeflow.h"

#define LAST 1000 /* the greatest number of the table */
#define BATCH 400 /* rows a batch */

struct lf_connector {
    lf_context* context; /* goes into calls of the host's services; this connector needs none */
};

static lf_status fail(lf_error* error, lf_retry retry, const char* message) {
    if (error != NULL) {
        error->retry = retry;
        snprintf(error->message, sizeof error->message, "%s", message);
    }
    return LF_ERROR;
}

static lf_status put(const lf_sink* out, const char* text) { return out->write(out->state, text, strlen(text)); }

static bool is(lf_str text, const char* word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* ---- Arrow: a schema and a batch of two columns. The parts of a block are released one by one, the last one frees it. ---- */

struct schema_block {
    struct ArrowSchema columns[2];
    struct ArrowSchema* pointers[2];
};

static void release_column(struct ArrowSchema* column) { column->release = NULL; }

static void release_schema(struct ArrowSchema* schema) {
    free(schema->private_data);
    schema->release = NULL;
}

static lf_status make_schema(struct ArrowSchema* out, lf_error* error) {
    static const char* const names[2] = {"n", "square"};
    struct schema_block* block = calloc(1, sizeof *block);
    memset(out, 0, sizeof *out);
    if (block == NULL) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    for (int i = 0; i < 2; ++i) {
        block->columns[i].format = "l";
        block->columns[i].name = names[i];
        block->columns[i].release = release_column; /* no ARROW_FLAG_NULLABLE: the columns are NOT NULL */
        block->pointers[i] = &block->columns[i];
    }
    out->format = "+s";
    out->name = "";
    out->n_children = 2;
    out->children = block->pointers;
    out->private_data = block;
    out->release = release_schema;
    return LF_OK;
}

struct batch_block {
    atomic_int owners;
    int64_t values[2][BATCH];
    const void* buffers[2][2];
    const void* no_validity[1];
    struct ArrowArray columns[2];
    struct ArrowArray* pointers[2];
};

static void release_array(struct ArrowArray* array) {
    struct batch_block* block = array->private_data;
    for (int64_t i = 0; i < array->n_children; ++i) { /* those that the consumer did not move out */
        if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    }
    array->release = NULL;
    if (atomic_fetch_sub(&block->owners, 1) == 1) free(block);
}

static lf_status make_batch(int64_t first, int64_t rows, struct ArrowArray* out, lf_error* error) {
    struct batch_block* block = calloc(1, sizeof *block);
    if (block == NULL) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    atomic_init(&block->owners, 3);
    for (int64_t i = 0; i < rows; ++i) {
        block->values[0][i] = first + i;
        block->values[1][i] = (first + i) * (first + i);
    }
    for (int i = 0; i < 2; ++i) {
        block->buffers[i][1] = block->values[i];
        block->columns[i].length = rows;
        block->columns[i].n_buffers = 2;
        block->columns[i].buffers = block->buffers[i];
        block->columns[i].private_data = block;
        block->columns[i].release = release_array;
        block->pointers[i] = &block->columns[i];
    }
    memset(out, 0, sizeof *out);
    out->length = rows;
    out->n_buffers = 1;
    out->buffers = block->no_validity;
    out->n_children = 2;
    out->children = block->pointers;
    out->private_data = block;
    out->release = release_array;
    return LF_OK;
}

/* ---- The reader: (at, end]. ---- */

struct squares_reader {
    lf_reader table;
    int64_t at, end;
    bool stream;
    atomic_bool cancelled;
};

static lf_status reader_schema(lf_reader* reader, struct ArrowSchema* out, lf_error* error) {
    (void)reader;
    return make_schema(out, error);
}

static lf_status reader_next(lf_reader* reader, struct ArrowArray* out, lf_error* error) {
    struct squares_reader* self = reader->state;
    int64_t rows = self->end - self->at < BATCH ? self->end - self->at : BATCH;
    if (atomic_load(&self->cancelled)) return fail(error, LF_RETRY_CANCELLED, "cancelled");
    if (rows <= 0) return LF_END;
    lf_status status = make_batch(self->at + 1, rows, out, error);
    if (status == LF_OK) self->at += rows;
    return status;
}

static lf_status reader_end_offset(lf_reader* reader, const lf_sink* out, lf_error* error) {
    struct squares_reader* self = reader->state;
    char text[64];
    if (self->at < self->end) return fail(error, LF_RETRY_PERMANENT, "the read has not ended");
    if (!self->stream) return LF_OK;
    snprintf(text, sizeof text, "{\"n\":%" PRId64 "}", self->at);
    return put(out, text);
}

static void reader_cancel(lf_reader* reader) {
    atomic_store(&((struct squares_reader*)reader->state)->cancelled, true);
}

static void reader_close(lf_reader* reader) { free(reader->state); }

/* The number of an offset: 0 of an absent one and of {}. */
static bool number_of(lf_str offset, int64_t* out) {
    char text[64];
    int used = 0;
    *out = 0;
    if (offset.data == NULL || is(offset, "{}")) return true;
    if (offset.size >= sizeof text) return false;
    memcpy(text, offset.data, offset.size);
    text[offset.size] = '\0';
    return sscanf(text, "{\"n\":%" SCNd64 "}%n", out, &used) == 1 && (size_t)used == offset.size;
}

/* ---- The connector. ---- */

static lf_status create(const lf_create_args* args, lf_connector** out, lf_error* error) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    (*out)->context = args->context;
    return LF_OK;
}

static void destroy(lf_connector* connector) { free(connector); }

static lf_status list_tables(lf_connector* connector, const lf_sink* out, lf_error* error) {
    (void)connector, (void)error;
    return put(out, "[\"squares\"]");
}

static lf_status table_schema(lf_connector* connector, lf_str table, lf_str options, struct ArrowSchema* out,
                              lf_error* error) {
    (void)connector, (void)options;
    memset(out, 0, sizeof *out);
    if (!is(table, "squares")) return fail(error, LF_RETRY_NOT_FOUND, "the only table is 'squares'");
    return make_schema(out, error);
}

static lf_status table_metadata(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out,
                                lf_error* error) {
    (void)connector, (void)options;
    if (!is(table, "squares")) return fail(error, LF_RETRY_NOT_FOUND, "the only table is 'squares'");
    return put(out,
               "{\"ingestion_type\":\"append\",\"primary_keys\":[\"n\"],\"cursor_field\":\"n\","
               "\"offset_cursor\":{\"member\":\"n\",\"form\":\"integer\"}}");
}

static lf_status read_table(lf_connector* connector, const lf_read_args* args, lf_reader** out, lf_error* error) {
    (void)connector;
    *out = NULL;
    if (!is(args->table, "squares")) return fail(error, LF_RETRY_NOT_FOUND, "the only table is 'squares'");
    struct squares_reader* self = calloc(1, sizeof *self);
    if (self == NULL) return fail(error, LF_RETRY_TRANSIENT, "out of memory");
    self->stream = args->start.data != NULL;
    self->end = LAST;
    if (!number_of(args->start, &self->at) || (args->end.data != NULL && !number_of(args->end, &self->end))) {
        free(self);
        return fail(error, LF_RETRY_INVALID, "an offset is not of this table");
    }
    self->table.struct_size = sizeof self->table;
    self->table.state = self;
    self->table.schema = reader_schema;
    self->table.next = reader_next;
    self->table.end_offset = reader_end_offset;
    self->table.cancel = reader_cancel;
    self->table.close = reader_close;
    *out = &self->table;
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
};

/* ---- The plugin. ---- */

static lf_status options_schema(const lf_sink* out, lf_error* error) {
    (void)error;
    return put(
        out,
        "{\"connection\":{\"type\":\"object\",\"properties\":{}},\"table\":{\"type\":\"object\",\"properties\":{}}}");
}

static const void* interface(lf_str id) { return is(id, LF_CONNECTOR_ID) ? &connector_table : NULL; }

static const lf_plugin plugin = {
    .struct_size = sizeof(lf_plugin),
    .abi_version = LF_ABI_VERSION,
    .id = LF_INIT("squares"),
    .version = LF_INIT("1.0.0"),
    .summary = LF_INIT("The squares of the first thousand numbers"),
    .vendor = LF_INIT("lakeflow examples"),
    .license = LF_INIT("Apache-2.0"),
    .homepage = LF_INIT(""),
    .options_schema = options_schema,
    .interface = interface,
};

LF_DECLARE_ENTRY;
LF_DECLARE_ENTRY {
    (void)host;
    if (LF_ABI_MAJOR(host_abi_version) != LF_ABI_MAJOR(LF_ABI_VERSION)) {
        fail(error, LF_RETRY_UNSUPPORTED, "built for another major version of the ABI");
        return NULL;
    }
    return &plugin;
}
