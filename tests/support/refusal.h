// tests/support/refusal.h: what an action that must fail says.
#pragma once

#include <functional>
#include <string>

#include "host/base/error.h"

namespace lakeflow::host::testing {

// The error of an action; code "none" if it did not fail.
inline error refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const failure& f) {
        return f.get();
    }
    return {"none", "", ""};
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace lakeflow::host::testing
