// plugins/http_api/writing.hpp: a resource as a destination, as its `write` declares it (contract 28). Each request carries an idempotency
// key made of the write's key, the partition and the number of the chunk, so that a retried or speculative writer leaves nothing twice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "service.hpp"

namespace lakeflow::http_api {

// Checks what can be checked without a request, then truncates where the mode says so.
json begin(const service& to, const resource& of, const write_args& args);

std::unique_ptr<batch_writer> open_batches(std::shared_ptr<const service> to, resource of, const write_args& args);

void commit_all(const service& to, const resource& of, const write_args& args, const std::vector<json>& messages);

// Takes back the batches of the messages; gives those that could not be.
std::vector<std::string> roll_back(const service& to, const resource& of, const write_args& args,
                                   const std::vector<json>& messages);

// False where the service cannot be asked: the host then writes again under the same keys.
bool knows_commit(const service& to, const resource& of, const write_args& args);

}  // namespace lakeflow::http_api
