// sdk/tests/builder_test.cpp: typed values to Arrow arrays, nested ones included, and values that do not fit.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "lakeflow/cpp/builder.hpp"

using namespace lakeflow;

namespace {

template <class T>
T value_at(const ArrowArray* array, size_t buffer, size_t place) {
    T out;
    std::memcpy(&out, static_cast<const char*>(array->buffers[buffer]) + place * sizeof(T), sizeof out);
    return out;
}

bool valid_at(const ArrowArray* array, size_t place) {
    if (array->buffers[0] == nullptr) return true;
    return (static_cast<const uint8_t*>(array->buffers[0])[place / 8] >> (place % 8) & 1) != 0;
}

std::string text_at(const ArrowArray* array, size_t place) {
    auto from = value_at<int32_t>(array, 1, place), to = value_at<int32_t>(array, 1, place + 1);
    return std::string(static_cast<const char*>(array->buffers[2]) + from, static_cast<size_t>(to - from));
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_of_plain_columns) {
    batch_builder rows(
        schema::ddl("id BIGINT NOT NULL, name STRING, on BOOLEAN, n INT, x DOUBLE, at TIMESTAMP, d DATE"));
    for (int i = 0; i < 20; ++i) {
        rows["id"].append(i);
        if (i % 2 == 0) rows["name"].append("row " + std::to_string(i));
        rows["on"].append(i % 3 == 0);
        rows["n"].append(-i);
        rows["x"].append(i / 2.0);
        rows["at"].append("1970-01-01T00:00:01Z");
        rows["d"].append(10);
        rows.end_row();
    }
    BOOST_TEST(rows.rows() == 20);
    BOOST_TEST(rows.bytes() > 500u);
    batch out = rows.finish();
    BOOST_TEST(out.rows() == 20);
    BOOST_TEST(out->n_children == 7);
    const ArrowArray* name = out->children[1];
    BOOST_TEST(name->null_count == 10);
    BOOST_TEST(valid_at(name, 18));
    BOOST_TEST(!valid_at(name, 19));
    BOOST_TEST(text_at(name, 18) == "row 18");
    BOOST_TEST(text_at(name, 19) == "");
    BOOST_TEST(value_at<int64_t>(out->children[0], 1, 19) == 19);
    BOOST_TEST(value_at<int32_t>(out->children[3], 1, 19) == -19);
    BOOST_TEST(value_at<double>(out->children[4], 1, 19) == 9.5);
    BOOST_TEST((value_at<uint8_t>(out->children[2], 1, 1) & 3) == 2);  // rows 8 and 9
    BOOST_TEST(value_at<int64_t>(out->children[5], 1, 0) == 1'000'000);
    BOOST_TEST(rows.rows() == 0);
    BOOST_TEST(rows.finish().rows() == 0);
}

BOOST_AUTO_TEST_CASE(nested_columns) {
    batch_builder rows(schema::ddl(
        "user STRUCT<login: STRING NOT NULL, id: BIGINT>, tags ARRAY<STRING>, counts MAP<STRING, INT>, deep "
        "ARRAY<STRUCT<x: INT>>"));
    rows["user"]["login"].append("ann"), rows["user"].end();
    rows["tags"].item().append("a"), rows["tags"].item().append_null(), rows["tags"].end();
    rows["counts"].key().append("k"), rows["counts"].value().append(1), rows["counts"].end();
    rows["deep"].item()["x"].append(5), rows["deep"].item().end(), rows["deep"].end();
    rows.end_row();
    rows.end_row();  // nulls, also where a member may not be null by itself
    rows["tags"].end();
    rows.end_row();
    rows.append(
        json::parse(R"({"user":{"login":"bob","id":7},"tags":["x","y"],"counts":{},"deep":[{"x":1},{}],"more":1})"));
    batch out = rows.finish();
    BOOST_TEST(out.rows() == 4);
    const ArrowArray* user = out->children[0];
    BOOST_TEST(user->null_count == 2);
    BOOST_TEST(user->children[0]->length == 4);
    BOOST_TEST(text_at(user->children[0], 3) == "bob");
    BOOST_TEST(!valid_at(user->children[1], 0));
    const ArrowArray* tags = out->children[1];
    BOOST_TEST(tags->null_count == 1);
    BOOST_TEST(value_at<int32_t>(tags, 1, 1) == 2);
    BOOST_TEST(value_at<int32_t>(tags, 1, 3) == 2);  // the empty list
    BOOST_TEST(valid_at(tags, 2));
    BOOST_TEST(value_at<int32_t>(tags, 1, 4) == 4);
    BOOST_TEST(!valid_at(tags->children[0], 1));
    const ArrowArray* counts = out->children[2];
    BOOST_TEST(counts->n_children == 1);
    BOOST_TEST(counts->children[0]->n_children == 2);
    BOOST_TEST(counts->children[0]->length == 1);
    BOOST_TEST(out->children[3]->children[0]->children[0]->length == 3);
}

BOOST_AUTO_TEST_CASE(values_that_do_not_fit_are_refused) {
    batch_builder rows(
        schema::ddl("a TINYINT, b DECIMAL(5,2), c STRING, d DOUBLE, e BIGINT, f BOOLEAN, g TIMESTAMP, h FLOAT"));
    auto refused = [&](auto&& put) {
        try {
            put();
            return false;
        } catch (const failure& error) {
            rows.abandon_row();
            return error.code() == "value.mismatch";
        }
    };
    BOOST_TEST(refused([&] { rows["a"].append(128); }));
    BOOST_TEST(refused([&] { rows["b"].append("1000.00"); }));
    BOOST_TEST(refused([&] { rows["b"].append("1.234"); }));
    BOOST_TEST(refused([&] { rows["b"].append("1,2"); }));
    BOOST_TEST(refused([&] { rows["c"].append(1); }));
    BOOST_TEST(refused([&] { rows["c"].append("\xff"); }));
    BOOST_TEST(refused([&] { rows["d"].append((int64_t{1} << 53) + 1); }));
    BOOST_TEST(refused([&] { rows["e"].append(json::parse("1.5")); }));
    BOOST_TEST(refused([&] { rows["e"].append(UINT64_MAX); }));
    BOOST_TEST(refused([&] { rows["d"].append(json::parse("1e400")); }));
    BOOST_TEST(refused([&] { rows["h"].append(1e300); }));
    BOOST_TEST(refused([&] { rows["f"].append(1); }));
    BOOST_TEST(refused([&] { rows["g"].append("yesterday"); }));
    BOOST_CHECK_THROW(rows["nothing"], failure);
    rows["b"].append("-999.99");
    rows.end_row();
    rows["b"].append(7), rows["e"].append(json::parse("7.0"));
    rows.end_row();
    batch out = rows.finish();
    BOOST_TEST(out.rows() == 2);
    BOOST_TEST(value_at<int64_t>(out->children[1], 1, 0) == -99999);
    BOOST_TEST(value_at<int64_t>(out->children[1], 1, 1) == -1);  // the high half of a negative number
    BOOST_TEST(value_at<int64_t>(out->children[1], 1, 2) == 700);
    BOOST_TEST(value_at<int64_t>(out->children[4], 1, 1) == 7);
}

BOOST_AUTO_TEST_CASE(a_row_that_fails_leaves_nothing_behind) {
    batch_builder rows(schema::ddl("id BIGINT NOT NULL, tags ARRAY<STRING>, user STRUCT<a: STRING>"));
    rows.append(json::parse(R"({"id":1,"tags":["a"],"user":{"a":"x"}})"));
    rows["tags"].item().append("lost");
    rows["user"]["a"].append("lost");
    try {
        rows.end_row();
        BOOST_ERROR("a row without id was accepted");
    } catch (const failure& error) {
        BOOST_TEST(error.code() == "records.null_in_required");
        BOOST_TEST(error.message().find("column 'id'") == 0u);
    }
    BOOST_CHECK_THROW(rows.append(json::parse(R"({"id":2,"tags":["b"],"user":7})")), failure);
    rows["id"].append(3), rows["id"].append(4);
    BOOST_CHECK_THROW(rows.end_row(), failure);
    rows.append(json::parse(R"({"id":5,"tags":["c"],"user":{"a":"y"}})"));
    batch out = rows.finish();
    BOOST_TEST(out.rows() == 2);
    BOOST_TEST(value_at<int64_t>(out->children[0], 1, 1) == 5);
    BOOST_TEST(out->children[1]->children[0]->length == 2);
    BOOST_TEST(text_at(out->children[1]->children[0], 1) == "c");
    BOOST_TEST(text_at(out->children[2]->children[0], 1) == "y");
}

BOOST_AUTO_TEST_CASE(a_batch_owns_itself) {
    batch out;
    {
        batch_builder rows(schema::ddl("id BIGINT, s STRUCT<x: STRING>"));
        rows.append(json::parse(R"({"id":1,"s":{"x":"kept"}})"));
        out = rows.finish();
    }
    ArrowArray child = *out->children[1];
    out->children[1]->release = nullptr;  // moved out by a consumer
    batch moved = std::move(out);
    BOOST_TEST(!out);  // NOLINT(bugprone-use-after-move): what a moved-from batch is, is what is tested
    BOOST_TEST(moved.rows() == 1);
    moved.reset();
    BOOST_TEST(text_at(child.children[0], 0) == "kept");
    child.release(&child);
}
