// host/land/connector/connector.cpp: see connector.h: what is refused before anything is read.
#include "host/land/connector/connector.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/land/connector/landing.h"

namespace lakeflow::host::connector {
namespace {

[[noreturn]] void refuse(std::string_view code, const std::string& message, std::string hint) {
    throw failure(error{std::string(code), message, std::move(hint), retry_class::invalid});
}

void check_flow(const flow_spec& flow, const std::string& what) {
    if (flow.quarantines())
        refuse("config.not_supported",
               "table " + flow.table + ": on_mismatch = \"quarantine\" needs a side table, and a connector has none",
               "use on_mismatch = \"null\" or \"fail\", or another destination");
    if (flow.filter)
        refuse(
            "config.not_supported",
            "table " + flow.table +
                ": where with mode = \"snapshot\" keeps the rows outside the condition, and a connector replaces all",
            "leave where out, or use mode = \"append\" or \"scd1\"");
    if (flow.mode == land_mode::scd2) {
        refuse("config.not_supported", "table " + flow.table + ": mode = \"scd2\" does not land in a connector",
               "use append, scd1 or snapshot");
    }
    if (flow.deletes) {
        refuse("config.not_supported",
               "table " + flow.table + ": its source tells deletes, and lakeflow.writer/1 has none to give to " + what,
               "land it in delta, duckdb or postgres");
    }
    if (flow.filter) {
        refuse("config.not_supported",
               "table " + flow.table + ": where with mode = \"snapshot\" keeps the rows outside the condition, and " +
                   what + " removes all of them",
               "leave where out, or use another destination");
    }
    if (flow.quarantines()) {
        refuse("config.not_supported",
               "table " + flow.table + ": a connector has no side table for rows that do not fit",
               "use on_mismatch = \"fail\" or \"null\", or another destination");
    }
    if (flow.mode == land_mode::append && flow.rereads) {
        refuse("config.mode",
               "table " + flow.table + ": its source brings rows that were read before, and which of them " + what +
                   " holds already cannot be seen",
               "use mode = \"scd1\" where the service replaces rows by their key, or mode = \"snapshot\"");
    }
    if (flow.max_delete_ratio < 1) {
        refuse("config.mode",
               "table " + flow.table + ": max_delete_ratio compares with the rows that " + what +
                   " holds, which cannot be seen",
               "leave it out");
    }
}

class connector_destination final : public destination {
  public:
    explicit connector_destination(std::shared_ptr<shared_state> shared) : shared_(std::move(shared)) {}

    std::unique_ptr<target> open(const flow_spec& flow) override {
        auto out = std::make_unique<connector_target>(shared_, flow);
        check_flow(flow, out->what());
        const auto driver = out->instance();
        const auto& to = shared_->options.connector;
        const auto metadata = driver->metadata(to.resource.empty() ? flow.table : to.resource, to.table_options);
        const auto can = [&](std::string_view word) {
            return std::find(metadata.capabilities.begin(), metadata.capabilities.end(), word) !=
                   metadata.capabilities.end();
        };
        if (!can("batch_write")) {
            refuse("config.not_writable", out->what() + " does not say that it can be written to",
                   "name another resource; http-api needs write = { path = .. } in it");
        }
        if (flow.mode == land_mode::snapshot && !can("truncate")) {
            refuse("config.mode",
                   "table " + flow.table + ": mode = \"snapshot\" replaces all rows, and " + out->what() +
                       " cannot remove those that it holds",
                   "use append or scd1; http-api needs truncate = { .. } in the resource's write");
        }
        if (flow.mode == land_mode::scd1 && !can("upsert")) {
            refuse("config.mode",
                   "table " + flow.table + ": mode = \"scd1\" replaces rows by their key, and " + out->what() +
                       " does not say that it does",
                   "use append or snapshot; http-api needs upsert = true in the resource's write");
        }
        return out;
    }

    std::string describe(const std::string& table) const override {
        const auto& to = shared_->options.connector;
        return "connector " + to.to->id + "/" + (to.resource.empty() ? table : to.resource);
    }

    void use(worker_pool workers) override { shared_->workers = std::move(workers); }

  private:
    std::shared_ptr<shared_state> shared_;
};

}  // namespace

std::unique_ptr<destination> make_connector_destination(const destination_options& options, logger log,
                                                        std::shared_ptr<cancel_token> stop) {
    if (!options.connector.to->writer) {
        refuse("config.not_writable", "plugin " + options.connector.to->id + " cannot be written to",
               "`lakeflow-host plugins` shows which can: they have lakeflow.writer/1");
    }
    auto shared = std::make_shared<shared_state>();
    shared->options = options;
    shared->log = std::move(log);
    shared->stop = std::move(stop);
    shared->io = real_effects();
    return std::make_unique<connector_destination>(std::move(shared));
}

}  // namespace lakeflow::host::connector
