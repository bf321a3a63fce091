// host/rows/plan.h: a schema and a spec, compiled: for each place of a document, what becomes of the value there. A decoder has one
// plan; the plan holds the columns, and remembers the order in which members came, which is how the next one is found fast.
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/arrow/builder.h"
#include "host/rows/cell.h"
#include "host/rows/spec.h"

namespace lakeflow::host {

enum class slot_kind : std::uint8_t {
    skip,  // parsed and dropped
    boolean,
    int8,
    int16,
    int32,
    int64,
    float32,
    float64,
    decimal,
    text,
    json,
    binary,
    date,
    instant,
    local_instant,
    null_,
    list,
    map,
    object,   // a struct, or a place on the way to something deeper
    element,  // of an array that is read by index
    several,  // more than one taker
    row,
    records,  // the array of rows, or the one row
    capture,
    rescued,  // a member that nobody asked for, and that is kept
};

struct level;

// What becomes of the value at one place.
struct slot {
    slot_kind kind = slot_kind::skip;
    bool document = false;  // outside the rows
    bool nullable = true;
    time_form form = time_form::rfc3339;
    bool has_form = false;
    std::int16_t precision = 0;  // decimal
    std::int16_t scale = 0;
    column* out = nullptr;          // where it goes, if it is a column
    level* below = nullptr;         // object: its members
    slot* item = nullptr;           // list: the element; map: the value; records: the row
    slot* scalar = nullptr;         // object: the member that a scalar becomes
    std::size_t index = 0;          // capture
    std::ptrdiff_t of_column = -1;  // of the table, whose value it is or lies in
    std::vector<slot*> takers;      // several
    const ArrowSchema* node = nullptr;
    std::string path;  // "user.id", for messages
};

// A member that a level knows: one that is wanted, or one that was met before.
struct member {
    std::string key;
    slot* target = nullptr;
    member* next = nullptr;  // the member that came after it last time
    std::uint64_t seen = 0;  // the object in which it was met last
};

// A column that must have a value once its object ends.
struct completion {
    column* out = nullptr;
    slot* place = nullptr;
    const cell* constant = nullptr;
};

// The members of one object.
struct level {
    struct_column* out = nullptr;  // null: only on the way
    std::vector<completion> columns;
    std::vector<std::pair<std::int64_t, member*>> by_index;  // members whose name is an index, for arrays
    std::uint64_t object = 0;                                // counts the objects: what `seen` is compared with
    slot* unknown = nullptr;                                 // takes the members that nobody wants
    member first;                                            // first.next: the member that came first last time

    // The member of that name. One that nobody wants is remembered too, to a limit: past it, null.
    member* find(std::string_view key);
    member* known(std::string_view key) { return *place(key); }
    member& add(std::string_view key, slot* target);
    // A key that is not remembered: false if it stands twice in this object.
    bool remember_stray(std::string_view key);

  private:
    static constexpr std::size_t max_learned = 1024;
    static constexpr std::size_t max_learned_key = 256;

    std::deque<member> members_;
    std::vector<member*> table_;  // open addressing by key
    std::size_t learned_ = 0;
    std::unordered_set<std::string> strays_;
    std::uint64_t strays_of_ = 0;

    static std::size_t hash(std::string_view key) noexcept;
    member** place(std::string_view key);
};

// A place of a document that is open.
enum class frame_kind : std::uint8_t { object, list, map, records, indexed };
struct frame {
    frame_kind kind;
    slot* place;
    level* below;
    member* last;   // object: the member that came last
    slot* outside;  // what current_ was
    std::int64_t count;
};

struct watched {
    std::string name;
    const ArrowSchema* node = nullptr;
    const column* from = nullptr;
};

struct condition {
    const column* from = nullptr;
    compare_op op = compare_op::equal;
    cell value;
    bool or_null = false;
};

struct plan {
    // With `rescue` the table gets one more column, of the members that no column asks for (rescue.h).
    plan(const ArrowSchema& schema, rows_spec spec, bool rescue = false);
    plan(const plan&) = delete;
    plan& operator=(const plan&) = delete;

    rows_spec spec;
    arrow_schema schema;  // a copy: the slots point into it
    std::unique_ptr<struct_column> table;
    slot* root = nullptr;  // the document
    slot* row = nullptr;
    std::vector<slot*> columns;             // by column of the schema; null for a constant
    std::vector<std::string> header_names;  // csv: the name in the header, by column
    std::vector<watched> watch;
    std::vector<condition> keep;
    std::vector<const column*> drop_columns;
    std::unordered_set<std::string> drop_keys;
    text_column* rescued = nullptr;  // null: they are dropped

  private:
    slot& new_slot(slot_kind kind, std::string path);
    level& new_level(struct_column* out);
    void keep_unknown(level& at, const std::string& prefix);
    slot& column_slot(const ArrowSchema& node, column& out, const std::string& path, const column_rule* rule);
    void scalar_slot(slot& s, const ArrowSchema& node, const column_rule* rule);
    void attach(level& at, const std::string& key, slot& s);
    level& descend(level& at, const std::string& key, const std::string& path, bool document);
    void attach_path(level& at, const std::vector<std::string>& tokens, slot& s, bool document);
    void compile_columns();
    void compile_document();
    void compile_conditions();
    std::int64_t column_of(const std::string& name, const char* member) const;

    std::deque<slot> slots_;
    std::deque<level> levels_;
    std::deque<cell> constants_;
    bool form_used_ = false;
    std::ptrdiff_t column_ = -1;  // whose slots are made
    int repeated_ = 0;            // lists and maps around them
};

// The target of members that nobody wants. Leaked: nothing of the core may run when the library is loaded or the process ends.
slot* skip_slot() noexcept;

}  // namespace lakeflow::host
