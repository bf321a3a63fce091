// host/arrow/fuzz.h: what a fuzz target gives to the driver in fuzz_main.cpp. With clang, libFuzzer takes the driver's place:
// clang++ -fsanitize=fuzzer,address with the target's file alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it by this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lakeflow::host {

// Inputs to begin with, and words that mutations put in.
std::vector<std::string> fuzz_corpus();
std::vector<std::string> fuzz_words();

}  // namespace lakeflow::host
