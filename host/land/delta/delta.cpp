// host/land/delta/delta.cpp: see delta.h.
#include "host/land/delta/delta.h"

#include <mutex>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/delta/target.h"

namespace lakeflow::host::delta {
namespace {

class delta_destination final : public destination {
  public:
    explicit delta_destination(std::shared_ptr<environment> shared) : shared_(std::move(shared)) {}

    std::unique_ptr<target> open(const flow_spec& flow) override {
        if (flow.table.empty() || flow.table.find('/') != std::string::npos || flow.table.front() == '.' ||
            flow.table.front() == '_') {
            throw failure("config.destination", "\"" + flow.table + "\" cannot be the folder of a Delta table",
                          "give the table another name with `destination`");
        }
        return std::make_unique<delta_target>(shared_, flow);
    }
    std::string describe(const std::string& table) const override {
        return "delta " + shared_->options.path + "/" + table;
    }

  private:
    std::shared_ptr<environment> shared_;
};

}  // namespace

std::shared_ptr<environment> make_environment(destination_options options, logger log,
                                              std::shared_ptr<cancel_token> stop) {
    auto made = std::make_shared<environment>();
    made->log = std::move(log);
    made->stop = std::move(stop);
    // Three tenths of the memory for rows that wait, half for DuckDB; the rest is what both need beside.
    made->budget = std::make_shared<memory_budget>(options.memory_bytes / 10 * 3);
    struct lazy {
        std::mutex mutex;
        std::shared_ptr<duck::database> database;
    };
    made->duck = [state = std::make_shared<lazy>(), options] {
        const std::lock_guard lock(state->mutex);
        if (!state->database) {
            duck::database_options wanted;
            wanted.library = options.duckdb_library;
            wanted.memory_bytes = options.memory_bytes / 2;
            wanted.temp_directory = options.temp_directory.empty() ? options.path + "/.lakeflow-tmp-" + random_id()
                                                                   : options.temp_directory;
            state->database = duck::database::open(wanted);
        }
        return state->database;
    };
    made->open_store = [path = options.path](const std::string& table) { return make_local_store(path + "/" + table); };
    made->options = std::move(options);
    return made;
}

std::unique_ptr<destination> make_delta_destination(destination_options options, logger log,
                                                    std::shared_ptr<cancel_token> stop) {
    return make_delta_destination(make_environment(std::move(options), std::move(log), std::move(stop)));
}

std::unique_ptr<destination> make_delta_destination(std::shared_ptr<environment> shared) {
    return std::make_unique<delta_destination>(std::move(shared));
}

}  // namespace lakeflow::host::delta
