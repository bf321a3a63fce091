/* Would be a plugin if the library that it needs were found. */
#include "lakeflow/entry.h"

int elsewhere(void);

LF_DECLARE_ENTRY {
    (void)host_abi_version;
    (void)host;
    (void)error;
    return elsewhere() ? NULL : NULL;
}
