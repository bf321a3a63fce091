// See prose.h.
#include "tests/github_server/prose.h"

#include <array>
#include <string_view>
#include <vector>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

constexpr std::array<std::string_view, 16> verbs{"Fix",     "Speed up", "Document", "Remove",   "Rework",  "Test",
                                                 "Port",    "Guard",    "Revert",   "Simplify", "Support", "Prepare",
                                                 "Explain", "Measure",  "Rename",   "Split"};
constexpr std::array<std::string_view, 20> things{"the parser",
                                                  "offsets past 2^31",
                                                  "the \"simple\" reader",
                                                  "数据导入",
                                                  "C:\\temp\\lake paths",
                                                  "naïve retries",
                                                  "Ünïcode in Straßennamen",
                                                  "the cache 🚀",
                                                  "a null author",
                                                  "العربية في العناوين",
                                                  "tabs\tin titles",
                                                  "<b>HTML</b> & entities",
                                                  "100 % CPU",
                                                  "the {template} braces",
                                                  "emoji 👩‍👩‍👧‍👦 families",
                                                  "memory use",
                                                  "time zones",
                                                  "the build",
                                                  "slow pages",
                                                  "Привет, мир"};

// Already escaped, so that a body is a few copies.
const std::vector<std::string>& sentences() {
    static const std::vector<std::string> made = [] {
        constexpr std::array<std::string_view, 18> raw{
            "The job stops at the first page and reports success. ",
            "Steps to reproduce:\r\n1. start the server\r\n2. ask for `page=2`\r\n\r\n",
            "It says \"not found\" although C:\\Users\\me\\repo is there. ",
            "日本語のテキストも正しく保存されるべきです。",
            "Ça marche à moitié, naïvement – « voilà ». ",
            "```cpp\r\nif (x < 1 && y > 2) { return \"a\\n\"; }\r\n```\r\n",
            "🚀🔥 works on my machine 👩‍💻\n",
            "| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n",
            "Это важно, потому что строки повторяются. ",
            "هذا نص من اليمين إلى اليسار. ",
            "Terminal output: \x1b[31mred\x1b[0m and a bell \x07. ",
            "See https://example.com/a?b=c&d=%20e for details. ",
            "Line separator \u2028 and paragraph separator \u2029 survive. ",
            "- [ ] a task\r\n- [x] a done task\r\n",
            "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 beyond the first plane: 𐍈 😀. ",
            "A tab\tand a form feed \f and a backspace \b. ",
            "We saw it twice last week, under load, with eight workers. ",
            "Expected: every row once. Actual: some rows twice, some never. "};
        std::vector<std::string> out;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            for (const bool ascii : {false, true}) {
                std::string text;
                append_json(text, raw[i], ascii);
                out.push_back(text.substr(1, text.size() - 2));
            }
        }
        return out;
    }();
    return made;
}

}  // namespace

std::string title_of(std::uint64_t hash, std::uint32_t revision) {
    std::string out{verbs[hash % verbs.size()]};
    out.append(" ").append(things[hash / 16 % things.size()]);
    if (hash / 320 % 3 == 0) out.append(" and ").append(things[hash / 960 % things.size()]);
    if (revision > 0) out.append(" (edit ").append(std::to_string(revision)).append(")");
    return out;
}

void append_body(std::string& out, std::uint64_t hash, std::size_t bytes, std::uint32_t revision) {
    const std::vector<std::string>& pool = sentences();
    const std::size_t start = out.size();
    out.push_back('"');
    if (revision > 0) out.append("Edit ").append(std::to_string(revision)).append(". ");
    for (std::uint64_t h = hash; out.size() - start + 2 < bytes; h = mix(h)) {
        const std::string& sentence = pool[h % pool.size()];
        const std::size_t room = bytes - (out.size() - start) - 1;
        // Near the end only plain ASCII without escapes can be cut anywhere.
        if (sentence.size() <= room)
            out += sentence;
        else
            out.append(room, static_cast<char>('a' + h % 26));
    }
    out.push_back('"');
}

std::string branch_word(std::uint64_t hash) {
    return "topic/" + std::string(lower(verbs[hash % verbs.size()].substr(0, 4))) + "-" + std::to_string(hash % 9973);
}

}  // namespace lakeflow::github_server
