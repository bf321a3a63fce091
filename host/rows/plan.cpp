// host/rows/plan.cpp: see plan.h.
#include "host/rows/plan.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/rows/rescue.h"

namespace lakeflow::host {

slot* skip_slot() noexcept {
    static slot* const the_one = std::make_unique<slot>().release();
    return the_one;
}

std::size_t level::hash(std::string_view key) noexcept {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    const std::size_t n = std::min<std::size_t>(key.size(), 8);
    std::memcpy(&head, key.data(), n);
    std::memcpy(&tail, key.data() + (key.size() - n), n);
    const std::uint64_t h = (head ^ (tail * 0x9E3779B97F4A7C15u) ^ key.size()) * 0xFF51AFD7ED558CCDu;
    return static_cast<std::size_t>(h ^ (h >> 32));
}

member** level::place(std::string_view key) {
    if ((members_.size() + 1) * 2 > table_.size()) {
        table_.assign(std::max<std::size_t>(16, table_.size() * 2), nullptr);
        for (member& m : members_) {
            std::size_t i = hash(m.key) & (table_.size() - 1);
            while (table_[i]) i = (i + 1) & (table_.size() - 1);
            table_[i] = &m;
        }
    }
    std::size_t i = hash(key) & (table_.size() - 1);
    while (table_[i] && table_[i]->key != key) i = (i + 1) & (table_.size() - 1);
    return &table_[i];
}

member* level::find(std::string_view key) {
    member** at = place(key);
    if (*at) return *at;
    if (learned_ >= max_learned || key.size() > max_learned_key) return nullptr;
    ++learned_;
    return &add(key, unknown);
}

member& level::add(std::string_view key, slot* target) {
    member** at = place(key);
    if (*at) return **at;
    members_.push_back({std::string(key), target, nullptr, 0});
    *at = &members_.back();
    return members_.back();
}

bool level::remember_stray(std::string_view key) {
    if (strays_of_ != object) {
        strays_.clear();
        strays_of_ = object;
    }
    return strays_.insert(std::string(key)).second;
}

plan::plan(const ArrowSchema& wanted, rows_spec s, bool rescue) : spec(std::move(s)) {
    check_schema(wanted, "rows/1");
    schema = rescue ? with_rescued(wanted) : copy_schema(wanted);
    table = make_table(*schema.get());
    if (rescue) rescued = static_cast<text_column*>(&table->child(table->size() - 1));
    compile_columns();
    compile_document();
    compile_conditions();
}

slot& plan::new_slot(slot_kind kind, std::string path) {
    slots_.emplace_back();
    slots_.back().kind = kind;
    slots_.back().of_column = column_;
    slots_.back().path = std::move(path);
    return slots_.back();
}

level& plan::new_level(struct_column* out) {
    levels_.emplace_back();
    levels_.back().out = out;
    levels_.back().unknown = skip_slot();
    return levels_.back();
}

// Members of the level that no column asks for are kept, under their names behind `prefix`.
void plan::keep_unknown(level& at, const std::string& prefix) {
    if (!rescued) return;
    at.unknown = &new_slot(slot_kind::rescued, prefix);
}

void plan::scalar_slot(slot& s, const ArrowSchema& node, const column_rule* rule) {
    const column_type type = type_of(node);
    const bool json = rule && rule->json;
    switch (type.id) {
        case type_id::null_: s.kind = slot_kind::null_; break;
        case type_id::boolean: s.kind = slot_kind::boolean; break;
        case type_id::int8: s.kind = slot_kind::int8; break;
        case type_id::int16: s.kind = slot_kind::int16; break;
        case type_id::int32: s.kind = slot_kind::int32; break;
        case type_id::int64: s.kind = slot_kind::int64; break;
        case type_id::float32: s.kind = slot_kind::float32; break;
        case type_id::float64: s.kind = slot_kind::float64; break;
        case type_id::decimal128:
            s.kind = slot_kind::decimal;
            s.precision = static_cast<std::int16_t>(type.precision);
            s.scale = static_cast<std::int16_t>(type.scale);
            break;
        case type_id::utf8:
        case type_id::large_utf8: s.kind = json ? slot_kind::json : slot_kind::text; break;
        case type_id::binary:
        case type_id::large_binary: s.kind = slot_kind::binary; break;
        case type_id::date32: s.kind = slot_kind::date; break;
        case type_id::timestamp_utc: s.kind = slot_kind::instant; break;
        case type_id::timestamp_local: s.kind = slot_kind::local_instant; break;
        default: break;
    }
    if (json && s.kind != slot_kind::json)
        bad_spec("columns." + rule->column + ".json needs a text column, not " + type_name(node));
    const bool instant =
        s.kind == slot_kind::instant || s.kind == slot_kind::local_instant || s.kind == slot_kind::date;
    if (!instant || !rule || !rule->format) return;
    s.has_form = true;
    s.form = *rule->format;
    form_used_ = true;
    if (s.kind != slot_kind::instant && s.form != time_form::date)
        bad_spec(
            "columns." + rule->column + ".format does not go with " + type_name(node),
            s.kind == slot_kind::local_instant ? "An epoch or RFC 3339 text is an instant: declare TIMESTAMP." : "");
}

slot& plan::column_slot(const ArrowSchema& node, column& out, const std::string& path, const column_rule* rule) {
    const type_id id = type_of(node).id;
    slot& s = new_slot(slot_kind::skip, path);
    s.node = &node;
    s.out = &out;
    s.nullable = is_nullable(node);
    switch (id) {
        case type_id::list:
            s.kind = slot_kind::list;
            ++repeated_;
            s.item = &column_slot(list_item(node), static_cast<list_column&>(out).child(), path + "[]", rule);
            --repeated_;
            break;
        case type_id::map: {
            const type_id key = type_of(map_key(node)).id;
            if (key != type_id::utf8 && key != type_id::large_utf8)
                throw failure("schema.unsupported", "column " + path + ": the keys of a map are texts in JSON, not " +
                                                        type_name(map_key(node)));
            auto& entries = static_cast<struct_column&>(static_cast<list_column&>(out).child());
            s.kind = slot_kind::map;
            ++repeated_;
            s.item = &column_slot(map_value(node), entries.child(1), path + "{}", rule);
            --repeated_;
            break;
        }
        case type_id::struct_: {
            auto& self = static_cast<struct_column&>(out);
            s.kind = slot_kind::object;
            s.below = &new_level(&self);
            // Of structs in a list or a map there are many a row: what they have besides is dropped.
            if (repeated_ == 0) keep_unknown(*s.below, path + ".");
            for (std::int64_t i = 0; i < node.n_children; ++i) {
                const ArrowSchema& child = *node.children[i];
                const std::string name(name_of(child));
                column& child_out = self.child(static_cast<std::size_t>(i));
                column_rule below;  // a format holds for every instant inside; the rest is the column's own
                if (rule) {
                    below.column = rule->column;
                    below.format = rule->format;
                }
                slot& target = column_slot(child, child_out, path + "." + name, rule ? &below : nullptr);
                s.below->columns.push_back({&child_out, &target, nullptr});
                s.below->add(name, &target);
                if (rule && rule->scalar && *rule->scalar == name) s.scalar = &target;
            }
            if (rule && rule->scalar && !s.scalar)
                bad_spec("columns." + rule->column + ".scalar: " + type_name(node) + " has no member \"" +
                         *rule->scalar + "\"");
            break;
        }
        default: scalar_slot(s, node, rule);
    }
    if (rule && rule->scalar && s.kind != slot_kind::object && s.kind != slot_kind::list)
        bad_spec("columns." + rule->column + ".scalar needs a struct or a list of structs, not " + type_name(node));
    if (rule && rule->json && (s.kind == slot_kind::object || s.kind == slot_kind::map || s.kind == slot_kind::list))
        bad_spec("columns." + rule->column + ".json needs a text column, not " + type_name(node));
    return s;
}

// Both take the value: a struct and what lies on a path through it share one level, all else is given to each in turn.
void plan::attach(level& at, const std::string& key, slot& s) {
    member& m = at.add(key, &s);
    if (m.target == &s) {
        const auto index = parse_int(key);
        if (index && *index >= 0 && std::to_string(*index) == key) at.by_index.push_back({*index, &m});
        return;
    }
    if (m.target->kind != slot_kind::several) {
        slot& both = new_slot(slot_kind::several, s.path);
        both.document = s.document;
        both.takers.push_back(m.target);
        m.target = &both;
    }
    m.target->takers.push_back(&s);
}

level& plan::descend(level& at, const std::string& key, const std::string& path, bool document) {
    if (const member* m = at.known(key)) {
        if (m->target->kind == slot_kind::object) return *m->target->below;
        for (slot* taker : m->target->takers)
            if (taker->kind == slot_kind::object) return *taker->below;
    }
    slot& way = new_slot(slot_kind::object, path);
    way.document = document;
    way.below = &new_level(nullptr);
    attach(at, key, way);
    return *way.below;
}

void plan::attach_path(level& at, const std::vector<std::string>& tokens, slot& s, bool document) {
    level* here = &at;
    std::string path;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        path += "/" + tokens[i];
        here = &descend(*here, tokens[i], path, document);
    }
    attach(*here, tokens.back(), s);
}

