// host/state/job_state.cpp: see job_state.h.
#include "host/state/job_state.h"

#include <array>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;

// A name as a file's name: unreserved characters stand, others are percent-encoded; never "." or ".."; long ones end in a hash.
std::string file_name(const std::string& name) {
    std::string out = percent_encode(name);
    if (out.starts_with('.')) out.replace(0, 1, "%2E");
    constexpr std::size_t most = 150;
    if (out.size() > most) out = out.substr(0, most) + "-" + sha256_hex(name).substr(0, 16);
    return out.empty() ? "%00" : out;
}

fs::path slot(const fs::path& folder, const std::string& flow, std::uint64_t generation) {
    return folder / (file_name(flow) + (generation % 2 == 0 ? ".0.state" : ".1.state"));
}

struct found {
    std::optional<loaded_flow> flow;
    std::uint64_t generation = 0;
};

[[noreturn]] void corrupt(const fs::path& file, const decoded_record& bad) {
    const bool later = bad.kind == file_kind::future;
    throw failure("state.corrupt",
                  "the state file " + file.string() + " is " + std::string(to_string(bad.kind)) + ": " + bad.why,
                  later ? "use the lakeflow-host that wrote it, or move the file away: the flow then resumes from what "
                          "the destination "
                          "has recorded"
                        : "move the file away: the flow then resumes from what the destination has recorded");
}

found find(const fs::path& folder, const std::string& job, const std::string& flow, effects& io) {
    found out;
    std::optional<std::pair<fs::path, decoded_record>> unreadable;
    for (const std::uint64_t parity : {0u, 1u}) {
        const auto file = slot(folder, flow, parity);
        const auto bytes = io.read(file);
        if (!bytes) continue;
        auto decoded = decode_record(job, flow, *bytes);
        switch (decoded.kind) {
            case file_kind::good:
                if (decoded.generation > out.generation) {
                    out.generation = decoded.generation;
                    out.flow = loaded_flow{std::move(decoded.record), {}};
                }
                break;
            case file_kind::empty:
            case file_kind::torn:
                if (!unreadable) unreadable.emplace(file, std::move(decoded));
                break;
            case file_kind::future:
            case file_kind::foreign: corrupt(file, decoded);
        }
    }
    if (!unreadable) return out;
    if (!out.flow) corrupt(unreadable->first, unreadable->second);
    out.flow->warning = "the state file " + unreadable->first.string() + " is " +
                        std::string(to_string(unreadable->second.kind)) + " (" + unreadable->second.why +
                        "); the generation before it serves";
    return out;
}

}  // namespace

fs::path job_folder(const std::string& state_directory, const std::string& job) {
    return fs::path(state_directory) / file_name(job);
}

fs::path flow_file(const std::string& state_directory, const std::string& job, const std::string& flow,
                   const std::string& suffix) {
    return job_folder(state_directory, job) / (file_name(flow) + suffix);
}

std::optional<loaded_flow> peek_flow(const std::string& state_directory, const std::string& job,
                                     const std::string& flow, effects& io) {
    return find(job_folder(state_directory, job), job, flow, io).flow;
}

job_state::job_state(std::string state_directory, std::string job, const std::string& run_id, bool take_over,
                     std::shared_ptr<effects> io)
    : folder_(job_folder(state_directory, job)), job_(std::move(job)), run_id_(run_id), io_(std::move(io)) {
    io_->make_directories(folder_);
    lock_ = std::make_unique<job_lock>(folder_ / "lock", this_process(run_id, io_->now_us()), take_over);
}

std::optional<loaded_flow> job_state::load(const std::string& flow) {
    auto out = find(folder_, job_, flow, *io_);
    const std::lock_guard guard(mutex_);
    generations_[flow] = out.generation;
    return std::move(out.flow);
}

void job_state::save(const std::string& flow, flow_record record) {
    check_held();
    std::uint64_t generation = 0;
    {
        const std::lock_guard guard(mutex_);
        const auto known = generations_.find(flow);
        if (known != generations_.end()) generation = known->second;
    }
    if (generation == 0) generation = find(folder_, job_, flow, *io_).generation;
    ++generation;
    record.run_id = run_id_;
    record.written_us = io_->now_us();
    // Never in place: the file that served until now stays whole until the new one is durable, and a while longer.
    const auto temporary = folder_ / (file_name(flow) + ".tmp");
    io_->write(temporary, encode_record(job_, flow, generation, record));
    io_->sync(temporary);
    io_->rename(temporary, slot(folder_, flow, generation));
    io_->sync_directory(folder_);
    const std::lock_guard guard(mutex_);
    generations_[flow] = generation;
}

fs::path job_state::spool_folder(const std::string& flow) const { return folder_ / (file_name(flow) + ".spool"); }

void job_state::forget(const std::string& flow) {
    check_held();
    const auto spool = spool_folder(flow);
    for (const auto& name : io_->list(spool)) io_->remove(spool / name);
    for (const std::uint64_t parity : {0u, 1u}) io_->remove(slot(folder_, flow, parity));
    io_->remove(folder_ / (file_name(flow) + ".tmp"));
    io_->sync_directory(folder_);
    const std::lock_guard guard(mutex_);
    generations_.erase(flow);
}

void job_state::check_held() const {
    if (lock_->held()) return;
    throw failure("state.fenced",
                  "another run has taken job '" + job_ + "' over while this one was going on; its lock in " +
                      folder_.string() + " is no longer this run's",
                  "nothing was lost: what was not committed is read again by the other run");
}

}  // namespace lakeflow::host
