// host/land/jsonl/jsonl.cpp: see jsonl.h.
#include "host/land/jsonl/jsonl.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/land/delta/actions.h"
#include "host/land/json_row.h"
#include "host/land/jsonl/key_index.h"
#include "host/land/jsonl/lines.h"
#include "host/land/sql/merge.h"
#include "host/land/stand.h"
#include "host/land/store.h"

namespace lakeflow::host::jsonl {
namespace {

// What the side file says.
struct record {
    std::int64_t length = -1;            // -1: there was no side file
    std::map<std::string, stand> flows;  // by application id
};

std::string app_id(const flow_spec& flow) { return "lakeflow/" + flow.job + "/" + flow.flow; }

record parse_record(const std::string& text, const std::string& path) {
    const auto members = delta::string_members(text);
    record found;
    const auto length = members.find("length");
    const auto flows = members.find("flows");
    if (length == members.end() || flows == members.end() || !parse_int(length->second)) {
        throw failure("state.corrupt", path + " is not readable",
                      "restore it, or move it and the .jsonl file beside it away");
    }
    found.length = *parse_int(length->second);
    for (const auto& [id, body] : delta::string_members(flows->second)) {
        auto of = delta::string_members(body);
        stand s;
        s.at.epoch = static_cast<std::uint32_t>(parse_int(of["epoch"]).value_or(0));
        s.at.batch = static_cast<std::uint32_t>(parse_int(of["batch"]).value_or(0));
        s.at.end = of["end"];
        s.at.deletes_end = of["deletes_end"];
        s.reset = of["reset"] == "true";
        found.flows[id] = std::move(s);
    }
    return found;
}

std::string to_text(const record& r) {
    std::string out = "{\"length\":" + std::to_string(r.length) + ",\"flows\":{";
    bool first = true;
    for (const auto& [id, s] : r.flows) {
        if (!std::exchange(first, false)) out += ',';
        out += quote_json(id) + ":{\"epoch\":" + std::to_string(s.at.epoch) +
               ",\"batch\":" + std::to_string(s.at.batch) + ",\"end\":" + quote_json(s.at.end) +
               ",\"deletes_end\":" + quote_json(s.at.deletes_end) + (s.reset ? ",\"reset\":true}" : "}");
    }
    return out + "}}\n";
}

// What the targets of one destination share.
struct shared_state {
    destination_options options;
    std::shared_ptr<store> files;
    std::mutex mutex;  // one commit at a time in this process; flock orders processes
};

class file_target final : public target {
  public:
    file_target(std::shared_ptr<shared_state> shared, flow_spec flow)
        : shared_(std::move(shared)),
          flow_(std::move(flow)),
          app_id_(app_id(flow_)),
          name_(flow_.table + ".jsonl"),
          side_("." + name_ + ".lakeflow"),
          keys_(flow_.primary_keys, shared_->options.memory_bytes / 64) {
        refresh();
    }

    std::optional<position> committed() override {
        refresh();
        return known_ && !known_->reset ? std::optional(known_->at) : std::nullopt;
    }
    std::uint32_t take_over() override {
        refresh();
        return (known_ ? known_->at.epoch : 0) + 1;
    }
    void fence(std::uint32_t epoch) override {
        if (!known_ || epoch <= known_->at.epoch) return;
        stand next = *known_;
        next.at.epoch = epoch;
        change([&](record&) { return next; });
    }
    void reset() override {
        refresh();
        if (!known_ || known_->reset) return;
        stand next;
        next.at.epoch = known_->at.epoch + 1;
        next.reset = true;
        change([&](record&) { return next; });
    }
    std::unique_ptr<landing> begin() override;

  private:
    friend class file_landing;
    friend class snapshot_landing;

    record read() const {
        const auto text = shared_->files->get(side_);
        return text ? parse_record(*text, shared_->files->path(side_)) : record{};
    }
    void refresh() {
        const record r = read();
        const auto mine = r.flows.find(app_id_);
        known_ = mine == r.flows.end() ? std::nullopt : std::optional(mine->second);
    }
    bool holds(const position& next) const { return host::holds(known_, next, flow_); }
    // Under the locks: checks that nobody has moved the flow, lets `write` change the file and say where the flow stands then, and
    // commits that.
    template <class Write>
    void change(Write write) {
        const std::lock_guard one(shared_->mutex);
        shared_->files->make_folder("");
        const descriptor lock(shared_->files->path("." + name_ + ".lock"), O_RDWR | O_CREAT);
        lock.lock();
        record r = read();
        const auto mine = r.flows.find(app_id_);
        const bool same = mine == r.flows.end() ? !known_
                                                : known_ && mine->second.at.epoch == known_->at.epoch &&
                                                      mine->second.at.batch == known_->at.batch;
        if (!same) {
            throw failure("state.fenced",
                          "table " + flow_.table + ": another run of job " + flow_.job + " has moved flow " +
                              flow_.flow + "; nothing of this batch was committed",
                          "let one run at a time work on a job; this one can simply be started again");
        }
        const stand next = write(r);
        r.flows[app_id_] = next;
        shared_->files->put(side_, to_text(r));
        known_ = next;
    }

