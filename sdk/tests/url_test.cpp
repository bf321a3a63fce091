// sdk/tests/url_test.cpp: escaping, references, query parameters and Link headers.
#include <boost/test/unit_test.hpp>

#include "lakeflow/cpp/url.hpp"

using namespace lakeflow;

BOOST_AUTO_TEST_CASE(text_is_escaped_and_comes_back) {
    BOOST_TEST(url_encode("a b/c?d=e&f#g%h+i") == "a%20b%2Fc%3Fd%3De%26f%23g%25h%2Bi");
    BOOST_TEST(url_encode("A-z_0.9~") == "A-z_0.9~");
    BOOST_TEST(url_encode("\xc3\xa9") == "%C3%A9");
    BOOST_TEST(url_decode("a%20b%2fc%C3%A9") == "a b/c\xc3\xa9");
    BOOST_TEST(url_decode("100%") == "100%");
    BOOST_TEST(url_decode("%zz+") == "%zz+");
    BOOST_TEST(url_decode("a+b", true) == "a b");
}

BOOST_AUTO_TEST_CASE(paths_keep_the_base_and_escape_each_segment) {
    BOOST_TEST(url_path("https://api.example.com", {"repos", "a/b", "c d"}) ==
               "https://api.example.com/repos/a%2Fb/c%20d");
    BOOST_TEST(url_path("https://example.com/api/v3/", {"users"}) == "https://example.com/api/v3/users");
    for (const char* segment : {"", ".", ".."}) {
        BOOST_CHECK_THROW(url_path("https://example.com", {"repos", segment}), failure);
    }
}

BOOST_AUTO_TEST_CASE(query_parameters_are_added_read_and_replaced) {
    BOOST_TEST(url_add("https://h/p", "q", "a b&c") == "https://h/p?q=a%20b%26c");
    BOOST_TEST(url_add("https://h/p?x=1#f", {{"y", "2"}, {"z", ""}}) == "https://h/p?x=1&y=2&z=#f");
    BOOST_TEST(url_query("https://h/p?x=1&page=a+b%26&page=2", "page").value() == "a b&");
    BOOST_TEST(!url_query("https://h/p?xpage=1", "page"));
    BOOST_TEST(url_query("https://h/p?flag", "flag").value() == "");
    BOOST_TEST(url_set("https://h/p?a=1&page=2&b=3&page=9", "page", "3") == "https://h/p?a=1&page=3&b=3");
    BOOST_TEST(url_set("https://h/p", "page", "1") == "https://h/p?page=1");
}

BOOST_AUTO_TEST_CASE(references_are_resolved_by_rfc_3986) {
    // The examples of section 5.4.
    const std::pair<const char*, const char*> cases[] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
    };
    for (const auto& [reference, target] : cases) {
        BOOST_TEST(url_resolve("http://a/b/c/d;p?q", reference) == target, reference);
    }
    BOOST_TEST(url_resolve("http://a", "g") == "http://a/g");
    BOOST_TEST(url_resolve("http://a?x", "?y") == "http://a?y");
}

BOOST_AUTO_TEST_CASE(links_are_read_by_rfc_8288) {
    const char* github =
        "<https://api.github.com/repositories/1/issues?page=2>; rel=\"next\", "
        "<https://api.github.com/repositories/1/issues?page=50>; rel=\"last\"";
    BOOST_TEST(link_to(github, "next", "https://x/").value() == "https://api.github.com/repositories/1/issues?page=2");
    BOOST_TEST(url_query(link_to(github, "last", "https://x/").value(), "page").value() == "50");
    BOOST_TEST(!link_to(github, "prev", "https://x/"));
    // A comma and a semicolon in the address and in quotes, several relations, no quotes, upper case, a relative target.
    const char* odd = "<a,b;c?d=1,2> ; title=\"x, y; \\\"z\\\"\"; rel=\"start NEXT\",, </last> ;REL=last;rel=first";
    BOOST_TEST(link_to(odd, "next", "https://h/p/q").value() == "https://h/p/a,b;c?d=1,2");
    BOOST_TEST(link_to(odd, "last", "https://h/p/q").value() == "https://h/last");
    BOOST_TEST(!link_to(odd, "first", "https://h/p/q"));  // only the first rel of a link counts
    BOOST_TEST(parse_links(odd, "https://h/").at(0).parameters.at(0).second == "x, y; \"z\"");
    for (const char* broken : {"", "next", "<https://x", "https://x; rel=next", ";", "\""}) {
        BOOST_TEST(parse_links(broken, "https://h/").empty());
    }
    BOOST_TEST(link_to("<b>; rel=\"next", "next", "https://h/").value() == "https://h/b");
}
