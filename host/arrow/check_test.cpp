// host/arrow/check_test.cpp: arrays that lie, one lie a case, each with the code that it must give.
#include <array>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "host/arrow/arrow.h"
#include "host/base/error.h"

using namespace lakeflow::host;

namespace {

void no_release(ArrowArray* array) { array->release = nullptr; }

// An array over memory of the test: any of its numbers can be made to lie.
struct hand_made {
    std::vector<const void*> buffers;
    std::vector<ArrowArray*> children;
    ArrowArray raw{};

    hand_made(std::int64_t length, std::vector<const void*> b, std::vector<ArrowArray*> c = {})
        : buffers(std::move(b)), children(std::move(c)) {
        raw.length = length;
        raw.n_buffers = static_cast<std::int64_t>(buffers.size());
        raw.buffers = buffers.empty() ? nullptr : buffers.data();
        raw.n_children = static_cast<std::int64_t>(children.size());
        raw.children = children.empty() ? nullptr : children.data();
        raw.release = no_release;
    }
    hand_made(const hand_made&) = delete;
    hand_made& operator=(const hand_made&) = delete;
};

alignas(16) std::array<std::uint8_t, 1> bits{0b0101};  // rows 0 and 2 of three
alignas(16) std::array<std::int64_t, 4> numbers{1, 2, 3, 4};
alignas(16) std::array<std::int32_t, 4> offsets{0, 1, 3, 3};
alignas(16) std::array<std::int32_t, 4> down{0, 3, 1, 3};
alignas(16) std::array<std::int32_t, 4> below_zero{-1, 1, 3, 3};
alignas(16) std::array<std::int64_t, 4> wide_down{0, 3, 1, 3};
alignas(16) std::array<std::int64_t, 6> decimals{9999, 0, -9999, -1, 10000, 0};

struct outcome {
    std::string code = "fine";
    std::string message;
};

outcome check(const char* ddl, ArrowArray& column, std::int64_t rows,
              const std::function<void(ArrowArray&)>& spoil = {}) {
    const arrow_schema schema = parse_ddl(ddl);
    hand_made top(rows, {nullptr}, {&column});
    if (spoil) spoil(top.raw);
    try {
        check_array(*schema.get(), top.raw, "plugin x, table t");
    } catch (const failure& f) {
        return {f.get().code, f.get().message};
    }
    return {};
}

void expect(const outcome& o, std::string_view code, std::string_view part) {
    BOOST_TEST(o.code == code, o.message);
    BOOST_TEST(o.message.find(part) != std::string::npos, o.message);
    BOOST_TEST(o.message.starts_with("plugin x, table t"), o.message);
}

constexpr std::string_view invalid = "records.invalid_array";

}  // namespace

BOOST_AUTO_TEST_CASE(good_arrays_pass) {
    hand_made ints(3, {nullptr, numbers.data()});
    BOOST_TEST(check("id BIGINT NOT NULL", ints.raw, 3).code == "fine");
    hand_made marked(3, {bits.data(), numbers.data()});
    for (const std::int64_t nulls : {-1, 1}) {
        marked.raw.null_count = nulls;
        BOOST_TEST(check("id BIGINT", marked.raw, 3).code == "fine");
    }
    hand_made text(3, {nullptr, offsets.data(), "abc"});
    BOOST_TEST(check("s STRING", text.raw, 3).code == "fine");
    hand_made element(3, {nullptr, numbers.data()});
    hand_made list(3, {nullptr, offsets.data()}, {&element.raw});
    BOOST_TEST(check("l ARRAY<BIGINT>", list.raw, 3).code == "fine");
    hand_made empty(0, {nullptr, nullptr, nullptr});
    BOOST_TEST(check("s STRING", empty.raw, 0).code == "fine");
    hand_made nothing(3, {});
    nothing.raw.null_count = 3;
    BOOST_TEST(check("n VOID", nothing.raw, 3).code == "fine");
    // A batch without columns has a length all the same.
    const arrow_schema none = parse_ddl("");
    hand_made top(7, {nullptr});
    check_array(*none.get(), top.raw, "x");
}