    std::shared_ptr<shared_state> shared_;
    flow_spec flow_;
    std::string app_id_;
    std::string name_;
    std::string side_;
    std::optional<stand> known_;
    key_index keys_;  // with rereads: what the file holds
};

class file_landing final : public landing {
  public:
    explicit file_landing(file_target& owner)
        : owner_(owner), lines_(owner.shared_->files->path("." + owner.name_ + "." + random_id() + ".tmp")) {}

    void add(std::uint32_t partition, record_batch rows) override {
        std::int64_t line = lines_.rows();
        lines_.add(rows, [&](std::int64_t row) {
            if (!owner_.flow_.rereads) return true;
            const key_hash key = owner_.keys_.key_of(rows, row, owner_.flow_.table);
            if (owner_.keys_.holds(key)) {
                ++rows_again_;
                return false;
            }
            // Of the rows of a batch the first one lands, by partition and arrival.
            const auto [held, fresh] = batch_keys_.try_emplace(key, first_row{partition, line});
            rows_again_ += !fresh;
            if (!fresh && held->second.partition <= partition) return false;
            if (!fresh) {
                left_out_.insert(held->second.line);
                held->second = {partition, line};
            }
            ++line;
            return true;
        });
    }
    void add_deletes(record_batch) override {
        throw failure("config.not_supported", "table " + owner_.flow_.table + ": a jsonl file takes no deletes");
    }
    void partition_done(std::uint32_t) override {}

    land_result commit(const position& next) override {
        land_result result;
        if (owner_.holds(next)) {
            result.committed = false;
            return result;
        }
        owner_.change([&](record& r) {
            const std::string path = owner_.shared_->files->path(owner_.name_);
            const descriptor file(path, O_WRONLY | O_CREAT | O_APPEND);
            const std::int64_t size = file.size();
            if (r.length < 0) {
                // What was there before us is written down first, or the next run took the rows of a dead one for it.
                r.length = size;
                owner_.shared_->files->put(owner_.side_, to_text(r));
            }
            if (size == 0 && r.length > 0) r.length = 0;  // moved away by a log rotation: a new one begins
            if (size < r.length) {
                throw failure("destination.corrupt",
                              path + " has " + std::to_string(size) + " bytes, and " + std::to_string(r.length) +
                                  " were committed",
                              "restore the file, or move it and its .lakeflow file away");
            }
            if (size > r.length) file.cut(r.length);
            if (left_out_.empty()) {
                lines_.give([&](std::string_view bytes) { file.write(bytes); });
            } else {
                lines_.give_lines(left_out_, [&](std::string_view line) { file.write(std::string(line) + '\n'); });
            }
            owner_.shared_->files->sync(owner_.name_);
            r.length = file.size();
            return stand{next, false};
        });
        result.rows_landed = lines_.rows() - static_cast<std::int64_t>(left_out_.size());
        result.rows_again = rows_again_;
        return result;
    }

  private:
    file_target& owner_;
    line_buffer lines_;
    struct first_row {
        std::uint32_t partition;
        std::int64_t line;
    };
    std::unordered_map<key_hash, first_row, key_hasher> batch_keys_;
    std::unordered_set<std::int64_t> left_out_;
    std::int64_t rows_again_ = 0;
};

// ---- a whole table, which takes the place of the one that is there

// What tells whether two tables hold the same lines, in whatever order.
struct content {
    std::int64_t lines = 0;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    void add(std::string_view line) {
        ++lines;
        a += hash64(line, 1);
        b += hash64(line, 2);
    }
    friend bool operator==(const content&, const content&) = default;
};

class snapshot_landing final : public landing {
  public:
    explicit snapshot_landing(file_target& owner)
        : owner_(owner),
          keyed_(!owner.flow_.primary_keys.empty()),
          most_(owner.shared_->options.memory_bytes / 64),
          new_name_("." + owner.name_ + "." + random_id() + ".new"),
          lines_(owner.shared_->files->path("." + owner.name_ + "." + random_id() + ".tmp")) {}

