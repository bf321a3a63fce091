// tests/support/breaking_effects.h: the state's effects with a process that dies at the n-th step: before it, after it, or in the
// middle of a write. Once dead, no further step has an effect. Also a file that is lost unless it was fsynced.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "host/base/error.h"
#include "host/state/effects.h"

namespace lakeflow::host::testing {

// Stands for the death of the process; no std::exception, so that nothing takes it for an error of the program.
struct crashed {};

enum class death { before, torn, after };

class breaking_effects final : public effects {
  public:
    explicit breaking_effects(std::shared_ptr<effects> inner = real_effects()) : inner_(std::move(inner)) {}

    // Dies at the step of this number, counted from 1; 0: never.
    void die_at(int step, death how) {
        step_ = step;
        how_ = how;
    }
    // This step throws state.io once, and the process lives on.
    void fail_at(int step) { fail_ = step; }
    int steps() const { return count_; }
    bool dead() const { return dead_; }
    const std::string& last() const { return last_; }

    void make_directories(const std::filesystem::path& p) override {
        step("mkdir " + p.filename().string(), [&] { inner_->make_directories(p); });
    }
    std::optional<std::string> read(const std::filesystem::path& p) override { return inner_->read(p); }
    void write(const std::filesystem::path& p, std::string_view bytes) override {
        step(
            "write " + p.filename().string(), [&] { inner_->write(p, bytes); },
            [&] { inner_->write(p, bytes.substr(0, bytes.size() / 2)); });
    }
    void sync(const std::filesystem::path& p) override {
        step("sync " + p.filename().string(), [&] { inner_->sync(p); });
    }
    void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        step("rename " + to.filename().string(), [&] { inner_->rename(from, to); });
    }
    void sync_directory(const std::filesystem::path& p) override {
        step("sync folder", [&] { inner_->sync_directory(p); });
    }
    void remove(const std::filesystem::path& p) override {
        step("remove " + p.filename().string(), [&] { inner_->remove(p); });
    }
    std::vector<std::string> list(const std::filesystem::path& p) override { return inner_->list(p); }
    std::int64_t now_us() override { return inner_->now_us(); }

  private:
    template <class Whole, class Half>
    void step(std::string name, Whole whole, Half half) {
        if (dead_) throw crashed{};
        last_ = std::move(name);
        ++count_;
        if (count_ == fail_) throw failure("state.io", "planted: " + last_ + " failed");
        if (count_ != step_) return whole();
        dead_ = true;
        if (how_ == death::after) whole();
        if (how_ == death::torn) half();
        throw crashed{};
    }
    template <class Whole>
    void step(std::string name, Whole whole) {
        step(std::move(name), whole, [] {});
    }

    std::shared_ptr<effects> inner_;
    int step_ = 0;
    int fail_ = 0;
    death how_ = death::before;
    int count_ = 0;
    bool dead_ = false;
    std::string last_;
};

}  // namespace lakeflow::host::testing
