// host/plugin/elf.h: looks at a shared library before the dynamic linker does. A library that was cut short would end the process
// with SIGBUS, and dlopen's own messages do not tell a wrong architecture from a missing dependency. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lakeflow::host {

// Checks magic, class, byte order, machine and type, and that every loadable segment and the section headers end inside the file.
// Throws plugin.not_a_library or plugin.wrong_architecture, naming the file and what was found. Returns its DT_NEEDED names.
std::vector<std::string> check_elf(const std::filesystem::path& file);

}  // namespace lakeflow::host