    void add(std::uint32_t partition, record_batch rows) override {
        if (keyed_) {
            const ArrowSchema& schema = *rows.schema->get();
            const std::int64_t sequence =
                owner_.flow_.sequence_by.empty() ? -1 : find_column(schema, owner_.flow_.sequence_by);
            for (std::int64_t row = 0; row < rows.rows(); ++row) {
                rank now{sequence < 0 ? ""
                                      : order_text(*schema.children[sequence], *rows.array.get()->children[sequence],
                                                   rows.array.get()->offset + row),
                         partition, lines_.rows() + row};
                const auto [held, fresh] = last_.try_emplace(owner_.keys_.key_of(rows, row, owner_.flow_.table), now);
                if (fresh) continue;
                again_.insert(std::min(held->second, now).line);
                held->second = std::max(held->second, now);
            }
            if (last_.size() > most_) {
                throw failure("destination.memory",
                              "table " + owner_.flow_.table + ": the snapshot has more than " + human_count(most_) +
                                  " keys, which do not fit the memory",
                              "raise the destination's memory, or land this table in delta or duckdb");
            }
        }
        lines_.add(rows, [](std::int64_t) { return true; });
    }
    void add_deletes(record_batch) override {
        throw failure("config.not_supported", "table " + owner_.flow_.table + ": a jsonl file takes no deletes");
    }
    void partition_done(std::uint32_t) override {}

    land_result commit(const position& next) override {
        land_result result;
        if (owner_.holds(next)) {
            result.committed = false;
            return result;
        }
        owner_.change([&](record& r) {
            const content before = read_table(r);
            const content after = write_table();
            if (after == before && owner_.known_ && !owner_.known_->reset) {
                owner_.shared_->files->remove(new_name_);
                result.rows_again = after.lines;
                result.committed = false;
                return owner_.known_->with_ends_of(next);
            }
            try {
                guard(before, after, r);
            } catch (...) {
                owner_.shared_->files->remove(new_name_);
                throw;
            }
            // Until the position is written nothing is known of the length: a run that finds it so reads the snapshot again.
            record unknown = r;
            unknown.length = -1;
            owner_.shared_->files->put(owner_.side_, to_text(unknown));
            owner_.shared_->files->rename(new_name_, owner_.name_);
            owner_.shared_->files->sync(owner_.name_);
            r.length = descriptor(owner_.shared_->files->path(owner_.name_), O_RDONLY).size();
            result.rows_landed = after.lines;
            result.rows_deleted = std::max<std::int64_t>(0, before.lines - after.lines);
            return stand{next, false};
        });
        return result;
    }

  private:
    struct rank {
        std::string sequence;
        std::uint32_t partition;
        std::int64_t line;
        friend auto operator<=>(const rank&, const rank&) = default;
    };

    std::int64_t length_of_table(const record& r) const {
        const std::string path = owner_.shared_->files->path(owner_.name_);
        std::error_code none;
        const auto size = std::filesystem::file_size(path, none);
        if (none) return 0;
        return r.length < 0 ? static_cast<std::int64_t>(size) : std::min(r.length, static_cast<std::int64_t>(size));
    }
    content read_table(const record& r) const {
        content found;
        std::int64_t left = length_of_table(r);
        if (left == 0) return found;
        std::ifstream in(owner_.shared_->files->path(owner_.name_), std::ios::binary);
        for (std::string line; left > 0 && std::getline(in, line); left -= static_cast<std::int64_t>(line.size()) + 1)
            found.add(line);
        return found;
    }
    // The lines that count, as a file of its own.
    content write_table() {
        owner_.shared_->files->make_folder("");
        content written;
        {
            const descriptor file(owner_.shared_->files->path(new_name_), O_WRONLY | O_CREAT | O_TRUNC);
            std::string kept;
            lines_.give_lines(again_, [&](std::string_view line) {
                written.add(line);
                kept += line;
                kept += '\n';
                if (kept.size() < kept_in_memory / 4) return;
                file.write(kept);
                kept.clear();
            });
            file.write(kept);
        }
        owner_.shared_->files->sync(new_name_);
        return written;
    }
    void guard(const content& before, const content& after, const record& r) const {
        if (after.lines == 0 && before.lines > 0 && !owner_.flow_.allow_empty) {
            throw failure("destination.would_empty",
                          "the source has no rows for table " + owner_.flow_.table + ", which holds " +
                              std::to_string(before.lines),
                          "check the source; set allow_empty = true on the table if it is empty indeed");
        }
        if (owner_.flow_.max_delete_ratio >= 1) return;
        std::int64_t gone = before.lines - after.lines;
        if (keyed_) {
            key_index held(owner_.flow_.primary_keys, most_);
            held.catch_up(owner_.shared_->files->path(owner_.name_), length_of_table(r));
            gone = before.lines;
            for (const auto& [key, last] : last_) gone -= held.holds(key);
        }
        if (static_cast<double>(gone) <= owner_.flow_.max_delete_ratio * static_cast<double>(before.lines)) return;
        throw failure("destination.too_many_deletes",
                      "table " + owner_.flow_.table + ": the snapshot would remove " + std::to_string(gone) +
                          " of its " + std::to_string(before.lines) + " rows, more than max_delete_ratio allows",
                      "check the source; raise max_delete_ratio on the table if the rows are gone indeed");
    }

