/*
 * lakeflow/namespaces.h: "lakeflow.namespaces/1", for sources whose tables live in a hierarchy.
 * A namespace is a JSON array of parts: ["catalog", "schema"]; [] is the root.
 */
#ifndef LAKEFLOW_NAMESPACES_H
#define LAKEFLOW_NAMESPACES_H

#include "lakeflow/connector.h"

LF_EXTERN_C_BEGIN

#define LF_NAMESPACES_ID "lakeflow.namespaces/1"

typedef struct lf_namespaces_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Writes a JSON array of the namespaces one level below `prefix`.
     * Required.
     * [control].
     * The text is copied by the sink.
     * An unknown prefix gives [].
     */
    lf_status (*list_namespaces)(lf_connector* connector, lf_str prefix, const lf_sink* out, lf_error* error);

    /*
     * Writes a JSON array of the names of the tables in a namespace, as the other slots take them ("public.orders").
     * Required.
     * [control].
     * The text is copied by the sink.
     * An unknown namespace gives [].
     */
    lf_status (*list_tables_in_namespace)(lf_connector* connector, lf_str name_space, const lf_sink* out,
                                          lf_error* error);
} lf_namespaces_v1;

LF_EXTERN_C_END
#endif
