// host/http/hand_off.cpp: see hand_off.h.
#include "host/http/hand_off.h"

#include <utility>

namespace lakeflow::host {
namespace {

// A tiny chunk costs more than its bytes.
std::size_t cost(const slice& s) noexcept { return s.bytes.size() + sizeof(slice); }

}  // namespace

void hand_off::head(unsigned round, std::shared_ptr<const final_answer> answer) {
    const std::scoped_lock lock(mutex_);
    if (round != round_) return;
    answer_ = std::move(answer);
    changed_.notify_one();
}

bool hand_off::pieces(unsigned round, std::vector<slice> list) {
    const std::scoped_lock lock(mutex_);
    if (round != round_) return true;
    for (auto& piece : list) {
        bytes_ += cost(piece);
        queue_.push_back(std::move(piece));
    }
    changed_.notify_one();
    paused_ = bytes_ >= most_bytes_;
    return !paused_;
}

void hand_off::end(unsigned round) {
    const std::scoped_lock lock(mutex_);
    if (round != round_) return;
    ended_ = true;
    paused_ = false;
    changed_.notify_one();
}

void hand_off::fail(unsigned round, error why) {
    const std::scoped_lock lock(mutex_);
    if (round != round_) return;
    error_ = std::move(why);
    paused_ = false;
    changed_.notify_one();
}

void hand_off::cancel() {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
}

void hand_off::throw_if_cancelled() const {
    if (cancelled_) throw failure("cancelled", "the request was cancelled", {}, retry_class::cancelled);
}

std::shared_ptr<const final_answer> hand_off::wait_head() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return cancelled_ || answer_ || error_; });
    throw_if_cancelled();
    if (!answer_) throw failure(*error_);
    return answer_;
}

bool hand_off::wait_piece(slice& out, bool& resume) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return cancelled_ || !queue_.empty() || ended_ || error_; });
    throw_if_cancelled();
    resume = false;
    if (queue_.empty()) {
        if (error_) throw failure(*error_);
        return false;
    }
    bytes_ -= cost(queue_.front());
    out = std::move(queue_.front());
    queue_.pop_front();
    if (paused_ && bytes_ <= most_bytes_ / 2) {
        paused_ = false;
        resume = true;
    }
    return true;
}

unsigned hand_off::next_round() {
    std::deque<slice> dropped;  // freed outside the lock
    const std::scoped_lock lock(mutex_);
    dropped.swap(queue_);
    bytes_ = 0;
    ended_ = paused_ = false;
    answer_.reset();
    error_.reset();
    return ++round_;
}

}  // namespace lakeflow::host
