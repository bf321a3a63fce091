// tests/support/quick_effects.h: the machine's files without fsync. A test that stops a process and not the machine loses nothing by it:
// what was written stays in the kernel. It is what lets a test die at a thousand steps.
#pragma once

#include "host/state/effects.h"

namespace lakeflow::host::testing {

class quick_effects final : public effects {
  public:
    void make_directories(const std::filesystem::path& p) override { inner_->make_directories(p); }
    std::optional<std::string> read(const std::filesystem::path& p) override { return inner_->read(p); }
    void write(const std::filesystem::path& p, std::string_view bytes) override { inner_->write(p, bytes); }
    void sync(const std::filesystem::path&) override {}
    void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        inner_->rename(from, to);
    }
    void sync_directory(const std::filesystem::path&) override {}
    void remove(const std::filesystem::path& p) override { inner_->remove(p); }
    std::vector<std::string> list(const std::filesystem::path& p) override { return inner_->list(p); }
    std::int64_t now_us() override { return inner_->now_us(); }

  private:
    std::shared_ptr<effects> inner_ = real_effects();
};

}  // namespace lakeflow::host::testing
