// host/scan/normalise.cpp: a predicate as conjuncts in one form; see predicate.h. Every step keeps true, false and unknown as they are,
// but the last: among conjuncts, unknown and false are the same.
#include <algorithm>
#include <optional>
#include <utility>

#include "host/scan/predicate.h"

namespace lakeflow::host {
namespace {

// The comparison that is false where this one is true, and unknown where it is unknown.
std::optional<predicate_op> opposite(predicate_op op) {
    switch (op) {
        case predicate_op::less: return predicate_op::greater_or_equal;
        case predicate_op::less_or_equal: return predicate_op::greater;
        case predicate_op::greater: return predicate_op::less_or_equal;
        case predicate_op::greater_or_equal: return predicate_op::less;
        case predicate_op::is_null: return predicate_op::is_not_null;
        case predicate_op::is_not_null: return predicate_op::is_null;
        case predicate_op::always_true: return predicate_op::always_false;
        case predicate_op::always_false: return predicate_op::always_true;
        default: return std::nullopt;
    }
}

predicate normal(predicate p, bool negated);

// The parts of a list in normal form, lists of the same kind laid open, neutral constants and repetitions left out.
std::vector<predicate> parts_of(predicate_op op, std::vector<predicate> args, bool negated) {
    const auto neutral = op == predicate_op::and_ ? predicate_op::always_true : predicate_op::always_false;
    std::vector<predicate> out;
    const auto add = [&](predicate part) {
        if (part.op != neutral && std::find(out.begin(), out.end(), part) == out.end()) out.push_back(std::move(part));
    };
    for (auto& arg : args) {
        auto part = normal(std::move(arg), negated);
        if (part.op != op) {
            add(std::move(part));
            continue;
        }
        for (auto& inner : part.args) add(std::move(inner));
    }
    return out;
}

bool is_equality(const predicate& p) { return p.op == predicate_op::equal || p.op == predicate_op::in; }

// c = 1 OR c IN (2, 3) is c IN (1, 2, 3).
void join_equalities(std::vector<predicate>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!is_equality(parts[i])) continue;
        for (std::size_t j = i + 1; j < parts.size();) {
            if (!is_equality(parts[j]) || parts[j].column != parts[i].column) {
                ++j;
                continue;
            }
            parts[i].op = predicate_op::in;
            for (auto& value : parts[j].values) {
                auto& values = parts[i].values;
                if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(std::move(value));
            }
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
        }
    }
}

predicate list_of(predicate_op op, std::vector<predicate> parts) {
    const bool all = op == predicate_op::and_;
    const auto decides = all ? predicate_op::always_false : predicate_op::always_true;
    const bool decided =
        std::any_of(parts.begin(), parts.end(), [&](const predicate& part) { return part.op == decides; });
    if (decided) return constant(!all);
    if (!all) join_equalities(parts);
    if (parts.empty()) return constant(all);
    if (parts.size() == 1) return std::move(parts.front());
    return make_list(op, std::move(parts));
}

predicate leaf(predicate p) {
    if (p.op == predicate_op::in) {
        std::vector<literal> once;
        for (auto& value : p.values) {
            if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(std::move(value));
        }
        p.values = std::move(once);
        if (p.values.empty()) return constant(false);
        if (p.values.size() == 1) p.op = predicate_op::equal;
    }
    if (p.op == predicate_op::equal_null_safe && std::holds_alternative<std::monostate>(p.values.front())) {
        p.op = predicate_op::is_null;
        p.values.clear();
    }
    return p;
}

predicate normal(predicate p, bool negated) {
    switch (p.op) {
        case predicate_op::not_: return normal(std::move(p.args.front()), !negated);
        case predicate_op::and_:
        case predicate_op::or_: {
            const bool all = (p.op == predicate_op::and_) != negated;
            const auto op = all ? predicate_op::and_ : predicate_op::or_;
            return list_of(op, parts_of(op, std::move(p.args), negated));
        }
        default: break;
    }
    p = leaf(std::move(p));
    if (!negated) return p;
    if (const auto other = opposite(p.op)) {
        p.op = *other;
        return p;
    }
    return make_not(std::move(p));
}

bool holds_null(const predicate& p) {
    return std::any_of(p.values.begin(), p.values.end(),
                       [](const literal& v) { return std::holds_alternative<std::monostate>(v); });
}

// True for no row: what compares with null, and NOT IN of a list with a null.
bool never(const predicate& p) {
    if (p.op == predicate_op::always_false) return true;
    if (p.op == predicate_op::not_) return holds_null(p.args.front());
    return p.op != predicate_op::in && holds_null(p);
}

}  // namespace

std::vector<predicate> conjuncts_of(predicate whole) {
    auto p = normal(std::move(whole), false);
    std::vector<predicate> out;
    if (p.op == predicate_op::and_)
        out = std::move(p.args);
    else if (p.op != predicate_op::always_true)
        out.push_back(std::move(p));
    if (std::any_of(out.begin(), out.end(), never)) {
        out.clear();
        out.push_back(constant(false));
    }
    // A null in a list of a conjunct lets no row pass that would not pass without it.
    for (auto& part : out) {
        if (part.op != predicate_op::in) continue;
        std::erase_if(part.values, [](const literal& v) { return std::holds_alternative<std::monostate>(v); });
        if (part.values.size() == 1) part.op = predicate_op::equal;
    }
    return out;
}

}  // namespace lakeflow::host
