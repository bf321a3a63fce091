// lakeflow/lakeflow.hpp: the whole C++20 layer of the SDK. Start reading at cpp/connector.hpp, then cpp/plugin.hpp.
#pragma once

#include "lakeflow/cpp/batch.hpp"
#include "lakeflow/cpp/connector.hpp"
#include "lakeflow/cpp/error.hpp"
#include "lakeflow/cpp/http.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/options.hpp"
#include "lakeflow/cpp/plugin.hpp"
#include "lakeflow/cpp/reader.hpp"
#include "lakeflow/cpp/rows.hpp"
#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/cpp/services.hpp"
#include "lakeflow/cpp/text.hpp"
#include "lakeflow/cpp/url.hpp"
#include "lakeflow/cpp/writer.hpp"
