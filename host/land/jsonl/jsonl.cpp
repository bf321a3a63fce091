// host/land/jsonl/jsonl.cpp: see jsonl.h.
#include "host/land/jsonl/jsonl.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/land/delta/actions.h"
#include "host/land/json_row.h"
#include "host/land/jsonl/key_index.h"
#include "host/land/store.h"

namespace lakeflow::host::jsonl {
namespace {

constexpr std::size_t kept_in_memory = 4 << 20;  // of a batch's lines; the rest waits in a file

[[noreturn]] void fail(const char* what, const std::string& path) {
    const int code = errno;
    throw failure("destination.io",
                  std::string("cannot ") + what + " " + path + ": " + std::generic_category().message(code),
                  code == ENOSPC ? "free space on that disk and run again" : "");
}

class descriptor {
  public:
    descriptor(std::string path, int flags, mode_t mode = 0644)
        : path_(std::move(path)), fd_(::open(path_.c_str(), flags | O_CLOEXEC, mode)) {
        if (fd_ < 0) fail("open", path_);
    }
    ~descriptor() { ::close(fd_); }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    int get() const noexcept { return fd_; }
    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail("write", path_);
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    std::int64_t size() const {
        struct stat about {};
        if (::fstat(fd_, &about) != 0) fail("read", path_);
        return about.st_size;
    }
    void cut(std::int64_t length) const {
        if (::ftruncate(fd_, length) != 0) fail("cut", path_);
    }
    void sync() const {
        if (::fsync(fd_) != 0) fail("sync", path_);
    }
    void lock() const {
        while (::flock(fd_, LOCK_EX) != 0) {
            if (errno != EINTR) fail("lock", path_);
        }
    }

  private:
    std::string path_;
    int fd_;
};

// What the side file says.
struct record {
    std::int64_t length = -1;  // -1: there was no side file
    struct stand {
        position at;
        bool reset = false;
    };
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
        record::stand s;
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
        record::stand next = *known_;
        next.at.epoch = epoch;
        change(next, [](record&) {});
    }
    void reset() override {
        refresh();
        if (!known_ || known_->reset) return;
        record::stand next;
        next.at.epoch = known_->at.epoch + 1;
        next.reset = true;
        change(next, [](record&) {});
    }
    std::unique_ptr<landing> begin() override;

  private:
    friend class file_landing;

    record read() const {
        const auto text = shared_->files->get(side_);
        return text ? parse_record(*text, shared_->files->path(side_)) : record{};
    }
    void refresh() {
        const record r = read();
        const auto mine = r.flows.find(app_id_);
        known_ = mine == r.flows.end() ? std::nullopt : std::optional(mine->second);
    }
    // Under the locks: checks that nobody has moved the flow, lets `write` put rows into the file, and commits.
    template <class Write>
    void change(const record::stand& next, Write write) {
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
        write(r);
        r.flows[app_id_] = next;
        shared_->files->put(side_, to_text(r));
        known_ = next;
    }

    std::shared_ptr<shared_state> shared_;
    flow_spec flow_;
    std::string app_id_;
    std::string name_;
    std::string side_;
    std::optional<record::stand> known_;
    key_index keys_;  // with rereads: what the file holds
};

// Lines of a batch, by partition order: in memory up to a bound, then in a file of their own.
class line_buffer {
  public:
    explicit line_buffer(std::string spill) : spill_(std::move(spill)) {}
    ~line_buffer() {
        if (file_) ::unlink(spill_.c_str());
    }
    // `wanted` says whether a row is to be written.
    template <class Wanted>
    void add(const record_batch& rows, Wanted wanted) {
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
            if (!wanted(row)) continue;
            append_json_row(*rows.schema->get(), *rows.array.get(), row, lines_);
            lines_ += '\n';
            ++rows_;
        }
        if (spill_.empty() || lines_.size() < kept_in_memory) return;
        if (!file_) {
            std::filesystem::create_directories(std::filesystem::path(spill_).parent_path());
            file_ = std::make_unique<descriptor>(spill_, O_RDWR | O_CREAT | O_TRUNC);
        }
        file_->write(lines_);
        lines_.clear();
    }
    std::int64_t rows() const noexcept { return rows_; }
    template <class Sink>
    void give(Sink sink) const {
        if (file_) {
            std::string some(1 << 20, '\0');
            for (std::int64_t at = 0;;) {
                const ssize_t n = ::pread(file_->get(), some.data(), some.size(), at);
                if (n < 0 && errno == EINTR) continue;
                if (n < 0) fail("read", spill_);
                if (n == 0) break;
                sink(std::string_view(some).substr(0, static_cast<std::size_t>(n)));
                at += n;
            }
        }
        if (!lines_.empty()) sink(std::string_view(lines_));
    }

  private:
    std::string spill_;
    std::string lines_;
    std::unique_ptr<descriptor> file_;
    std::int64_t rows_ = 0;
};

class file_landing final : public landing {
  public:
    explicit file_landing(file_target& owner)
        : owner_(owner), lines_(owner.shared_->files->path("." + owner.name_ + "." + random_id() + ".tmp")) {}

    void add(std::uint32_t, record_batch rows) override {
        lines_.add(rows, [&](std::int64_t row) {
            if (!owner_.flow_.rereads) return true;
            const key_hash key = owner_.keys_.key_of(rows, row, owner_.flow_.table);
            const bool fresh = !owner_.keys_.holds(key) && batch_keys_.insert(key).second;
            rows_again_ += !fresh;
            return fresh;
        });
    }
    void add_deletes(record_batch) override {
        throw failure("config.not_supported", "table " + owner_.flow_.table + ": a jsonl file takes no deletes");
    }
    void partition_done(std::uint32_t) override {}

    land_result commit(const position& next) override {
        land_result result;
        const auto order = [](const position& p) { return std::pair(p.epoch, p.batch); };
        if (owner_.known_ && order(next) <= order(owner_.known_->at)) {
            // The same number for another range of rows is no replay: to take it for one would drop them.
            if (next.epoch < owner_.known_->at.epoch ||
                (order(next) == order(owner_.known_->at) && !(next == owner_.known_->at))) {
                throw failure(
                    "state.fenced",
                    "table " + owner_.flow_.table + ": another run has taken flow " + owner_.flow_.flow + " over",
                    "let one run at a time work on a job");
            }
            result.committed = false;
            return result;
        }
        owner_.change({next, false}, [&](record& r) {
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
            lines_.give([&](std::string_view bytes) { file.write(bytes); });
            owner_.shared_->files->sync(owner_.name_);
            r.length = file.size();
        });
        result.rows_landed = lines_.rows();
        result.rows_again = rows_again_;
        return result;
    }

  private:
    file_target& owner_;
    line_buffer lines_;
    key_set batch_keys_;
    std::int64_t rows_again_ = 0;
};

std::unique_ptr<landing> file_target::begin() {
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
        if (flow.mode != land_mode::append) {
            throw failure(
                "config.not_supported",
                "table " + flow.table + ": mode " + std::string(to_string(flow.mode)) + " does not land in jsonl",
                "use mode = \"append\", or a delta destination");
        }
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
