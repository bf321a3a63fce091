// lakeflow/cpp/detail/writer_slots.hpp: a C++ batch_writer as an lf_writer, and the slots of "lakeflow.writer/1".
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "lakeflow/cpp/detail/instance.hpp"

namespace lakeflow::detail {

class open_writer {
  public:
    static lf_writer* make(std::unique_ptr<batch_writer> self) {
        if (self == nullptr) throw failure(retry::permanent, "the connector returned no writer", "", "plugin.contract");
        return &(new open_writer(std::move(self)))->table_;
    }

  private:
    enum class state : uint8_t { open, failed, done };

    explicit open_writer(std::unique_ptr<batch_writer> self) : self_(std::move(self)) {
        std::memset(&table_, 0, sizeof table_);
        table_.struct_size = sizeof table_;
        table_.state = this;
        table_.write = &open_writer::write;
        table_.commit = &open_writer::commit;
        table_.abort = &open_writer::abort;
        table_.cancel = &open_writer::cancel;
        table_.close = &open_writer::close;
    }

    static open_writer& of(lf_writer* writer) {
        need(writer, "writer");
        return *static_cast<open_writer*>(writer->state);
    }
    // After a failure only abort and close may follow; after commit or abort only close.
    void in_state(bool right) const {
        if (!right) throw permanent("the writer is not open any more").with_code("host.contract");
    }

    static lf_status write(lf_writer* writer, ArrowArray* rows, lf_error* error) noexcept {
        return guard(error, [&] {
            need(rows, "batch");
            batch moved(rows);  // the array moves in any case
            open_writer& here = of(writer);
            here.in_state(here.state_ == state::open);
            here.state_ = state::failed;
            here.self_->write(std::move(moved));
            here.state_ = state::open;
            return LF_OK;
        });
    }

    static lf_status commit(lf_writer* writer, const lf_sink* message, lf_error* error) noexcept {
        return guard(error, [&] {
            open_writer& here = of(writer);
            here.in_state(here.state_ == state::open);
            here.state_ = state::failed;
            emit(message, here.self_->commit().dump());
            here.state_ = state::done;
            return LF_OK;
        });
    }

    static lf_status abort(lf_writer* writer, const lf_sink* message, lf_error* error) noexcept {
        return guard(error, [&] {
            open_writer& here = of(writer);
            here.in_state(here.state_ != state::done);
            here.state_ = state::done;
            emit(message, here.self_->abort().dump());
            return LF_OK;
        });
    }

    static void cancel(lf_writer* writer) noexcept {
        guard_silent([&] { of(writer).self_->cancel(); });
    }

    static void close(lf_writer* writer) noexcept {
        if (writer == nullptr) return;
        std::unique_ptr<open_writer> here(static_cast<open_writer*>(writer->state));
        guard_silent([&] { here->self_->close(); });
    }

    lf_writer table_;
    std::unique_ptr<batch_writer> self_;
    state state_ = state::open;
};

inline write_args write_args_of(const lf_write_args* from) {
    need(from, "arguments");
    write_args out;
    out.table = view(text_of(from, &lf_write_args::table));
    out.options = object_argument(text_of(from, &lf_write_args::options), "options");
    out.run_id = view(text_of(from, &lf_write_args::run_id));
    out.mode = view(text_of(from, &lf_write_args::mode));
    out.key = view(text_of(from, &lf_write_args::key));
    if (has(from, &lf_write_args::schema) && from->schema != nullptr) out.columns = schema::from_arrow(*from->schema);
    if (has(from, &lf_write_args::partitions)) out.partitions = from->partitions;
    if (has(from, &lf_write_args::partition)) out.partition = from->partition;
    if (has(from, &lf_write_args::attempt)) out.attempt = from->attempt;
    return out;
}

inline std::vector<json> messages_of(lf_str text) {
    json all = json_argument(text, "messages", json::array());
    return all.items();
}

inline lf_status begin_write(lf_connector* handle, const lf_write_args* args, const lf_sink* out,
                             lf_error* error) noexcept {
    return guard(error, [&] {
        emit(out, instance::of(handle).writer->begin_write(write_args_of(args)).dump());
        return LF_OK;
    });
}

inline lf_status open_one_writer(lf_connector* handle, const lf_write_args* args, lf_writer** out,
                                 lf_error* error) noexcept {
    return guard(error, [&] {
        need(out, "writer's place");
        *out = nullptr;
        *out = open_writer::make(instance::of(handle).writer->open_writer(write_args_of(args)));
        return LF_OK;
    });
}

inline lf_status commit_write(lf_connector* handle, const lf_write_args* args, lf_str messages,
                              lf_error* error) noexcept {
    return guard(error, [&] {
        instance::of(handle).writer->commit_write(write_args_of(args), messages_of(messages));
        return LF_OK;
    });
}

inline lf_status abort_write(lf_connector* handle, const lf_write_args* args, lf_str messages, const lf_sink* out,
                             lf_error* error) noexcept {
    return guard(error, [&] {
        auto left = instance::of(handle).writer->abort_write(write_args_of(args), messages_of(messages));
        emit(out, json::array_of(left).dump());
        return LF_OK;
    });
}

inline lf_status was_committed(lf_connector* handle, const lf_write_args* args, int32_t* out,
                               lf_error* error) noexcept {
    return guard(error, [&] {
        need(out, "answer's place");
        *out = 0;
        *out = instance::of(handle).recoverable->was_committed(write_args_of(args)) ? 1 : 0;
        return LF_OK;
    });
}

template <class T>
constexpr lf_writer_v1 writer_table = {
    sizeof(lf_writer_v1),
    0,
    &begin_write,
    &open_one_writer,
    &commit_write,
    &abort_write,
    std::is_base_of_v<recoverable_writer, T> ? &was_committed : nullptr,
};

}  // namespace lakeflow::detail
