// host/query/rows.cpp: see rows.h.
#include "host/query/rows.h"

#include <algorithm>

#include "host/arrow/builder.h"
#include "host/arrow/schema.h"
#include "host/base/error.h"

namespace lakeflow::host {

rows_shape shape_of(const scan_choice& choice, const std::vector<std::string>& names, std::string what) {
    std::vector<arrow_schema> columns;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto& from = choice.schema->column(static_cast<std::int64_t>(i));
        std::vector<arrow_schema> children;
        for (std::int64_t c = 0; c < from.n_children; ++c) children.push_back(copy_schema(*from.children[c]));
        columns.push_back(make_schema(from.format, names[i], is_nullable(from), std::move(children)));
        columns.back().get()->flags = from.flags;
    }
    if (columns.empty()) columns.push_back(make_schema("b", "_lakeflow_row", true));
    return {choice.schema, std::make_shared<const arrow_schema>(make_schema("+s", "", false, std::move(columns))),
            std::move(what)};
}

partition_rows::partition_rows(read_source source, bool nothing, rows_shape shape, std::shared_ptr<worker_arena> arena,
                               std::shared_ptr<byte_budget> budget, std::shared_ptr<cancel_token> stop)
    : shape_(std::move(shape)) {
    if (nothing || (source.what == read_source::kind::partitions && source.descriptors.empty())) return;
    read_ =
        std::make_unique<batch_read>(std::move(source), std::move(arena), std::move(budget), std::move(stop), live_);
}

bool partition_rows::stop() {
    if (!read_) return true;
    read_->stop();
    return !read_->abandoned();
}

void partition_rows::check(const arrow_schema& schema) const {
    const auto& wanted = *shape_.expected;
    bool same = schema.columns() == wanted.columns();
    for (std::int64_t i = 0; same && i < wanted.columns(); ++i) {
        same = name_of(schema.column(i)) == name_of(wanted.column(i)) &&
               type_of(schema.column(i)) == type_of(wanted.column(i));
    }
    if (same) return;
    throw failure("records.schema_drift",
                  shape_.what + ": the reader's columns are not those that the plan of the scan promised: " +
                      to_ddl(*schema.get()) + " instead of " + to_ddl(*wanted.get()),
                  "the plugin's reader has to follow the accepted scan");
}

// Rows without columns, as a column that nobody looks at: DuckDB takes no batch without one.
record_batch partition_rows::counted() {
    const auto rows = std::min<std::int64_t>(uncounted_, 65'536);
    uncounted_ -= rows;
    auto table = make_table(*shape_.renamed->get());
    auto& column = dynamic_cast<bool_column&>(table->child(0));
    for (std::int64_t i = 0; i < rows; ++i) {
        column.append(false);
        table->end_value();
    }
    return {shape_.renamed, table->finish()};
}

bool partition_rows::next(record_batch& out) {
    if (uncounted_ > 0) {
        out = counted();
        return true;
    }
    held_ = {};  // a reader may be waiting for just these bytes
    while (read_) {
        auto item = read_->next();
        if (!item) return false;
        if (!item->rows || item->rows->rows() == 0) continue;
        if (item->rows->schema != checked_) {
            check(*item->rows->schema);
            checked_ = item->rows->schema;
        }
        if (shape_.expected->columns() == 0) {
            uncounted_ = item->rows->rows();
            out = counted();
            return true;
        }
        held_ = std::move(item->held);
        out = {shape_.renamed, std::move(item->rows->array)};
        return true;
    }
    return false;
}

}  // namespace lakeflow::host
