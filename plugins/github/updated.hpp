// plugins/github/updated.hpp: what tables that advance by updated_at have in common: the offset, the one conditional request
// that says whether anything is new, and the range between two offsets.
//
// Offset: {"updated_at": instant, "etag": validator}. Everything up to and with that instant was visible when the offset was
// made and no row can get that instant any more, so the next read begins strictly behind it. The validator is that of the
// newest row's page: as long as GitHub answers 304 to it, nothing is new. It is missing where the offset ends before the newest row,
// and empty where GitHub sent none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "feed.hpp"
#include "pages.hpp"

namespace lakeflow::github {

class updated_feed : public feed {
  public:
    using feed::feed;

    lakeflow::latest latest(const latest_args& args) final;

  protected:
    // An end within the limits; args.start is before `target`. Adds the kinds of limits that were obeyed.
    virtual json limited(const latest_args& args, const json& target, std::vector<std::string>& honoured);

    // The listing, with its state, in an order.
    std::string listing(const json& descriptor, std::string_view sort, std::string_view direction,
                        std::int64_t per_page) const;
    time_range range(const std::optional<json>& start, const std::optional<json>& end) const;

    // One row's or page's instant: what a listing says at one place.
    struct glimpse {
        bool refused = false;  // no page number so high (422), or no page so heavy
        std::int64_t rows = 0;
        std::optional<std::int64_t> last;  // updated_at of the last row
    };
    glimpse look(const std::string& url) const;

  private:
    json newest(const json& start) const;
};

// The instant of an offset; nothing in {}.
std::optional<std::int64_t> instant_of(const json& offset);
json offset_at(std::int64_t instant);

}  // namespace lakeflow::github
