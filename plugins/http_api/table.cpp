// plugins/http_api/table.cpp: see table.hpp. Plans and splits; listing.cpp has the readers.
#include "table.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "cells.hpp"
#include "infer.hpp"
#include "keys.hpp"
#include "listing.hpp"
#include "predicate.hpp"

namespace lakeflow::http_api {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t most_windows = 100;  // a micro-batch
constexpr std::size_t most_descriptor_bytes = 32 << 10;

bool is_numbered(const resource& of) {
    return of.paging.kind == paging_kind::page || of.paging.kind == paging_kind::offset;
}

bool is_time(cursor_kind kind) { return kind == cursor_kind::instant || kind == cursor_kind::day; }

// The columns that were inferred, kept for the run: its readers must all see the same ones. Leaked: no destructor runs at exit.
std::optional<schema> remembered(const std::string& key, const schema* learned) {
    static auto& mutex = *new std::mutex;
    static auto& known = *new std::map<std::string, schema>;
    const std::scoped_lock lock(mutex);
    if (learned != nullptr) {
        if (known.size() >= 256) known.clear();
        return known.emplace(key, *learned).first->second;
    }
    const auto found = known.find(key);
    return found == known.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

table::table(std::shared_ptr<const service> source, resource of) : source_(std::move(source)), of_(std::move(of)) {}

const schema& table::columns() const {
    if (!columns_) columns_ = of_.ddl.empty() ? inferred() : schema::ddl(of_.ddl);
    return *columns_;
}

schema table::inferred() const {
    const std::string key = source_->identity() + "\n" + of_.name;
    if (auto known = remembered(key, nullptr)) return *known;
    std::vector<json> rows;
    std::vector<std::string> paths;
    std::vector<std::pair<std::string, std::string>> none;
    if (of_.for_each.empty()) {
        paths.push_back(of_.path);
    } else {
        const std::vector<std::string> names = parent_columns();
        const json all = parents(names);
        for (const json& one : all.items()) {
            std::vector<std::pair<std::string, std::string>> values;
            for (std::size_t i = 0; i < names.size(); ++i) values.emplace_back(names[i], plain_text(one.items()[i]));
            paths.push_back(fill_path(of_.path, values));
            if (paths.size() >= 20) break;
        }
    }
    const std::int64_t size = of_.paging.page_size > 0 ? of_.paging.page_size : static_cast<std::int64_t>(sample_rows);
    for (const std::string& path : paths) {
        request wanted = source_->page(of_, path, {}, {}, size);
        for (int status : of_.skipped) wanted.accept(status);
        exchange answer = source_->host().http.start(wanted);
        if (answer.head() >= 400) continue;
        row_cutter cutter(of_.records, sample_rows - rows.size());
        std::string_view piece;
        while (answer.read(piece) && cutter.feed(piece)) continue;
        try {
            for (const std::string& row : cutter.rows()) rows.push_back(json::parse(row));
        } catch (const failure& why) {
            throw protocol("the sample of " + of_.name + " is not JSON: " + why.message(),
                           "check base_url, path and records");
        }
        if (rows.size() >= sample_rows) break;
    }
    const schema out = infer(of_, rows);
    if (out.size() == 0) {
        throw invalid(
            "the columns of " + of_.name + " cannot be inferred: its first page has " +
                (rows.empty() ? "no rows" : "no values"),
            "declare them: schema = \"id BIGINT NOT NULL, name STRING\"; or check records = \"" + of_.records + "\"")
            .with_code("schema.unknown");
    }
    source_->host().log.info(of_.name + ": the columns of a sample of " + std::to_string(rows.size()) +
                             " rows: " + out.ddl());
    return *remembered(key, &out);
}

cursor_kind table::cursor_of() const {
    const field* column = columns().find(of_.cursor->field);
    if (column == nullptr) {
        throw invalid("the cursor '" + of_.cursor->field + "' is no column of " + of_.name)
            .with_code("config.invalid_option");
    }
    return kind_of(*column);
}

lakeflow::table_metadata table::metadata() const {
    lakeflow::table_metadata out;
    out.kind = of_.kind;
    out.primary_keys = of_.primary_keys;
    out.external_schema = true;
    out.batch_write = of_.write.has_value();
    out.truncate = of_.write && of_.write->truncate;
    out.upsert = of_.write && of_.write->upsert;
    out.whole_snapshot = of_.kind == ingestion::snapshot;
    if (out.whole_snapshot) return out;
    out.cursor_field = of_.cursor->field;
    out.offset_member = of_.cursor->field;
    const cursor_kind kind = cursor_of();
    out.offset_form = kind == cursor_kind::instant ? "rfc3339" : kind == cursor_kind::integer ? "integer" : "text";
    out.rereads = reads_again();
    return out;
}

bool table::plans_ahead() const {
    if (of_.kind == ingestion::snapshot) return true;
    if (!of_.cursor->to || !is_time(cursor_of())) return false;
    return of_.cursor->window_us.has_value() || (of_.total && is_numbered(of_));
}

latest table::newest(const latest_args& args) const {
    latest out;
    if (of_.kind == ingestion::snapshot) {
        out.offset = json::object({{"as_of", format_instant(source_->init_time_us())}});
        return out;
    }
    const cursor_kind kind = cursor_of();
    // A service that keeps whole seconds may still add rows to the one that is running; rows that come again catch them.
    std::int64_t now = source_->init_time_us() / second * second;
    if (!reads_again()) now -= second;
    cursor_value end;
    end.kind = kind;
    end.number = now;
    if (args.bound) end = std::min(end, cursor_value::from(kind, args.bound->at(of_.cursor->field)));
    const json* started = args.start.find(of_.cursor->field);
    std::optional<cursor_value> start;
    if (started != nullptr) {
        start = cursor_value::from(kind, *started);
    } else if (!of_.cursor->start.empty()) {
        start = cursor_value::from(kind, of_.cursor->start);
    }
    if (started != nullptr && !(*start < end)) {
        out.offset = args.start;
        return out;
    }
    if (args.limits.max_rows && of_.cursor->window_us && start) {
        end.number = std::min(end.number, start->number + most_windows * *of_.cursor->window_us);
        out.honoured = {"max_rows"};
    }
    out.offset = json::object({{of_.cursor->field, end.to_json()}});
    return out;
}

// What a scan leaves to the source, as each request says it.
walk_plan table::plan(const json& scan) const {
    walk_plan out;
    out.of = of_;
    out.path = of_.path;
    out.all = columns();
    out.columns = columns();
    out.skipped = of_.skipped;
    if (const json* filters = scan.find("filters")) {
        for (const json& one : filters->items()) out.fixed.push_back({one.text("name"), one.at("value")});
    }
    if (const json* checks = scan.find("checks")) {
        for (const json& one : checks->items()) out.checks.push_back(one);
    }
    if (const json* names = scan.find("columns")) {
        std::vector<std::string> wanted;
        for (const json& one : names->items()) wanted.push_back(one.as_text());
        out.columns = columns().select(wanted);
        if (!of_.columns_param.empty() && !wanted.empty()) {
            std::string joined;
            for (const std::string& one : wanted) joined += (joined.empty() ? "" : ",") + one;
            out.fixed.push_back({of_.columns_param, of_.list == "comma" ? json(joined) : *names});
        }
    }
    if (const json* order = scan.find("order")) {
        for (const json& one : order->items()) out.fixed.push_back({one.text("name"), one.at("value")});
    }
    if (const json* limit = scan.find("limit")) {
        out.limit = limit->as_int();
        if (!of_.limit_param.empty() && of_.limit_param != of_.paging.size)
            out.fixed.push_back({of_.limit_param, *limit});
    }
    out.first_row = scan.integer("offset");
    return out;
}

walk_plan table::aggregate_plan(const json& scan) const {
    walk_plan out;
    const aggregate_rule& rule = *of_.aggregate;
    const json& asked = scan.at("aggregate");
    for (const json& one : scan.at("filters").items()) out.fixed.push_back({one.text("name"), one.at("value")});
    const auto say = [&](const std::string& name, const json& words) {
        if (name.empty() || words.empty()) return;
        std::string joined;
        for (const json& one : words.items()) joined += (joined.empty() ? "" : ",") + one.as_text();
        out.fixed.push_back({name, rule.list == "comma" ? json(joined) : words});
    };
    say(rule.group_by, asked.at("group_by"));
    say(rule.functions, asked.at("functions"));
    out.of = of_;
    out.of.records = rule.records;
    out.of.paging = {};
    out.of.total.reset();
    out.of.primary_keys.clear();
    out.of.cursor.reset();
    out.of.columns.clear();
    for (const column_rule& one : of_.columns)
        if (!one.format.empty()) out.of.columns.push_back(one);
    // min(ts) is told in the unit of ts.
    for (const json& function : asked.at("functions").items()) {
        const std::string& text = function.as_text();
        const std::size_t open = text.find('(');
        const column_rule* column =
            open == std::string::npos ? nullptr : of_.rule_of(text.substr(open + 1, text.size() - open - 2));
        if (column == nullptr || column->format.empty() || text.substr(0, 1) != "m") continue;
        column_rule same;
        same.name = text;
        same.format = column->format;
        out.of.columns.push_back(std::move(same));
    }
    out.path = rule.path;
    out.columns = schema::ddl(asked.text("schema"));
    out.all = out.columns;
    return out;
}

void table::set_range(walk_plan& into, const cursor_range& range) const {
    into.range = range;
    into.ranged = true;
    into.undated = of_.cursor->missing == "include";
    send_range(*of_.cursor, range, into.fixed);
    if (of_.deletes && !of_.deletes->field.empty()) into.deleted = of_.deletes->field;
}

cursor_range table::range_of(const read_args& args) const {
    cursor_range out;
    const cursor_kind kind = cursor_of();
    const auto read = [&](const std::optional<json>& offset) -> std::optional<cursor_value> {
        const json* value = offset ? offset->find(of_.cursor->field) : nullptr;
        return value == nullptr ? std::nullopt : std::optional(cursor_value::from(kind, *value));
    };
    out.from = read(args.start);
    out.includes_from = reads_again();
    if (!out.from && !of_.cursor->start.empty() && is_time(kind)) {
        out.from = cursor_value::from(kind, of_.cursor->start);
        out.includes_from = true;
    } else if (out.from && is_time(kind) && of_.cursor->lookback_us > 0 && reads_again()) {
        out.from->number -= of_.cursor->lookback_us;
    }
    out.to = read(args.end);
    if (!out.to) out.to = read(args.bound);
    return out;
}

cursor_range table::read_range(const json& descriptor) const {
    cursor_range out;
    const cursor_kind kind = cursor_of();
    if (const json* from = descriptor.find("from")) out.from = cursor_value::from(kind, *from);
    if (const json* to = descriptor.find("to")) out.to = cursor_value::from(kind, *to);
    out.includes_from = descriptor.boolean("inclusive");
    return out;
}

void table::set_part(walk_plan& into, const json& descriptor) const {
    if (!descriptor.is_object()) return;
    if (descriptor.find("to") != nullptr || descriptor.find("from") != nullptr) set_range(into, read_range(descriptor));
    if (const json* value = descriptor.find("value")) into.fixed.push_back({of_.split->by.param, *value});
    if (descriptor.find("row") == nullptr) return;
    into.first_row = descriptor.integer("row");
    if (descriptor.find("rows") != nullptr) into.rows = descriptor.integer("rows");
    into.stated = descriptor.integer("stated");
    into.tail = descriptor.boolean("tail");
    into.page_size = descriptor.integer("size");
    if (into.limit) into.limit = into.rows;
}

std::vector<json> table::split_by_total(walk_plan whole, const json& base) const {
    const auto stated = source_->total(of_, whole.path, whole.fixed);
    if (!stated) return {base};
    const std::int64_t size = of_.page_size();
    const bool by_page = of_.paging.kind == paging_kind::page;
    const std::int64_t first = whole.first_row;
    std::int64_t rows = std::max<std::int64_t>(0, *stated - first);
    if (whole.limit) rows = std::min(rows, *whole.limit);
    const std::int64_t worth = of_.numbers.rows_per_partition;
    const std::int64_t parts =
        std::min(of_.numbers.num_partitions, std::max<std::int64_t>(1, (rows + worth - 1) / worth));
    std::int64_t share = std::max<std::int64_t>(1, (rows + parts - 1) / parts);
    if (by_page) share = (share + size - 1) / size * size;
    std::vector<json> out;
    for (std::int64_t row = 0; row < std::max<std::int64_t>(rows, 1); row += share) {
        json one = base;
        const bool last = row + share >= rows;
        one.set("row", first + row).set("stated", *stated).set("tail", last && !whole.limit).set("size", size);
        if (rows > 0) one.set("rows", last ? rows - row : share);
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<json> table::split_by_values(const walk_plan& whole) const {
    std::vector<json> out;
    std::int64_t sum = 0;
    bool known = of_.total.has_value();
    for (const std::string& value : of_.split->values) {
        out.push_back(json::object({{"value", of_.split->by.fill(value)}}));
        if (!known) continue;
        parameters one = whole.fixed;
        one.push_back({of_.split->by.param, of_.split->by.fill(value)});
        const auto rows = source_->total(of_, whole.path, one);
        known = rows.has_value();
        sum += rows.value_or(0);
    }
    const auto all = known ? source_->total(of_, whole.path, whole.fixed) : std::nullopt;
    if (all && *all != sum) {
        throw permanent(of_.name + ": the service states " + std::to_string(*all) + " rows, and " +
                            std::to_string(sum) + " for the values of partition_by",
                        "partition_by.values has to name every value of '" + of_.split->field + "', each once")
            .with_code("source.incomplete");
    }
    return out;
}

std::vector<std::string> table::parent_columns() const {
    std::vector<std::string> out = placeholders(of_.path);
    for (const column_rule& one : of_.columns) {
        if (!one.parent.empty() && std::find(out.begin(), out.end(), one.parent) == out.end())
            out.push_back(one.parent);
    }
    return out;
}

// The values of the parent's columns, an array for each of its rows.
json table::parents(const std::vector<std::string>& names) const {
    const table parent(source_, source_->all().find(of_.for_each));
    walk_plan whole = parent.plan(json::object());
    for (const std::string& name : names) {
        if (parent.columns().find(name) == nullptr) {
            throw invalid(
                "connection.resources." + of_.name + ": {" + name + "} is no column of '" + of_.for_each + "'",
                "its columns are " + parent.columns().ddl())
                .with_code("config.invalid_option");
        }
    }
    whole.columns = parent.columns().select(names);
    walk rows(source_, std::move(whole));
    const schema columns = rows.columns();
    json out = json::array();
    batch some;
    while (rows.next(some)) {
        for (std::int64_t row = 0; row < some.rows(); ++row) {
            json one = json::array();
            bool usable = true;
            for (std::size_t i = 0; i < names.size(); ++i) {
                json value = cell(columns.fields()[i], *some->children[i], row + some->offset);
                usable = usable && !value.is_null();
                one.push(std::move(value));
            }
            if (usable) out.push(std::move(one));
        }
    }
    return out;
}

std::vector<json> table::split_by_parents() const {
    const json all = parents(parent_columns());
    const auto parts = static_cast<std::size_t>(of_.numbers.num_partitions);
    const std::size_t share = std::max<std::size_t>(1, (all.size() + parts - 1) / parts);
    std::vector<json> out;
    json some = json::array();
    std::size_t bytes = 0;
    const auto close = [&] {
        if (!some.empty()) out.push_back(json::object({{"parents", std::exchange(some, json::array())}}));
        bytes = 0;
    };
    for (const json& one : all.items()) {
        bytes += one.dump().size() + 1;
        some.push(one);
        if (some.size() >= share || bytes > most_descriptor_bytes) close();
    }
    close();
    return out;
}

std::vector<json> table::split(const plan_args& args) const {
    json base = json::object();
    if (args.scan.find("aggregate") != nullptr) return {base};
    std::vector<json> out;
    if (!args.is_batch()) {
        read_args range_args;
        range_args.start = args.start;
        range_args.end = args.end;
        const cursor_range whole = range_of(range_args);
        std::vector<cursor_range> ranges{whole};
        if (of_.cursor->window_us && whole.from && whole.to) ranges = windows(whole, *of_.cursor->window_us);
        for (const cursor_range& one : ranges) {
            json part = base;
            if (one.from) part.set("from", one.from->to_json()).set("inclusive", one.includes_from);
            if (one.to) part.set("to", one.to->to_json());
            out.push_back(std::move(part));
        }
        if (ranges.size() == 1 && of_.total && is_numbered(of_) && of_.for_each.empty()) {
            walk_plan plan_of_range = plan(args.scan);
            set_range(plan_of_range, whole);
            out = split_by_total(std::move(plan_of_range), json(out.front()));
        }
    } else if (!of_.for_each.empty()) {
        out = split_by_parents();
    } else if (of_.split && args.scan.find("limit") == nullptr) {
        out = split_by_values(plan(args.scan));
    } else {
        walk_plan whole = plan(args.scan);
        // A limit that is no multiple of a page's size does not fall between two pages.
        const bool cut = whole.limit && of_.paging.kind == paging_kind::page;
        out = of_.total && is_numbered(of_) && !cut && (!whole.limit || *whole.limit > of_.page_size())
                  ? split_by_total(std::move(whole), base)
                  : std::vector<json>{base};
    }
    if (of_.ddl.empty()) {
        const std::string ddl = columns().ddl();
        if (ddl.size() < most_descriptor_bytes / 2)
            for (json& one : out) one.set("schema", ddl);
    }
    return out;
}

std::unique_ptr<reader> table::read(const read_args& args) const {
    if (const json* ddl = args.descriptor.find("schema")) columns_ = schema::ddl(ddl->as_text());
    if (args.scan.find("aggregate") != nullptr) {
        return read_aggregate(source_, aggregate_plan(args.scan), args.scan.at("aggregate").at("group_by").empty());
    }
    listing_plan out;
    out.base = plan(args.scan);
    const bool part = args.descriptor.is_object();
    if (!part && !args.is_batch() && of_.kind != ingestion::snapshot) {
        const cursor_range range = range_of(args);
        set_range(out.base, range);
        out.follow_cursor(*args.start, of_.cursor->field, args.end, range.to, cursor_of());
    } else if (!part && !args.is_batch()) {
        const json as_of = json::object({{"as_of", format_instant(source_->init_time_us())}});
        out.end = args.end ? *args.end : as_of;
        out.unchanged = !args.end && *args.start == as_of;
    }
    set_part(out.base, args.descriptor);
    if (!of_.for_each.empty()) {
        out.names = parent_columns();
        out.parents = part ? args.descriptor.at("parents") : out.unchanged ? json::array() : parents(out.names);
        out.has_parents = true;
        for (const column_rule& one : of_.columns)
            if (!one.parent.empty()) out.given.emplace_back(one.name, one.parent);
    }
    return read_listing(source_, std::move(out));
}

std::unique_ptr<reader> table::read_deletes(const read_args& args) const {
    if (!of_.deletes) throw unsupported(of_.name + " declares no deletes");
    listing_plan out;
    out.base = plan(json::object());
    std::vector<std::string> names = of_.primary_keys;
    if (std::find(names.begin(), names.end(), of_.cursor->field) == names.end()) names.push_back(of_.cursor->field);
    out.base.columns = columns().select(names);
    out.base.all = out.base.columns;
    cursor_range range = range_of(args);
    const cursor_rule& rule = of_.deletes->path.empty() ? *of_.cursor : *of_.deletes->cursor;
    out.base.range = range;
    out.base.ranged = true;
    if (of_.deletes->path.empty()) {
        out.base.all = columns();
        out.base.deleted = of_.deletes->field;
        out.base.tombstones = true;
    } else {
        resource list = of_;
        list.path = of_.deletes->path;
        list.records = of_.deletes->records;
        list.total.reset();
        list.deletes.reset();
        column_rule moved;
        if (const column_rule* known = of_.rule_of(of_.cursor->field)) moved = *known;
        moved.name = of_.cursor->field;
        moved.path = "/" + rule.field;
        std::erase_if(list.columns, [&](const column_rule& one) { return one.name == moved.name; });
        list.columns.push_back(std::move(moved));
        list.cursor = rule;
        list.cursor->field = of_.cursor->field;
        out.base.of = std::move(list);
        out.base.path = of_.deletes->path;
    }
    send_range(rule, range, out.base.fixed);
    if (args.start) out.follow_cursor(*args.start, of_.cursor->field, args.end, range.to, cursor_of());
    return read_listing(source_, std::move(out));
}

std::vector<std::string> table::requests(const json& scan) const {
    constexpr std::size_t most = 1'000;
    if (scan.find("aggregate") != nullptr) return {service::show(walk::first_request(*source_, aggregate_plan(scan)))};
    const walk_plan whole = plan(scan);
    if (!of_.for_each.empty()) return {service::show(walk::first_request(*source_, whole))};
    plan_args asked;
    asked.scan = scan;
    const std::vector<json> parts = split(asked);
    std::vector<std::string> out;
    if (parts.front().find("row") != nullptr)
        out.push_back(service::show(source_->total_request(of_, whole.path, whole.fixed)));
    for (const json& one : parts) {
        walk_plan part = whole;
        set_part(part, one);
        std::int64_t left = part.rows.value_or(1);
        do {
            if (out.size() >= most) return out;
            out.push_back(service::show(walk::first_request(*source_, part)));
            const std::int64_t size = std::max<std::int64_t>(1, part.page_size > 0 ? part.page_size : left);
            left -= size;
            part.first_row += size;
            if (part.rows) part.rows = left;
            if (part.limit) part.limit = left;
        } while (left > 0);
    }
    return out;
}

}  // namespace lakeflow::http_api
