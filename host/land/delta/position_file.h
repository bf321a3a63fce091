// host/land/delta/position_file.h: where the position of a flow lies in a Delta table. A txn action (appId lakeflow/<job>/<flow>,
// version epoch * 2^32 + batch) says which file of _lakeflow/<flow>/ counts; the file is durable before that commit and holds the
// offsets. Readers and VACUUM leave names that begin with an underscore alone. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/land/destination.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

std::string app_id(const flow_spec& flow);
std::int64_t to_version(const position& p);

struct stored_position {
    position at;
    bool reset = false;  // the flow was reset here: it begins anew, with larger epochs
};

class position_files {
  public:
    position_files(store& files, const flow_spec& flow);

    // What the committed txn `version` stands for. Throws state.corrupt if its file is gone or is not one.
    stored_position read(std::int64_t version);
    // The file of a version, if it is there, readable and of this job.
    std::optional<stored_position> find(std::int64_t version);

    // Writes the file of a version that is about to be committed. False if there is one that says something else: another run of this
    // flow works with the same epoch. One that this object wrote, and whose commit failed, is replaced.
    bool write(std::int64_t version, const stored_position& p);

    // A snapshot equal to what the table holds makes no commit; its new validator goes beside the file of the version that holds it.
    void write_seen(std::int64_t version, const position& p);

    // The greatest epoch that any file of the flow has, committed or not; 0 without files.
    std::uint32_t greatest_epoch();
    // Removes what a later commit has made useless: all but the newest files up to `version`.
    void trim(std::int64_t version);

  private:
    std::string name(std::int64_t version, bool with_job) const;
    std::string text(std::int64_t version, const stored_position& p) const;
    std::optional<stored_position> parse(const std::string& text, std::int64_t version) const;

    store& files_;
    std::string job_;
    std::string flow_;
    std::string folder_;
    std::string written_;  // the name of the file that write made last
};

}  // namespace lakeflow::host::delta
