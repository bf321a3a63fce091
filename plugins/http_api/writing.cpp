// plugins/http_api/writing.cpp: see writing.hpp.
#include "writing.hpp"

#include <algorithm>
#include <utility>

#include "cells.hpp"
#include "keys.hpp"
#include "predicate.hpp"

namespace lakeflow::http_api {
namespace {

constexpr std::size_t most_body = std::size_t{4} << 20;  // bytes of a request, past which fewer rows go into one

using named_values = std::vector<std::pair<std::string, std::string>>;

const write_rule& rule_of(const resource& of) {
    if (of.write) return *of.write;
    throw unsupported("resource '" + of.name + "' declares no write",
                      "write = { path = \"" + of.path + "\", method = \"POST\" }")
        .with_code("config.not_writable");
}

request call(const service& to, const call_rule& rule, const write_args& args, const named_values& more = {}) {
    named_values values{{"key", args.key}, {"run_id", args.run_id}};
    values.insert(values.end(), more.begin(), more.end());
    return to.make(rule.method, to.address(fill_path(rule.path, values)));
}

void send(const service& to, request wanted, const write_rule& rule, const std::string& key) {
    if (!rule.key_header.empty()) wanted.header(rule.key_header, key);
    wanted.idempotent();
    exchange answer = to.host().http.start(wanted);
    answer.head();
    std::string_view piece;
    while (answer.read(piece)) continue;
}

// A value as the service's own answers write it: an instant in its declared unit.
json written(const resource& of, const field& column, const ArrowArray& array, std::int64_t row) {
    const column_rule* rule = of.rule_of(column.name);
    const bool unit =
        rule != nullptr && rule->format.substr(0, 5) == "epoch" && column.type.kind() == type_kind::timestamp;
    if (unit && !is_null(array, row)) {
        return json::number(time_text(integer_cell(column.type, array, row), rule->format));
    }
    json value = cell(column, array, row);
    if (rule != nullptr && rule->json && value.is_text()) return json::parse(value.as_text());
    return value;
}

class batches final : public batch_writer {
  public:
    batches(std::shared_ptr<const service> to, resource of, const write_args& args)
        : to_(std::move(to)), of_(std::move(of)), args_(args), rule_(rule_of(of_)) {
        most_rows_ = rule_.rows == "object" ? 1 : rule_.batch_size > 0 ? rule_.batch_size : of_.numbers.batch_size;
    }

    void write(batch rows) override {
        const auto& fields = args_.columns.fields();
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
            json one = json::object();
            for (std::size_t i = 0; i < fields.size(); ++i) {
                const column_rule* rule = of_.rule_of(fields[i].name);
                put(one, rule != nullptr && !rule->path.empty() ? rule->path : fields[i].name,
                    written(of_, fields[i], *rows->children[i], row + rows->offset));
            }
            std::string text = one.dump();
            if (held_ > 0 && buffer_.size() + text.size() > most_body) flush();
            buffer_ += (held_ == 0 ? "" : rule_.rows == "jsonl" ? "\n" : ",") + text;
            if (++held_ >= most_rows_) flush();
        }
    }

    json commit() override {
        flush();
        return message();
    }

    json abort() override {
        buffer_.clear();
        held_ = 0;
        return message();
    }

  private:
    json message() const {
        return json::object({{"partition", static_cast<std::int64_t>(args_.partition)},
                             {"attempt", static_cast<std::int64_t>(args_.attempt)},
                             {"rows", rows_},
                             {"batch_ids", json::array_of(ids_)}});
    }

    std::string body() const {
        if (rule_.rows == "jsonl") return buffer_ + "\n";
        if (rule_.rows == "object") return buffer_;
        std::string out = "[" + buffer_ + "]";
        // The array below the members of a pointer: {"data": {"items": [..]}}.
        std::string_view rest = rule_.records;
        while (!rest.empty()) {
            const std::size_t slash = rest.rfind('/');
            out = "{" + json(rest.substr(slash + 1)).dump() + ":" + out + "}";
            rest = rest.substr(0, slash);
        }
        return out;
    }

    void flush() {
        if (held_ == 0) return;
        request wanted = to_->make(rule_.method,
                                   to_->address(fill_path(rule_.path, {{"key", args_.key}, {"run_id", args_.run_id}})));
        const std::string method = wanted.method;
        wanted.post(body(), rule_.rows == "jsonl" ? "application/x-ndjson" : "application/json").idempotent();
        wanted.method = method;
        const std::string key = args_.key + "-" + std::to_string(args_.partition) + "-" + std::to_string(chunk_);
        if (!rule_.key_header.empty()) wanted.header(rule_.key_header, key);
        exchange answer = to_->host().http.start(wanted);
        answer.head();
        const std::string text = answer.text();
        ++chunk_;
        rows_ += std::exchange(held_, 0);
        buffer_.clear();
        to_->host().metrics.add("batches_written", 1);
        if (rule_.id.empty())
            return ids_.push_back(key);  // the service gives it no name, so the one that it was sent under
        const json document = text.empty() ? json::object() : json::parse(text);
        const json* id = document.pointer(rule_.id);
        if (id == nullptr || !(id->is_text() || id->is_number())) {
            throw protocol("the answer to a batch of " + of_.name + " has no id at " + rule_.id,
                           "write.id points to where an answer names the batch");
        }
        ids_.push_back(plain_text(*id));
    }

