// host/base/secrets.cpp: see secrets.h.
#include "host/base/secrets.h"

#include <algorithm>

#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr std::size_t shortest_secret = 4;

// Base64 of a text that holds the value at any position: the three alignments, without the characters that the
// neighbours share.
std::vector<std::string> base64_forms(std::string_view value) {
    std::vector<std::string> forms;
    for (std::size_t shift = 0; shift < 3; ++shift) {
        const std::size_t first = (shift * 8 + 5) / 6;  // the first character that holds bits of the value alone
        const std::size_t last = (shift + value.size()) * 8 / 6;
        if (last <= first + 6) continue;
        const std::string padded = std::string(shift, 'x') + std::string(value);
        forms.push_back(base64(padded).substr(first, last - first));
    }
    return forms;
}

}  // namespace

void secrets::add(std::string_view value) {
    if (value.size() < shortest_secret) return;
    std::vector<std::string> forms = base64_forms(value);
    forms.emplace_back(value);
    forms.push_back(percent_encode(value));
    const std::string quoted = quote_json(value);
    forms.push_back(quoted.substr(1, quoted.size() - 2));
    const std::unique_lock lock(mutex_);
    for (auto& form : forms) {
        if (std::find(forms_.begin(), forms_.end(), form) == forms_.end()) forms_.push_back(std::move(form));
    }
    std::sort(forms_.begin(), forms_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string secrets::redact(std::string_view text) const {
    std::string out(text);
    const std::shared_lock lock(mutex_);
    for (const auto& form : forms_) {
        for (std::size_t at = out.find(form); at != std::string::npos; at = out.find(form, at + 3)) {
            out.replace(at, form.size(), "***");
        }
    }
    return out;
}

bool secrets::found_in(std::string_view text) const {
    const std::shared_lock lock(mutex_);
    return std::any_of(forms_.begin(), forms_.end(),
                       [&](const auto& form) { return text.find(form) != std::string_view::npos; });
}

}  // namespace lakeflow::host
