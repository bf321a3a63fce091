// host/land/connector/record.h: what a write that failed has left behind: batches that are still to be rolled back, and the generation of
// the keys, as a key whose batch was rolled back must not be used again: a service may answer it from memory. On the flow's thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/state/effects.h"

namespace lakeflow::host::connector {

struct write_record {
    std::string batch;                 // whole_batch::id of the newest write that was given up
    int generation = 0;                // of its keys
    std::string key;                   // of the write whose batches are to be rolled back
    std::vector<std::string> pending;  // the messages that name them, as JSON; empty: none
    std::vector<std::string> ids;      // of the batches that the messages name
    bool partly = false;  // some of that write's batches are gone: the rest must go before it is sent again

    friend bool operator==(const write_record&, const write_record&) = default;
};

class record_file {
  public:
    record_file(std::filesystem::path file, std::shared_ptr<effects> io) : file_(std::move(file)), io_(std::move(io)) {}

    // Throws state.corrupt.
    write_record load() const;
    // Durable when it returns. Throws state.io.
    void save(const write_record& record) const;
    void remove() const;

  private:
    std::filesystem::path file_;
    std::shared_ptr<effects> io_;
};

}  // namespace lakeflow::host::connector
