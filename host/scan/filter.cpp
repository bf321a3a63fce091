// host/scan/filter.cpp: see filter.h. A predicate over a batch becomes one byte a row: 0 false, 1 true, 2 unknown.
#include "host/scan/filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "host/arrow/buffer.h"
#include "host/base/error.h"

namespace lakeflow::host {
namespace {

using truths = std::vector<std::uint8_t>;
constexpr std::uint8_t no = 0;
constexpr std::uint8_t yes = 1;
constexpr std::uint8_t unknown = 2;

// A column, or a member of a struct, in one batch: its array, and the structs that it lies in.
struct place {
    const ArrowArray* array = nullptr;
    std::int64_t offset = 0;  // of the batch's first row
    std::vector<std::pair<const ArrowArray*, std::int64_t>> above;

    static bool valid(const ArrowArray& a, std::int64_t at) {
        return a.n_buffers > 0 && (a.buffers[0] == nullptr || get_bit(a.buffers[0], at));
    }
    bool is_null(std::int64_t row) const {
        for (const auto& [parent, first] : above) {
            if (!valid(*parent, first + row)) return true;
        }
        return !valid(*array, offset + row);
    }
};

template <class T>
T load(const place& p, std::int64_t row) {
    T value;
    std::memcpy(&value,
                static_cast<const char*>(p.array->buffers[1]) + static_cast<std::size_t>(p.offset + row) * sizeof(T),
                sizeof(T));
    return value;
}

template <class Offset>
std::string_view load_text(const place& p, std::int64_t row) {
    const auto begin = load<Offset>(p, row);
    const auto end = load<Offset>(p, row + 1);
    if (begin == end) return {};
    return {static_cast<const char*>(p.array->buffers[2]) + begin, static_cast<std::size_t>(end - begin)};
}

template <class T>
int order(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}
// NaN equals NaN and is the greatest.
int order(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
    return a < b ? -1 : b < a ? 1 : 0;
}
int order(std::string_view a, std::string_view b) { return a.compare(b); }

// '%' any text, '_' one character of UTF-8; nothing escapes them.
bool like(std::string_view text, std::string_view pattern) {
    const auto step = [](std::string_view s, std::size_t at) {
        ++at;
        while (at < s.size() && (static_cast<unsigned char>(s[at]) & 0xc0U) == 0x80U) ++at;
        return at;
    };
    std::size_t t = 0;
    std::size_t p = 0;
    std::optional<std::pair<std::size_t, std::size_t>>
        back;  // after the last '%': where the pattern and the text go on
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '%') {
            back = {++p, t};
        } else if (p < pattern.size() && pattern[p] == '_') {
            ++p;
            t = step(text, t);
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (back) {
            back->second = step(text, back->second);
            p = back->first;
            t = back->second;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '%') ++p;
    return p == pattern.size();
}

bool holds(predicate_op op, int order) {
    switch (op) {
        case predicate_op::equal:
        case predicate_op::equal_null_safe:
        case predicate_op::in: return order == 0;
        case predicate_op::less: return order < 0;
        case predicate_op::less_or_equal: return order <= 0;
        case predicate_op::greater: return order > 0;
        case predicate_op::greater_or_equal: return order >= 0;
        default: return false;
    }
}

bool holds(predicate_op op, std::string_view text, std::string_view value) {
    switch (op) {
        case predicate_op::starts_with: return text.starts_with(value);
        case predicate_op::ends_with: return text.ends_with(value);
        case predicate_op::contains: return text.find(value) != std::string_view::npos;
        case predicate_op::like: return like(text, value);
        default: return holds(op, order(text, value));
    }
}
template <class T>
bool holds(predicate_op op, const T& a, const T& b) {
    return holds(op, order(a, b));
}

// The values of a predicate in the type in which rows are read; a null is no value.
template <class T>
struct wanted {
    explicit wanted(const predicate& p) {
        for (const auto& value : p.values) {
            if (const auto* v = std::get_if<T>(&value))
                values.push_back(*v);
            else
                null = true;
        }
    }
    std::vector<T> values;
    bool null = false;
};

// One comparison over all rows. `get` reads a row's value.
template <class T, class Get>
void compare(const predicate& p, const place& at, truths& out, Get get) {
    const wanted<T> w(p);
    const bool null_safe = p.op == predicate_op::equal_null_safe;
    const bool in_nothing = p.op == predicate_op::in && p.values.empty();  // false of a null too
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (at.is_null(row)) {
            if (null_safe)
                out[i] = w.null ? yes : no;
            else
                out[i] = in_nothing ? no : unknown;
            continue;
        }
        const auto value = get(row);
        const bool found = std::any_of(w.values.begin(), w.values.end(),
                                       [&](const T& v) { return holds(p.op, value, decltype(value)(v)); });
        out[i] = found ? yes : w.null && !null_safe ? unknown : no;
    }
}

void compare_any(const predicate& p, const place& at, truths& out) {
    const auto whole = [&]<class T>(T) {
        compare<std::int64_t>(p, at, out,
                              [&](std::int64_t row) { return static_cast<std::int64_t>(load<T>(at, row)); });
    };
    switch (p.type.id) {
        case type_id::boolean:
            compare<bool>(p, at, out, [&](std::int64_t row) { return get_bit(at.array->buffers[1], at.offset + row); });
            break;
        case type_id::int8: whole(std::int8_t{}); break;
        case type_id::int16: whole(std::int16_t{}); break;
        case type_id::int32:
        case type_id::date32: whole(std::int32_t{}); break;
        case type_id::int64:
        case type_id::timestamp_utc:
        case type_id::timestamp_local: whole(std::int64_t{}); break;
        case type_id::float32:
            compare<double>(p, at, out, [&](std::int64_t row) { return static_cast<double>(load<float>(at, row)); });
            break;
        case type_id::float64:
            compare<double>(p, at, out, [&](std::int64_t row) { return load<double>(at, row); });
            break;
        case type_id::decimal128:
            compare<int128>(p, at, out, [&](std::int64_t row) { return load<int128>(at, row); });
            break;
        case type_id::utf8:
        case type_id::binary:
            compare<std::string>(p, at, out, [&](std::int64_t row) { return load_text<std::int32_t>(at, row); });
            break;
        case type_id::large_utf8:
        case type_id::large_binary:
            compare<std::string>(p, at, out, [&](std::int64_t row) { return load_text<std::int64_t>(at, row); });
            break;
        default: std::fill(out.begin(), out.end(), unknown);
    }
}

}  // namespace

