// host/job/keys.h: the keys that a table of the job file may have, and the checks that are the same for all of them. For host/job alone.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/job/toml.h"

namespace lakeflow::host {

enum class key_type { text, integer, boolean, number, texts, table, size, duration, any };

struct key {
    const char* name;
    key_type type = key_type::text;
};

// One table of the job file, its keys checked: names fold (contract 15), unknown ones are named with the near one, types fit.
class checked_table {
  public:
    // `others_allowed`: keys beside the known ones are left in `rest()` (options of a plugin).
    // `path` is where its lines are known ("tables[0]"), `title` how messages name it ("[[tables]] issues").
    checked_table(const document& doc, const boost::json::object& table, std::string path, std::string title,
                  const std::vector<key>& keys, bool others_allowed = false);

    bool has(std::string_view name) const { return find(name) != nullptr; }
    std::optional<std::string> text(std::string_view name) const;
    std::optional<std::int64_t> integer(std::string_view name) const;
    std::optional<bool> boolean(std::string_view name) const;
    std::optional<std::vector<std::string>> texts(std::string_view name) const;
    std::optional<std::uint64_t> size(std::string_view name) const;  // bytes
    std::optional<std::int64_t> duration_us(std::string_view name) const;
    const boost::json::value* find(std::string_view name) const;
    const boost::json::object& rest() const noexcept { return rest_; }

    std::string required_text(std::string_view name, const std::string& hint) const;
    // An integer within [least, most].
    std::optional<std::int64_t> integer_in(std::string_view name, std::int64_t least, std::int64_t most) const;

    // Throws config.invalid_value about a key.
    [[noreturn]] void refuse(std::string_view name, const std::string& why, const std::string& hint = {}) const;
    std::string place(std::string_view name) const;

  private:
    const document& doc_;
    std::string path_;
    std::string title_;
    boost::json::object values_;  // by the known names
    boost::json::object rest_;
};

}  // namespace lakeflow::host
