/* lakeflow/lakeflow.h: the whole C ABI of a lakeflow connector. Start reading at abi.h, then entry.h and connector.h. */
#ifndef LAKEFLOW_LAKEFLOW_H
#define LAKEFLOW_LAKEFLOW_H

#include "lakeflow/abi.h"
#include "lakeflow/arrow.h"
#include "lakeflow/connector.h"
#include "lakeflow/entry.h"
#include "lakeflow/http.h"
#include "lakeflow/layout.h"
#include "lakeflow/namespaces.h"
#include "lakeflow/partition.h"
#include "lakeflow/reader.h"
#include "lakeflow/rows.h"
#include "lakeflow/scan.h"
#include "lakeflow/services.h"
#include "lakeflow/writer.h"

#endif
