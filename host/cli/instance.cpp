// host/cli/instance.cpp: see instance.h.
#include "host/cli/instance.h"

#include "host/base/error.h"
#include "host/plugin/options.h"

namespace lakeflow::host {

plugin_instance::plugin_instance(const run_plan& plan, const std::string& table)
    : plugin_(plan.plugin), options_(plan.connection), flow_(std::make_shared<flow_context>()), stop_(plan.stop->hard) {
    flow_->plugin = plugin_->id;
    flow_->flow = table;
    flow_->table = table;
    flow_->init_time_us = plan.init_time_us;
    flow_->run_id = plan.run_id;
    flow_->http = plan.http;
    flow_->job_counters = plan.counters;
    flow_->redactor = plan.redactor;
    flow_->log = plan.log;
    connector_ = another();
}

std::unique_ptr<plugin_connector> plugin_instance::another() const {
    return std::make_unique<plugin_connector>(plugin_, options_, flow_, stop_);
}

table_plan table_of(const run_plan& plan, const std::string& name) {
    for (const auto member : {&table_plan::flow, &table_plan::destination, &table_plan::source}) {
        for (const auto& table : plan.tables) {
            if (table.*member == name) return table;
        }
    }
    table_plan table;
    table.flow = table.source = table.destination = name;
    table.options = check_options(plan.plugin->options_schema, "table", "{}", "the options of table " + name).json;
    return table;
}

}  // namespace lakeflow::host