std::int64_t plan::column_of(const std::string& name, const char* member) const {
    const std::int64_t i = find_column(*schema.get(), name);
    if (i >= 0) return i;
    std::vector<std::string> all;
    for (std::int64_t c = 0; c < schema.columns(); ++c) all.emplace_back(name_of(schema.column(c)));
    const auto near = nearest(name, all);
    bad_spec(std::string(member) + ": the schema has no column \"" + name + "\"",
             near ? "Did you mean \"" + *near + "\"?" : std::string());
}

void plan::compile_columns() {
    std::vector<const column_rule*> rules(static_cast<std::size_t>(schema.columns()));
    for (const column_rule& rule : spec.columns)
        rules[static_cast<std::size_t>(column_of(rule.column, "columns"))] = &rule;

    row = &new_slot(slot_kind::row, "");
    row->below = &new_level(table.get());
    keep_unknown(*row->below, "");
    struct wiring {
        std::vector<std::string> tokens;
        slot* target;
    };
    std::vector<wiring> wires;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (rescued && i + 1 == rules.size()) break;  // it is no one's member
        column_ = static_cast<std::ptrdiff_t>(i);
        const ArrowSchema& node = schema.column(static_cast<std::int64_t>(i));
        const std::string name(name_of(node));
        column& out = table->child(i);
        const column_rule* rule = rules[i];
        form_used_ = false;
        slot& s = column_slot(node, out, name, rule);
        if (rule && rule->format && !form_used_)
            bad_spec("columns." + name + ".format: " + type_name(node) + " holds no instant");
        completion done{&out, &s, nullptr};
        header_names.push_back(rule && rule->path ? rule->path->front() : name);
        if (rule && rule->value) {
            if (!has_cells(type_of(node).id) && rule->value->type != spec_value::kind::null_)
                bad_spec("columns." + name + ".value: a constant is a scalar, not " + type_name(node));
            constants_.push_back(make_cell(*rule->value, node, "columns." + name + ".value"));
            if (constants_.back().type == cell::kind::null_ && !is_nullable(node))
                bad_spec("columns." + name + ".value is null, and the column is NOT NULL");
            done.constant = &constants_.back();
            columns.push_back(nullptr);
        } else {
            wires.push_back({rule && rule->path ? *rule->path : std::vector<std::string>{name}, &s});
            columns.push_back(&s);
        }
        row->below->columns.push_back(done);
    }
    column_ = -1;
    // Structs first, then what lies on paths through them.
    std::stable_sort(wires.begin(), wires.end(),
                     [](const wiring& a, const wiring& b) { return a.tokens.size() < b.tokens.size(); });
    for (const wiring& w : wires) attach_path(*row->below, w.tokens, *w.target, false);
}

