// tests/support/scripted_writer.h: a service that takes rows, with the slots of "lakeflow.writer/1" filled by hand, as a plugin in C would.
// It keeps its batches in files, so that it outlives the process; it answers a key that it knows from memory, also after the batch of
// that key was rolled back, as real services do: who uses such a key again loses rows here. One at a time; any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/plugin/plugin.h"
#include "lakeflow/lakeflow.h"

namespace lakeflow::host::testing {

class scripted_writer {
  public:
    explicit scripted_writer(std::filesystem::path folder);
    ~scripted_writer();
    scripted_writer(const scripted_writer&) = delete;
    scripted_writer& operator=(const scripted_writer&) = delete;

    // The metadata of a table that can be written to in every way.
    static constexpr const char* metadata =
        R"({"ingestion_type":"append","capabilities":["batch_write","truncate","upsert"]})";

    std::int64_t batch_size = 10;
    bool staged = true;              // batches show when their write commits; else at once
    bool knows_commits = true;       // the slot was_committed is there
    bool can_roll_back = true;       // else every batch is left
    std::int64_t miscounts = 0;      // by so many rows a message is wrong
    std::string said;                // one more member of every message
    std::set<std::string> stubborn;  // batches that cannot be rolled back
    // Each step by name, before and after it is done: "begin", "post KEY", "commit KEY", "roll back ID", "was committed KEY". May
    // throw script_error.
    std::function<void(const std::string&step)> before, after;

    // A copy of a plugin that can write too.
    std::shared_ptr<const plugin> added_to(const std::shared_ptr<const plugin>& p);

    // "id|c|name" of the rows that the service shows.
    std::multiset<std::string> rows() const { return rows_in(folder_, staged); }
    static std::multiset<std::string> rows_in(const std::filesystem::path& folder, bool staged = true);
    // The steps so far, each once it was done.
    std::vector<std::string> steps() const;
    int count(std::string_view beginning) const;

    // For the slots.
    void begin(const lf_write_args& args);
    std::string post(const std::string& key, const std::string& mode, const std::vector<std::string>& rows);
    void commit(const lf_write_args& args, const std::vector<std::string>& ids);
    bool roll_back(const std::string& id);
    bool committed(const std::string& key);

  private:
    void step(const std::string& what, const std::function<void()>& act);

    std::filesystem::path folder_;
    lf_writer_v1 slots_{};
    mutable std::mutex mutex_;
    std::vector<std::string> steps_;
};

}  // namespace lakeflow::host::testing
