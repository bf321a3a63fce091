// host/duck/api.h: the functions of DuckDB's C API that the host uses, as one table of typed pointers. DuckDB is loaded at run
// time, so none of its headers is needed; the types here are what its documentation says. Every entry is a function of
// libduckdb.so of that name. The table is immutable once loaded. Any thread, as far as DuckDB allows it: a connection and what
// came out of it is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lakeflow/arrow.h"

namespace lakeflow::host::duck {

// Opaque handles. In DuckDB each is a pointer to a struct that nobody sees into.
namespace raw {
using idx = std::uint64_t;
using state = int;  // 0 is success
using database = struct database_s*;
using connection = struct connection_s*;
using config = struct config_s*;
using prepared = struct prepared_s*;
using data_chunk = struct data_chunk_s*;
using vector = struct vector_s*;
using logical_type = struct logical_type_s*;
using table_function = struct table_function_s*;
using bind_info = struct bind_info_s*;
using init_info = struct init_info_s*;
using function_info = struct function_info_s*;
using value = struct value_s*;
using error_data = struct error_data_s*;
using arrow_schema = struct converted_schema_s*;
using destructor = void (*)(void*);

// Filled by DuckDB; only the last member is meant to be used, and only by DuckDB.
struct result {
    idx deprecated[3] = {};
    void* deprecated_columns = nullptr;
    char* deprecated_error = nullptr;
    void* internal = nullptr;
};
}  // namespace raw

// X(return type, name, parameters)
#define LAKEFLOW_DUCKDB_FUNCTIONS(X)                                                                               \
    X(const char*, library_version, (void))                                                                        \
    X(void, free, (void*))                                                                                         \
    X(raw::state, create_config, (raw::config*))                                                                   \
    X(raw::state, set_config, (raw::config, const char*, const char*))                                             \
    X(void, destroy_config, (raw::config*))                                                                        \
    X(raw::state, open_ext, (const char*, raw::database*, raw::config, char**))                                    \
    X(void, close, (raw::database*))                                                                               \
    X(raw::state, connect, (raw::database, raw::connection*))                                                      \
    X(void, disconnect, (raw::connection*))                                                                        \
    X(void, interrupt, (raw::connection))                                                                          \
    X(raw::state, query, (raw::connection, const char*, raw::result*))                                             \
    X(raw::state, prepare, (raw::connection, const char*, raw::prepared*))                                         \
    X(const char*, prepare_error, (raw::prepared))                                                                 \
    X(void, destroy_prepare, (raw::prepared*))                                                                     \
    X(raw::state, execute_prepared_streaming, (raw::prepared, raw::result*))                                       \
    X(void, destroy_result, (raw::result*))                                                                        \
    X(const char*, result_error, (raw::result*))                                                                   \
    X(raw::idx, column_count, (raw::result*))                                                                      \
    X(const char*, column_name, (raw::result*, raw::idx))                                                          \
    X(int, column_type, (raw::result*, raw::idx))                                                                  \
    X(raw::idx, rows_changed, (raw::result*))                                                                      \
    X(raw::data_chunk, fetch_chunk, (raw::result))                                                                 \
    X(void, destroy_data_chunk, (raw::data_chunk*))                                                                \
    X(raw::idx, data_chunk_get_column_count, (raw::data_chunk))                                                    \
    X(raw::vector, data_chunk_get_vector, (raw::data_chunk, raw::idx))                                             \
    X(raw::idx, data_chunk_get_size, (raw::data_chunk))                                                            \
    X(void, data_chunk_set_size, (raw::data_chunk, raw::idx))                                                      \
    X(raw::logical_type, vector_get_column_type, (raw::vector))                                                    \
    X(void*, vector_get_data, (raw::vector))                                                                       \
    X(std::uint64_t*, vector_get_validity, (raw::vector))                                                          \
    X(void, vector_reference_vector, (raw::vector, raw::vector))                                                   \
    X(raw::vector, list_vector_get_child, (raw::vector))                                                           \
    X(raw::vector, struct_vector_get_child, (raw::vector, raw::idx))                                               \
    X(void, destroy_logical_type, (raw::logical_type*))                                                            \
    X(int, get_type_id, (raw::logical_type))                                                                       \
    X(int, decimal_internal_type, (raw::logical_type))                                                             \
    X(std::uint8_t, decimal_scale, (raw::logical_type))                                                            \
    X(raw::logical_type, column_logical_type, (raw::result*, raw::idx))                                            \
    X(raw::logical_type, list_type_child_type, (raw::logical_type))                                                \
    X(raw::logical_type, map_type_key_type, (raw::logical_type))                                                   \
    X(raw::logical_type, map_type_value_type, (raw::logical_type))                                                 \
    X(raw::idx, struct_type_child_count, (raw::logical_type))                                                      \
    X(char*, struct_type_child_name, (raw::logical_type, raw::idx))                                                \
    X(raw::logical_type, struct_type_child_type, (raw::logical_type, raw::idx))                                    \
    X(raw::logical_type, create_logical_type, (int))                                                               \
    X(raw::table_function, create_table_function, (void))                                                          \
    X(void, destroy_table_function, (raw::table_function*))                                                        \
    X(void, table_function_set_name, (raw::table_function, const char*))                                           \
    X(void, table_function_add_parameter, (raw::table_function, raw::logical_type))                                \
    X(void, table_function_set_extra_info, (raw::table_function, void*, raw::destructor))                          \
    X(void, table_function_set_bind, (raw::table_function, void (*)(raw::bind_info)))                              \
    X(void, table_function_set_init, (raw::table_function, void (*)(raw::init_info)))                              \
    X(void, table_function_set_function, (raw::table_function, void (*)(raw::function_info, raw::data_chunk)))     \
    X(raw::state, register_table_function, (raw::connection, raw::table_function))                                 \
    X(void*, bind_get_extra_info, (raw::bind_info))                                                                \
    X(raw::value, bind_get_parameter, (raw::bind_info, raw::idx))                                                  \
    X(void, bind_add_result_column, (raw::bind_info, const char*, raw::logical_type))                              \
    X(void, bind_set_bind_data, (raw::bind_info, void*, raw::destructor))                                          \
    X(void, bind_set_error, (raw::bind_info, const char*))                                                         \
    X(void*, init_get_bind_data, (raw::init_info))                                                                 \
    X(void, init_set_max_threads, (raw::init_info, raw::idx))                                                      \
    X(void, init_set_error, (raw::init_info, const char*))                                                         \
    X(void*, function_get_bind_data, (raw::function_info))                                                         \
    X(void, function_set_error, (raw::function_info, const char*))                                                 \
    X(std::uint64_t, get_uint64, (raw::value))                                                                     \
    X(void, destroy_value, (raw::value*))                                                                          \
    X(raw::error_data, schema_from_arrow, (raw::connection, ArrowSchema*, raw::arrow_schema*))                     \
    X(void, destroy_arrow_converted_schema, (raw::arrow_schema*))                                                  \
    X(raw::error_data, data_chunk_from_arrow, (raw::connection, ArrowArray*, raw::arrow_schema, raw::data_chunk*)) \
    X(bool, error_data_has_error, (raw::error_data))                                                               \
    X(const char*, error_data_message, (raw::error_data))                                                          \
    X(void, destroy_error_data, (raw::error_data*))

struct api {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the arguments are a type, a name and a parameter list
#define LAKEFLOW_DUCKDB_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
    LAKEFLOW_DUCKDB_FUNCTIONS(LAKEFLOW_DUCKDB_MEMBER)
#undef LAKEFLOW_DUCKDB_MEMBER
    std::string path;  // of the library
};

// Type ids of DuckDB (enum duckdb_type) that readers of results meet.
enum type : int {
    type_boolean = 1,
    type_tinyint = 2,
    type_smallint = 3,
    type_integer = 4,
    type_bigint = 5,
    type_utinyint = 6,
    type_usmallint = 7,
    type_uinteger = 8,
    type_ubigint = 9,
    type_float = 10,
    type_double = 11,
    type_timestamp = 12,
    type_date = 13,
    type_hugeint = 16,
    type_varchar = 17,
    type_blob = 18,
    type_decimal = 19,
    type_list = 24,
    type_struct = 25,
    type_map = 26,
    type_timestamp_tz = 31,
};

// Loads libduckdb.so. `option` (a job's duckdb_library, a file) if it is not empty, else the variable LAKEFLOW_DUCKDB, else next to
// the executable, else ${LAKEFLOW_CACHE:-~/.cache/lakeflow}/duckdb. It is never unloaded. Throws destination.duckdb naming each
// place, why it was passed over, and the remedy.
std::shared_ptr<const api> load(const std::string& option);

}  // namespace lakeflow::host::duck
