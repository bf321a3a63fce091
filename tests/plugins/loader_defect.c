/*
 * A plugin in plain C that is right but for one thing, which the loader must name. DEFECT chooses it; without it the plugin is right and
 * serves one table "numbers" of three rows.
 */
#include <string.h>

#include "lakeflow/lakeflow.h"

#define NONE 0
#define NULL_ENTRY 1
#define REFUSES_HOST 2
#define OTHER_MAJOR 3
#define SHORT_STRUCT 4
#define NO_CONNECTOR 5
#define NO_READ_TABLE 6
#define HALF_PARTITION 7
#define SCHEMA_NOT_JSON 8
#define BAD_ID 9
#define BAD_STATUS 10
#define BAD_RETRY 11
#define NO_READER 12
#define ERROR_WITHOUT_TEXT 13

#ifndef DEFECT
#define DEFECT NONE
#endif

#define TEXT(literal) \
    { literal, sizeof(literal) - 1 }

static lf_status put(const lf_sink* out, const char* text) { return out->write(out->state, text, strlen(text)); }

static int instance;

static lf_status create(const lf_create_args* args, lf_connector** out, lf_error* error) {
    (void)args;
    (void)error;
    *out = (lf_connector*)&instance;
    return LF_OK;
}

static void destroy(lf_connector* connector) { (void)connector; }

static lf_status list_tables(lf_connector* connector, const lf_sink* out, lf_error* error) {
    (void)connector;
    (void)error;
    if (DEFECT == BAD_STATUS) return 77;
    if (DEFECT == BAD_RETRY) {
        error->retry = 99;
        return LF_ERROR;
    }
    if (DEFECT == ERROR_WITHOUT_TEXT) {
        error->retry = LF_RETRY_AUTH;
        return LF_ERROR;
    }
    return put(out, "[\"numbers\"]");
}

static struct ArrowSchema column_schema;

static void release_schema(struct ArrowSchema* schema) { schema->release = NULL; }

static struct ArrowSchema* columns[] = {&column_schema};

static lf_status table_schema(lf_connector* connector, lf_str table, lf_str options, struct ArrowSchema* out,
                              lf_error* error) {
    (void)connector;
    (void)options;
    if (table.size != 7 || memcmp(table.data, "numbers", 7) != 0) {
        error->retry = LF_RETRY_NOT_FOUND;
        strcpy(error->message, "there is no such table");
        return LF_ERROR;
    }
    memset(&column_schema, 0, sizeof column_schema);
    column_schema.format = "l";
    column_schema.name = "n";
    column_schema.release = release_schema;
    memset(out, 0, sizeof *out);
    out->format = "+s";
    out->name = "";
    out->n_children = 1;
    out->children = columns;
    out->release = release_schema;
    return LF_OK;
}

static lf_status table_metadata(lf_connector* connector, lf_str table, lf_str options, const lf_sink* out,
                                lf_error* error) {
    (void)connector;
    (void)table;
    (void)options;
    (void)error;
    return put(out, "{\"ingestion_type\":\"snapshot\",\"primary_keys\":[\"n\"]}");
}

static int rows_given;

static lf_status reader_schema(lf_reader* reader, struct ArrowSchema* out, lf_error* error) {
    lf_str table = TEXT("numbers");
    lf_str options = TEXT("{}");
    (void)reader;
    return table_schema(NULL, table, options, out, error);
}

static const int64_t numbers[] = {1, 2, 3};
static const void* number_buffers[] = {NULL, numbers};
static const void* struct_buffers[] = {NULL};
static struct ArrowArray number_array;
static struct ArrowArray* children[] = {&number_array};

static void release_array(struct ArrowArray* array) { array->release = NULL; }

