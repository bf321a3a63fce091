// host/state/record.cpp: see record.h and README.md.
#include "host/state/record.h"

#include <boost/json.hpp>

#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

constexpr std::string_view magic = "lakeflow-state ";
constexpr std::int64_t version = 1;

json::object to_json(const planned_batch& p) {
    json::object out{{"epoch", p.epoch},
                     {"batch", p.batch},
                     {"start", p.start},
                     {"end", p.end},
                     {"deletes_start", p.deletes_start},
                     {"init_time", format_rfc3339(p.init_time_us)}};
    if (p.bound) out["bound"] = *p.bound;
    return out;
}

std::string text(const json::object& o, std::string_view key) { return std::string(o.at(key).as_string()); }
std::uint32_t number(const json::object& o, std::string_view key) { return o.at(key).to_number<std::uint32_t>(); }
std::int64_t instant(const json::object& o, std::string_view key) {
    return parse_rfc3339_us(o.at(key).as_string()).value();
}

planned_batch planned_from(const json::object& o) {
    planned_batch out{number(o, "epoch"),       number(o, "batch"),      text(o, "start"), text(o, "end"),
                      text(o, "deletes_start"), instant(o, "init_time"), std::nullopt};
    if (o.contains("bound")) out.bound = text(o, "bound");
    return out;
}

flow_record record_from(const json::object& o) {
    flow_record out;
    const auto& c = o.at("committed").as_object();
    out.committed = {number(c, "epoch"), number(c, "batch"), text(c, "end"), text(c, "deletes_end")};
    out.end = text(o, "end");
    out.deletes_end = text(o, "deletes_end");
    if (const auto* p = o.if_contains("planned")) out.planned = planned_from(p->as_object());
    out.run_id = text(o, "run_id");
    out.written_us = instant(o, "written");
    return out;
}

decoded_record bad(file_kind kind, std::string why) { return {kind, 0, {}, std::move(why)}; }

}  // namespace

std::string_view to_string(file_kind kind) noexcept {
    switch (kind) {
        case file_kind::good: return "good";
        case file_kind::empty: return "empty";
        case file_kind::torn: return "torn";
        case file_kind::future: return "of a later version";
        case file_kind::foreign: return "foreign";
    }
    return "unknown";
}

std::string encode_record(const std::string& job, const std::string& flow, std::uint64_t generation,
                          const flow_record& record) {
    json::object o{{"job", job},
                   {"flow", flow},
                   {"run_id", record.run_id},
                   {"written", format_rfc3339(record.written_us)},
                   {"committed", json::object{{"epoch", record.committed.epoch},
                                              {"batch", record.committed.batch},
                                              {"end", record.committed.end},
                                              {"deletes_end", record.committed.deletes_end}}},
                   {"end", record.end},
                   {"deletes_end", record.deletes_end}};
    if (record.planned) o["planned"] = to_json(*record.planned);
    const std::string body = json::serialize(o) + "\n";
    const std::string counted = std::to_string(generation) + " " + body;
    return std::string(magic) + std::to_string(version) + " " + std::to_string(generation) + " " +
           std::to_string(body.size()) + " " + sha256_hex(counted) + "\n" + body;
}

decoded_record decode_record(const std::string& job, const std::string& flow, std::string_view bytes) {
    if (bytes.empty()) return bad(file_kind::empty, "it is empty");
    const auto head = bytes.substr(0, magic.size());
    if (head != magic) {
        if (magic.starts_with(head)) return bad(file_kind::torn, "it ends inside its first line");
        return bad(file_kind::foreign, "it does not begin like a state file of lakeflow-host");
    }
    const auto line_end = bytes.find('\n');
    const auto fields =
        split(bytes.substr(magic.size(), line_end == bytes.npos ? bytes.npos : line_end - magic.size()), ' ');
    const auto stated_version = parse_int(fields.front());
    // A version is only believed where it is followed by something: else "1" could be the torn beginning of "12".
    if (stated_version && fields.size() > 1 && *stated_version > version) {
        return bad(file_kind::future, "it is of version " + fields.front() +
                                          " of the format, and this lakeflow-host knows version " +
                                          std::to_string(version));
    }
    if (line_end == bytes.npos || fields.size() != 4 || stated_version != version)
        return bad(file_kind::torn, "its first line is not whole");
    const auto generation = parse_int(fields[1]);
    const auto size = parse_int(fields[2]);
    const auto body = bytes.substr(line_end + 1);
    if (!generation || *generation < 1 || !size) return bad(file_kind::torn, "its first line is not whole");
    if (static_cast<std::uint64_t>(*size) != body.size()) {
        return bad(file_kind::torn,
                   "it holds " + std::to_string(body.size()) + " bytes where " + fields[2] + " were written");
    }
    if (sha256_hex(fields[1] + " " + std::string(body)) != fields[3])
        return bad(file_kind::torn, "its checksum does not fit its content");
    try {
        const auto value = json::parse(json::string_view(body.data(), body.size()));
        const auto& o = value.as_object();
        if (text(o, "job") != job || text(o, "flow") != flow) {
            return bad(file_kind::foreign,
                       "it belongs to flow '" + text(o, "flow") + "' of job '" + text(o, "job") + "'");
        }
        return {file_kind::good, static_cast<std::uint64_t>(*generation), record_from(o), {}};
    } catch (const std::exception& e) {
        return bad(file_kind::foreign, std::string("its content is not that of a state file: ") + e.what());
    }
}

standing weigh(const std::optional<position>& destination, const std::optional<flow_record>& state, bool held) {
    standing out;
    if (!held) {
        if (!state) return out;
        return {state->committed, state->end, state->deletes_end, state->planned, {}};
    }
    if (destination) {
        out.committed = *destination;
        out.end = destination->end;
        out.deletes_end = destination->deletes_end;
    }
    if (!state) {
        if (destination) out.note = "there is no local state: the flow resumes from the destination's record";
        return out;
    }
    const auto& mark = state->committed;
    const bool agree = mark.batch == out.committed.batch && mark.end == out.committed.end &&
                       mark.deletes_end == out.committed.deletes_end;
    if (agree) {
        out.end = state->end;
        out.deletes_end = state->deletes_end;
        if (state->planned && state->planned->batch == mark.batch + 1 && state->planned->start == state->end)
            out.replay = state->planned;
        return out;
    }
    if (destination && state->planned && state->planned->batch == destination->batch &&
        state->planned->end == destination->end) {
        out.note =
            "the last run ended between the commit of batch " + std::to_string(destination->batch) + " and its mark";
        return out;
    }
    out.note = destination ? "the destination's record (batch " + std::to_string(destination->batch) +
                                 ") differs from the local state (batch " + std::to_string(mark.batch) + ") and wins"
                           : "the destination holds no record of this flow: it is read from the beginning";
    return out;
}

}  // namespace lakeflow::host
