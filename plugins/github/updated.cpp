// plugins/github/updated.cpp: see updated.hpp.
#include "updated.hpp"

#include <algorithm>

#include "columns.hpp"
#include "instant.hpp"

namespace lakeflow::github {
namespace {

schema only_updated_at() { return schema().add("updated_at", type::timestamp()); }

bool is_unlimited(const read_limits& limits) {
    return !limits.max_rows && !limits.max_bytes && !limits.min_rows && !limits.max_delay_ms;
}

}  // namespace

std::optional<std::int64_t> instant_of(const json& offset) {
    std::string text = offset.text("updated_at");
    if (text.empty()) return std::nullopt;
    auto at = parse_instant(text);
    if (!at) throw invalid("the offset's updated_at is no instant: '" + text + "'").with_code("offset.invalid");
    return at;
}

json offset_at(std::int64_t instant) { return json::object({{"updated_at", format_instant(instant)}}); }

lakeflow::latest updated_feed::latest(const latest_args& args) {
    lakeflow::latest out;
    out.offset = args.start;
    // The bound was an answer of this method: nothing beyond it is wanted, so nothing needs to be asked.
    json target = args.bound ? *args.bound : newest(args.start);
    auto end = instant_of(target), start = instant_of(args.start);
    if (!end || (start && *end <= *start)) return out;
    out.offset = is_unlimited(args.limits) ? target : limited(args, target, out.honoured);
    return out;
}

json updated_feed::limited(const latest_args&, const json& target, std::vector<std::string>&) { return target; }

std::string updated_feed::listing(const json& descriptor, std::string_view sort, std::string_view direction,
                                  std::int64_t per_page) const {
    std::string url = source().listing(descriptor);
    if (states asked = source().what().asked; asked != states::none) {
        url = url_add(url, "state", asked == states::all ? "all" : source().chosen().state);
    }
    return url_add(
        url,
        {{"sort", std::string(sort)}, {"direction", std::string(direction)}, {"per_page", std::to_string(per_page)}});
}

time_range updated_feed::range(const std::optional<json>& start, const std::optional<json>& end) const {
    const settings& chosen = source().chosen();
    time_range out;
    if (auto at = start ? instant_of(*start) : std::nullopt) {
        out.from = *at - chosen.lookback_us;
        out.inclusive = chosen.lookback_us > 0;
    }
    if (chosen.start_date_us && (!out.from || *out.from < *chosen.start_date_us)) {
        out.from = chosen.start_date_us;
        out.inclusive = true;
    }
    if (end) out.to = instant_of(*end);
    return out;
}

json updated_feed::newest(const json& start) const {
    exchange answer = source().get(listing({}, "updated", "desc", 1), start.text("etag"));
    if (source().head(answer) == 304) return start;
    std::string etag = answer.header("ETag").value_or("");
    std::int64_t now = floor_second(source().date_us(answer));
    decoder rows = source().host().rows.open(only_updated_at(), rows_spec().watch("updated_at"));
    rows.decode(answer);
    rows_stats stats = rows.stats();
    auto newest = instant_of(stats, stats.max, "updated_at");
    if (!newest) return start;

    // Not past the run's own clock, nor GitHub's: a row from the future waits until its time has come.
    std::int64_t init = floor_second(source().init_time_us());
    std::int64_t end = std::min({*newest, now, init});
    if (auto from = instant_of(start); from && end <= *from) return start;
    if (end < *newest && init < now - 60 * second_us) {
        source().host().log.warn("this machine's clock is behind GitHub's: rows that changed after " +
                                 format_instant(init) + " come with a later run");
    }
    // In a second that is not over, more rows may still get this very instant. It is over in a second.
    if (end >= now) source().host().cancel.wait_ms(1'000);
    json out = offset_at(end);
    if (end == *newest) out.set("etag", etag);
    return out;
}

updated_feed::glimpse updated_feed::look(const std::string& url) const {
    glimpse out;
    exchange answer = source().get(url, {}, {422});
    try {
        out.refused = source().head(answer) == 422;
    } catch (const failure& error) {
        // A page that is too heavy for GitHub is no place to look from either; one of a single row is not too heavy.
        if (!is_too_heavy(error) || url_query(url, "per_page") == "1") throw;
        out.refused = true;
    }
    if (out.refused) return out;
    decoder rows = source().host().rows.open(only_updated_at(), rows_spec().watch("updated_at"));
    rows.decode(answer);
    rows_stats stats = rows.stats();
    out.rows = stats.rows;
    out.last = instant_of(stats, stats.last, "updated_at");
    return out;
}

}  // namespace lakeflow::github
