// host/cli/instance.h: one instance of the job's plugin, for commands that read without a run. Used by one thread.
#pragma once

#include <memory>
#include <string>

#include "host/plugin/connector.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

class plugin_instance {
  public:
    // `table` names the source in logs and messages; may be empty.
    plugin_instance(const run_plan& plan, const std::string& table);

    plugin_connector& connector() noexcept { return *connector_; }
    // One more, as fresh as a worker's.
    std::unique_ptr<plugin_connector> another() const;

  private:
    std::shared_ptr<const plugin> plugin_;
    std::string options_;
    std::shared_ptr<flow_context> flow_;
    std::shared_ptr<cancel_token> stop_;
    std::unique_ptr<plugin_connector> connector_;
};

// The entry of the job that a person means by a flow's name, a destination or a source; a source that no entry names gets default
// options. Throws config.unknown_flow where the options are needed and cannot be guessed.
table_plan table_of(const run_plan& plan, const std::string& name);

}  // namespace lakeflow::host
