// host/duck/scan.cpp: Arrow batches as a table of DuckDB, by a table function over duckdb_schema_from_arrow and
// duckdb_data_chunk_from_arrow. The function has neither projection nor filter pushdown: it gives whole rows, and DuckDB drops what
// a query does not want. (duckdb_arrow_scan has both and applies neither rightly.) Threads: see scan_state.h.
#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "host/base/error.h"
#include "host/duck/duck.h"
#include "host/duck/scan_state.h"

namespace lakeflow::host::duck {
namespace {

constexpr std::int64_t slice_rows = 2048;  // DuckDB's vector size: a longer array does not fit one chunk

alignas(64) constexpr std::array<unsigned char, 64> zeros{};

// A slice of a batch, as DuckDB takes it: shells of our own around the batch's buffers, which `keep` holds. Freed by the release
// callback of the top array. DuckDB adds a struct's offset to its children but not to what lies below a second struct, so a struct
// is given without an offset: its validity is copied to bit 0, and its children are sliced instead.
struct slice {
    std::shared_ptr<const record_batch> keep;
    std::deque<ArrowArray> arrays;  // a deque, because the arrays point at each other
    std::deque<std::vector<ArrowArray*>> children;
    std::deque<std::array<const void*, 1>> buffers;
    std::deque<std::vector<std::uint8_t>> bits;

    static void release(ArrowArray* top) {
        const std::unique_ptr<slice> owned(static_cast<slice*>(top->private_data));
        top->release = nullptr;
    }
    ArrowArray* cut(const ArrowSchema& type, const ArrowArray& whole, std::int64_t start, std::int64_t rows);
    void cut_struct(const ArrowSchema& type, ArrowArray& array, std::int64_t first, std::int64_t rows);
};

void release_nothing(ArrowArray* array) { array->release = nullptr; }

ArrowArray* slice::cut(const ArrowSchema& type, const ArrowArray& whole, std::int64_t start, std::int64_t rows) {
    ArrowArray& array = arrays.emplace_back(whole);
    array.offset += start;
    array.length = rows;
    if (array.null_count != 0) array.null_count = -1;
    array.release = &release_nothing;
    array.private_data = nullptr;
    if (std::string_view(type.format) == "+s") cut_struct(type, array, array.offset, rows);
    return &array;
}

void slice::cut_struct(const ArrowSchema& type, ArrowArray& array, std::int64_t first, std::int64_t rows) {
    std::vector<ArrowArray*>& cuts = children.emplace_back();
    for (std::int64_t i = 0; i < array.n_children; ++i) {
        cuts.push_back(cut(*type.children[i], *array.children[i], first, rows));
    }
    const void* validity = array.null_count != 0 ? array.buffers[0] : nullptr;
    if (validity && first != 0) {
        std::vector<std::uint8_t>& copy = bits.emplace_back(static_cast<std::size_t>(rows + 7) / 8);
        const auto* from = static_cast<const std::uint8_t*>(validity);
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t at = first + row;
            copy[static_cast<std::size_t>(row >> 3)] |=
                static_cast<std::uint8_t>((from[at >> 3] >> (at & 7) & 1) << (row & 7));
        }
        validity = copy.data();
    }
    array.offset = 0;
    array.n_buffers = 1;
    array.buffers = buffers.emplace_back(std::array{validity}).data();
    array.children = cuts.data();
}

ArrowArray make_slice(const std::shared_ptr<const record_batch>& batch, std::int64_t start, std::int64_t rows) {
    auto made = std::make_unique<slice>();
    made->keep = batch;
    ArrowArray top = *batch->array.get();
    top.length = rows;
    top.null_count = 0;
    made->cut_struct(*batch->schema->get(), top, top.offset + start, rows);
    top.release = &slice::release;
    top.private_data = made.release();
    return top;
}

// An array without rows for a schema node; from its chunk we learn DuckDB's types, which the C API tells in no other way.
struct empty_node {
    ArrowArray array{};
    std::array<const void*, 3> buffers{nullptr, zeros.data(), zeros.data()};
    std::vector<std::unique_ptr<empty_node>> children;
    std::vector<ArrowArray*> pointers;

