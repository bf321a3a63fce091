// host/rows/content.h: may an answer of this content type hold rows? Any thread.
#pragma once

#include <string>
#include <string_view>

#include "host/rows/spec.h"

namespace lakeflow::host {

// Why a Content-Type cannot be right for the format ("text/html; charset=utf-8"); empty if it may be, as an absent one may.
std::string wrong_content(rows_format format, std::string_view content_type);

}  // namespace lakeflow::host
