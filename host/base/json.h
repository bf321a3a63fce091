// host/base/json.h: JSON text in the forms that the contract fixes. Plain text in and out, so that Boost.JSON stays in
// json.cpp and in the files that need its values. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

// The canonical form of an offset: one line, sorted keys, no spaces, integers in one form (1.0 and 1e0 are 1), strings
// escaped as little as JSON allows. Throws offset.not_an_object, offset.not_primitive (a fraction, null, list or object
// inside), or offset.not_an_object with the size if it is over `limit` bytes; the message names `what`.
std::string canonical_offset(std::string_view json, std::string_view what, std::size_t limit = 64 * 1024);

// One member of an offset, as JSON text ("\"x\"", "7", "true"); empty if it is not there.
std::string offset_member(std::string_view canonical, std::string_view member);
// An offset with one member set to a JSON text, canonical again.
std::string with_offset_member(std::string_view canonical, std::string_view member, std::string_view value_json);
// Names of the members of an offset, sorted.
std::vector<std::string> offset_members(std::string_view canonical);

// The elements of get_partitions' array, each canonical (sorted keys, one line). Throws partition.descriptor_invalid:
// not an array, an element that is no object, or one over `limit` bytes.
std::vector<std::string> descriptors(std::string_view json, std::string_view what, std::size_t limit = 64 * 1024);

// Any JSON text with sorted keys, no spaces, numbers as Boost.JSON reads them. Throws `code` if it is not JSON.
std::string canonical_json(std::string_view json, std::string_view code, std::string_view what);

// A string as a JSON string with quotes.
std::string quote_json(std::string_view text);

}  // namespace lakeflow::host
