// host/plugin/elf.cpp: see elf.h. Layout: System V ABI, chapters 4 and 5; constants from <elf.h>.
#include "host/plugin/elf.h"

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

#include "host/base/error.h"

namespace lakeflow::host {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half our_machine = EM_X86_64;
constexpr std::string_view our_name = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half our_machine = EM_AARCH64;
constexpr std::string_view our_name = "AArch64";
#else
#error "lakeflow-host runs on x86-64 and AArch64"
#endif

std::string machine_name(Elf64_Half machine) {
    switch (machine) {
        case EM_386: return "32-bit x86";
        case EM_X86_64: return "x86-64";
        case EM_ARM: return "32-bit ARM";
        case EM_AARCH64: return "AArch64";
        case EM_RISCV: return "RISC-V";
        case EM_PPC64: return "PowerPC 64";
        case EM_S390: return "S/390";
        default: return "machine " + std::to_string(machine);
    }
}

class elf_file {
  public:
    explicit elf_file(const std::filesystem::path& path) : path_(path.string()), in_(path, std::ios::binary) {
        std::error_code ec;
        size_ = std::filesystem::file_size(path, ec);
        if (!in_ || ec)
            throw failure("plugin.not_a_library", path_ + " cannot be read", "Check the file's permissions.");
    }

    template <class T>
    T read(std::uint64_t offset) {
        T value{};
        if (!inside(offset, sizeof value)) cut();
        in_.seekg(static_cast<std::streamoff>(offset));
        in_.read(reinterpret_cast<char*>(&value), sizeof value);
        if (!in_) cut();
        return value;
    }

    std::string text(std::uint64_t offset) {
        std::string out;
        for (; inside(offset, 1) && out.size() < 4096; ++offset) {
            const char c = read<char>(offset);
            if (c == '\0') break;
            out += c;
        }
        return out;
    }

    bool inside(std::uint64_t offset, std::uint64_t length) const {
        return offset <= size_ && length <= size_ - offset;
    }
    std::uint64_t size() const { return size_; }
    const std::string& path() const { return path_; }

    [[noreturn]] void cut() const {
        throw failure("plugin.not_a_library",
                      path_ + " is a shared library that was cut short: it has " + std::to_string(size_) + " bytes",
                      "Copy the file again.");
    }

  private:
    std::string path_;
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

std::vector<std::string> needed(elf_file& file, const std::vector<Elf64_Phdr>& segments) {
    const auto to_offset = [&](std::uint64_t address) -> std::uint64_t {
        for (const auto& s : segments) {
            if (s.p_type == PT_LOAD && address >= s.p_vaddr && address < s.p_vaddr + s.p_filesz)
                return s.p_offset + (address - s.p_vaddr);
        }
        file.cut();
    };
    std::vector<std::string> names;
    for (const auto& segment : segments) {
        if (segment.p_type != PT_DYNAMIC) continue;
        std::vector<std::uint64_t> name_offsets;
        std::uint64_t strings = 0;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
            const auto entry = file.read<Elf64_Dyn>(segment.p_offset + at);
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_NEEDED) name_offsets.push_back(entry.d_un.d_val);
            if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
        }
        for (const std::uint64_t offset : name_offsets) names.push_back(file.text(to_offset(strings) + offset));
    }
    return names;
}

}  // namespace

std::vector<std::string> check_elf(const std::filesystem::path& path) {
    elf_file file(path);
    const auto not_a_library = [&](const std::string& why) {
        throw failure("plugin.not_a_library", file.path() + " is not a shared library: " + why,
                      "A plugin is a shared library (.so) built with the SDK.");
    };
    if (file.size() < EI_NIDENT || std::memcmp(file.read<std::array<char, SELFMAG>>(0).data(), ELFMAG, SELFMAG) != 0) {
        not_a_library(file.size() == 0 ? "it is empty" : "it does not begin with the ELF magic");
    }
    const auto ident = file.read<std::array<unsigned char, EI_NIDENT>>(0);
    const auto wrong = [&](const std::string& found) {
        throw failure("plugin.wrong_architecture",
                      file.path() + " is built for " + found + "; this host runs on " + std::string(our_name),
                      "Get the plugin's build for " + std::string(our_name) + ".");
    };
    if (ident[EI_CLASS] != ELFCLASS64) wrong("a 32-bit machine");
    if (ident[EI_DATA] != ELFDATA2LSB) wrong("a big-endian machine");
    const auto header = file.read<Elf64_Ehdr>(0);
    if (header.e_machine != our_machine) wrong(machine_name(header.e_machine));
    if (header.e_type != ET_DYN)
        not_a_library("it is an object file or a program of ELF type " + std::to_string(header.e_type));
    if (header.e_phentsize != sizeof(Elf64_Phdr)) not_a_library("its program headers have a wrong size");
    if (!file.inside(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize)) file.cut();

    std::vector<Elf64_Phdr> segments;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        segments.push_back(file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
        if (segments.back().p_type == PT_LOAD && !file.inside(segments.back().p_offset, segments.back().p_filesz))
            file.cut();
    }
    return needed(file, segments);
}

}  // namespace lakeflow::host