void plan::compile_document() {
    slot& records = new_slot(slot_kind::records, spec.records_text);
    records.document = true;
    records.item = row;
    if (spec.records.empty()) {
        root = &records;
        return;
    }
    root = &new_slot(slot_kind::object, "");
    root->document = true;
    root->below = &new_level(nullptr);
    attach_path(*root->below, spec.records, records, true);
    slot* way =
        root;  // what is on the way to the rows must be an object or null; what is on the way to a capture may be anything
    for (const std::string& token : spec.records) {
        way->item = &records;
        way = way->below->known(token)->target;
        if (way == &records) break;
    }
    for (std::size_t i = 0; i < spec.captures.size(); ++i) {
        slot& s = new_slot(slot_kind::capture, "captures[" + std::to_string(i) + "]");
        s.document = true;
        s.index = i;
        attach_path(*root->below, spec.captures[i], s, true);
    }
}

void plan::compile_conditions() {
    const auto cell_column = [&](const std::string& name, const char* member) {
        const std::int64_t i = column_of(name, member);
        if (!has_cells(type_of(schema.column(i)).id))
            bad_spec(std::string(member) + ": column " + name + " is " + type_name(schema.column(i)) +
                     ", not a scalar");
        return i;
    };
    for (const std::string& name : spec.watch) {
        const std::int64_t i = cell_column(name, "watch");
        watch.push_back({name, &schema.column(i), &table->child(static_cast<std::size_t>(i))});
    }
    for (const keep_rule& rule : spec.keep) {
        const bool test = rule.op == compare_op::is_null || rule.op == compare_op::is_not_null;
        const std::int64_t i = test ? column_of(rule.column, "keep") : cell_column(rule.column, "keep");
        cell value;
        if (!test) value = make_cell(rule.value, schema.column(i), "keep on " + rule.column);
        keep.push_back({&table->child(static_cast<std::size_t>(i)), rule.op, std::move(value), rule.or_null});
    }
    std::vector<const ArrowSchema*> nodes;
    for (const std::string& name : spec.drop_columns) {
        const std::int64_t i = cell_column(name, "drop_keys");
        nodes.push_back(&schema.column(i));
        drop_columns.push_back(&table->child(static_cast<std::size_t>(i)));
    }
    for (const auto& values : spec.drop_values) {
        std::string key;
        for (std::size_t i = 0; i < values.size(); ++i)
            append_key(key, make_cell(values[i], *nodes[i], "drop_keys.values"));
        drop_keys.insert(std::move(key));
    }
    spec.drop_values.clear();  // the keys hold it all
}

}  // namespace lakeflow::host
