/*
 * Rows of the C plugins of this folder: "id BIGINT NOT NULL, n BIGINT, name STRING, marks ARRAY<BIGINT>", one block of memory a batch.
 * id is the number of the row, n the cursor; name is "row <id>"; marks are the id and its double.
 */
#ifndef LAKEFLOW_TESTS_NUMBER_ROWS_H
#define LAKEFLOW_TESTS_NUMBER_ROWS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lakeflow/lakeflow.h"

#define COLUMNS 4
#define NAME_BYTES 24

typedef struct schema_block {
    struct ArrowSchema columns[COLUMNS];
    struct ArrowSchema* places[COLUMNS];
    struct ArrowSchema element;
    struct ArrowSchema* element_place;
} schema_block;

static void release_child_schema(struct ArrowSchema* schema) { schema->release = NULL; }

static void release_schema(struct ArrowSchema* schema) {
    free(schema->private_data);
    schema->release = NULL;
}

static struct ArrowSchema schema_node(const char* name, const char* format, int64_t flags) {
    struct ArrowSchema out;
    memset(&out, 0, sizeof out);
    out.name = name;
    out.format = format;
    out.flags = flags;
    out.release = release_child_schema;
    return out;
}

/* `columns` of them, so that a table may do without the last. `name`: of the third. */
static lf_status make_schema(struct ArrowSchema* out, int columns, const char* name, int id_may_be_null) {
    schema_block* block = (schema_block*)calloc(1, sizeof *block);
    int i;
    if (!block) return LF_ERROR;
    block->columns[0] = schema_node("id", "l", id_may_be_null ? ARROW_FLAG_NULLABLE : 0);
    block->columns[1] = schema_node("n", "l", ARROW_FLAG_NULLABLE);
    block->columns[2] = schema_node(name, "u", ARROW_FLAG_NULLABLE);
    block->columns[3] = schema_node("marks", "+l", ARROW_FLAG_NULLABLE);
    block->element = schema_node("element", "l", ARROW_FLAG_NULLABLE);
    block->element_place = &block->element;
    block->columns[3].n_children = 1;
    block->columns[3].children = &block->element_place;
    for (i = 0; i < COLUMNS; ++i) block->places[i] = &block->columns[i];
    *out = schema_node("", "+s", 0);
    out->n_children = columns;
    out->children = block->places;
    out->private_data = block;
    out->release = release_schema;
    return LF_OK;
}

/* A batch: the Arrow structs, then its buffers. */
typedef struct rows_block {
    struct ArrowArray columns[COLUMNS];
    struct ArrowArray* places[COLUMNS];
    struct ArrowArray element;
    struct ArrowArray* element_place;
    const void* top_buffers[1];
    const void* id_buffers[2];
    const void* n_buffers[2];
    const void* name_buffers[3];
    const void* mark_buffers[2];
    const void* element_buffers[2];
    uint8_t some[8]; /* a bitmap whose first row is null and whose others are not; for batches of at most 64 rows */
    int64_t *ids, *ns, *marks;
    int32_t *name_offsets, *mark_offsets;
    char* names;
} rows_block;

static void release_child_array(struct ArrowArray* array) { array->release = NULL; }

static void release_rows(struct ArrowArray* array) {
    rows_block* block = (rows_block*)array->private_data;
    free(block->ids);
    free(block);
    array->release = NULL;
}

static struct ArrowArray array_node(int64_t length, const void** buffers, int64_t count) {
    struct ArrowArray out;
    memset(&out, 0, sizeof out);
    out.length = length;
    out.buffers = buffers;
    out.n_buffers = count;
    out.release = release_child_array;
    return out;
}

#define TIED_VALUE 1000000

/* n of a row: its id; or where rows up to `tied` share one value, that value, and past them one more a row. */
static int64_t cursor_of(int64_t id, int64_t tied) {
    if (tied == 0) return id;
    return id <= tied ? TIED_VALUE : TIED_VALUE + id - tied;
}

/* Rows first..first+count-1. */
static rows_block* make_rows(struct ArrowArray* out, int64_t first, int64_t count, int columns, int64_t tied) {
    rows_block* b = (rows_block*)calloc(1, sizeof *b);
    const size_t rows = (size_t)count;
    int64_t i;
    size_t bytes = 0;
    char* at;
    if (!b) return NULL;
    at = (char*)malloc((rows + 1) * (8 + 8 + 16 + 4 + 4 + NAME_BYTES) + 64);
    if (!at) {
        free(b);
        return NULL;
    }
    b->ids = (int64_t*)(void*)at;
    b->ns = b->ids + rows + 1;
    b->marks = b->ns + rows + 1;
    b->name_offsets = (int32_t*)(void*)(b->marks + 2 * (rows + 1));
    b->mark_offsets = b->name_offsets + rows + 1;
    b->names = (char*)(b->mark_offsets + rows + 1);
    b->some[0] = 0xFE;
    memset(b->some + 1, 0xFF, sizeof b->some - 1);
    for (i = 0; i < count; ++i) {
        const int64_t id = first + i;
        b->ids[i] = id;
        b->ns[i] = cursor_of(id, tied);
        b->marks[2 * i] = id;
        b->marks[2 * i + 1] = 2 * id;
        b->mark_offsets[i] = (int32_t)(2 * i);
        b->name_offsets[i] = (int32_t)bytes;
        bytes += (size_t)snprintf(b->names + bytes, NAME_BYTES, "row %lld", (long long)id);
    }
    b->mark_offsets[count] = (int32_t)(2 * count);
    b->name_offsets[count] = (int32_t)bytes;
    b->id_buffers[1] = b->ids;
    b->n_buffers[1] = b->ns;
    b->name_buffers[1] = b->name_offsets;
    b->name_buffers[2] = b->names;
    b->mark_buffers[1] = b->mark_offsets;
    b->element_buffers[1] = b->marks;
    b->columns[0] = array_node(count, b->id_buffers, 2);
    b->columns[1] = array_node(count, b->n_buffers, 2);
    b->columns[2] = array_node(count, b->name_buffers, 3);
    b->columns[3] = array_node(count, b->mark_buffers, 2);
    b->element = array_node(2 * count, b->element_buffers, 2);
    b->element_place = &b->element;
    b->columns[3].n_children = 1;
    b->columns[3].children = &b->element_place;
    for (i = 0; i < COLUMNS; ++i) b->places[i] = &b->columns[i];
    *out = array_node(count, b->top_buffers, 1);
    out->n_children = columns;
    out->children = b->places;
    out->private_data = b;
    out->release = release_rows;
    return b;
}

#endif
