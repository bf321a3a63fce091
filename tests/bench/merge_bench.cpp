// tests/bench/merge_bench.cpp: a table of two million rows with keys in arrival order, and an scd1 update of a thousand of them, in the
// two halves of merge.py: `load FOLDER ROWS KEYS` and `update FOLDER ROWS KEYS`; and `history FOLDER ROWS KEYS`, the first load of an scd2
// table whose wide rows come in no order. Prints JSON.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/land/destination.h"

using namespace lakeflow::host;

namespace {

std::shared_ptr<const arrow_schema> columns() {
    static const auto schema = std::make_shared<const arrow_schema>(
        parse_ddl("id BIGINT NOT NULL, updated_at TIMESTAMP, title STRING, amount DOUBLE, state STRING"));
    return schema;
}

void append_row(struct_column& table, std::int64_t id, std::int64_t updated, const std::string& title) {
    static_cast<fixed_column<std::int64_t>&>(table.child(0)).append(id);
    static_cast<fixed_column<std::int64_t>&>(table.child(1)).append(updated);
    static_cast<text_column&>(table.child(2)).append(title);
    static_cast<fixed_column<double>&>(table.child(3)).append(static_cast<double>(id % 9973) / 7);
    static_cast<text_column&>(table.child(4)).append(id % 3 ? "open" : "closed");
    table.end_value();
}

record_batch finished(struct_column& table) {
    record_batch made;
    made.schema = columns();
    made.array = table.finish();
    return made;
}

record_batch batch_of(std::int64_t first, std::int64_t count, std::int64_t updated) {
    auto table = make_table(*columns()->get());
    for (std::int64_t id = first; id < first + count; ++id) {
        const auto number = std::to_string(id * 2'654'435'761 % 1'000'003);
        append_row(*table, id, updated + id, "title of row " + number + (updated ? " edited" : ""));
    }
    return finished(*table);
}

// Rows of 300 bytes and more, whose keys come in no order.
record_batch scattered(std::int64_t first, std::int64_t count, std::int64_t rows) {
    auto table = make_table(*columns()->get());
    for (std::int64_t i = first; i < first + count; ++i) {
        const std::int64_t id = i * 7'368'787 % rows;
        std::string title;
        for (std::uint64_t bits = static_cast<std::uint64_t>(id) + 1; title.size() < 300;) {
            bits = bits * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
            title += std::to_string(bits);
        }
        append_row(*table, id, 1'000'000 + id, title);
    }
    return finished(*table);
}

// The most memory of this process; what its parent had before exec does not count, as it would in getrusage.
long peak_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::stol(line.substr(6)) / 1024;
    }
    return -1;
}

int run(const std::string& half, const std::string& folder, std::int64_t rows, std::int64_t keys) {
    destination_options options;
    options.type = "delta";
    options.path = folder;
    options.max_file_bytes = 8 << 20;
    const auto to = make_destination(options, {}, nullptr);
    flow_spec flow;
    flow.job = "bench";
    flow.flow = flow.table = "rows";
    flow.mode = half == "history" ? land_mode::scd2 : land_mode::scd1;
    flow.primary_keys = {"id"};
    flow.sequence_by = "updated_at";
    flow.schema = columns();
    const auto target = to->open(flow);
    const auto last = target->committed();
    const position next{target->take_over(), last ? last->batch + 1 : 1, half == "update" ? "{\"n\":2}" : "{\"n\":1}",
                        "{}"};
    const auto began = std::chrono::steady_clock::now();
    auto landing = target->begin();
    if (half == "load") {
        for (std::int64_t id = 0; id < rows; id += 10'000)
            landing->add(0, batch_of(id, std::min<std::int64_t>(10'000, rows - id), 0));
    } else if (half == "history") {
        for (std::int64_t i = 0; i < rows; i += 10'000)
            landing->add(static_cast<std::uint32_t>(i / 10'000 % 4),
                         scattered(i, std::min<std::int64_t>(10'000, rows - i), rows));
    } else {
        // Two stretches, as an hour of edits has them: the newest rows, and some of the middle.
        landing->add(0, batch_of(rows / 2, keys / 2, 9'000'000'000));
        landing->add(0, batch_of(rows - keys / 2, keys / 2, 9'000'000'000));
    }
    const land_result result = landing->commit(next);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf(
        "{\"seconds\":%.3f,\"rows_landed\":%lld,\"files_written\":%lld,\"files_rewritten\":%lld,\"peak_rss_mib\":%ld}"
        "\n",
        took.count(), static_cast<long long>(result.rows_landed), static_cast<long long>(result.files_written),
        static_cast<long long>(result.files_rewritten), peak_mib());
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const auto is = [&](const char* half) { return count == 5 && std::strcmp(arguments[1], half) == 0; };
    if (!is("load") && !is("update") && !is("history")) {
        std::cerr << "usage: merge-bench load|update|history FOLDER ROWS KEYS\n";
        return 2;
    }
    try {
        return run(arguments[1], arguments[2], std::stoll(arguments[3]), std::stoll(arguments[4]));
    } catch (const failure& f) {
        std::cerr << to_line(f.get()) << "\n";
        return 1;
    }
}
