// host/land/connector/landing.cpp: see landing.h.
#include "host/land/connector/landing.h"

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/state/job_state.h"

namespace lakeflow::host::connector {
namespace {

constexpr std::size_t waiting_bytes = std::size_t{16} << 20;  // of rows between the spool and the writers

std::string array_of(const std::vector<std::string>& elements) {
    std::string out = "[";
    for (const auto& one : elements) out += (out.size() > 1 ? "," : "") + one;
    return out + "]";
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 20;
    std::string out;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) out += (i ? ", " : "") + names[i];
    return names.size() > most ? out + " and " + std::to_string(names.size() - most) + " more" : out;
}

// A name as part of a key, which goes out in a header: unreserved characters, and not for ever.
std::string key_part(const std::string& name) {
    constexpr std::size_t most = 60;
    const std::string plain = percent_encode(name);
    return plain.size() <= most ? plain : plain.substr(0, most - 17) + "-" + sha256_hex(name).substr(0, 16);
}

class connector_landing final : public landing {
  public:
    connector_landing(connector_target& owner, const whole_batch& batch, std::uint32_t attempt)
        : owner_(owner), batch_(batch), driver_(owner.instance()), request_(owner.request_of(batch, attempt)) {
        owner_.settle_left_overs(*driver_, request_);
        request_ = owner_.request_of(batch, attempt);  // the generation may have moved
        if (batch.again && driver_->was_committed(request_).value_or(false)) {
            committed_before_ = true;
            say(log_level::info, "batch " + std::to_string(batch.batch) +
                                     " was committed by an attempt that did not hear of it; nothing is sent again");
            return;
        }
        const auto& flow = owner.flow();
        if (flow.mode == land_mode::snapshot && batch.rows == 0 && !flow.allow_empty) {
            throw failure("destination.would_empty",
                          "the source has no rows for " + owner.what() + ", and whether that holds any is not known",
                          "check the source; set allow_empty = true on the table if it is empty indeed");
        }
        const auto begun = driver_->begin_write(request_);
        begun_ = true;
        auto open = request_;
        open.options.pop_back();
        open.options += std::string(open.options.size() > 1 ? "," : "") + "\"begin\":" + begun + "}";
        writers_.emplace(
            std::move(open), [&owner] { return owner.instance(); }, owner.shared().workers, waiting_bytes);
        if (flow.mode == land_mode::scd1) newest_.emplace(flow, owner.shared().options.memory_bytes);
    }

    void add(std::uint32_t part, record_batch rows) override {
        if (committed_before_ || rows.rows() == 0) return;
        if (newest_) return newest_->add(part, std::move(rows));
        send(part, std::move(rows));
    }

    void add_deletes(record_batch) override {
        throw failure("config.not_supported", owner_.what() + ": a connector takes no deletes");
    }

    void partition_done(std::uint32_t part) override {
        if (!committed_before_ && !newest_) writers_->done(part);
    }

    land_result commit(const position&) override {
        land_result result;
        if (committed_before_) {
            result.rows_landed = batch_.rows;
            return result;
        }
        if (newest_) {
            for (auto& [part, rows] : newest_->take()) send(part, std::move(rows));
        }
        const auto messages = writers_->finish();
        std::vector<std::string> texts;
        std::int64_t rows = 0;
        for (const auto& one : messages) {
            rows += one.rows;
            result.files_written += static_cast<std::int64_t>(one.batch_ids.size());
            texts.push_back(one.json);
        }
        if (rows != sent_) {
            throw failure("plugin.contract",
                          owner_.what() + ": the writers say that they wrote " + std::to_string(rows) + " rows, of " +
                              std::to_string(sent_),
                          "The plugin breaks the contract; ask its vendor.");
        }
        commit_tried_ = true;
        driver_->commit_write(request_, array_of(texts));
        say(log_level::info, "batch " + std::to_string(batch_.batch) + ": " + std::to_string(rows) + " rows of " +
                                 std::to_string(messages.size()) + " writers are committed, key " + request_.key);
        result.rows_landed = rows;
        return result;
    }

    error give_up(error why) override {
        // Cut off, or replaced by another run: the batch is kept, and who goes on with it sends it under the same keys.
        if (!writers_ || why.retry == retry_class::cancelled || why.code.starts_with("state.")) return why;
        const auto messages = writers_->abort([&](const error& e) {
            say(log_level::warn, "a writer does not say what it posted: " + to_line(e));
            why.message += ". One writer does not say what it posted (" + e.message + ")";
        });
        if (commit_tried_ && committed_after_all(why)) return why;
        why.message += owner_.roll_back(*driver_, batch_, request_, messages);
        if (owner_.flow().mode == land_mode::snapshot && begun_)
            why.message += ". The rows that were there before had been removed";
        return why;
    }

  private:
    void send(std::uint32_t part, record_batch rows) {
        sent_ += rows.rows();
        writers_->add(part, std::move(rows));
    }

    bool committed_after_all(error& why) {
        try {
            if (!driver_->was_committed(request_).value_or(false)) return false;
        } catch (const failure& f) {
            say(log_level::warn, "whether the write was committed is not known: " + to_line(f.get()));
            return false;
        }
        why.message += ". The write was committed all the same; the next run finds that and goes on";
        return true;
    }

    void say(log_level level, const std::string& text) const { owner_.shared().log.write(level, owner_.what(), text); }