    file_target& owner_;
    bool keyed_;
    std::size_t most_;
    std::string new_name_;
    line_buffer lines_;
    std::unordered_map<key_hash, rank, key_hasher> last_;
    std::unordered_set<std::int64_t> again_;  // lines whose key comes again
};

std::unique_ptr<landing> file_target::begin() {
    if (flow_.mode == land_mode::snapshot) return std::make_unique<snapshot_landing>(*this);
    if (flow_.rereads) keys_.catch_up(shared_->files->path(name_), std::max<std::int64_t>(read().length, 0));
    return std::make_unique<file_landing>(*this);
}

// ---- standard output

class output_target final : public target {
  public:
    output_target(std::shared_ptr<shared_state> shared, flow_spec flow)
        : shared_(std::move(shared)), flow_(std::move(flow)) {}
    std::optional<position> committed() override { return std::nullopt; }
    bool holds_position() const override { return false; }
    std::uint32_t take_over() override { return 1; }
    void reset() override {}
    std::unique_ptr<landing> begin() override;

    std::shared_ptr<shared_state> shared_;
    flow_spec flow_;
};

class output_landing final : public landing {
  public:
    explicit output_landing(output_target& owner)
        : owner_(owner),
          lines_((std::filesystem::temp_directory_path() / ("lakeflow-" + random_id() + ".tmp")).string()) {}
    void add(std::uint32_t, record_batch rows) override {
        lines_.add(rows, [](std::int64_t) { return true; });
    }
    void add_deletes(record_batch) override {
        throw failure("config.not_supported", "table " + owner_.flow_.table + ": standard output takes no deletes");
    }
    void partition_done(std::uint32_t) override {}
    land_result commit(const position&) override {
        const std::lock_guard one(owner_.shared_->mutex);
        const auto& given = owner_.shared_->options.standard_output;
        lines_.give([&](std::string_view bytes) {
            if (given) return given(bytes);
            while (!bytes.empty()) {
                const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
                if (n < 0 && errno == EINTR) continue;
                if (n < 0) fail("write", "standard output");
                bytes.remove_prefix(static_cast<std::size_t>(n));
            }
        });
        land_result result;
        result.rows_landed = lines_.rows();
        return result;
    }

  private:
    output_target& owner_;
    line_buffer lines_;
};

std::unique_ptr<landing> output_target::begin() { return std::make_unique<output_landing>(*this); }

class jsonl_destination final : public destination {
  public:
    explicit jsonl_destination(const destination_options& options) : shared_(std::make_shared<shared_state>()) {
        shared_->options = options;
        shared_->files = make_local_store(options.path);
    }
    std::unique_ptr<target> open(const flow_spec& flow) override {
        if (flow.mode != land_mode::append && flow.mode != land_mode::snapshot) {
            throw failure(
                "config.not_supported",
                "table " + flow.table + ": mode " + std::string(to_string(flow.mode)) + " does not land in jsonl",
                "use mode = \"append\" or \"snapshot\", or another destination");
        }
        if (flow.filter) {
            throw failure("config.not_supported",
                          "table " + flow.table +
                              ": where with mode = \"snapshot\" keeps the rows outside the condition, and a jsonl file "
                              "is written anew "
                              "as a whole",
                          "leave where out, or use another destination", retry_class::invalid);
        }
        sql::check_flow(flow);
        if (flow.rereads && flow.primary_keys.empty()) {
            throw failure(
                "config.primary_keys",
                "table " + flow.table + ": its source reads rows again, and without primary keys nobody can tell which",
                "name them with `primary_keys`");
        }
        if (shared_->options.path == "-") return std::make_unique<output_target>(shared_, flow);
        if (flow.table.empty() || flow.table.find('/') != std::string::npos || flow.table.front() == '.') {
            throw failure("config.destination", "\"" + flow.table + "\" cannot be the name of a file",
                          "name it with `destination`");
        }
        return std::make_unique<file_target>(shared_, flow);
    }
    std::string describe(const std::string& table) const override {
        return shared_->options.path == "-" ? "jsonl on standard output"
                                            : "jsonl " + shared_->options.path + "/" + table + ".jsonl";
    }

  private:
    std::shared_ptr<shared_state> shared_;
};

}  // namespace

std::unique_ptr<destination> make_jsonl_destination(const destination_options& options, logger,
                                                    std::shared_ptr<cancel_token>) {
    return std::make_unique<jsonl_destination>(options);
}

}  // namespace lakeflow::host::jsonl