BOOST_AUTO_TEST_CASE(counts_that_lie) {
    hand_made ints(3, {nullptr, numbers.data()});
    const auto spoiled = [&](const std::function<void(ArrowArray&)>& spoil) {
        const ArrowArray before = ints.raw;
        spoil(ints.raw);
        const outcome o = check("id BIGINT", ints.raw, 3);
        ints.raw = before;
        return o;
    };
    expect(spoiled([](ArrowArray& a) { a.length = -1; }), invalid, "column id: its length is -1");
    expect(spoiled([](ArrowArray& a) { a.length = 2; }), invalid, "2 rows, fewer than the 3");
    expect(spoiled([](ArrowArray& a) { a.length = std::int64_t{1} << 62; }), invalid, "its length is");
    expect(spoiled([](ArrowArray& a) { a.offset = -1; }), invalid, "its offset is -1");
    expect(spoiled([](ArrowArray& a) { a.offset = std::int64_t{1} << 62; }), invalid, "its offset is");
    expect(spoiled([](ArrowArray& a) { a.null_count = 4; }), invalid, "4 nulls in 3 rows");
    expect(spoiled([](ArrowArray& a) { a.null_count = -2; }), invalid, "-2 nulls");
    expect(spoiled([](ArrowArray& a) { a.null_count = 1; }), invalid, "1 nulls and has no bitmap");
    expect(spoiled([](ArrowArray& a) { a.n_buffers = 3; }), invalid, "3 buffers; BIGINT has 2");
    expect(spoiled([](ArrowArray& a) { a.buffers = nullptr; }), invalid, "its buffers is null");
    expect(spoiled([](ArrowArray& a) { a.n_children = 1; }), invalid, "1 children and the schema has 0");
    expect(spoiled([](ArrowArray& a) { a.release = nullptr; }), invalid, "released before");
    expect(spoiled([&](ArrowArray& a) { a.dictionary = &ints.raw; }), invalid, "dictionary");
    ints.buffers[1] = nullptr;
    expect(check("id BIGINT", ints.raw, 3), invalid, "buffer 1 is a null pointer");
    ints.buffers[1] = reinterpret_cast<const char*>(numbers.data()) + 4;
    expect(check("id BIGINT", ints.raw, 3), invalid, "not aligned to 8");
    ints.buffers[1] = numbers.data();

    expect(check("id BIGINT", ints.raw, 3, [](ArrowArray& top) { top.n_children = 0; }), "records.schema_drift",
           "the batch: it has 0 children");
    expect(check("id BIGINT", ints.raw, 3, [](ArrowArray& top) { top.children = nullptr; }), invalid,
           "children is null");
    expect(check("id BIGINT", ints.raw, 3, [](ArrowArray& top) { top.children[0] = nullptr; }), invalid, "child 0");
    expect(check("id BIGINT", ints.raw, 3, [](ArrowArray& top) { top.offset = 1; }), invalid,
           "3 rows, fewer than the 4");
    expect(check("id BIGINT", ints.raw, 3,
                 [](ArrowArray& top) {
                     top.buffers[0] = bits.data();
                     top.null_count = 1;
                 }),
           invalid, "a row is null as a whole");
}

BOOST_AUTO_TEST_CASE(null_counts_that_lie) {
    hand_made ints(3, {bits.data(), numbers.data()});
    ints.raw.null_count = 2;
    expect(check("id BIGINT", ints.raw, 3), invalid, "it says that it has 2 nulls and its bitmap has 1");
    ints.raw.null_count = 0;
    expect(check("id BIGINT", ints.raw, 3), invalid, "0 nulls and its bitmap has 1");
    ints.raw.null_count = 1;
    expect(check("id BIGINT NOT NULL", ints.raw, 3), "records.null_in_required",
           "column id: it is NOT NULL and is null in row 1");
    hand_made nothing(3, {});
    nothing.raw.null_count = 1;
    expect(check("n VOID", nothing.raw, 3), invalid, "1 nulls in 3 rows");
    nothing.raw.null_count = -1;
    expect(check("n VOID NOT NULL", nothing.raw, 3), "records.null_in_required", "row 0");
}

