// lakeflow/cpp/detail/column_export.hpp: columns as Arrow arrays that own their memory. Included by column.hpp.
#pragma once

#include <memory>

#include "lakeflow/cpp/detail/column.hpp"

namespace lakeflow::detail {

// What an exported array points at. Children may be moved out by the consumer: each one is released on its own.
struct exported_column {
    std::vector<uint8_t> validity, data;
    std::vector<int32_t> offsets;
    std::vector<int64_t> large_offsets;
    std::vector<const void*> buffers;
    std::vector<ArrowArray> children;
    std::vector<ArrowArray*> pointers;

    static void release(ArrowArray* array) {
        auto* self = static_cast<exported_column*>(array->private_data);
        for (ArrowArray* child : self->pointers)
            if (child->release != nullptr) child->release(child);
        delete self;
        array->release = nullptr;
    }

    // Makes *out an array without buffers, with place for so many children.
    static exported_column& begin(ArrowArray* out, int64_t length, size_t children) {
        auto self = std::make_unique<exported_column>();
        self->children.resize(children);
        for (ArrowArray& child : self->children) {
            std::memset(&child, 0, sizeof child);
            self->pointers.push_back(&child);
        }
        std::memset(out, 0, sizeof *out);
        out->length = length;
        out->n_children = static_cast<int64_t>(children);
        out->children = children == 0 ? nullptr : self->pointers.data();
        out->release = &exported_column::release;
        exported_column& here = *self;
        out->private_data = self.release();
        return here;
    }
    void end(ArrowArray* out) {
        out->n_buffers = static_cast<int64_t>(buffers.size());
        out->buffers = buffers.empty() ? nullptr : buffers.data();
    }

    static std::vector<uint8_t> bits(const std::vector<bool>& from) {
        std::vector<uint8_t> out((from.size() + 7) / 8 + 1);
        for (size_t i = 0; i < from.size(); ++i)
            if (from[i]) out[i / 8] = static_cast<uint8_t>(out[i / 8] | (1u << (i % 8)));
        return out;
    }

    // A buffer's address, never null, also of an empty one.
    template <class T>
    static const void* address(std::vector<T>& from) {
        from.reserve(1);
        return from.data();
    }

    static void fill(ArrowArray* out, column_builder& from) {
        bool map = from.type_.kind() == type_kind::map;
        exported_column& self = begin(out, from.length_, map ? 1 : from.children_.size());
        out->null_count = from.nulls_;
        if (from.type_.kind() == type_kind::null) return self.end(out);
        self.validity = from.nulls_ == 0 ? std::vector<uint8_t>() : bits(from.valid_);
        self.buffers.push_back(from.nulls_ == 0 ? nullptr : self.validity.data());
        bool variable = from.is_text() || map || from.type_.kind() == type_kind::list;
        if (variable && from.is_large()) {
            self.large_offsets = std::move(from.offsets_);
            self.buffers.push_back(self.large_offsets.data());
        } else if (variable) {
            self.offsets.reserve(from.offsets_.size());
            for (int64_t offset : from.offsets_) self.offsets.push_back(static_cast<int32_t>(offset));
            self.buffers.push_back(self.offsets.data());
        }
        if (from.is_text() || from.width() > 0) {
            if (from.type_.kind() == type_kind::boolean) {
                self.data = bits(std::vector<bool>(from.data_.begin(), from.data_.end()));
            } else {
                self.data = std::move(from.data_);
            }
            self.buffers.push_back(address(self.data));
        }
        if (map) {
            ArrowArray* entries = &self.children[0];
            exported_column& entry = begin(entries, from.children_[0]->length_, 2);
            entry.buffers.push_back(nullptr);
            entry.end(entries);
            for (size_t i = 0; i < 2; ++i) fill(&entry.children[i], *from.children_[i]);
        } else {
            for (size_t i = 0; i < from.children_.size(); ++i) fill(&self.children[i], *from.children_[i]);
        }
        self.end(out);
    }
};

inline void export_batch(std::vector<std::unique_ptr<column_builder>>& columns, int64_t rows, ArrowArray* out) {
    exported_column& self = exported_column::begin(out, rows, columns.size());
    self.buffers.push_back(nullptr);
    self.end(out);
    for (size_t i = 0; i < columns.size(); ++i) exported_column::fill(&self.children[i], *columns[i]);
}

}  // namespace lakeflow::detail
