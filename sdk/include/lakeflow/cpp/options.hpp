// lakeflow/cpp/options.hpp: the options of a plugin as constant data, and their JSON Schema. Any thread.
//   constexpr option connection[] = {option::text("base_url").fallback("https://api.example.com").help("the service"),
//                                    option::secret("token").must().help("an access token")};
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lakeflow/cpp/json.hpp"

namespace lakeflow {

class option {
  public:
    static constexpr option text(std::string_view name) { return option(name, "string"); }
    // Text that never appears in logs, descriptors or offsets.
    static constexpr option secret(std::string_view name) {
        option out(name, "string");
        out.secret_ = true;
        return out;
    }
    static constexpr option integer(std::string_view name) { return option(name, "integer"); }
    static constexpr option boolean(std::string_view name) { return option(name, "boolean"); }
    // A nested document: its JSON Schema members as text: object("auth").schema(R"("properties": {...})").
    static constexpr option object(std::string_view name) { return option(name, "object"); }
    static constexpr option array(std::string_view name) { return option(name, "array"); }
    // One of a few words; `words` must be constant data.
    static constexpr option choice(std::string_view name, std::span<const std::string_view> words) {
        option out(name, "string");
        out.words_ = words;
        return out;
    }

    constexpr option& help(std::string_view text) { return help_ = text, *this; }
    constexpr option& must() { return required_ = true, *this; }
    constexpr option& deprecated() { return deprecated_ = true, *this; }
    constexpr option& fallback(const char* value) { return fallback_ = by::text, text_ = value, *this; }
    constexpr option& fallback(int64_t value) { return fallback_ = by::integer, number_ = value, *this; }
    constexpr option& fallback(int value) { return fallback(static_cast<int64_t>(value)); }
    constexpr option& fallback(bool value) { return fallback_ = by::boolean, number_ = value, *this; }
    constexpr option& between(int64_t smallest, int64_t largest) {
        return bounded_ = true, smallest_ = smallest, largest_ = largest, *this;
    }
    // More members of the JSON Schema, as the inside of an object.
    constexpr option& schema(std::string_view members) { return members_ = members, *this; }

    constexpr std::string_view name() const { return name_; }
    constexpr bool is_required() const { return required_; }

    json to_schema() const {
        json out = json::object({{"type", type_}});
        if (!help_.empty()) out.set("description", help_);
        if (fallback_ == by::text) out.set("default", text_);
        if (fallback_ == by::integer) out.set("default", number_);
        if (fallback_ == by::boolean) out.set("default", number_ != 0);
        if (bounded_) out.set("minimum", smallest_).set("maximum", largest_);
        if (secret_) out.set("secret", true);
        if (deprecated_) out.set("deprecated", true);
        if (!words_.empty()) {
            json words = json::array();
            for (std::string_view word : words_) words.push(word);
            out.set("enum", std::move(words));
        }
        if (!members_.empty()) {
            const json more = json::parse("{" + std::string(members_) + "}");
            for (const json::member& m : more.members()) out.set(m.name, m.value);
        }
        return out;
    }

  private:
    enum class by : uint8_t { nothing, text, integer, boolean };
    constexpr option(std::string_view name, std::string_view type) : name_(name), type_(type) {}

    std::string_view name_, type_, help_, text_, members_;
    std::span<const std::string_view> words_;
    int64_t number_ = 0, smallest_ = 0, largest_ = 0;
    by fallback_ = by::nothing;
    bool secret_ = false, required_ = false, deprecated_ = false, bounded_ = false;
};

// The JSON Schema of a list of options.
inline json options_schema(std::span<const option> options) {
    json properties = json::object(), required = json::array();
    for (const option& one : options) {
        properties.set(one.name(), one.to_schema());
        if (one.is_required()) required.push(one.name());
    }
    json out = json::object({{"type", "object"}, {"properties", properties}, {"additionalProperties", false}});
    if (!required.empty()) out.set("required", required);
    return out;
}

}  // namespace lakeflow
