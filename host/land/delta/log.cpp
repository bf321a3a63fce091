// host/land/delta/log.cpp: listing, reading and committing. Checkpoint files are in checkpoint.cpp. Threads: see log.h.
#include "host/land/delta/log.h"

#include <algorithm>
#include <map>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::delta {
namespace {

std::string padded(std::int64_t number, std::size_t width) {
    std::string digits = std::to_string(number);
    return digits.size() >= width ? digits : std::string(width - digits.size(), '0') + digits;
}

// More commits than this are not read backwards for a header; a checkpoint is quicker then.
constexpr std::size_t many_commits = 2000;

}  // namespace

std::optional<std::int64_t> leading_version(std::string_view name) {
    if (name.size() < 21 || name[20] != '.') return std::nullopt;
    return parse_int(name.substr(0, 20).substr(std::min<std::size_t>(name.find_first_not_of('0'), 19)));
}

std::string commit_name(std::int64_t version) { return "_delta_log/" + padded(version, 20) + ".json"; }

delta_log::delta_log(std::shared_ptr<store> files, duck_provider duck, logger log, std::string table, const clock& time)
    : files_(std::move(files)), duck_(std::move(duck)), log_(std::move(log)), table_(std::move(table)), time_(time) {}

delta_log::listing delta_log::list() {
    listing found;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> multi;
    for (const std::string& name : files_->list("_delta_log")) {
        const std::optional<std::int64_t> version = leading_version(name);
        if (!version) continue;
        const std::string_view rest = std::string_view(name).substr(21);
        if (rest == "json") {
            found.commits.push_back(*version);
        } else if (rest == "checkpoint.parquet") {
            found.checkpoints.push_back({*version, {name}});
        } else if (rest.starts_with("checkpoint.") && rest.ends_with(".parquet")) {
            // checkpoint.0000000001.0000000003.parquet, or checkpoint.<uuid>.parquet of v2
            const std::vector<std::string> pieces = split(rest, '.');
            const auto number = [](const std::string& digits) {
                return parse_int(
                    std::string_view(digits).substr(std::min(digits.find_first_not_of('0'), digits.size())));
            };
            const std::optional<std::int64_t> parts = pieces.size() == 4 ? number(pieces[2]) : std::nullopt;
            if (parts && number(pieces[1]))
                multi[{*version, *parts}].push_back(name);
            else if (pieces.size() == 3)
                found.checkpoints.push_back({*version, {name}});
        } else if (rest.starts_with("checkpoint.") && rest.ends_with(".json")) {
            found.checkpoints.push_back({*version, {name}});
        }
    }
    for (auto& [key, names] : multi) {
        if (static_cast<std::int64_t>(names.size()) == key.second) found.checkpoints.push_back({key.first, names});
    }
    std::sort(found.checkpoints.begin(), found.checkpoints.end());
    return found;
}

std::string delta_log::read_commit(std::int64_t version) {
    std::optional<std::string> text = files_->get(commit_name(version));
    if (!text) {
        throw failure("destination.corrupt",
                      "table " + table_ + " has no " + commit_name(version) + ", which its log needs",
                      "another program removed it; restore the file or the table");
    }
    return std::move(*text);
}

void delta_log::peek(const std::string& app_id, header& known) {
    const auto take = [&](actions commit, bool newer) {
        if (commit.meta && (newer || !known.meta)) known.meta = std::move(commit.meta);
        if (commit.proto && (newer || !known.proto)) known.proto = std::move(commit.proto);
        for (txn& t : commit.txns) {
            if (t.app_id == app_id && (newer || !known.own)) known.own = std::move(t);
        }
    };
    if (known.version >= 0) {
        while (std::optional<std::string> text = files_->get(commit_name(known.version + 1))) {
            ++known.version;
            take(parse_commit(*text, commit_name(known.version), false), true);
        }
        return;
    }
    const listing log = list();
    if (log.commits.empty() && log.checkpoints.empty()) return;
    const bool whole = !log.commits.empty() && log.commits.front() == 0 &&
                       log.commits.back() + 1 == static_cast<std::int64_t>(log.commits.size());
    if (whole) {
        std::size_t read = 0;
        for (auto version = log.commits.rbegin(); version != log.commits.rend() && read < many_commits;
             ++version, ++read) {
            take(parse_commit(read_commit(*version), commit_name(*version), false), false);
            if (known.meta && known.proto && known.own) break;
        }
        if (known.meta && known.proto && (known.own || read == log.commits.size())) {
            known.version = log.commits.back();
            return;
        }
    }
    snapshot table;
    update(table);
    known.version = table.version;
    known.meta = std::move(table.meta);
    known.proto = std::move(table.proto);
    known.own.reset();
    if (const auto own = table.txns.find(app_id); own != table.txns.end()) known.own = own->second;
}

std::vector<actions> delta_log::update(snapshot& table) {
    std::vector<actions> read;
    if (table.version >= 0) {
        // The usual case: nothing new, or few commits, which are asked for by name.
        while (std::optional<std::string> text = files_->get(commit_name(table.version + 1))) {
            actions commit = parse_commit(*text, commit_name(table.version + 1));
            read.push_back(commit);
            table.apply(std::move(commit), table.version + 1);
        }
        return read;
    }
    const listing log = list();
    if (log.commits.empty() && log.checkpoints.empty()) return read;
    const std::int64_t newest = std::max(log.commits.empty() ? -1 : log.commits.back(),
                                         log.checkpoints.empty() ? -1 : log.checkpoints.back().first);

    // From the newest checkpoint that can be read; without one from the first commit.
    std::optional<snapshot> start;
    for (auto candidate = log.checkpoints.rbegin(); candidate != log.checkpoints.rend() && !start; ++candidate) {
        try {
            start = read_checkpoint(candidate->first, candidate->second);
        } catch (const failure& f) {
            if (f.get().retry == retry_class::cancelled) throw;
            log_.write(log_level::warn, "delta",
                       "table " + table_ + ": checkpoint " + std::to_string(candidate->first) +
                           " cannot be read, an older state serves: " + f.get().message);
        }
    }
    snapshot made = start ? std::move(*start) : snapshot();
    if (made.version < 0 && (log.commits.empty() || log.commits.front() != 0)) {
        throw failure("destination.corrupt",
                      "table " + table_ + " has neither its first commit nor a checkpoint that can be read",
                      "restore the files of _delta_log or the table");
    }
    for (std::int64_t version = made.version + 1; version <= newest; ++version) {
        actions commit = parse_commit(read_commit(version), commit_name(version));
        read.push_back(commit);
        made.apply(std::move(commit), version);
    }
    if (made.meta.schema_string.empty()) {
        throw failure("destination.corrupt", "the log of table " + table_ + " has no metaData action");
    }
    table = std::move(made);
    return read;
}

bool delta_log::commit(std::int64_t version, const std::string& text) {
    return files_->put_if_absent(commit_name(version), text);
}

}  // namespace lakeflow::host::delta