    explicit empty_node(const ArrowSchema& schema) {
        const std::string_view format = schema.format;
        const bool text = format == "u" || format == "U" || format == "z" || format == "Z";
        array.n_buffers = format == "n" ? 0 : format == "+s" ? 1 : text ? 3 : 2;
        array.buffers = buffers.data();
        for (std::int64_t i = 0; i < schema.n_children; ++i) {
            children.push_back(std::make_unique<empty_node>(*schema.children[i]));
            pointers.push_back(&children.back()->array);
        }
        array.n_children = schema.n_children;
        array.children = pointers.data();
        array.release = &release_nothing;
    }
};

[[noreturn]] void fail_arrow(const api& f, raw::error_data* failed, const char* what) {
    const std::string text = f.error_data_message(*failed) ? f.error_data_message(*failed) : "unknown error";
    f.destroy_error_data(failed);
    throw failure("destination.duckdb", std::string("DuckDB does not take ") + what + ": " + text);
}

void check_arrow(const api& f, raw::error_data failed, const char* what) {
    if (!failed) return;
    if (f.error_data_has_error(failed)) fail_arrow(f, &failed, what);
    f.destroy_error_data(&failed);
}

// The functions of the DuckDB that this thread is inside of: its callbacks bring nothing that could be asked without them. Queries run
// on the calling thread (a database has one thread, which is the caller's).
thread_local const api* inside = nullptr;

}  // namespace

inside_duckdb::inside_duckdb(const api& functions) noexcept : before_(std::exchange(inside, &functions)) {}
inside_duckdb::~inside_duckdb() { inside = before_; }

// DuckDB's callbacks; a struct so that the database can befriend them. Nothing is thrown into DuckDB.
struct scan_callbacks {
    using state = database::scan_state;

    static void bind(raw::bind_info info) {
        const api& f = *inside;
        try {
            auto& owner = *static_cast<database*>(f.bind_get_extra_info(info));
            raw::value parameter = f.bind_get_parameter(info, 0);
            const std::uint64_t id = f.get_uint64(parameter);
            f.destroy_value(&parameter);
            std::shared_ptr<state> scan;
            {
                const std::lock_guard lock(owner.mutex_);
                if (const auto found = owner.scans_.find(id); found != owner.scans_.end()) scan = found->second;
            }
            if (!scan) return f.bind_set_error(info, "no such Arrow scan");
            for (std::size_t i = 0; i < scan->types.size(); ++i) {
                f.bind_add_result_column(info, scan->schema->column(static_cast<std::int64_t>(i)).name, scan->types[i]);
            }
            auto kept = std::make_unique<std::shared_ptr<state>>(std::move(scan));
            f.bind_set_bind_data(info, kept.release(), [](void* p) {
                const std::unique_ptr<std::shared_ptr<state>> owned(static_cast<std::shared_ptr<state>*>(p));
            });
        } catch (const std::exception& e) {
            f.bind_set_error(info, e.what());
        }
    }

    static void init(raw::init_info info) { inside->init_set_max_threads(info, 1); }

    static void next(raw::function_info info, raw::data_chunk output) {
        const api& f = *inside;
        auto& scan = **static_cast<std::shared_ptr<state>*>(f.function_get_bind_data(info));
        try {
            fill(scan, output);
        } catch (const std::exception& e) {
            f.function_set_error(info, e.what());
            scan.thrown = std::current_exception();
        }
    }

