// plugins/http_api/keys.hpp: one object of the options: its members by folded names (contract 15), checked for type and range; a
// member that nobody asked for is refused with the near name. Used while options are read; one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::http_api {

// "baseUrl", "base-url" and "base_url" are one name.
std::string fold(std::string_view name);

// The candidate that `word` was probably meant to be; empty if none is near enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a, b, c": for messages.
std::string listed(const std::vector<std::string>& words);

class keys {
  public:
    // `where` names the object in messages: "connection.resources.orders.paging".
    keys(const json& object, std::string where);

    const std::string& where() const { return where_; }
    // The member of that name, or of one of its aliases; null where it is absent.
    const json* find(std::string_view name, std::initializer_list<std::string_view> aliases = {});
    bool has(std::string_view name) { return find(name) != nullptr; }

    std::string text(std::string_view name, std::string_view fallback = {});
    std::string need_text(std::string_view name, std::string_view hint);
    std::int64_t integer(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most,
                         std::initializer_list<std::string_view> aliases = {});
    bool boolean(std::string_view name, bool fallback);
    std::vector<std::string> texts(std::string_view name);
    // One of a few words; the first one is the default.
    std::string word(std::string_view name, const std::vector<std::string>& words);
    // The object of that name; null where it is absent.
    const json* object(std::string_view name);

    std::string place(std::string_view name) const { return where_ + "." + std::string(name); }
    // Throws config.invalid_option about a member.
    [[noreturn]] void refuse(std::string_view name, const std::string& why, const std::string& hint = {}) const;
    // Throws config.unknown_option for a member that was not asked for. Call it last.
    void done() const;

  private:
    const json& object_;
    std::string where_;
    std::vector<std::string> asked_;
    std::vector<bool> known_;
};

}  // namespace lakeflow::http_api
