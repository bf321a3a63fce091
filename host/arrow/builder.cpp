// host/arrow/builder.cpp: see builder.h.
#include "host/arrow/builder.h"

#include <algorithm>

#include "host/base/error.h"

namespace lakeflow::host {
namespace {

std::vector<buffer> pack(buffer a) {
    std::vector<buffer> result;
    result.push_back(std::move(a));
    return result;
}

std::vector<buffer> pack(buffer a, buffer b) {
    std::vector<buffer> result = pack(std::move(a));
    result.push_back(std::move(b));
    return result;
}

// Offsets [first, first + count] as a buffer of their own that begins at 0.
template <class T>
buffer rebase(const buffer& offsets, std::int64_t first, std::int64_t count) {
    buffer result;
    const T* from = offsets.as<T>() + first;
    T* to = reinterpret_cast<T*>(result.extend(static_cast<std::size_t>(count + 1) * sizeof(T)));
    for (std::int64_t i = 0; i <= count; ++i) to[i] = static_cast<T>(from[i] - from[0]);
    return result;
}

}  // namespace

void column::truncate_marks(std::int64_t length) noexcept {
    if (length >= length_) return;
    if (valid_.size() > length) {
        const std::int64_t count = valid_.size() - length;
        nulls_ -= count - count_bits(valid_.bytes().data(), length, count);
        valid_.truncate(length);
    }
    length_ = length;
}

void column::erase_marks(std::int64_t count) {
    if (valid_.size() > 0) {
        nulls_ -= count - count_bits(valid_.bytes().data(), 0, count);
        valid_.erase_head(count);
    }
    length_ -= count;
}

buffer column::take_marks() noexcept {
    buffer bits = valid_.release();
    if (nulls_ == 0) bits = buffer();  // nulls were written and taken back: the bitmap says nothing
    length_ = 0;
    nulls_ = 0;
    return bits;
}

buffer column::copy_marks(std::int64_t first, std::int64_t count, std::int64_t& nulls) const {
    nulls = 0;
    if (valid_.size() == 0) return {};
    nulls = count - count_bits(valid_.bytes().data(), first, count);
    if (nulls == 0) return {};
    bitmap result;
    result.append(valid_.bytes().data(), first, count);
    return result.release();
}

template <class T>
void fixed_column<T>::truncate(std::int64_t length) {
    values_.truncate(static_cast<std::size_t>(length) * sizeof(T));
    truncate_marks(length);
}

template <class T>
void fixed_column<T>::erase_head(std::int64_t count) {
    values_.erase_head(static_cast<std::size_t>(count) * sizeof(T));
    erase_marks(count);
}

template <class T>
arrow_array fixed_column<T>::finish() {
    const std::int64_t rows = length();
    const std::int64_t null_count = nulls();
    buffer marks = take_marks();
    return make_array(rows, null_count, pack(std::move(marks), values_.release()), {});
}

template <class T>
arrow_array fixed_column<T>::copy(std::int64_t first, std::int64_t count) const {
    std::int64_t null_count = 0;
    buffer marks = copy_marks(first, count, null_count);
    buffer values;
    values.append(values_.as<T>() + first, static_cast<std::size_t>(count) * sizeof(T));
    return make_array(count, null_count, pack(std::move(marks), std::move(values)), {});
}

template class fixed_column<std::int8_t>;
template class fixed_column<std::int16_t>;
template class fixed_column<std::int32_t>;
template class fixed_column<std::int64_t>;
template class fixed_column<float>;
template class fixed_column<double>;
template class fixed_column<int128>;

void bool_column::truncate(std::int64_t length) {
    values_.truncate(length);
    truncate_marks(length);
}

void bool_column::erase_head(std::int64_t count) {
    values_.erase_head(count);
    erase_marks(count);
}

arrow_array bool_column::finish() {
    const std::int64_t rows = length();
    const std::int64_t null_count = nulls();
    buffer marks = take_marks();
    return make_array(rows, null_count, pack(std::move(marks), values_.release()), {});
}

arrow_array bool_column::copy(std::int64_t first, std::int64_t count) const {
    std::int64_t null_count = 0;
    buffer marks = copy_marks(first, count, null_count);
    bitmap values;
    if (count) values.append(values_.bytes().data(), first, count);
    return make_array(count, null_count, pack(std::move(marks), values.release()), {});
}

arrow_array null_column::finish() {
    const std::int64_t rows = length();
    take_marks();
    return make_array(rows, rows, {}, {}, false);
}

arrow_array null_column::copy(std::int64_t, std::int64_t count) const {
    return make_array(count, count, {}, {}, false);
}

text_column::text_column(type_id id, bool nullable)
    : column(id, nullable), large_(id == type_id::large_utf8 || id == type_id::large_binary) {
    push_offset();
}

void text_column::too_large() {
    throw failure("value.mismatch", "the texts of one column pass 2 GiB in one batch",
                  "Use a large_utf8 or large_binary column, or smaller pages.");
}

void text_column::truncate(std::int64_t length) {
    length = std::min(length, this->length());
    data_.truncate(offset(length));
    offsets_.truncate(static_cast<std::size_t>(length + 1) * (large_ ? 8 : 4));
    truncate_marks(length);
}

void text_column::erase_head(std::int64_t count) {
    const std::int64_t rest = length() - count;
    const std::size_t bytes = offset(count);
    offsets_ = large_ ? rebase<std::int64_t>(offsets_, count, rest) : rebase<std::int32_t>(offsets_, count, rest);
    data_.erase_head(bytes);
    erase_marks(count);
}

arrow_array text_column::finish() {
    drop_open_value();
    const std::int64_t rows = length();
    const std::int64_t null_count = nulls();
    std::vector<buffer> buffers = pack(take_marks(), offsets_.release());
    buffers.push_back(data_.release());
    push_offset();
    return make_array(rows, null_count, std::move(buffers), {});
}

arrow_array text_column::copy(std::int64_t first, std::int64_t count) const {
    std::int64_t null_count = 0;
    buffer marks = copy_marks(first, count, null_count);
    std::vector<buffer> buffers = pack(std::move(marks), large_ ? rebase<std::int64_t>(offsets_, first, count)
                                                                : rebase<std::int32_t>(offsets_, first, count));
    const std::size_t begin = offset(first);
    buffer data;
    data.append(data_.data() + begin, offset(first + count) - begin);
    buffers.push_back(std::move(data));
    return make_array(count, null_count, std::move(buffers), {});
}

void struct_column::append_null() {
    for (auto& child : children_) child->append_nothing();
    mark_null();
}

void struct_column::append_empty() {
    for (auto& child : children_) child->append_nothing();
    mark_valid();
}

void struct_column::truncate(std::int64_t length) {
    for (auto& child : children_) child->truncate(length);
    truncate_marks(length);
}

void struct_column::erase_head(std::int64_t count) {
    for (auto& child : children_) child->erase_head(count);
    erase_marks(count);
}

arrow_array struct_column::finish() {
    const std::int64_t rows = length();
    const std::int64_t null_count = nulls();
    std::vector<arrow_array> children;
    children.reserve(children_.size());
    for (auto& child : children_) children.push_back(child->finish());
    return make_array(rows, null_count, pack(take_marks()), std::move(children));
}

arrow_array struct_column::copy(std::int64_t first, std::int64_t count) const {
    std::int64_t null_count = 0;
    buffer marks = copy_marks(first, count, null_count);
    std::vector<arrow_array> children;
    children.reserve(children_.size());
    for (const auto& child : children_) children.push_back(child->copy(first, count));
    return make_array(count, null_count, pack(std::move(marks)), std::move(children));
}

std::size_t struct_column::bytes() const noexcept {
    std::size_t result = mark_bytes();
    for (const auto& child : children_) result += child->bytes();
    return result;
}

std::size_t struct_column::widest() const noexcept {
    std::size_t result = 0;
    for (const auto& child : children_) result = std::max(result, child->widest());
    return result;
}

list_column::list_column(type_id id, bool nullable, std::unique_ptr<column> child)
    : column(id, nullable), child_(std::move(child)) {
    push_offset();
}

void list_column::push_offset() {
    const std::int64_t size = child_->length();
    if (size > std::numeric_limits<std::int32_t>::max())
        throw failure("value.mismatch", "the lists of one column pass 2^31 elements in one batch");
    offsets_.push(static_cast<std::int32_t>(size));
}

void list_column::truncate(std::int64_t length) {
    length = std::min(length, this->length());
    child_->truncate(offset(length));
    offsets_.truncate(static_cast<std::size_t>(length + 1) * 4);
    truncate_marks(length);
}

void list_column::erase_head(std::int64_t count) {
    const std::int64_t rest = length() - count;
    const std::int64_t elements = offset(count);
    offsets_ = rebase<std::int32_t>(offsets_, count, rest);
    child_->erase_head(elements);
    erase_marks(count);
}

arrow_array list_column::finish() {
    child_->truncate(open_begin());
    const std::int64_t rows = length();
    const std::int64_t null_count = nulls();
    std::vector<arrow_array> children;
    children.push_back(child_->finish());
    buffer marks = take_marks();
    std::vector<buffer> buffers = pack(std::move(marks), offsets_.release());
    push_offset();
    return make_array(rows, null_count, std::move(buffers), std::move(children));
}

arrow_array list_column::copy(std::int64_t first, std::int64_t count) const {
    std::int64_t null_count = 0;
    buffer marks = copy_marks(first, count, null_count);
    std::vector<arrow_array> children;
    const std::int64_t begin = offset(first);
    children.push_back(child_->copy(begin, offset(first + count) - begin));
    return make_array(count, null_count, pack(std::move(marks), rebase<std::int32_t>(offsets_, first, count)),
                      std::move(children));
}

std::size_t list_column::widest() const noexcept {
    return std::max(child_->widest(), static_cast<std::size_t>(child_->length()));
}

std::unique_ptr<column> make_column(const ArrowSchema& node) {
    const type_id id = type_of(node).id;
    const bool nullable = is_nullable(node);
    switch (id) {
        case type_id::null_: return std::make_unique<null_column>(nullable);
        case type_id::boolean: return std::make_unique<bool_column>(id, nullable);
        case type_id::int8: return std::make_unique<fixed_column<std::int8_t>>(id, nullable);
        case type_id::int16: return std::make_unique<fixed_column<std::int16_t>>(id, nullable);
        case type_id::int32:
        case type_id::date32: return std::make_unique<fixed_column<std::int32_t>>(id, nullable);
        case type_id::int64:
        case type_id::timestamp_utc:
        case type_id::timestamp_local: return std::make_unique<fixed_column<std::int64_t>>(id, nullable);
        case type_id::float32: return std::make_unique<fixed_column<float>>(id, nullable);
        case type_id::float64: return std::make_unique<fixed_column<double>>(id, nullable);
        case type_id::decimal128: return std::make_unique<fixed_column<int128>>(id, nullable);
        case type_id::utf8:
        case type_id::large_utf8:
        case type_id::binary:
        case type_id::large_binary: return std::make_unique<text_column>(id, nullable);
        case type_id::list: return std::make_unique<list_column>(id, nullable, make_column(*node.children[0]));
        case type_id::map: {
            std::vector<std::unique_ptr<column>> pair;
            pair.push_back(make_column(*node.children[0]->children[0]));
            pair.push_back(make_column(*node.children[0]->children[1]));
            return std::make_unique<list_column>(id, nullable, std::make_unique<struct_column>(false, std::move(pair)));
        }
        case type_id::struct_: {
            std::vector<std::unique_ptr<column>> children;
            for (std::int64_t i = 0; i < node.n_children; ++i) children.push_back(make_column(*node.children[i]));
            return std::make_unique<struct_column>(nullable, std::move(children));
        }
    }
    throw failure("schema.unsupported", "a column has a type that is not in the profile");
}

std::unique_ptr<struct_column> make_table(const ArrowSchema& schema) {
    std::vector<std::unique_ptr<column>> children;
    for (std::int64_t i = 0; i < schema.n_children; ++i) children.push_back(make_column(*schema.children[i]));
    return std::make_unique<struct_column>(false, std::move(children));
}

}  // namespace lakeflow::host