static lf_status reader_next(lf_reader* reader, struct ArrowArray* out, lf_error* error) {
    (void)reader;
    (void)error;
    if (rows_given) return LF_END;
    rows_given = 1;
    memset(&number_array, 0, sizeof number_array);
    number_array.length = 3;
    number_array.n_buffers = 2;
    number_array.buffers = number_buffers;
    number_array.release = release_array;
    memset(out, 0, sizeof *out);
    out->length = 3;
    out->n_buffers = 1;
    out->buffers = struct_buffers;
    out->n_children = 1;
    out->children = children;
    out->release = release_array;
    return LF_OK;
}

static lf_status reader_end_offset(lf_reader* reader, const lf_sink* out, lf_error* error) {
    (void)reader;
    (void)out;
    (void)error;
    return LF_OK;
}

static void reader_nothing(lf_reader* reader) { (void)reader; }

static lf_reader the_reader = {
    sizeof(lf_reader), 0, NULL, reader_schema, reader_next, reader_end_offset, reader_nothing, reader_nothing};

static lf_status read_table(lf_connector* connector, const lf_read_args* args, lf_reader** out, lf_error* error) {
    (void)connector;
    (void)args;
    (void)error;
    rows_given = 0;
    if (DEFECT != NO_READER) *out = &the_reader;
    return LF_OK;
}

static const lf_connector_v1 connector_table = {
    .struct_size =
        DEFECT == SHORT_STRUCT ? (uint32_t)offsetof(lf_connector_v1, table_schema) : (uint32_t)sizeof(lf_connector_v1),
    .create = create,
    .destroy = destroy,
    .list_tables = list_tables,
    .table_schema = table_schema,
    .table_metadata = table_metadata,
    .read_table = DEFECT == NO_READ_TABLE ? NULL : read_table,
};

static lf_status no_partitions(lf_connector* connector, const lf_plan_args* args, const lf_sink* out, lf_error* error) {
    (void)connector;
    (void)args;
    (void)error;
    return put(out, "[]");
}

static const lf_partition_v1 partition_table = {
    .struct_size = sizeof(lf_partition_v1),
    .get_partitions = no_partitions,
};

static lf_status options_schema(const lf_sink* out, lf_error* error) {
    (void)error;
    if (DEFECT == SCHEMA_NOT_JSON) return put(out, "{\"connection\":");
    return put(out,
               "{\"connection\":{\"properties\":{\"base_url\":{\"type\":\"string\",\"default\":\"http://127.0.0.1\"},"
               "\"token\":{\"type\":\"string\",\"secret\":true,\"description\":\"the "
               "key\"},\"page_size\":{\"type\":\"integer\","
               "\"minimum\":1,\"maximum\":100},\"mode\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}},\"required\":["
               "\"token\"]},"
               "\"table\":{\"properties\":{}}}");
}

static int is(lf_str id, const char* name) { return id.size == strlen(name) && memcmp(id.data, name, id.size) == 0; }

static const void* interface_of(lf_str id) {
    if (DEFECT != NO_CONNECTOR && is(id, LF_CONNECTOR_ID)) return &connector_table;
    if (DEFECT == HALF_PARTITION && is(id, LF_PARTITION_ID)) return &partition_table;
    return NULL;
}

#if DEFECT == BAD_ID
#define PLUGIN_ID TEXT("No Id!")
#else
#define PLUGIN_ID TEXT("numbers")
#endif

static const lf_plugin plugin_table = {
    .struct_size = sizeof(lf_plugin),
    .abi_version = DEFECT == OTHER_MAJOR ? 9000u : LF_ABI_VERSION,
    .id = PLUGIN_ID,
    .version = TEXT("1.0.0"),
    .summary = TEXT("three numbers"),
    .vendor = TEXT("tests"),
    .license = TEXT("Apache-2.0"),
    .options_schema = options_schema,
    .interface = interface_of,
};

LF_DECLARE_ENTRY {
    (void)host;
    (void)host_abi_version;
    if (DEFECT == NULL_ENTRY) return NULL;
    if (DEFECT == REFUSES_HOST) {
        error->retry = LF_RETRY_UNSUPPORTED;
        strcpy(error->message, "needs the service lakeflow.quantum/1");
        return NULL;
    }
    return &plugin_table;
}
