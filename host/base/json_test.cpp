// Offsets and descriptors: one form, refused when they are not what the contract says.
#include <boost/test/unit_test.hpp>

#include "host/base/error.h"
#include "host/base/json.h"

using namespace lakeflow::host;

namespace {
std::string code_of(auto&& call) {
    try {
        call();
    } catch (const failure& f) {
        return f.get().code;
    }
    return "none";
}
}  // namespace

BOOST_AUTO_TEST_CASE(an_offset_has_one_form) {
    BOOST_TEST(canonical_offset("{ \"b\" : 1.0,\n \"a\": \"x\\u00e9\\/\" }", "t") == "{\"a\":\"x\xc3\xa9/\",\"b\":1}");
    BOOST_TEST(canonical_offset("{\"n\":1e2}", "t") == canonical_offset("{\"n\": 100}", "t"));
    BOOST_TEST(canonical_offset("{}", "t") == "{}");
    BOOST_TEST(canonical_offset("{\"f\":true,\"s\":\"a\\nb\"}", "t") == "{\"f\":true,\"s\":\"a\\nb\"}");
    BOOST_TEST(canonical_offset("{\"n\":-9223372036854775808}", "t") == "{\"n\":-9223372036854775808}");
}

BOOST_AUTO_TEST_CASE(what_is_no_offset_is_refused_by_name) {
    for (const char* bad : {"", "[]", "7", "null", "{\"a\":1", "{} {}"}) {
        BOOST_TEST(code_of([&] { canonical_offset(bad, "t"); }) == "offset.not_an_object");
    }
    for (const char* bad : {"{\"a\":null}", "{\"a\":1.5}", "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":1e300}"}) {
        BOOST_TEST(code_of([&] { canonical_offset(bad, "t"); }) == "offset.not_primitive");
    }
    BOOST_TEST(code_of([] { canonical_offset("{\"a\":\"" + std::string(70000, 'x') + "\"}", "t"); }) ==
               "offset.not_an_object");
}

BOOST_AUTO_TEST_CASE(members_of_an_offset_are_read_and_set) {
    BOOST_TEST(offset_member("{\"a\":\"x\",\"b\":7}", "a") == "\"x\"");
    BOOST_TEST(offset_member("{\"a\":\"x\",\"b\":7}", "b") == "7");
    BOOST_TEST(offset_member("{\"a\":\"x\"}", "c").empty());
    BOOST_TEST(with_offset_member("{\"b\":7}", "a", "\"y\"") == "{\"a\":\"y\",\"b\":7}");
    BOOST_TEST(offset_members("{\"b\":7,\"a\":1}").size() == 2u);
}

BOOST_AUTO_TEST_CASE(descriptors_are_objects_of_any_shape) {
    const auto found = descriptors(R"([{"page": 3}, {"b":[1,null,1.5],"a":{"x":{}}}])", "t");
    BOOST_TEST(found.size() == 2u);
    BOOST_TEST(found[1] == R"({"a":{"x":{}},"b":[1,null,1.5E0]})");
    BOOST_TEST(descriptors("[]", "t").empty());
    BOOST_TEST(code_of([] { descriptors("{}", "t"); }) == "partition.descriptor_invalid");
    BOOST_TEST(code_of([] { descriptors("[1]", "t"); }) == "partition.descriptor_invalid");
    BOOST_TEST(code_of([] { descriptors("[{\"a\":\"" + std::string(70000, 'x') + "\"}]", "t"); }) ==
               "partition.descriptor_invalid");
}