BOOST_AUTO_TEST_CASE(nulls_below_a_null_struct_are_nobodys) {
    hand_made child(3, {bits.data(), numbers.data()});
    child.raw.null_count = 1;
    hand_made parent(3, {bits.data()}, {&child.raw});
    parent.raw.null_count = 1;
    BOOST_TEST(check("s STRUCT<a: BIGINT NOT NULL>", parent.raw, 3).code == "fine");
    parent.buffers[0] = nullptr;
    parent.raw.null_count = 0;
    expect(check("s STRUCT<a: BIGINT NOT NULL>", parent.raw, 3), "records.null_in_required", "column s.a");
}

BOOST_AUTO_TEST_CASE(offsets_that_lie) {
    hand_made text(3, {nullptr, down.data(), "abc"});
    expect(check("s STRING", text.raw, 3), invalid, "its offsets decrease in row 1, from 3 to 1");
    expect(check("s BINARY", text.raw, 3), invalid, "its offsets decrease");
    text.buffers[1] = below_zero.data();
    expect(check("s STRING", text.raw, 3), invalid, "its first offset is -1");
    text.buffers[1] = offsets.data();
    text.buffers[2] = nullptr;
    expect(check("s STRING", text.raw, 3), invalid, "its data are a null pointer");
    hand_made element(2, {nullptr, numbers.data()});
    hand_made list(3, {nullptr, offsets.data()}, {&element.raw});
    expect(check("l ARRAY<BIGINT>", list.raw, 3), invalid,
           "column l.element: it has 2 elements, and the lists reach to 3");
    element.raw.length = 3;
    list.buffers[1] = down.data();
    expect(check("l ARRAY<BIGINT>", list.raw, 3), invalid, "its offsets decrease");
    hand_made large(3, {nullptr, wide_down.data(), "abc"});
    arrow_schema schema = parse_ddl("s STRING");
    schema.get()->children[0]->format = "U";
    hand_made top(3, {nullptr}, {&large.raw});
    BOOST_CHECK_EXCEPTION(check_array(*schema.get(), top.raw, "x"), failure,
                          [](const failure& f) { return f.get().message.find("decrease") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(text_that_is_not_utf8) {
    hand_made text(3, {nullptr, offsets.data(), "a\xC3\xA9"});
    BOOST_TEST(check("s STRING", text.raw, 3).code == "fine");
    text.buffers[2] = "\xC3\xA9z";  // as a whole it is UTF-8, but row 0 ends inside a character
    expect(check("s STRING", text.raw, 3), invalid, "the text of row 0 is not UTF-8");
    text.buffers[2] = "ab\xff";
    expect(check("s STRING", text.raw, 3), invalid, "the text of row 1 is not UTF-8");
    BOOST_TEST(check("s BINARY", text.raw, 3).code == "fine");
    text.buffers[0] = bits.data();  // row 1 is null: what lies there is nobody's
    text.raw.null_count = 1;
    BOOST_TEST(check("s STRING", text.raw, 3).code == "fine");
}

BOOST_AUTO_TEST_CASE(decimals_past_their_precision) {
    hand_made column(2, {nullptr, decimals.data()});
    BOOST_TEST(check("d DECIMAL(4,2)", column.raw, 2).code == "fine");
    column.raw.length = 3;
    expect(check("d DECIMAL(4,2)", column.raw, 3), invalid, "row 2 has more than 4 digits");
}

BOOST_AUTO_TEST_CASE(maps) {
    hand_made keys(3, {nullptr, offsets.data(), "abc"});
    hand_made values(3, {nullptr, numbers.data()});
    hand_made entries(3, {nullptr}, {&keys.raw, &values.raw});
    hand_made map(3, {nullptr, offsets.data()}, {&entries.raw});
    BOOST_TEST(check("m MAP<STRING, BIGINT>", map.raw, 3).code == "fine");
    entries.buffers[0] = bits.data();
    entries.raw.null_count = 1;
    expect(check("m MAP<STRING, BIGINT>", map.raw, 3), "records.null_in_required", "column m.entries");
    entries.buffers[0] = nullptr;
    entries.raw.null_count = 0;
    keys.buffers[0] = bits.data();
    keys.raw.null_count = 1;
    expect(check("m MAP<STRING, BIGINT>", map.raw, 3), "records.null_in_required", "column m.entries.key");
}
