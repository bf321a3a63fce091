// host/rows/rescue.cpp: see rescue.h.
#include "host/rows/rescue.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/arrow/builder.h"
#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

// A batch whose columns are not just those of the one that it owns.
struct other_columns {
    arrow_array whole;
    arrow_array more;
    std::vector<ArrowArray*> children;
};

void release(ArrowArray* array) {
    const std::unique_ptr<other_columns> owned(static_cast<other_columns*>(array->private_data));
    array->release = nullptr;
}
// The address tells hidden batches from others.
void release_hidden(ArrowArray* array) { release(array); }

arrow_array make(ArrowArray like, std::unique_ptr<other_columns> parts, void (*release_by)(ArrowArray*)) {
    like.n_children = static_cast<std::int64_t>(parts->children.size());
    like.children = parts->children.data();
    like.release = release_by;
    like.private_data = parts.release();
    return arrow_array(like);
}

}  // namespace

arrow_schema with_rescued(const ArrowSchema& schema) {
    std::vector<arrow_schema> columns;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        if (equal_no_case(name_of(*schema.children[i]), rescued_column))
            throw failure("schema.unsupported",
                          std::string("the source has a column ") + std::string(name_of(*schema.children[i])) +
                              " of its own, and schema = \"rescue\" adds one of that name",
                          "use schema = \"evolve\"");
        columns.push_back(copy_schema(*schema.children[i]));
    }
    columns.push_back(make_schema("u", rescued_column, true));
    arrow_schema out = make_schema("+s", std::string(name_of(schema)), is_nullable(schema), std::move(columns));
    out.get()->flags = schema.flags;
    return out;
}

arrow_array hide_last(arrow_array whole) {
    auto parts = std::make_unique<other_columns>();
    const ArrowArray like = *whole.get();
    parts->children.assign(like.children, like.children + like.n_children - 1);
    parts->whole = std::move(whole);
    return make(like, std::move(parts), release_hidden);
}

arrow_array reveal_last(arrow_array batch) {
    ArrowArray& outer = *batch.get();
    if (outer.release == release_hidden) {
        auto& parts = *static_cast<other_columns*>(outer.private_data);
        const bool complete = std::all_of(parts.children.begin(), parts.children.end(),
                                          [](const ArrowArray* child) { return child->release != nullptr; });
        if (complete && outer.n_children == static_cast<std::int64_t>(parts.children.size())) {
            // A plugin may have handed on a part of the rows.
            arrow_array whole = std::move(parts.whole);
            whole.get()->length = outer.length;
            whole.get()->offset = outer.offset;
            return whole;
        }
    }
    auto nulls = make_column(*make_schema("u", rescued_column, true).get());
    for (std::int64_t i = 0; i < outer.offset + outer.length; ++i) nulls->append_null();
    auto parts = std::make_unique<other_columns>();
    const ArrowArray like = outer;
    parts->children.assign(like.children, like.children + like.n_children);
    parts->more = nulls->finish();
    parts->children.push_back(parts->more.get());
    parts->whole = std::move(batch);
    return make(like, std::move(parts), release);
}

}  // namespace lakeflow::host
