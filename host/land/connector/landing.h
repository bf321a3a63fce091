// host/land/connector/landing.h: one batch on its way into a connector, and the flow that it belongs to. On the flow's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/log.h"
#include "host/land/connector/newest.h"
#include "host/land/connector/record.h"
#include "host/land/connector/writers.h"
#include "host/land/destination.h"
#include "host/plugin/writing.h"

namespace lakeflow::host::connector {

// What all flows of a run share.
struct shared_state {
    destination_options options;
    logger log;
    std::shared_ptr<cancel_token> stop;
    worker_pool workers;
    std::shared_ptr<effects> io;
};

class connector_target final : public target {
  public:
    connector_target(std::shared_ptr<shared_state> shared, flow_spec flow);

    std::optional<position> committed() override { return std::nullopt; }
    bool holds_position() const override { return false; }
    bool lands_whole_batches() const override { return true; }
    std::unique_ptr<landing> begin() override;
    std::unique_ptr<landing> begin_whole(const whole_batch& batch) override;
    std::uint32_t take_over() override { return 1; }
    void reset() override { record_.remove(); }

    const flow_spec& flow() const noexcept { return flow_; }
    shared_state& shared() const noexcept { return *shared_; }
    std::string what() const;
    // A fresh instance of the plugin.
    std::unique_ptr<plugin_connector> instance() const;
    // What the write of a batch is called with; its key is that of every attempt, until batches of it were rolled back.
    write_request request_of(const whole_batch& batch, std::uint32_t attempt) const;
    // What an earlier write has left to be rolled back goes first. Throws destination.rollback if it cannot.
    void settle_left_overs(plugin_connector& driver, write_request request) const;
    // Rolls back what the messages name; gives what a person must know of it.
    std::string roll_back(plugin_connector& driver, const whole_batch& batch, const write_request& request,
                          const std::vector<write_message>& messages) const;

  private:
    std::vector<std::string> take_back(plugin_connector& driver, const write_request& request,
                                       write_record& record) const;

    std::shared_ptr<shared_state> shared_;
    flow_spec flow_;
    record_file record_;
    std::shared_ptr<flow_context> context_;
    std::string last_id_;
    std::uint32_t attempt_ = 0;
};

// append, upsert or truncate: how a mode is written.
std::string write_mode(land_mode mode);

}  // namespace lakeflow::host::connector
