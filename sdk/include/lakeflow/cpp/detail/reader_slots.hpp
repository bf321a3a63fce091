// lakeflow/cpp/detail/reader_slots.hpp: a C++ reader as an lf_reader: states, cancellation and the barrier.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "lakeflow/cpp/detail/guard.hpp"
#include "lakeflow/cpp/reader.hpp"

namespace lakeflow::detail {

class open_reader {
  public:
    static lf_reader* make(std::unique_ptr<reader> self) {
        if (self == nullptr) throw failure(retry::permanent, "the connector returned no reader", "", "plugin.contract");
        return &(new open_reader(std::move(self)))->table_;
    }

  private:
    enum class state : uint8_t { open, ended, failed };

    explicit open_reader(std::unique_ptr<reader> self) : self_(std::move(self)) {
        std::memset(&table_, 0, sizeof table_);
        table_.struct_size = sizeof table_;
        table_.state = this;
        table_.schema = &open_reader::schema;
        table_.next = &open_reader::next;
        table_.end_offset = &open_reader::end_offset;
        table_.cancel = &open_reader::cancel;
        table_.close = &open_reader::close;
    }

    static open_reader& of(lf_reader* reader) {
        need(reader, "reader");
        return *static_cast<open_reader*>(reader->state);
    }

    static lf_status schema(lf_reader* reader, ArrowSchema* out, lf_error* error) noexcept {
        return guard(error, [&] {
            need(out, "schema");
            std::memset(out, 0, sizeof *out);
            of(reader).self_->columns().to_arrow().move_to(out);
            return LF_OK;
        });
    }

    static lf_status next(lf_reader* reader, ArrowArray* out, lf_error* error) noexcept {
        return guard(error, [&] {
            need(out, "array");
            open_reader& here = of(reader);
            if (here.state_ == state::ended) return LF_END;
            if (here.state_ == state::failed) throw permanent("the reader has failed before");
            try {
                if (here.cancelled_.load()) throw cancelled();
                batch rows;
                if (!here.self_->next(rows)) {
                    here.state_ = state::ended;
                    return LF_END;
                }
                if (!rows) throw failure(retry::permanent, "the reader gave no batch", "", "plugin.contract");
                rows.move_to(out);
                return LF_OK;
            } catch (...) {
                here.state_ = state::failed;
                throw;
            }
        });
    }

    static lf_status end_offset(lf_reader* reader, const lf_sink* out, lf_error* error) noexcept {
        return guard(error, [&] {
            open_reader& here = of(reader);
            if (here.state_ != state::ended) throw permanent("the read has not ended").with_code("host.contract");
            if (auto offset = here.self_->end_offset()) emit(out, offset->canonical());
            return LF_OK;
        });
    }

    static void cancel(lf_reader* reader) noexcept {
        guard_silent([&] {
            open_reader& here = of(reader);
            here.cancelled_.store(true);
            here.self_->cancel();
        });
    }

    static void close(lf_reader* reader) noexcept {
        if (reader == nullptr) return;
        std::unique_ptr<open_reader> here(static_cast<open_reader*>(reader->state));
        guard_silent([&] { here->self_->close(); });
    }

    lf_reader table_;
    std::unique_ptr<reader> self_;
    state state_ = state::open;
    std::atomic<bool> cancelled_{false};
};

}  // namespace lakeflow::detail