// A predicate whose columns have been found in the batches' schema.
struct row_filter::node {
    predicate what;
    std::vector<std::int64_t> path;
    std::vector<std::unique_ptr<node>> args;

    place at(const ArrowArray& table) const {
        place out;
        out.array = table.children[path.front()];
        out.offset = table.offset + out.array->offset;
        for (std::size_t i = 1; i < path.size(); ++i) {
            out.above.emplace_back(out.array, out.offset);
            const auto* child = out.array->children[path[i]];
            out.offset += child->offset;
            out.array = child;
        }
        return out;
    }

    truths over(const ArrowArray& table) const {
        truths out(static_cast<std::size_t>(table.length), yes);
        switch (what.op) {
            case predicate_op::always_true: break;
            case predicate_op::always_false: std::fill(out.begin(), out.end(), no); break;
            case predicate_op::not_:
                out = args.front()->over(table);
                for (auto& t : out) t = t == unknown ? unknown : t == yes ? no : yes;
                break;
            case predicate_op::and_:
            case predicate_op::or_: {
                // `decides` ends the question, the other one is neutral.
                const auto decides = what.op == predicate_op::and_ ? no : yes;
                std::fill(out.begin(), out.end(), static_cast<std::uint8_t>(1 - decides));
                for (const auto& arg : args) {
                    const auto more = arg->over(table);
                    for (std::size_t i = 0; i < out.size(); ++i) {
                        if (more[i] == decides || (more[i] == unknown && out[i] != decides)) out[i] = more[i];
                    }
                }
                break;
            }
            case predicate_op::is_null:
            case predicate_op::is_not_null: {
                const auto where = at(table);
                for (std::size_t i = 0; i < out.size(); ++i) {
                    out[i] =
                        where.is_null(static_cast<std::int64_t>(i)) == (what.op == predicate_op::is_null) ? yes : no;
                }
                break;
            }
            default: compare_any(what, at(table), out);
        }
        return out;
    }
};

std::unique_ptr<row_filter::node> row_filter::compile(const arrow_schema& schema, const predicate& p) {
    auto out = std::make_unique<node>();
    out->what = p;
    const ArrowSchema* at = schema.get();
    for (const auto& part : p.column) {
        const auto found = find_column(*at, part);
        if (found < 0) return nullptr;
        out->path.push_back(found);
        at = at->children[found];
    }
    for (const auto& arg : p.args) {
        auto inner = compile(schema, arg);
        if (!inner) return nullptr;
        out->args.push_back(std::move(inner));
    }
    return out;
}

row_filter::row_filter(const arrow_schema& schema, const std::vector<predicate>& residual,
                       const std::vector<predicate>& exact, std::string what)
    : what_(std::move(what)), schema_(std::make_shared<const arrow_schema>(copy_schema(*schema.get()))) {
    for (const auto& p : residual) {
        residual_.push_back(compile(schema, p));
        if (!residual_.back())
            throw failure("config.where", what_ + ": a column of " + to_text(p) + " is not among those that are read");
    }
    for (const auto& p : exact) {
        if (auto found = compile(schema, p)) exact_.push_back(std::move(found));
    }
}

row_filter::~row_filter() = default;

std::int64_t row_filter::apply(const ArrowArray& table, std::vector<std::uint8_t>& keep) const {
    for (const auto& node : exact_) {
        const auto passes = node->over(table);
        const auto bad = std::find_if(passes.begin(), passes.end(), [](std::uint8_t t) { return t != yes; });
        if (bad == passes.end()) continue;
        std::string values;
        std::vector<column_path> columns;
        add_columns(node->what, columns);
        for (const auto& path : columns) {
            const auto at = find_column(*schema_->get(), path.front());
            values += (values.empty() ? "" : ", ") + path.front() + " = " +
                      value_text(schema_->column(at), *table.children[at], table.offset + (bad - passes.begin()));
        }
        throw failure(
            "source.filter_ignored",
            what_ + ": the source had taken over the filter " + to_text(node->what) + ", and sent a row with " + values,
            "the source ignores the filter, or means something else by it; declare it as not exact, or "
            "read with --no-pushdown");
    }
    std::int64_t dropped = 0;
    for (const auto& node : residual_) {
        const auto passes = node->over(table);
        for (std::size_t i = 0; i < passes.size(); ++i) {
            if (passes[i] == yes || keep[i] == 0) continue;
            keep[i] = 0;
            ++dropped;
        }
    }
    return dropped;
}

}  // namespace lakeflow::host
