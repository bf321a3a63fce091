// What a plugin answers to a plan or an explain, mutated: it is taken or refused as a breach of contract, and nothing else happens.
#include <cstddef>
#include <cstdint>
#include <string>

#include "host/arrow/fuzz.h"
#include "host/base/error.h"
#include "host/scan/explain.h"
#include "host/scan/negotiate.h"

using namespace lakeflow::host;

namespace {

template <class Call>
void only_breaches(Call call) {
    try {
        call();
    } catch (const failure& f) {
        if (f.get().code != "plugin.contract") __builtin_trap();
    }
}

scan_wish wish_of(unsigned which) {
    scan_wish out;
    predicate p;
    p.op = predicate_op::greater;
    p.column = {"amount"};
    p.type = {type_id::float64};
    p.format = "g";
    p.values = {literal(1.5)};
    if (which & 1U) out.filters = {p, make_not(p)};
    out.columns = {0, 2};
    if (which & 2U)
        out.aggregate = aggregation{{{"name"}}, {{aggregate_op::count_star, {}}, {aggregate_op::sum, {"amount"}}}};
    if (which & 4U) {
        out.limit = 5;
        out.offset = which & 8U ? 3 : 0;
        out.order_by = {{{"id"}, false, true}};
    }
    if (which & 16U) out.sample = sample_wish{"bernoulli", "0.5", 1};
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const auto table =
        std::make_shared<const arrow_schema>(parse_ddl("id BIGINT NOT NULL, name STRING, amount DOUBLE"));
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto wish = wish_of(data[0]);
    only_breaches([&] {
        int asked = 0;
        const auto choice = negotiate(
            wish, table, [&](const std::string&) { return ++asked > 8 ? std::nullopt : std::optional(text); }, "fuzz");
        // Whatever was answered, no condition is lost: it is promised or left to the host.
        if (choice.exact.size() + choice.residual.size() != wish.filters.size()) __builtin_trap();
        if (!choice.residual.empty() && (choice.aggregate != answer::no || choice.limit != answer::no))
            __builtin_trap();
    });
    only_breaches([&] { parse_explanation(text, "fuzz"); });
    return 0;
}

std::vector<std::string> lakeflow::host::fuzz_corpus() {
    return {
        "\x01"
        R"({"filters":["exact","partial"],"scan":{"a":1}})",
        "\x03"
        R"({"filters":["exact","exact"],"aggregate":"partial","scan":{},"schema":[{"name":"name","type":"u"},{"name":"n","type":"l"},{"name":"s","type":"g"}]})",
        "\x0c"
        R"({"limit":"exact","offset":"exact","order_by":"partial","columns":"exact","scan":{},"schema":[{"name":"id","type":"l"},{"name":"amount","type":"g"}]})",
        "\x10"
        R"({"sample":"exact","columns":"no","scan":{"s":[1,2,{}]}})",
        std::string(1, '\0') + R"({"description":"d","lines":["a","b"],"requests":["GET /"],"table":"t"})",
    };
}

std::vector<std::string> lakeflow::host::fuzz_words() {
    return {"{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"exact\"",
            "\"partial\"",
            "\"no\"",
            "\"filters\":",
            "\"schema\":",
            "\"scan\":",
            "null",
            "1e9",
            "\"type\":\"d:38,0\"",
            "\"type\":\"+s\"",
            "\"limit\":"};
}
