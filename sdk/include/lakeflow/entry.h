/*
 * lakeflow/entry.h: how a host and a plugin meet. A plugin exports one symbol, LF_ENTRY_SYMBOL, and nothing else.
 */
#ifndef LAKEFLOW_ENTRY_H
#define LAKEFLOW_ENTRY_H

#include "lakeflow/abi.h"

LF_EXTERN_C_BEGIN

/* The host, as a plugin sees it. Lives as long as the process. */
typedef struct lf_host {
    uint32_t struct_size;
    uint32_t abi_version; /* LF_ABI_VERSION of the host */
    lf_str name;          /* "lakeflow-host", "lakeflow-spark" */
    lf_str version;

    /*
     * Gives a service table by its revisioned id, for example LF_HTTP_ID; NULL if the host does not have it.
     * Required.
     * [any].
     * The table lives as long as the process.
     * Cannot fail; a plugin that cannot work without a service refuses to load, naming it.
     */
    const void* (*service)(const struct lf_host* host, lf_str id);
} lf_host;

/* The plugin, as a host sees it: a constant table. Nothing in it needs an instance, a network or the options. */
typedef struct lf_plugin {
    uint32_t struct_size;
    uint32_t abi_version; /* LF_ABI_VERSION that it was built with */
    lf_str id;            /* what an operator types: "github"; [a-z0-9-], at most 64 bytes */
    lf_str version;       /* its own version: "1.4.0" */
    lf_str summary;       /* one line for a list */
    lf_str vendor;
    lf_str license; /* an SPDX expression */
    lf_str homepage;

    /*
     * Writes the options as JSON: {"connection": S, "table": S}, each S a JSON Schema object with "properties", of which
     * each has "type", "description" and where they apply "default", "enum", "minimum", "maximum", "secret": true,
     * "deprecated": true; "required": [names]; "additionalProperties". The host validates, fills defaults and redacts by it.
     * Required.
     * [any].
     * The text is copied by the sink.
     * LF_ERROR: the plugin is not usable.
     */
    lf_status (*options_schema)(const lf_sink* out, lf_error* error);

    /*
     * Gives an interface table by its id: LF_CONNECTOR_ID is required; LF_PARTITION_ID, LF_NAMESPACES_ID, LF_SCAN_ID,
     * LF_WRITER_ID where the source can serve them.
     * Required.
     * [any].
     * The table lives as long as the process.
     * NULL: the plugin does not have it.
     */
    const void* (*interface)(lf_str id);
} lf_plugin;

#define LF_ENTRY_SYMBOL "lakeflow_plugin_entry"

/*
 * The one exported function: checks that the host is new enough and gives the plugin's table.
 * Required.
 * [any]; may be called more than once and from several copies of a host in one process, and must do no other work.
 * `host` and the returned table live as long as the process.
 * NULL: the plugin refuses this host; `error` says why.
 */
typedef const lf_plugin* (*lf_entry_fn)(uint32_t host_abi_version, const lf_host* host, lf_error* error);

#define LF_DECLARE_ENTRY                                                                                         \
    LF_EXTERN_C LF_EXPORT const lf_plugin* lakeflow_plugin_entry(uint32_t host_abi_version, const lf_host* host, \
                                                                 lf_error* error)

LF_EXTERN_C_END
#endif
