// host/land/connector/record.cpp: see record.h.
#include "host/land/connector/record.h"

#include <boost/json.hpp>

#include "host/base/error.h"

namespace lakeflow::host::connector {

namespace json = boost::json;

write_record record_file::load() const {
    write_record out;
    const auto bytes = io_->read(file_);
    if (!bytes) return out;
    try {
        const auto value = json::parse(json::string_view(bytes->data(), bytes->size()));
        const auto& o = value.as_object();
        out.batch = std::string(o.at("batch").as_string());
        out.generation = o.at("generation").to_number<int>();
        out.key = std::string(o.at("key").as_string());
        for (const auto& message : o.at("pending").as_array()) out.pending.push_back(json::serialize(message));
        for (const auto& id : o.at("ids").as_array()) out.ids.emplace_back(id.as_string());
        out.partly = o.at("partly").as_bool();
    } catch (const std::exception& e) {
        throw failure("state.corrupt", "the file " + file_.string() + " is not whole: " + e.what(),
                      "it names what a failed write has left at the service; move it away once that is removed there");
    }
    return out;
}

void record_file::save(const write_record& record) const {
    json::array pending;
    for (const auto& message : record.pending) pending.push_back(json::parse(message));
    const json::object o{{"batch", record.batch},
                         {"generation", record.generation},
                         {"key", record.key},
                         {"pending", std::move(pending)},
                         {"ids", json::array(record.ids.begin(), record.ids.end())},
                         {"partly", record.partly}};
    auto temporary = file_;
    temporary += ".tmp";
    io_->make_directories(file_.parent_path());
    io_->write(temporary, json::serialize(o) + "\n");
    io_->sync(temporary);
    io_->rename(temporary, file_);
    io_->sync_directory(file_.parent_path());
}

void record_file::remove() const {
    if (!io_->read(file_)) return;
    io_->remove(file_);
    io_->sync_directory(file_.parent_path());
}

}  // namespace lakeflow::host::connector
