// host/duck/duck.cpp: databases, connections and results. The Arrow adapter is in scan.cpp. Threads: see duck.h.
#include "host/duck/duck.h"

#include <cstring>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/scan_state.h"

namespace lakeflow::host::duck {

std::string quote_name(std::string_view name) {
    std::string out = "\"";
    for (const char c : name) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string quote_text(std::string_view text) {
    std::string out = "'";
    bool joined = false;
    for (const char c : text) {
        if (c == '\'') {
            out += "''";
        } else if (c == '\0') {
            out += "'||chr(0)||'";
            joined = true;
        } else {
            out += c;
        }
    }
    out += "'";
    return joined ? "(" + out + ")" : out;
}

// ---- database

std::shared_ptr<database> database::open(const database_options& options) {
    std::shared_ptr<database> made(new database);
    made->api_ = load(options.library);
    const api& f = *made->api_;

    raw::config config = nullptr;
    if (f.create_config(&config) != 0)
        throw failure("destination.duckdb", "DuckDB has no memory for its configuration");
    const auto set = [&](const char* name, const std::string& to) {
        if (f.set_config(config, name, to.c_str()) != 0) {
            f.destroy_config(&config);
            throw failure("destination.duckdb", std::string("this DuckDB does not know the setting ") + name,
                          "use version 1.5.6, which conan/setup.sh brings");
        }
    };
    set("threads", "1");
    set("memory_limit", std::to_string(options.memory_bytes) + "B");
    set("temp_directory", options.temp_directory);
    set("autoinstall_known_extensions", "false");
    set("autoload_known_extensions", "false");
    set("access_mode", options.read_only ? "READ_ONLY" : "AUTOMATIC");
    char* message = nullptr;
    const raw::state opened =
        f.open_ext(options.path.empty() ? nullptr : options.path.c_str(), &made->handle_, config, &message);
    f.destroy_config(&config);
    if (opened != 0) {
        const std::string text = message ? message : "unknown error";
        if (message) f.free(message);
        throw failure(
            "destination.duckdb",
            "DuckDB cannot open " + (options.path.empty() ? "a database in memory" : options.path) + ": " + text);
    }
    made->register_scan();
    return made;
}

database::~database() {
    if (handle_) api_->close(&handle_);
}

connection database::connect(std::shared_ptr<cancel_token> stop) { return {shared_from_this(), std::move(stop)}; }

// ---- connection

connection::connection(std::shared_ptr<database> owner, std::shared_ptr<cancel_token> stop)
    : owner_(std::move(owner)), stop_(std::move(stop)) {
    if (owner_->api_->connect(owner_->handle_, &handle_) != 0) {
        throw failure("destination.duckdb", "DuckDB gave no connection");
    }
    // Instants are written and printed in UTC wherever the machine stands.
    raw::result none;
    owner_->api_->query(handle_, "SET TimeZone = 'UTC'", &none);
    owner_->api_->destroy_result(&none);
    if (stop_) {
        stop_id_ = stop_->on_cancel([api = owner_->api_, handle = handle_] { api->interrupt(handle); });
    }
}

connection::connection(connection&& other) noexcept
    : owner_(std::move(other.owner_)),
      handle_(std::exchange(other.handle_, nullptr)),
      stop_(std::move(other.stop_)),
      stop_id_(other.stop_id_) {}

connection::~connection() {
    if (!handle_) return;
    if (stop_) stop_->remove(stop_id_);
    owner_->api_->disconnect(&handle_);
}

void connection::check_scans() {
    std::exception_ptr thrown;
    {
        const std::lock_guard lock(owner_->mutex_);
        for (const auto& [id, state] : owner_->scans_) {
            if (state->connection == handle_ && state->thrown) thrown = std::exchange(state->thrown, nullptr);
        }
    }
    if (thrown) std::rethrow_exception(thrown);
}

void connection::fail(const std::string& sql, const char* message) {
    const std::string text = message ? message : "unknown error";
    check_scans();
    if (stop_) stop_->check();
    std::string hint;
    if (text.find("Out of Memory") != std::string::npos) {
        hint = "raise the destination's memory or name a temp_directory with room";
    } else if (text.find("No space left") != std::string::npos) {
        hint = "free space on the disk and run again; nothing of this batch is in the table";
    }
    throw failure("destination.duckdb",
                  "DuckDB: " + text + " (in: " + std::string(cut_utf8(sql, 160)) + (sql.size() > 160 ? "...)" : ")"),
                  hint);
}

result connection::query(const std::string& sql) {
    if (stop_) stop_->check();
    const inside_duckdb in(*owner_->api_);
    raw::result handle;
    const raw::state state = owner_->api_->query(handle_, sql.c_str(), &handle);
    result made(owner_, handle);
    if (state != 0) fail(sql, owner_->api_->result_error(&made.handle_));
    return made;
}

result connection::stream(const std::string& sql) {
    if (stop_) stop_->check();
    const api& f = *owner_->api_;
    const inside_duckdb in(f);
    raw::prepared prepared = nullptr;
    if (f.prepare(handle_, sql.c_str(), &prepared) != 0) {
        const char* message = f.prepare_error(prepared);
        const std::string text = message ? message : "unknown error";
        f.destroy_prepare(&prepared);
        fail(sql, text.c_str());
    }
    raw::result handle;
    const raw::state state = f.execute_prepared_streaming(prepared, &handle);
    result made(owner_, handle);
    made.prepared_ = prepared;
    if (state != 0) fail(sql, f.result_error(&made.handle_));
    made.check_ = [this, sql] {
        check_scans();
        if (stop_) stop_->check();
    };
    return made;
}

std::int64_t connection::integer(const std::string& sql) {
    result rows = query(sql);
    if (!rows.next()) throw failure("destination.duckdb", "DuckDB gave no row for: " + sql);
    return rows[0].is_null() ? 0 : rows[0].integer();
}

// ---- result

result::result(std::shared_ptr<database> owner, raw::result handle) noexcept
    : owner_(std::move(owner)), handle_(handle) {
    columns_ = owner_->functions().column_count(&handle_);
}

result::result(result&& other) noexcept
    : owner_(std::move(other.owner_)),
      handle_(std::exchange(other.handle_, raw::result{})),
      prepared_(std::exchange(other.prepared_, nullptr)),
      chunk_(std::exchange(other.chunk_, nullptr)),
      columns_(other.columns_),
      rows_(other.rows_),
      row_(other.row_),
      before_first_(other.before_first_),
      check_(std::move(other.check_)) {}

result::~result() {
    if (!owner_) return;
    const api& f = owner_->functions();
    if (chunk_) f.destroy_data_chunk(&chunk_);
    f.destroy_result(&handle_);
    if (prepared_) f.destroy_prepare(&prepared_);
}

std::string result::column_name(std::uint64_t column) {
    const char* name = owner_->functions().column_name(&handle_, column);
    return name ? name : "";
}

int result::column_type(std::uint64_t column) { return owner_->functions().column_type(&handle_, column); }

namespace {
// Takes the type over.
value_type describe(const api& f, raw::logical_type logical) {
    value_type out;
    out.id = f.get_type_id(logical);
    if (out.id == type_decimal) out.scale = f.decimal_scale(logical);
    if (out.id == type_list) out.children.push_back(describe(f, f.list_type_child_type(logical)));
    if (out.id == type_map) {
        out.children.push_back(describe(f, f.map_type_key_type(logical)));
        out.children.push_back(describe(f, f.map_type_value_type(logical)));
    }
    if (out.id == type_struct) {
        for (raw::idx i = 0; i < f.struct_type_child_count(logical); ++i) {
            char* name = f.struct_type_child_name(logical, i);
            out.names.emplace_back(name ? name : "");
            f.free(name);
            out.children.push_back(describe(f, f.struct_type_child_type(logical, i)));
        }
    }
    f.destroy_logical_type(&logical);
    return out;
}
}  // namespace

value_type result::type(std::uint64_t column) {
    const api& f = owner_->functions();
    return describe(f, f.column_logical_type(&handle_, column));
}

std::int64_t result::rows_changed() { return static_cast<std::int64_t>(owner_->functions().rows_changed(&handle_)); }

bool result::next() {
    if (!before_first_ && row_ + 1 < rows_) {
        ++row_;
        return true;
    }
    const api& f = owner_->functions();
    const inside_duckdb in(f);
    do {
        if (chunk_) f.destroy_data_chunk(&chunk_);
        chunk_ = f.fetch_chunk(handle_);
        if (!chunk_) {
            rows_ = row_ = 0;
            before_first_ = 1;
            if (const char* message = f.result_error(&handle_); message && *message) {
                if (check_) check_();
                throw failure("destination.duckdb", std::string("DuckDB: ") + message);
            }
            return false;
        }
        rows_ = f.data_chunk_get_size(chunk_);
    } while (rows_ == 0);
    row_ = 0;
    before_first_ = 0;
    return true;
}

value result::operator[](std::uint64_t column) const {
    return {owner_->functions(), owner_->functions().data_chunk_get_vector(chunk_, column), row_};
}

// ---- value

bool value::is_null() const noexcept {
    const std::uint64_t* validity = api_->vector_get_validity(vector_);
    return validity && (validity[row_ / 64] >> (row_ % 64) & 1) == 0;
}

namespace {
int type_of_vector(const api& f, raw::vector vector) {
    raw::logical_type logical = f.vector_get_column_type(vector);
    const int id = f.get_type_id(logical);
    f.destroy_logical_type(&logical);
    return id;
}
}  // namespace

std::int64_t value::integer() const {
    const void* data = api_->vector_get_data(vector_);
    const auto at = [&]<class T>(T) { return static_cast<std::int64_t>(static_cast<const T*>(data)[row_]); };
    switch (const int id = type_of_vector(*api_, vector_)) {
        case type_boolean:
        case type_utinyint: return at(std::uint8_t{});
        case type_tinyint: return at(std::int8_t{});
        case type_smallint: return at(std::int16_t{});
        case type_usmallint: return at(std::uint16_t{});
        case type_integer:
        case type_date: return at(std::int32_t{});
        case type_uinteger: return at(std::uint32_t{});
        case type_bigint:
        case type_ubigint:
        case type_timestamp:
        case type_timestamp_tz: return at(std::int64_t{});
        case type_hugeint: {
            // The low half carries every value that fits an int64, whatever its sign.
            struct halves {
                std::uint64_t low;
                std::int64_t high;
            };
            const halves h = static_cast<const halves*>(data)[row_];
            const auto low = static_cast<std::int64_t>(h.low);
            if (h.high != (low < 0 ? -1 : 0))
                throw failure("destination.duckdb", "a HUGEINT of DuckDB is past 64 bits");
            return low;
        }
        default:
            throw failure("destination.duckdb",
                          "a result of DuckDB has type " + std::to_string(id) + ", not an integer");
    }
}

int128 value::wide() const {
    struct halves {
        std::uint64_t low;
        std::int64_t high;
    };
    const void* data = api_->vector_get_data(vector_);
    raw::logical_type logical = api_->vector_get_column_type(vector_);
    int id = api_->get_type_id(logical);
    if (id == type_decimal) id = api_->decimal_internal_type(logical);
    api_->destroy_logical_type(&logical);
    switch (id) {
        case type_smallint: return static_cast<const std::int16_t*>(data)[row_];
        case type_integer: return static_cast<const std::int32_t*>(data)[row_];
        case type_bigint: return static_cast<const std::int64_t*>(data)[row_];
        case type_hugeint: {
            const halves h = static_cast<const halves*>(data)[row_];
            return static_cast<int128>(static_cast<uint128>(h.high) << 64 | h.low);
        }
        default:
            throw failure("destination.duckdb",
                          "a result of DuckDB has type " + std::to_string(id) + ", not a decimal");
    }
}

double value::real() const {
    const void* data = api_->vector_get_data(vector_);
    switch (type_of_vector(*api_, vector_)) {
        case type_float: return static_cast<double>(static_cast<const float*>(data)[row_]);
        case type_double: return static_cast<const double*>(data)[row_];
        default: return static_cast<double>(integer());
    }
}

std::string_view value::text() const {
    // duckdb_string_t: a length, then up to 12 bytes in place, or a prefix of 4 and a pointer.
    struct inlined {
        std::uint32_t length;
        char bytes[12];
    };
    const inlined& s = static_cast<const inlined*>(api_->vector_get_data(vector_))[row_];
    if (s.length <= sizeof s.bytes) return {s.bytes, s.length};
    const char* pointer = nullptr;
    std::memcpy(&pointer, s.bytes + 4, sizeof pointer);
    return {pointer, s.length};
}

namespace {
struct list_entry {
    std::uint64_t offset;
    std::uint64_t length;
};
}  // namespace

std::uint64_t value::size() const {
    return static_cast<const list_entry*>(api_->vector_get_data(vector_))[row_].length;
}

value value::element(std::uint64_t i) const {
    const list_entry& entry = static_cast<const list_entry*>(api_->vector_get_data(vector_))[row_];
    return {*api_, api_->list_vector_get_child(vector_), entry.offset + i};
}

value value::field(std::uint64_t i) const { return {*api_, api_->struct_vector_get_child(vector_, i), row_}; }

}  // namespace lakeflow::host::duck
