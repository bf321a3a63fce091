// host/scan/negotiate.h: what of a read a plugin takes over ("lakeflow.scan/1", lakeflow/scan.h). The request grows: filters, sample,
// aggregate or limit, columns; each time the whole of it is asked anew, and what was accepted once has to stay accepted. Only what is safe is
// asked for: an aggregate or a limit only when every filter is exact. Replies are foreign input and checked as such. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/scan/predicate.h"

namespace lakeflow::host {

enum class answer { no, partial, exact };
std::string_view to_string(answer a) noexcept;

enum class aggregate_op { count_star, count, sum, min, max };
std::string_view to_string(aggregate_op op) noexcept;

struct aggregate_function {
    aggregate_op op = aggregate_op::count_star;
    column_path column;  // empty for count_star
    friend bool operator==(const aggregate_function&, const aggregate_function&) = default;
};
std::string to_text(const aggregate_function& f);  // "COUNT(*)", "SUM(amount)"

struct aggregation {
    std::vector<column_path> group_by;
    std::vector<aggregate_function> functions;
};

struct order_key {
    column_path column;
    bool descending = false;
    bool nulls_first = false;
};

struct sample_wish {
    std::string method;    // "bernoulli" or "system"
    std::string fraction;  // "0.1"
    std::optional<std::int64_t> seed;
};

// What the host would like the source to do.
struct scan_wish {
    std::vector<predicate> filters;        // conjuncts
    bool further_filters = false;          // the host has conditions that no predicate can say
    std::optional<aggregation> aggregate;  // safe to push once every filter is exact
    std::vector<order_key> order_by;       // with a limit
    std::optional<std::int64_t> limit;     // safe to push once every filter is exact
    std::int64_t offset = 0;
    std::optional<sample_wish> sample;
    std::vector<std::int64_t> columns;  // places in the table's schema of what is read whatever is pushed, ascending
    std::uint32_t num_partitions = 0;   // a hint
};

// What came of it.
struct scan_choice {
    std::vector<predicate> pushed;    // exact or partial
    std::vector<predicate> exact;     // of them, those that no row may fail
    std::vector<predicate> residual;  // for the host: partial and refused ones
    answer aggregate = answer::no;
    answer limit = answer::no;
    answer order_by = answer::no;
    bool offset = false;                         // the source skips the rows
    bool sample = false;                         // the source takes the sample
    bool columns = false;                        // just the columns of `schema` come
    std::string scan = "{}";                     // the document for get_partitions and readers
    std::shared_ptr<const arrow_schema> schema;  // of the batches; with an aggregate: group keys, then functions

    // Nothing passes: there is no need to read.
    bool empty() const { return residual.size() == 1 && residual[0].op == predicate_op::always_false; }
};

// Asks the plugin; nothing if it has no such interface or declines.
using scan_planner = std::function<std::optional<std::string>(const std::string& request)>;

// `what` names plugin and table in messages. Throws plugin.contract for a reply that breaks lakeflow/scan.h.
scan_choice negotiate(const scan_wish& wish, const std::shared_ptr<const arrow_schema>& table, const scan_planner& ask,
                      const std::string& what);

}  // namespace lakeflow::host
