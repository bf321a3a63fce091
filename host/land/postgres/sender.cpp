// host/land/postgres/sender.cpp: see sender.h.
#include "host/land/postgres/sender.h"

#include <algorithm>

#include "host/base/text.h"
#include "host/land/json_row.h"
#include "host/land/postgres/values.h"

namespace lakeflow::host::postgres {
namespace {

constexpr std::size_t copy_bytes = 256 << 10;  // of lines that are sent at once

}  // namespace

void row_sender::copy(const std::string& into, const record_batch& rows, const std::vector<std::int64_t>& places,
                      std::int64_t number, misfits* misfit) {
    for (;;) {
        std::vector<std::int64_t> sent;  // the rows of the lines
        try {
            send(into, rows, places, number, misfit, sent);
            return;
        } catch (const failure& f) {
            to_.abandon_copy();
            const refusal said = explain(f, rows, places, sent);
            if (said.row < 0 || !misfit || !bear(rows, said.row, said.place, said.why, *misfit))
                throw failure(said.why);
        }
    }
}

void row_sender::send(const std::string& into, const record_batch& rows, const std::vector<std::int64_t>& places,
                      std::int64_t number, misfits* misfit, std::vector<std::int64_t>& sent) {
    const ArrowArray& array = *rows.array.get();
    std::string lines;
    to_.begin_copy("COPY " + into + " FROM STDIN");
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        if (misfit && misfit->out.contains(row)) continue;
        const std::size_t begin = lines.size();
        bool stays = true;
        for (const std::int64_t place : places) {
            const std::size_t at = lines.size();
            if (place < 0 || (misfit && misfit->nulled.contains({row, place}))) {
                lines += "\\N\t";
                continue;
            }
            try {
                append_copy_value(rows.schema->column(place), *array.children[place], array.offset + row, lines);
                lines += '\t';
            } catch (const failure& f) {
                error named = f.get();
                named.message = "table " + flow_.table + ", column " +
                                std::string(name_of(rows.schema->column(place))) + ", " + key_text(rows, row) + ": " +
                                named.message;
                if (!misfit || !bear(rows, row, place, named, *misfit)) throw failure(std::move(named));
                lines.resize(at);
                stays = !misfit->out.contains(row);
                if (!stays) break;
                lines += "\\N\t";
            }
        }
        if (!stays) {
            lines.resize(begin);
            continue;
        }
        lines += std::to_string(number + row) + '\n';
        if (misfit) sent.push_back(row);
        if (lines.size() < copy_bytes) continue;
        to_.put_copy(lines);
        lines.clear();
    }
    to_.put_copy(lines);
    to_.end_copy();
}

// False: it is not to be borne. `place` is the column, -1: not known.
bool row_sender::bear(const record_batch& rows, std::int64_t row, std::int64_t place, const error& why,
                      misfits& misfit) const {
    if (why.code != "value.mismatch") return false;
    const std::string column = place < 0 ? std::string() : std::string(name_of(rows.schema->column(place)));
    if (flow_.mismatches->policy() == mismatch_policy::null) {
        const bool key =
            std::find(flow_.primary_keys.begin(), flow_.primary_keys.end(), column) != flow_.primary_keys.end();
        if (place < 0 || key || column == flow_.sequence_by || !is_nullable(rows.schema->column(place))) return false;
        flow_.mismatches->count({0, 0, 1}, why.message);
        misfit.nulled.emplace(row, place);
        return true;
    }
    flow_.mismatches->count({0, 1, 0}, why.message);
    misfit.out.insert(row);
    bad_row bad{{}, why.message, why.code, column};
    append_json_row(*rows.schema->get(), *rows.array.get(), row, bad.row);
    misfit.bad.push_back(std::move(bad));
    return true;
}

// The server names a line and a column of the staging table ("COPY lf_stage, line 3, column c2: ..."): here by their own names.
row_sender::refusal row_sender::explain(const failure& f, const record_batch& rows,
                                        const std::vector<std::int64_t>& places,
                                        const std::vector<std::int64_t>& sent) const {
    refusal said{f.get()};
    const std::string& text = f.get().message;
    const auto number_after = [&](const std::string& word) -> std::optional<std::int64_t> {
        const std::size_t at = text.rfind(word);
        if (at == std::string::npos) return std::nullopt;
        const std::size_t first = at + word.size();
        return parse_int(std::string_view(text).substr(first, text.find_first_not_of("0123456789", first) - first));
    };
    const auto line = number_after(", line ");
    if (f.get().code != "value.mismatch" || !line || *line < 1 || *line > rows.rows() ||
        text.find("COPY lf_") == std::string::npos)
        return said;
    said.row = sent.empty() ? *line - 1 : sent[std::min(static_cast<std::size_t>(*line), sent.size()) - 1];
    said.why.message = "table " + flow_.table + ", ";
    if (const auto column = number_after(", column c"); column && *column < static_cast<std::int64_t>(places.size())) {
        said.place = places[static_cast<std::size_t>(*column)];
        const std::string type = types_[static_cast<std::size_t>(*column)];
        said.why.message += "column " + std::string(name_of(rows.schema->column(said.place))) + " (" + type + "), ";
    }
    said.why.message += key_text(rows, said.row) + ": " + text.substr(0, text.find(", COPY lf_"));
    return said;
}

std::string row_sender::key_text(const record_batch& rows, std::int64_t row) const {
    std::string out;
    for (const std::string& key : flow_.primary_keys) {
        const std::int64_t i = find_column(*rows.schema->get(), key);
        if (i < 0) continue;
        out += (out.empty() ? "" : ", ") + key + " = " +
               value_text(rows.schema->column(i), *rows.array.get()->children[i], rows.array.get()->offset + row);
    }
    return out.empty() ? "row " + std::to_string(row + 1) + " of its batch" : "the row with " + out;
}

}  // namespace lakeflow::host::postgres
