// host/rows/decoder_fuzz.cpp: any bytes as a document. The decoder must end with rows or a `failure`, say the same whatever pieces the
// text comes in, and give arrays that hold together. The first byte picks a schema and a spec, the second the pieces.
#include <algorithm>
#include <string_view>

#include "host/arrow/arrow.h"
#include "host/arrow/fuzz.h"
#include "host/base/error.h"
#include "host/rows/decoder.h"

using namespace lakeflow::host;

namespace {

struct setting {
    std::string_view ddl;
    std::string_view spec;
};

constexpr setting settings[] = {
    {"id BIGINT, s STRING, t TIMESTAMP, f DOUBLE, d DECIMAL(10,2), b BOOLEAN",
     R"({"watch":["t"],"keep":[{"column":"id","op":"<>","value":3}]})"},
    {"l ARRAY<STRUCT<n: STRING, i: INT>>, m MAP<STRING, STRING>, s STRUCT<a: STRUCT<b: INT>>, x STRING, bin BINARY",
     R"({"records":"/data/items","captures":["/next","/data/n"],"columns":{"l":{"scalar":"n"},"x":{"path":"/s/a"}}})"},
    {"a STRING, b STRING, c INT",
     R"({"columns":{"a":{"path":"/x/0"},"b":{"path":"/x"},"c":{"path":"/x/1/y"}},"drop_keys":{"columns":["c"],"values":[[7]]}})"},
    {"id INT, s STRING", R"({"format":"jsonl"})"},
    {"id INT, s STRING, d DATE, l ARRAY<INT>", R"({"format":"csv"})"},
    {"j STRING, e TIMESTAMP, n TIMESTAMP_NTZ", R"({"columns":{"j":{"json":true},"e":{"format":"epoch_ms"}}})"},
};

std::string run(const setting& with, std::string_view text, std::size_t piece) {
    const arrow_schema schema = parse_ddl(with.ddl);
    decoder d(nullptr, *schema.get(), with.spec, decoder_limits{64, 256});
    std::string result;
    try {
        for (std::size_t at = 0; at < text.size(); at += piece) d.feed(text.substr(at, piece));
        d.finish();
        result = d.stats().substr(0, d.stats().find(",\"pending_bytes"));
        for (std::size_t i = 0; i < d.captures(); ++i) result += "\n" + d.capture(i).value_or("absent");
    } catch (const failure& f) {
        result = f.get().code + ": " + f.get().message;
    }
    arrow_array batch;
    while (d.take(batch)) {
        check_array(*schema.get(), *batch.get(), "decoded");
        for (std::int64_t row = 0; row < batch.rows(); ++row)
            for (std::int64_t c = 0; c < schema.columns(); ++c)
                result += "|" + value_text(schema.column(c), *batch.get()->children[c], row);
    }
    return result;
}

// Where a text is wrong in two ways, or a character is cut by the end of a piece, the place may be told differently.
std::string kind(const std::string& result) {
    const std::size_t at = result.find(" at byte ");
    return at == std::string::npos ? result : result.substr(0, at);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const setting& with = settings[data[0] % std::size(settings)];
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::string whole = run(with, text, text.size() + 1);
    const std::string parts = run(with, text, 1 + data[1] % 7);
    if (kind(whole) != kind(parts)) __builtin_trap();
    return 0;
}

std::vector<std::string> lakeflow::host::fuzz_corpus() {
    const std::string_view texts[][3] = {
        {R"([{"id":1,"s":"a\u00e9\ud83d\ude00\n","t":"2026-03-01T10:00:00.5+02:00","f":1e-3,"d":"12.50","b":true,"x":[{}]},{"id":7.0,"s":{"k":[1.50,null]}}])",
         R"([{"id":-9223372036854775808,"f":1.7976931348623157e308,"d":1E2,"t":null},{"s":"xyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyz"}])",
         "null"},
        {R"({"next":{"a":[1]},"data":{"n":7,"items":[{"l":["bug",{"n":"x","i":1},null],"m":{"a":"1","b":null},"s":{"a":{"b":5}},"bin":"AAE="}]}})",
         R"({"data":{"items":{"l":[],"m":{},"s":null}}})", R"({"data":null})"},
        {R"([{"x":["p",{"y":7}]},{"x":[]},{"x":[1,{"y":8},2]},{"x":{"0":1}}])", R"([{"x":null},{}])", "[]"},
        {"{\"id\":1,\"s\":\"a\"}\n\n{\"id\":2}\r\n {\"s\":[1]}", "\n", "{\"id\":1}\n{\"id\":\"x\"}"},
        {"id,s,d,l\r\n1,\"a \"\"b\"\"\r\nc\",2026-01-01,\"[1,null]\"\r\n,,,\r\n", "\xEF\xBB\xBFs,l,d,id\n\nx,,,7\n",
         "id,s,d,l"},
        {R"([{"j":"t","e":1700000000123,"n":"2026-03-01T10:00:00"},{"j":7.0},{"j":null},{"j":{"a":{"a":1}}}])",
         R"([{"e":1.5}])", "[{}]"},
    };
    std::vector<std::string> corpus;
    for (std::size_t s = 0; s < std::size(texts); ++s)
        for (const std::string_view text : texts[s])
            corpus.push_back(std::string(1, static_cast<char>(s)) + "\2" + std::string(text));
    return corpus;
}

std::vector<std::string> lakeflow::host::fuzz_words() {
    return {"{",     "}",    "[",       "]",           ",",       ":",       "\"",       "null",     "true",
            "1e400", "-0",   "\"id\":", "\"x\":",      "\\ud800", "\\u0000", "\xF0\x9F", "\xC3\xA9", "1e99999999999",
            "\"\"",  "\r\n", "0.0",     "\xEF\xBB\xBF"};
}
