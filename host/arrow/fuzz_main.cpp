// host/arrow/fuzz_main.cpp: runs a fuzz target on mutations of its corpus, for compilers without libFuzzer. A run is known by its
// seed, which is printed. Usage: <target> [runs] [seed], or <target> --file FILE to run one input again.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include "host/arrow/fuzz.h"

namespace {

std::uint64_t number_of(std::string_view text, std::uint64_t otherwise) {
    std::uint64_t value = 0;
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc() ? value : otherwise;
}

class mutator {
  public:
    explicit mutator(std::uint64_t seed) : random_(seed) {}

    std::string next(const std::vector<std::string>& corpus, const std::vector<std::string>& words) {
        std::string input = corpus[below(corpus.size())];
        const std::size_t changes = below(6);
        for (std::size_t i = 0; i < changes; ++i) change(input, corpus, words);
        return input;
    }

  private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

    void change(std::string& s, const std::vector<std::string>& corpus, const std::vector<std::string>& words) {
        const std::size_t at = below(s.size() + 1);
        switch (below(8)) {
            case 0:
                if (at < s.size()) s[at] = static_cast<char>(random_());
                break;
            case 1:
                if (at < s.size()) s[at] = static_cast<char>(static_cast<unsigned char>(s[at]) ^ (1u << below(8)));
                break;
            case 2: s.insert(at, 1, static_cast<char>(random_())); break;
            case 3: s.erase(at, below(9)); break;
            case 4: s.insert(at, s.substr(below(s.size() + 1), below(40))); break;
            case 5: s.insert(at, words[below(words.size())]); break;
            case 6: {
                const std::string& other = corpus[below(corpus.size())];
                s = s.substr(0, at) + other.substr(below(other.size() + 1));
                break;
            }
            default: s.resize(at); break;
        }
    }

    std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--file") {
        std::ifstream file(argv[2], std::ios::binary);
        const std::string input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    }
    const std::uint64_t runs = number_of(argc > 1 ? argv[1] : "", 20'000);
    const std::uint64_t seed = number_of(argc > 2 ? argv[2] : "", std::random_device{}());
    std::printf("seed %llu, %llu runs\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(runs));
    std::fflush(stdout);
    const auto corpus = lakeflow::host::fuzz_corpus();
    const auto words = lakeflow::host::fuzz_words();
    mutator mutate(seed);
    for (const std::string& input : corpus)
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    for (std::uint64_t run = 0; run < runs; ++run) {
        const std::string input = mutate.next(corpus, words);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    }
    return 0;
}
