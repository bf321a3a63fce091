// plugins/http_api/keys.cpp: see keys.hpp.
#include "keys.hpp"

#include <algorithm>
#include <numeric>

namespace lakeflow::http_api {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

failure wrong(std::string message, std::string hint, std::string_view code) {
    return invalid(std::move(message), std::move(hint)).with_code(std::string(code));
}

}  // namespace

std::string fold(std::string_view name) {
    std::string out;
    for (char c : name) {
        if (c == '_' || c == '-') continue;
        out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    return out;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    std::string best;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& one : candidates) {
        const std::size_t far = distance(fold(word), fold(one));
        if (far < least) least = far, best = one;
    }
    return best;
}

std::string listed(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& one : words) out += (out.empty() ? "" : ", ") + one;
    return out;
}

keys::keys(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) {
        throw wrong(where_ + " must be a table", "write it as { key = value, .. }", "config.invalid_option");
    }
    const auto& members = object.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (fold(members[i].name) != fold(members[j].name)) continue;
            throw wrong(where_ + "." + members[i].name + " is given twice",
                        "option names match without regard to case, '_' and '-'", "config.duplicate_option");
        }
    }
    known_.resize(members.size());
}

const json* keys::find(std::string_view name, std::initializer_list<std::string_view> aliases) {
    const json* out = nullptr;
    asked_.emplace_back(name);
    const auto look = [&](std::string_view wanted) {
        const std::string folded = fold(wanted);
        const auto& members = object_.members();
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (fold(members[i].name) != folded) continue;
            known_[i] = true;
            if (members[i].value.is_null()) continue;
            if (out != nullptr) {
                throw wrong(place(members[i].name) + " says the same as " + place(name), "keep one of the two",
                            "config.duplicate_option");
            }
            out = &members[i].value;
        }
    };
    look(name);
    for (std::string_view alias : aliases) look(alias);
    return out;
}

std::string keys::text(std::string_view name, std::string_view fallback) {
    const json* value = find(name);
    if (value == nullptr) return std::string(fallback);
    if (!value->is_text()) refuse(name, "must be a text");
    return value->as_text();
}

std::string keys::need_text(std::string_view name, std::string_view hint) {
    const json* value = find(name);
    if (value == nullptr || (value->is_text() && value->as_text().empty())) {
        throw wrong(place(name) + " is required", std::string(hint), "config.missing_option");
    }
    return text(name);
}

std::int64_t keys::integer(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most,
                           std::initializer_list<std::string_view> aliases) {
    const json* value = find(name, aliases);
    if (value == nullptr) return fallback;
    std::int64_t out = 0;
    // A text of digits is what `--option` and `--set` give.
    const auto digits = value->is_text() ? detail::plain_integer(value->as_text()) : std::nullopt;
    if (digits) {
        out = *digits;
    } else if (value->is_integer()) {
        out = value->as_int();
    } else {
        refuse(name, "must be a whole number");
    }
    if (out < least || out > most) {
        refuse(name, "is " + std::to_string(out) + "; it lies between " + std::to_string(least) + " and " +
                         std::to_string(most));
    }
    return out;
}

bool keys::boolean(std::string_view name, bool fallback) {
    const json* value = find(name);
    if (value == nullptr) return fallback;
    if (value->is_text() && (value->as_text() == "true" || value->as_text() == "false")) {
        return value->as_text() == "true";
    }
    if (value->type() != json::kind::boolean) refuse(name, "must be true or false");
    return value->as_bool();
}

std::vector<std::string> keys::texts(std::string_view name) {
    const json* value = find(name);
    std::vector<std::string> out;
    if (value == nullptr) return out;
    if (value->is_text()) return {value->as_text()};
    if (!value->is_array()) refuse(name, "must be a list of texts");
    for (const json& one : value->items()) {
        if (!one.is_text()) refuse(name, "must be a list of texts");
        out.push_back(one.as_text());
    }
    return out;
}

std::string keys::word(std::string_view name, const std::vector<std::string>& words) {
    std::string out = text(name, words.front());
    if (std::find(words.begin(), words.end(), out) != words.end()) return out;
    const std::string near = nearest(out, words);
    refuse(name, "is \"" + out + "\"",
           near.empty() ? "It is one of " + listed(words) + "." : "Did you mean \"" + near + "\"?");
}

const json* keys::object(std::string_view name) {
    const json* value = find(name);
    if (value != nullptr && !value->is_object()) refuse(name, "must be a table", "write it as { key = value, .. }");
    return value;
}

void keys::refuse(std::string_view name, const std::string& why, const std::string& hint) const {
    throw wrong(place(name) + " " + why, hint, "config.invalid_option");
}

void keys::done() const {
    const auto& members = object_.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (known_[i]) continue;
        const std::string near = nearest(members[i].name, asked_);
        std::vector<std::string> all = asked_;
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        throw wrong(place(members[i].name) + " is not an option",
                    near.empty() ? "The options are: " + listed(all) + "." : "Did you mean \"" + near + "\"?",
                    "config.unknown_option");
    }
}

}  // namespace lakeflow::http_api
