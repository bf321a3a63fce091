// The words of the corpus: titles, bodies, messages, made from hashes. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lakeflow::github_server {

// A title with quotes, backslashes and text of several scripts in it, as plain UTF-8.
std::string title_of(std::uint64_t hash, std::uint32_t revision);
// Appends a JSON string (with its quotes) of about `bytes` bytes: sentences with CRLF, tabs, control characters, emoji, both directions.
void append_body(std::string& out, std::uint64_t hash, std::size_t bytes, std::uint32_t revision);
std::string branch_word(std::uint64_t hash);

}  // namespace lakeflow::github_server