    connector_target& owner_;
    const whole_batch batch_;
    std::unique_ptr<plugin_connector> driver_;
    write_request request_;
    std::optional<part_writers> writers_;
    std::optional<newest_rows> newest_;
    std::int64_t sent_ = 0;
    bool committed_before_ = false;
    bool begun_ = false;
    bool commit_tried_ = false;
};

// What is left of a write, as a message of its own.
std::string message_of(const std::vector<std::string>& ids) {
    std::string list;
    for (const auto& id : ids) list += (list.empty() ? "" : ",") + quote_json(id);
    return "{\"partition\":0,\"attempt\":0,\"rows\":0,\"batch_ids\":[" + list + "]}";
}

}  // namespace

std::string write_mode(land_mode mode) {
    switch (mode) {
        case land_mode::scd1: return "upsert";
        case land_mode::snapshot: return "truncate";
        default: return "append";
    }
}

connector_target::connector_target(std::shared_ptr<shared_state> shared, flow_spec flow)
    : shared_(std::move(shared)),
      flow_(std::move(flow)),
      record_(flow_file(shared_->options.connector.state_directory, flow_.job, flow_.flow, ".write"), shared_->io),
      context_(std::make_shared<flow_context>()) {
    const auto& to = shared_->options.connector;
    context_->plugin = to.to->id;
    context_->flow = flow_.flow;
    context_->table = to.resource.empty() ? flow_.table : to.resource;
    context_->key_columns = flow_.primary_keys;
    context_->init_time_us = to.init_time_us;
    context_->run_id = to.run_id;
    context_->http = to.http;
    context_->job_counters = to.counters;
    context_->redactor = to.redactor;
    context_->log = shared_->log;
}

std::string connector_target::what() const { return context_->plugin + "/" + context_->table; }

std::unique_ptr<plugin_connector> connector_target::instance() const {
    const auto& to = shared_->options.connector;
    return std::make_unique<plugin_connector>(to.to, to.connection, context_, shared_->stop);
}

std::unique_ptr<landing> connector_target::begin() {
    throw failure("host.internal", what() + ": a batch was to be landed that is not whole");
}

std::unique_ptr<landing> connector_target::begin_whole(const whole_batch& batch) {
    attempt_ = batch.id == last_id_ ? attempt_ + 1 : batch.again ? 1 : 0;
    last_id_ = batch.id;
    return std::make_unique<connector_landing>(*this, batch, attempt_);
}

write_request connector_target::request_of(const whole_batch& batch, std::uint32_t attempt) const {
    write_request out;
    out.table = context_->table;
    out.options = shared_->options.connector.table_options;
    out.run_id = context_->run_id;
    out.mode = write_mode(flow_.mode);
    out.key = key_part(flow_.job) + "/" + key_part(flow_.flow) + "/" + std::to_string(batch.batch) + "-" +
              batch.id.substr(0, 16);
    const auto record = record_.load();
    if (record.batch == batch.id && record.generation > 0) out.key += "-" + std::to_string(record.generation);
    out.schema = flow_.schema;
    out.partitions = std::max<std::uint32_t>(batch.parts, 1);
    out.attempt = attempt;
    return out;
}

// The record on disk says at each step what is still to be done, and under which keys. Gives what is left.
std::vector<std::string> connector_target::take_back(plugin_connector& driver, const write_request& request,
                                                     write_record& record) const {
    auto write = request;
    write.key = record.key;
    auto left = driver.abort_write(write, array_of(record.pending));
    const bool untouched = !record.partly && !left.empty() && left.size() >= record.ids.size();
    record.pending.clear();
    record.ids.clear();
    // Where nothing could be taken back all is still there, and what is sent again under the same keys is not there twice.
    if (!untouched) {
        if (!record.partly) ++record.generation;
        record.partly = !left.empty();
        if (record.partly) {
            record.pending = {message_of(left)};
            record.ids = left;
        }
    }
    record_.save(record);
    return left;
}

void connector_target::settle_left_overs(plugin_connector& driver, write_request request) const {
    auto record = record_.load();
    if (record.pending.empty()) return;
    const auto left = take_back(driver, request, record);
    if (!record.partly) return;
    throw failure(
        error{"destination.rollback",
              what() + ": these batches of a write that failed are still there and could not be rolled back: " +
                  listed(left) + "; were the write sent again, their rows would be there twice",
              "remove them at the service: a batch that is gone counts as rolled back", retry_class::permanent});
}

std::string connector_target::roll_back(plugin_connector& driver, const whole_batch& batch,
                                        const write_request& request,
                                        const std::vector<write_message>& messages) const {
    auto record = record_.load();
    if (record.batch != batch.id) record = {};
    record.batch = batch.id;
    record.key = request.key;
    bool posted = false;
    for (const auto& one : messages) {
        posted = posted || one.rows > 0 || !one.batch_ids.empty();
        record.pending.push_back(one.json);
        record.ids.insert(record.ids.end(), one.batch_ids.begin(), one.batch_ids.end());
    }
    const auto all = record.ids;
    try {
        if (!posted) {
            driver.abort_write(request, array_of(record.pending));
            return ". Nothing had been posted";
        }
        record_.save(record);
        const auto left = take_back(driver, request, record);
        if (left.empty()) {
            return all.empty()
                       ? ". What had been posted is rolled back"
                       : ". The " + std::to_string(all.size()) + " batches that had been posted are rolled back";
        }
        return ". These batches could not be rolled back: " + listed(left) +
               (left.size() < all.size() ? "; " + std::to_string(all.size() - left.size()) + " others were" : "");
    } catch (const failure& f) {
        shared_->log.write(log_level::warn, what(), "the roll-back failed: " + to_line(f.get()));
        return (all.empty() ? ". What had been posted could not be rolled back"
                            : ". These batches could not be rolled back: " + listed(all)) +
               " (" + f.get().message + "); the next run tries it again";
    }
}

}  // namespace lakeflow::host::connector
