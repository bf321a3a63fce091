// host/http/hand_off.h: where the io thread leaves an answer and its consumer picks it up, bounded in bytes. Each try of an
// exchange is a round; what comes from an earlier round is dropped.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/http/answer.h"

namespace lakeflow::host {

// The head that the consumer gets, after redirects and retries.
struct final_answer {
    answer_head head;
    std::string url;   // without a query credential
    int attempts = 1;  // used so far
};

class hand_off {
  public:
    explicit hand_off(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    // ---- io thread
    void head(unsigned round, std::shared_ptr<const final_answer> answer);
    // False: enough for now; a piece that is taken out will say when to go on.
    bool pieces(unsigned round, std::vector<slice> list);
    void end(unsigned round);
    void fail(unsigned round, error why);  // before the head or in the body

    // ---- any thread
    void cancel();

    // ---- the consumer
    std::shared_ptr<const final_answer> wait_head();  // throws
    // False at the end. `resume` says that the io thread waits to go on. Throws what broke the body off, after its pieces.
    bool wait_piece(slice& out, bool& resume);
    unsigned next_round();

  private:
    void throw_if_cancelled() const;

    const std::size_t most_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    unsigned round_ = 0;
    bool cancelled_ = false;
    std::shared_ptr<const final_answer> answer_;
    std::optional<error> error_;
    std::deque<slice> queue_;
    std::size_t bytes_ = 0;
    bool ended_ = false;
    bool paused_ = false;
};

}  // namespace lakeflow::host