    static void fill(state& scan, raw::data_chunk output) {
        const api& f = *scan.functions;
        while (!scan.current || scan.at >= scan.current->rows()) {
            if (scan.ended) return f.data_chunk_set_size(output, 0);
            record_batch batch;
            if (!scan.source->next(batch)) {
                scan.ended = true;
                return f.data_chunk_set_size(output, 0);
            }
            scan.previous = std::move(scan.current);
            scan.current = std::make_shared<const record_batch>(std::move(batch));
            scan.at = 0;
        }
        const std::int64_t rows = std::min(slice_rows, scan.current->rows() - scan.at);
        arrow_array part(make_slice(scan.current, scan.at, rows));
        raw::data_chunk chunk = nullptr;
        // The conversion takes the release callback with it; should it fail before, `part` releases.
        check_arrow(f, f.data_chunk_from_arrow(scan.connection, part.get(), scan.converted, &chunk), "an Arrow array");
        for (std::size_t i = 0; i < scan.types.size(); ++i) {
            f.vector_reference_vector(f.data_chunk_get_vector(output, i), f.data_chunk_get_vector(chunk, i));
        }
        f.data_chunk_set_size(output, static_cast<raw::idx>(rows));
        f.destroy_data_chunk(&chunk);
        scan.at += rows;
    }
};

void database::register_scan() {
    const api& f = *api_;
    const inside_duckdb in(f);
    raw::connection connection = nullptr;
    if (f.connect(handle_, &connection) != 0) throw failure("destination.duckdb", "DuckDB gave no connection");
    raw::table_function function = f.create_table_function();
    raw::logical_type id_type = f.create_logical_type(type_ubigint);
    f.table_function_set_name(function, "lakeflow_arrow");
    f.table_function_add_parameter(function, id_type);
    f.table_function_set_extra_info(function, this, nullptr);
    f.table_function_set_bind(function, &scan_callbacks::bind);
    f.table_function_set_init(function, &scan_callbacks::init);
    f.table_function_set_function(function, &scan_callbacks::next);
    const raw::state registered = f.register_table_function(connection, function);
    f.destroy_logical_type(&id_type);
    f.destroy_table_function(&function);
    f.disconnect(&connection);
    if (registered != 0) throw failure("destination.duckdb", "DuckDB did not take the Arrow scan function");
}

scan connection::add_scan(std::shared_ptr<const arrow_schema> schema, std::shared_ptr<batch_source> source) {
    const api& f = *owner_->api_;
    const inside_duckdb in(f);
    if (schema->columns() == 0) throw failure("destination.duckdb", "a batch without columns cannot be scanned");
    auto state = std::make_shared<database::scan_state>();
    state->functions = &f;
    state->connection = handle_;
    state->schema = schema;
    state->source = std::move(source);
    // DuckDB only reads the schema; its C API has no const.
    ArrowSchema top = *schema->get();
    check_arrow(f, f.schema_from_arrow(handle_, &top, &state->converted), "the Arrow schema");
    empty_node nothing(top);
    raw::data_chunk chunk = nullptr;
    check_arrow(f, f.data_chunk_from_arrow(handle_, &nothing.array, state->converted, &chunk), "the Arrow schema");
    for (std::int64_t i = 0; i < schema->columns(); ++i) {
        state->types.push_back(f.vector_get_column_type(f.data_chunk_get_vector(chunk, static_cast<raw::idx>(i))));
    }
    f.destroy_data_chunk(&chunk);

    scan made;
    made.owner_ = owner_;
    const std::lock_guard lock(owner_->mutex_);
    made.id_ = owner_->next_scan_++;
    made.sql_ = "lakeflow_arrow(" + std::to_string(made.id_) + "::UBIGINT)";
    owner_->scans_.emplace(made.id_, std::move(state));
    return made;
}

scan::~scan() {
    if (!owner_) return;
    std::shared_ptr<database::scan_state> gone;  // destroyed outside the lock
    const std::lock_guard lock(owner_->mutex_);
    if (const auto found = owner_->scans_.find(id_); found != owner_->scans_.end()) {
        gone = std::move(found->second);
        owner_->scans_.erase(found);
    }
}

}  // namespace lakeflow::host::duck
