/*
 * lakeflow/abi.h: the words that every other header uses: text, status, error, sink, and the rules of the edge.
 *
 * THE EDGE. A connector ("plugin") is one shared library; a host loads it. Both sides are built apart, by different
 * compilers, years apart. Everything that crosses is C11: no exception, no C++ type, no allocator, no FILE, no errno.
 *
 * SIZE FIRST. Every struct begins with `struct_size`, set by the side that allocates it to sizeof of the struct as that
 * side knows it. A field exists only if it ends inside struct_size: use LF_HAS. Structs grow at their tail; what cannot
 * grow that way becomes a new interface id ("lakeflow.partition/2"). `lf_str` and the two Arrow structs are the only
 * exceptions: they are frozen for good.
 *
 * SLOTS. The comment of each slot says five things, in this order: what it does; required or optional; thread and state;
 * who owns each pointer and until when ("-": there is none); what a failure means and leaves behind.
 *
 * THREADS. Two words are used for a connector's slots, and a third one for the objects of services.
 *   [control]  calls on one connector instance never overlap. The host may make each of them from another OS thread,
 *              with a happens-before edge between one call and the next. Calls on a reader or writer belong to the
 *              instance that opened it: they do not overlap with the instance's other calls either.
 *   [any]      may be called at any time from any thread, also during a [control] call. Must not block or take a lock
 *              that a [control] call holds while it waits.
 *   [serial]   calls on one object (an exchange, a decoder) never overlap, each on any thread.
 * Different instances are independent: many live at once and are called in parallel.
 *
 * OWNERSHIP. Arguments are borrowed for the length of the call. Text goes out through a sink, which copies. Errors are
 * written into the caller's struct. After a call has returned, nothing points into the plugin's memory except open
 * readers and writers, and Arrow arrays, each of which owns itself. Libraries are never unloaded.
 *
 * TRUST. A plugin runs inside the host's process with the host's rights. It leaves the process alone: no signal
 * handlers, setlocale, chdir, setenv, fork, atexit, nothing on stdout, no static destructor that does work.
 *
 * JSON. Offsets, options, metadata, descriptors, scans and predicates cross as UTF-8 JSON without BOM.
 */
#ifndef LAKEFLOW_ABI_H
#define LAKEFLOW_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define LF_EXTERN_C extern "C"
#define LF_EXTERN_C_BEGIN extern "C" {
#define LF_EXTERN_C_END }
#else
#define LF_EXTERN_C
#define LF_EXTERN_C_BEGIN
#define LF_EXTERN_C_END
#endif

#if defined(__GNUC__)
#define LF_EXPORT __attribute__((visibility("default")))
#else
#define LF_EXPORT
#endif

/* Version of this ABI: major * 1000 + minor. A host loads plugins of its own major version and any minor version. */
#define LF_ABI_VERSION 1000u
#define LF_ABI_MAJOR(version) ((version) / 1000u)

/* True if `field` exists in the struct that `pointer` points at, by the size that its allocator stated. */
#define LF_HAS(pointer, type, field) ((pointer)->struct_size >= offsetof(type, field) + sizeof(((const type*)0)->field))

LF_EXTERN_C_BEGIN

/* Borrowed text: UTF-8, `size` bytes, not terminated, may hold NUL. data == NULL is "absent", which differs from "". */
typedef struct lf_str {
    const char* data;
    size_t size;
} lf_str;

/*
 * A string literal as lf_str: LF_LITERAL in expressions, host->service(host, LF_LITERAL(LF_HTTP_ID)); LF_INIT in the
 * initialisers of tables, {sizeof(lf_plugin), LF_ABI_VERSION, LF_INIT("github"), ...}.
 */
#define LF_INIT(text) \
    { "" text, sizeof(text) - 1 }
#ifdef __cplusplus
#define LF_LITERAL(text) (lf_str{"" text, sizeof(text) - 1})
#else
#define LF_LITERAL(text) ((lf_str){"" text, sizeof(text) - 1})
#endif

/* What a call says. A value that is not listed for a slot is a breach of contract ("plugin.bad_status"). */
typedef int32_t lf_status;
#define LF_OK 0    /* done */
#define LF_ERROR 1 /* failed; the error struct says how */
#define LF_END 2   /* only where a slot says so: there is nothing more */

/* What a caller may do about an error. A value that is not listed is a breach of contract. */
typedef int32_t lf_retry;
#define LF_RETRY_PERMANENT 0    /* the same call fails again */
#define LF_RETRY_TRANSIENT 1    /* the same call may succeed later */
#define LF_RETRY_RATE_LIMITED 2 /* the source asks to wait: retry_after_ms */
#define LF_RETRY_AUTH 3         /* the credential is refused or lacks a right */
#define LF_RETRY_NOT_FOUND 4    /* the table, or what it stands on, does not exist */
#define LF_RETRY_INVALID 5      /* the options or arguments are wrong */
#define LF_RETRY_UNSUPPORTED 6  /* this plugin does not do this; the caller may go another way */
#define LF_RETRY_CANCELLED 7    /* the caller cancelled */

/*
 * An error, in the caller's memory. The caller sets struct_size and leaves the rest zero; the callee fills it and keeps
 * each text terminated by NUL. `code` is a stable id ("source.not_found"); left empty, the host takes the one that goes
 * with the retry class. The status of the call decides whether there was an error, never these texts.
 */
typedef struct lf_error {
    uint32_t struct_size;
    lf_retry retry;
    int64_t retry_after_ms; /* with LF_RETRY_RATE_LIMITED: how long, 0 if unknown */
    int32_t vendor_code;    /* the source's own number (an HTTP status), 0 if none */
    uint32_t reserved;
    char code[64];
    char hint[512];     /* what a person should do */
    char message[2048]; /* what went wrong, naming table, key and value; no secret */
} lf_error;

/* Where a callee puts text. */
typedef struct lf_sink {
    uint32_t struct_size;
    uint32_t reserved;
    void* state; /* the receiver's own */

    /*
     * Takes the next piece of a text; one text may come in several.
     * Required.
     * [serial], only during the call that the sink was passed to.
     * The piece is copied.
     * LF_ERROR: the receiver does not take more; the callee returns LF_ERROR too.
     */
    lf_status (*write)(void* state, const char* data, size_t size);
} lf_sink;

/* The host's side of one plugin instance: which table, whose secrets, what was cancelled. Opaque; handed to services. */
typedef struct lf_context lf_context;

LF_EXTERN_C_END
#endif
