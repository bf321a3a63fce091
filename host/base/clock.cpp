// host/base/clock.cpp: see clock.h.
#include "host/base/clock.h"

#include <chrono>

namespace lakeflow::host {
namespace {

class machine_clock final : public clock {
  public:
    std::int64_t now_us() const override {
        using namespace std::chrono;
        return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    }
    std::int64_t monotonic_us() const override {
        using namespace std::chrono;
        return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
    }
};

}  // namespace

const clock& system_clock() noexcept {
    static const machine_clock instance;
    return instance;
}

}  // namespace lakeflow::host
