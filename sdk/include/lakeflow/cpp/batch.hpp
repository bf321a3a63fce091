// lakeflow/cpp/batch.hpp: owners of the two Arrow structs (arrow.h). One thread at a time each; moves never throw.
#pragma once

#include <cstring>
#include <utility>

#include "lakeflow/arrow.h"

namespace lakeflow {

namespace detail {

template <class Arrow>
class arrow_owner {
  public:
    arrow_owner() noexcept { forget(); }
    // Takes over what `raw` holds and marks it as released.
    explicit arrow_owner(Arrow* raw) noexcept : raw_(*raw) { raw->release = nullptr; }
    arrow_owner(arrow_owner&& other) noexcept : raw_(other.raw_) { other.forget(); }
    arrow_owner& operator=(arrow_owner&& other) noexcept {
        if (this != &other) {
            reset();
            raw_ = other.raw_;
            other.forget();
        }
        return *this;
    }
    ~arrow_owner() { reset(); }

    explicit operator bool() const noexcept { return raw_.release != nullptr; }
    const Arrow* get() const noexcept { return &raw_; }
    const Arrow* operator->() const noexcept { return &raw_; }
    // For a C function that fills the struct; what was held is released first.
    Arrow* receive() noexcept { return reset(), &raw_; }
    // Hands the content over; this owner is empty afterwards.
    void move_to(Arrow* out) noexcept {
        *out = raw_;
        forget();
    }
    void reset() noexcept {
        if (raw_.release != nullptr) raw_.release(&raw_);
        forget();
    }

  private:
    void forget() noexcept { std::memset(&raw_, 0, sizeof raw_); }
    Arrow raw_;
};

}  // namespace detail

using arrow_schema = detail::arrow_owner<ArrowSchema>;

// One record batch: a struct array, one child a column. Valid on its own, released by the last owner.
class batch : public detail::arrow_owner<ArrowArray> {
  public:
    using arrow_owner::arrow_owner;
    int64_t rows() const noexcept { return *this ? get()->length : 0; }
};

}  // namespace lakeflow
