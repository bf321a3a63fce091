/*
 * lakeflow/arrow.h: the Arrow C data interface, which is how records cross.
 * Source: Apache Arrow, "The Arrow C data interface". The two structs are frozen there; the guard is the one that the
 * specification names, so this header and others that declare the same structs may be used together.
 *
 * PROFILE. A schema is a struct ("+s"), one child a column. Types: null "n", bool "b", int8..int64 "c" "s" "i" "l",
 * float32/64 "f" "g", decimal128 "d:p,s", utf8 "u", large_utf8 "U", binary "z", large_binary "Z", date32 "tdD",
 * timestamp in microseconds "tsu:UTC" or "tsu:" (no zone), list "+l", struct "+s", map "+m". No dictionaries.
 * A column that is not nullable lacks ARROW_FLAG_NULLABLE. Column names may be any UTF-8 text without NUL.
 *
 * OWNERSHIP. An array given out is its own owner: it stays valid after later calls, after close and after destroy, and
 * is released once, on any thread, in any order. An array may have zero rows, or zero columns with a length.
 */
#ifndef LAKEFLOW_ARROW_H
#define LAKEFLOW_ARROW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifdef __cplusplus
}
#endif
#endif
