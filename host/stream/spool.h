// host/stream/spool.h: a batch of a table that says `replayable: false`, or of a destination that lands whole batches, kept on disk from the end of its read until it is committed, so
// that a run after a crash lands what was read and not what the source would say now. A folder `<flow>.spool` in the job's state:
// numbered files of rows, then a `batch` file that makes them count. Format: host/state/README.md. On the flow's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/state/effects.h"
#include "host/stream/landing_session.h"

namespace lakeflow::host {

// What is known of a spooled batch besides its rows.
struct spooled_batch {
    std::string job;
    std::string flow;
    std::uint32_t batch = 0;  // of the position that it will be committed with
    std::string start = "{}";
    std::string end = "{}";
    std::string deletes_start = "{}";
    std::string deletes_end = "{}";
    bool deletes_read = false;
    std::optional<std::string> bound;
    std::int64_t init_time_us = 0;
    std::int64_t rows = 0;   // that came from the plugin
    std::int64_t again = 0;  // of them, those that an inclusive read brought once more
    std::int64_t tombstones = 0;
    std::uint32_t parts = 0;
    std::string schema;                       // of the table, as DDL
    std::vector<std::string> delete_columns;  // of the tombstones
    std::string id;                           // of the files of rows
    std::uint32_t files = 0;

    friend bool operator==(const spooled_batch&, const spooled_batch&) = default;
};

std::string encode_spooled(const spooled_batch& batch);
// Throws state.corrupt, naming `file`, if the bytes are torn, changed, of a later version or of another job or flow.
spooled_batch decode_spooled(const std::string& job, const std::string& flow, std::string_view bytes,
                             const std::string& file);

// Where the spool of one flow lies.
struct spool_place {
    std::shared_ptr<effects> io;
    std::filesystem::path folder;
    std::string what;       // "github/issues", for messages
    std::size_t limit = 0;  // bytes of one batch
};

// Takes a batch as a landing would.
class spool_writer final : public batch_sink {
  public:
    // `source` is the schema of the table.
    spool_writer(spool_place place, std::shared_ptr<const arrow_schema> source);
    ~spool_writer() override;  // without finish, nothing is left behind
    spool_writer(const spool_writer&) = delete;
    spool_writer& operator=(const spool_writer&) = delete;

    void ensure_open() override { counts_ = true; }
    // Throws state.spool_full past the limit, state.io.
    void add(std::uint32_t part, record_batch rows) override;
    void add_deletes(record_batch rows) override;
    void add_bad(std::vector<bad_row> rows) override;
    void part_done(std::uint32_t part) override;
    void start_over() override;

    bool empty() const noexcept { return entries_ == 0 && !counts_; }
    // All of it is durable when this returns, and counts from now on. Gives the batch with what the writer knows of it.
    spooled_batch finish(spooled_batch batch);

  private:
    void put(char kind, std::uint32_t part, const record_batch* rows);
    void put(char kind, std::uint32_t part, const std::string& body);
    void flush();

    spool_place place_;
    std::shared_ptr<const arrow_schema> source_;
    std::vector<std::string> delete_columns_;
    std::string id_;
    std::string pending_;
    std::uint32_t files_ = 0;
    std::size_t written_ = 0;
    std::int64_t entries_ = 0;
    bool counts_ = false;
    bool finished_ = false;
};

// The batch that the folder holds, if any is whole. What a read that died left behind is removed, and told in `note`. Throws
// state.corrupt.
std::optional<spooled_batch> find_spooled(const spool_place& place, const std::string& job, const std::string& flow,
                                          std::string& note);
// Hands the batch on in the order in which it came. Throws state.corrupt if a file of it is missing, torn or changed.
void replay_spooled(const spool_place& place, const spooled_batch& batch,
                    const std::shared_ptr<const arrow_schema>& source, batch_sink& to);
// Forgets it: it is committed, or given up.
void remove_spooled(effects& io, const std::filesystem::path& folder);

}  // namespace lakeflow::host
