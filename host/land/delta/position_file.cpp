// host/land/delta/position_file.cpp: see position_file.h.
#include "host/land/delta/position_file.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/land/delta/actions.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::size_t kept_files = 64;

std::optional<std::int64_t> version_of(std::string_view name) {
    const std::size_t end = name.find_first_not_of("0123456789");
    if (end == 0 || end == std::string_view::npos) return std::nullopt;
    return parse_int(name.substr(0, end));
}

std::string short_hash(const std::string& text) { return sha256_hex(text).substr(0, 12); }

}  // namespace

std::string app_id(const flow_spec& flow) { return "lakeflow/" + flow.job + "/" + flow.flow; }

std::int64_t to_version(const position& p) {
    if (p.epoch > 0x7fffffffu) throw failure("state.corrupt", "an epoch is past its range");
    return static_cast<std::int64_t>(p.epoch) << 32 | p.batch;
}

position_files::position_files(store& files, const flow_spec& flow)
    : files_(files), job_(flow.job), flow_(flow.flow), folder_("_lakeflow/" + percent_encode(flow.flow)) {}

// Jobs of other names may have a flow of this name: their files of the same version go by the job's hash.
std::string position_files::name(std::int64_t version, bool with_job) const {
    return folder_ + "/" + std::to_string(version) + (with_job ? "-" + short_hash(job_) : "") + ".json";
}

std::string position_files::text(std::int64_t version, const stored_position& p) const {
    return "{\"job\":" + quote_json(job_) + ",\"flow\":" + quote_json(flow_) +
           ",\"version\":" + std::to_string(version) + ",\"epoch\":" + std::to_string(p.at.epoch) +
           ",\"batch\":" + std::to_string(p.at.batch) + ",\"end\":" + quote_json(p.at.end) +
           ",\"deletes_end\":" + quote_json(p.at.deletes_end) + (p.reset ? ",\"reset\":true" : "") + "}\n";
}

std::optional<stored_position> position_files::parse(const std::string& text, std::int64_t version) const {
    const auto members = string_members(text);
    const auto get = [&](const char* name) {
        const auto found = members.find(name);
        return found == members.end() ? std::string() : found->second;
    };
    if (get("job") != job_ || get("flow") != flow_ || get("version") != std::to_string(version)) return std::nullopt;
    stored_position p;
    p.at.epoch = static_cast<std::uint32_t>(version >> 32);
    p.at.batch = static_cast<std::uint32_t>(version & 0xffffffff);
    p.at.end = get("end");
    p.at.deletes_end = get("deletes_end");
    p.reset = get("reset") == "true";
    if (p.at.end.empty() || p.at.deletes_end.empty()) return std::nullopt;
    return p;
}

std::optional<stored_position> position_files::find(std::int64_t version) {
    for (const bool with_job : {true, false}) {
        if (const auto bytes = files_.get(name(version, with_job))) {
            if (auto p = parse(*bytes, version)) return p;
        }
    }
    return std::nullopt;
}

stored_position position_files::read(std::int64_t version) {
    auto p = find(version);
    if (!p) {
        throw failure("state.corrupt",
                      "the table says that flow " + flow_ + " stands at version " + std::to_string(version) + ", but " +
                          files_.path(name(version, false)) + " is not there or not readable",
                      "restore the file, or run `reset " + flow_ + "` to read the source again from its beginning");
    }
    if (const auto seen = files_.get(folder_ + "/" + std::to_string(version) + "-" + short_hash(job_) + ".seen")) {
        if (const auto newer = parse(*seen, version)) p->at.end = newer->at.end;
    }
    return *p;
}

bool position_files::write(std::int64_t version, const stored_position& p) {
    const std::string bytes = text(version, p);
    for (const bool with_job : {false, true}) {
        const std::string file = name(version, with_job);
        if (written_ == file) return files_.put(file, bytes), true;
        if (files_.put_if_absent(file, bytes)) return written_ = file, true;
        const auto there = files_.get(file);
        if (there && *there == bytes) return true;
        if (there && string_members(*there)["job"] == job_) return false;
    }
    return false;
}

void position_files::write_seen(std::int64_t version, const position& p) {
    files_.put(folder_ + "/" + std::to_string(version) + "-" + short_hash(job_) + ".seen", text(version, {p, false}));
}

std::uint32_t position_files::greatest_epoch() {
    std::int64_t greatest = 0;
    for (const std::string& file : files_.list(folder_)) greatest = std::max(greatest, version_of(file).value_or(0));
    return static_cast<std::uint32_t>(greatest >> 32);
}

void position_files::trim(std::int64_t version) {
    std::vector<std::int64_t> versions;
    const std::vector<std::string> names = files_.list(folder_);
    for (const std::string& file : names) {
        if (const auto v = version_of(file); v && *v <= version) versions.push_back(*v);
    }
    if (versions.size() <= kept_files) return;
    std::sort(versions.begin(), versions.end());
    const std::int64_t oldest_kept = versions[versions.size() - kept_files];
    for (const std::string& file : names) {
        if (const auto v = version_of(file); v && *v < oldest_kept) files_.remove(folder_ + "/" + file);
    }
}

}  // namespace lakeflow::host::delta