    std::shared_ptr<const service> to_;
    resource of_;
    write_args args_;
    write_rule rule_;
    std::int64_t most_rows_ = 100, held_ = 0, rows_ = 0, chunk_ = 0;
    std::string buffer_;
    std::vector<std::string> ids_;
};

std::vector<std::string> ids_of(const std::vector<json>& messages) {
    std::vector<std::string> out;
    for (const json& one : messages) {
        const json* ids = one.find("batch_ids");
        if (ids == nullptr) continue;
        for (const json& id : ids->items()) out.push_back(id.as_text());
    }
    return out;
}

}  // namespace

json begin(const service& to, const resource& of, const write_args& args) {
    const write_rule& rule = rule_of(of);
    if (args.mode == "truncate" && !rule.truncate) {
        throw unsupported("resource '" + of.name + "' declares no way to replace all of its rows",
                          "write.truncate = { method = \"DELETE\", path = \"" + of.path + "\" }, or mode = \"append\"")
            .with_code("config.mode");
    }
    if (args.mode == "upsert" && !rule.upsert) {
        throw unsupported("resource '" + of.name + "' does not say that it replaces rows by their key",
                          "write.upsert = true where it does, or mode = \"append\"")
            .with_code("config.mode");
    }
    if (args.mode != "append" && args.mode != "upsert" && args.mode != "truncate") {
        throw unsupported("'" + args.mode + "' is no way to write").with_code("config.mode");
    }
    if (!of.ddl.empty()) {
        const schema known = schema::ddl(of.ddl);
        std::vector<std::string> names;
        for (const field& one : known.fields()) names.push_back(one.name);
        for (const field& one : args.columns.fields()) {
            if (known.find(one.name) != nullptr) continue;
            const std::string near = nearest(one.name, names);
            throw invalid("resource '" + of.name + "' has no column '" + one.name + "'",
                          near.empty() ? "its columns are: " + listed(names) : "did you mean '" + near + "'?")
                .with_code("config.columns");
        }
        for (const field& one : known.fields()) {
            if (one.nullable || args.columns.find(one.name) != nullptr) continue;
            throw invalid("resource '" + of.name + "' needs the column '" + one.name + "', which the rows do not have")
                .with_code("config.columns");
        }
    }
    if (args.mode == "truncate") send(to, call(to, *rule.truncate, args), rule, args.key + "-truncate");
    return json::object({{"resource", of.name}});
}

std::unique_ptr<batch_writer> open_batches(std::shared_ptr<const service> to, resource of, const write_args& args) {
    return std::make_unique<batches>(std::move(to), std::move(of), args);
}

void commit_all(const service& to, const resource& of, const write_args& args, const std::vector<json>& messages) {
    const write_rule& rule = rule_of(of);
    std::int64_t rows = 0;
    for (const json& one : messages) rows += one.integer("rows");
    if (rule.commit) {
        request wanted = call(to, *rule.commit, args);
        const std::string method = wanted.method;
        wanted.post(
            json::object({{"key", args.key}, {"rows", rows}, {"batch_ids", json::array_of(ids_of(messages))}}).dump());
        wanted.method = method;
        send(to, std::move(wanted), rule, args.key + "-commit");
    }
    to.host().log.info(of.name + ": committed " + std::to_string(rows) + " rows");
}

std::vector<std::string> roll_back(const service& to, const resource& of, const write_args& args,
                                   const std::vector<json>& messages) {
    const write_rule& rule = rule_of(of);
    std::vector<std::string> left = ids_of(messages);
    if (!rule.rollback) return left;
    const std::vector<std::string> all = std::exchange(left, {});
    for (const std::string& id : all) {
        try {
            request wanted = call(to, *rule.rollback, args, {{"id", id}});
            // What is gone already needs no rolling back.
            wanted.accept(404).accept(410);
            send(to, std::move(wanted), rule, args.key + "-rollback-" + id);
        } catch (const failure& why) {
            if (why.how() == retry::cancelled) throw;
            to.host().log.warn(of.name + ": batch " + id + " could not be rolled back: " + why.message());
            left.push_back(id);
        }
    }
    return left;
}

bool knows_commit(const service& to, const resource& of, const write_args& args) {
    const write_rule& rule = rule_of(of);
    if (!rule.committed) return false;
    request wanted = call(to, *rule.committed, args);
    wanted.accept(404).accept(410);
    exchange answer = to.host().http.start(wanted);
    return answer.head() < 400;
}

}  // namespace lakeflow::http_api
