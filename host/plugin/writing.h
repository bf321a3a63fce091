// host/plugin/writing.h: "lakeflow.writer/1" as C++ objects: a write on the driver, and one writer a partition. Checked as connector.h
// says. A writer is used by one thread at a time, which may change between calls; cancel() comes through the instance's token.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/plugin/connector.h"

namespace lakeflow::host {

// One write, as lf_write_args has it.
struct write_request {
    std::string table;
    std::string options = "{}";
    std::string run_id;
    std::string mode;  // "append", "upsert", "truncate"
    std::string key;
    std::shared_ptr<const arrow_schema> schema;
    std::uint32_t partitions = 1;
    std::uint32_t partition = 0;
    std::uint32_t attempt = 0;
};

// What a writer says at its end, checked.
struct write_message {
    std::string json;  // as it came
    std::uint32_t partition = 0;
    std::int64_t rows = 0;
    std::vector<std::string> batch_ids;
};

class plugin_writer {
  public:
    ~plugin_writer();  // closes
    plugin_writer(const plugin_writer&) = delete;
    plugin_writer& operator=(const plugin_writer&) = delete;

    void write(record_batch rows);
    // Throws plugin.contract if the message is none, or counts other rows than were written.
    write_message commit();
    // Drops what is buffered and sends nothing; tells what was posted.
    write_message abort();
    // In any state, more than once too; never fails. The destructor does it otherwise.
    void close() noexcept;

  private:
    friend class plugin_connector;
    plugin_writer(lf_writer* raw, std::shared_ptr<flow_context> flow, std::shared_ptr<cancel_token> stop,
                  std::string what, std::uint32_t partition);
    write_message read(const std::string& text) const;

    lf_writer* raw_;
    std::shared_ptr<flow_context> flow_;
    std::shared_ptr<cancel_token> stop_;
    std::uint64_t cancel_id_ = 0;
    std::string what_;
    std::uint32_t partition_;
    std::int64_t rows_ = 0;
};

}  // namespace lakeflow::host
