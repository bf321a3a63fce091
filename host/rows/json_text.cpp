// host/rows/json_text.cpp: see json_text.h.
#include "host/rows/json_text.h"

#include "host/base/text.h"

namespace lakeflow::host {

void append_escaped(std::string& out, std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        out.append(text.data() + plain, i - plain);
        plain = i + 1;
        out += '\\';
        switch (c) {
            case '"': out += '"'; break;
            case '\\': out += '\\'; break;
            case '\b': out += 'b'; break;
            case '\f': out += 'f'; break;
            case '\n': out += 'n'; break;
            case '\r': out += 'r'; break;
            case '\t': out += 't'; break;
            default:
                out += "u00";
                out += digits[c >> 4];
                out += digits[c & 15];
        }
    }
    out.append(text.data() + plain, text.size() - plain);
}

void json_text::clear() {
    out_.clear();
    depth_ = 0;
    in_string_ = false;
    objects_.clear();
    next_object_ = 0;
    used_ = 0;
    ++generation_;
}

void json_text::comma() {
    if (out_.empty()) return;
    const char last = out_.back();
    if (last != '{' && last != '[' && last != ':') out_ += ',';
}

void json_text::begin_object() {
    comma();
    out_ += '{';
    ++depth_;
    objects_.push_back(++next_object_);
}

void json_text::begin_array() {
    comma();
    out_ += '[';
    ++depth_;
    objects_.push_back(0);
}

bool json_text::end(char bracket) {
    out_ += bracket;
    objects_.pop_back();
    return --depth_ == 0;
}

void json_text::string_part(std::string_view part) {
    if (!in_string_) {
        comma();
        out_ += '"';
        in_string_ = true;
    }
    append_escaped(out_, part);
}

void json_text::string_end(std::string_view last) {
    string_part(last);
    out_ += '"';
    in_string_ = false;
}

void json_text::key_part(std::string_view part) {
    if (!in_string_) {
        comma();
        key_begin_ = out_.size();
        out_ += '"';
        in_string_ = true;
    }
    append_escaped(out_, part);
}

bool json_text::key_end(std::string_view last) {
    key_part(last);
    out_ += '"';
    in_string_ = false;
    key_size_ = out_.size() - key_begin_;
    const bool fresh = remember(last_key());
    out_ += ':';
    return fresh;
}

bool json_text::remember(std::string_view key) {
    if ((used_ + 1) * 2 > table_.size()) grow();
    const std::uint32_t object = objects_.back();
    const std::uint64_t hash = hash64(key, object);
    for (std::size_t i = hash & (table_.size() - 1);; i = (i + 1) & (table_.size() - 1)) {
        seen& slot = table_[i];
        if (slot.generation != generation_) {
            slot = {hash, generation_, object, key_begin_, key.size()};
            ++used_;
            return true;
        }
        if (slot.hash == hash && slot.object == object && key == std::string_view(out_).substr(slot.begin, slot.size))
            return false;
    }
}

void json_text::grow() {
    std::vector<seen> old(table_.empty() ? 64 : table_.size() * 2);
    old.swap(table_);
    for (const seen& s : old) {
        if (s.generation != generation_) continue;
        std::size_t i = s.hash & (table_.size() - 1);
        while (table_[i].generation == generation_) i = (i + 1) & (table_.size() - 1);
        table_[i] = s;
    }
}

}  // namespace lakeflow::host
