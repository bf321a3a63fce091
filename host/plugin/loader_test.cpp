// The loader names what is wrong with a plugin, one code a step, and never takes the host down.
#include "host/plugin/loader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/base/text.h"
#include "host/plugin/connector.h"
#include "host/plugin/options.h"

namespace fs = std::filesystem;
using namespace lakeflow::host;

namespace {

const fs::path built = LAKEFLOW_DEFECTS_DIR;

std::string built_plugin(const std::string& name) { return (built / (name + ".so")).string(); }

struct scratch {
    fs::path path = fs::temp_directory_path() / ("lakeflow-loader-" + random_id());
    scratch() { fs::create_directories(path); }
    ~scratch() { fs::remove_all(path); }

    std::string copy_of(const std::string& name, const std::string& as) const {
        fs::copy_file(built_plugin(name), path / as);
        return (path / as).string();
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
    }
};

error refusal(const std::string& name, const std::vector<search_place>& places = {}) {
    try {
        load_plugin(name, places);
    } catch (const failure& f) {
        return f.get();
    }
    return {"loaded", {}, {}};
}

std::shared_ptr<flow_context> a_flow() {
    auto flow = std::make_shared<flow_context>();
    flow->plugin = "numbers";
    flow->table = "numbers";
    flow->redactor = std::make_shared<secrets>();
    return flow;
}

read_request of_table(const std::string& table) {
    read_request request;
    request.table = table;
    return request;
}

std::string code_of(auto&& call) {
    try {
        call();
    } catch (const failure& f) {
        return f.get().code;
    }
    return "none";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_right_plugin_loads_once_and_answers) {
    const auto p = load_plugin(built_plugin("numbers"), {});
    BOOST_TEST(p->id == "numbers");
    BOOST_TEST(p->version == "1.0.0");
    BOOST_TEST(load_plugin(built_plugin("numbers"), {}) == p);
    plugin_connector c(p, "{}", a_flow(), std::make_shared<cancel_token>());
    BOOST_TEST(c.list_tables() == std::vector<std::string>{"numbers"});
    BOOST_TEST((c.metadata("numbers", "{}").ingestion == ingestion_type::snapshot));
    const auto reader = c.read_table(of_table("numbers"));
    const auto batch = reader->next();
    BOOST_REQUIRE(batch.has_value());
    BOOST_TEST(batch->rows() == 3);
    BOOST_TEST(!reader->next().has_value());
    BOOST_TEST(!reader->end_offset().has_value());
    BOOST_TEST(code_of([&] { c.table_schema("letters", "{}"); }) == "source.not_found");
}

BOOST_AUTO_TEST_CASE(a_plugin_is_found_by_name_in_the_order_of_the_places) {
    const scratch first, second;
    second.copy_of("numbers", "numbers.so");
    const std::vector<search_place> places{{first.path, "--plugin-dir"}, {second.path, "LAKEFLOW_PLUGIN_PATH"}};
    BOOST_TEST(load_plugin("numbers", places)->path == fs::canonical(second.path / "numbers.so"));
    BOOST_TEST(load_plugin("numbers.so", places)->path == fs::canonical(second.path / "numbers.so"));
    fs::create_directory(first.path / "letters.so");
    const error e = refusal("letters", places);
    BOOST_TEST(e.code == "plugin.not_found");
    BOOST_TEST(
        e.message.find((first.path / "letters.so").string() + " (--plugin-dir): is a directory") != std::string::npos,
        e.message);
    BOOST_TEST(e.message.find((second.path / "letters.so").string() + " (LAKEFLOW_PLUGIN_PATH): no such file") !=
                   std::string::npos,
               e.message);
    BOOST_TEST(refusal("x", {{first.path / "absent", "--plugin-dir"}}).message.find("no such directory") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_kind_of_broken_file_has_its_own_message) {
    const scratch s;
    s.write("text.so", "#!/bin/sh\n");
    s.write("empty.so", "");
    const std::string whole = s.copy_of("numbers", "cut.so");
    fs::resize_file(whole, fs::file_size(whole) / 2);
    const std::string other = s.copy_of("numbers", "other.so");
    std::fstream(other, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(18)
        .write("\xb7\x00", 2);  // e_machine: AArch64
    const std::string small = s.copy_of("numbers", "small.so");
    std::fstream(small, std::ios::in | std::ios::out | std::ios::binary).seekp(4).write("\x01", 1);  // ELFCLASS32

    BOOST_TEST(refusal((s.path / "text.so").string()).code == "plugin.not_a_library");
    BOOST_TEST(refusal((s.path / "empty.so").string()).message.find("it is empty") != std::string::npos);
    BOOST_TEST(refusal(whole).message.find("cut short") != std::string::npos);
    BOOST_TEST(refusal(other).code == "plugin.wrong_architecture");
    BOOST_TEST(refusal(other).message.find("AArch64") != std::string::npos);
    BOOST_TEST(refusal(small).message.find("32-bit") != std::string::npos);
    BOOST_TEST(refusal((s.path / "absent.so").string()).code == "plugin.not_found");
    if (geteuid() != 0) {  // root may read every file
        const std::string closed = s.copy_of("numbers", "closed.so");
        chmod(closed.c_str(), 0);
        BOOST_TEST(refusal(closed).message.find("permission denied") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_library_cut_at_any_length_is_refused_and_does_not_end_the_process) {
    const scratch s;
    const std::string file = s.copy_of("numbers", "cut.so");
    for (auto size = static_cast<std::int64_t>(fs::file_size(file)) - 1; size >= 0; size -= 97) {
        fs::resize_file(file, static_cast<std::uintmax_t>(size));
        const std::string code = refusal(file).code;
        BOOST_TEST((code == "plugin.not_a_library" || code == "plugin.wrong_architecture"), size << " bytes: " << code);
    }
}

BOOST_AUTO_TEST_CASE(each_defect_of_a_plugin_has_its_code) {
    const std::vector<std::pair<std::string, std::string>> expected{
        {"no_entry", "plugin.no_entry"},
        {"needs_elsewhere", "plugin.missing_dependency"},
        {"null_entry", "plugin.abi_version"},
        {"refuses_host", "plugin.abi_version"},
        {"other_major", "plugin.abi_version"},
        {"short_struct", "plugin.missing_slot"},
        {"no_connector", "plugin.missing_slot"},
        {"no_read_table", "plugin.missing_slot"},
        {"half_partition", "plugin.missing_slot"},
        {"schema_not_json", "plugin.contract"},
        {"bad_id", "plugin.contract"},
    };
    for (const auto& [name, code] : expected) {
        const error e = refusal(built_plugin(name));
        BOOST_TEST(e.code == code, name << ": " << e.code << " " << e.message);
        BOOST_TEST(e.message.find(name) != std::string::npos, e.message);
    }
    BOOST_TEST(refusal(built_plugin("needs_elsewhere")).message.find("libelsewhere.so") != std::string::npos);
    BOOST_TEST(refusal(built_plugin("refuses_host")).message.find("lakeflow.quantum/1") != std::string::npos);
    BOOST_TEST(refusal(built_plugin("no_read_table")).message.find("lf_connector_v1.read_table") != std::string::npos);
    BOOST_TEST(refusal(built_plugin("half_partition")).message.find("read_partition") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_status_or_retry_class_that_does_not_exist_is_caught) {
    const auto tables_of = [](const std::string& name) {
        plugin_connector c(load_plugin(built_plugin(name), {}), "{}", a_flow(), std::make_shared<cancel_token>());
        return code_of([&] { c.list_tables(); });
    };
    BOOST_TEST(tables_of("bad_status") == "plugin.bad_status");
    BOOST_TEST(tables_of("bad_retry") == "plugin.bad_status");
    BOOST_TEST(tables_of("error_without_text") == "source.auth");
    plugin_connector c(load_plugin(built_plugin("no_reader"), {}), "{}", a_flow(), std::make_shared<cancel_token>());
    BOOST_TEST(code_of([&] { c.read_table(of_table("numbers")); }) == "plugin.contract");
}

BOOST_AUTO_TEST_CASE(the_list_of_plugins_gives_the_reason_of_each_rejection) {
    const scratch s;
    s.copy_of("numbers", "numbers.so");
    s.copy_of("no_entry", "library.so");
    s.write("notes.txt", "not a candidate");
    const auto found = find_plugins({{s.path, "--plugin-dir"}, {s.path / "absent", "installed"}});
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].reason->code == "plugin.no_entry");
    BOOST_TEST(found[1].loaded->id == "numbers");
}

BOOST_AUTO_TEST_CASE(options_are_checked_against_the_schema_of_the_plugin) {
    const std::string schema = load_plugin(built_plugin("numbers"), {})->options_schema;
    const checked_options right =
        check_options(schema, "connection", R"({"Base-URL":"http://x","TOKEN":"s3cret","pageSize":7})", "[connection]");
    BOOST_TEST(right.json == R"({"base_url":"http://x","token":"s3cret","page_size":7})");
    BOOST_TEST(right.secrets == std::vector<std::string>{"s3cret"});
    BOOST_TEST(check_options(schema, "connection", R"({"token":"t"})", "[connection]").json ==
               R"({"token":"t","base_url":"http://127.0.0.1"})");
    const auto refused = [&](const std::string& given) {
        try {
            check_options(schema, "connection", given, "[connection]");
        } catch (const failure& f) {
            return f.get();
        }
        return error{};
    };
    BOOST_TEST(refused(R"({"token":"t","base_ulr":"x"})").code == "config.unknown_option");
    BOOST_TEST(refused(R"({"token":"t","base_ulr":"x"})").hint == "Did you mean \"base_url\"?");
    BOOST_TEST(refused(R"({"token":"t","baseUrl":"x","base_url":"y"})").code == "config.duplicate_option");
    BOOST_TEST(refused("{}").code == "config.missing_option");
    BOOST_TEST(refused("{}").hint == "the key");
    BOOST_TEST(refused(R"({"token":"t","page_size":0})").message.find("minimum is 1") != std::string::npos);
    BOOST_TEST(refused(R"({"token":"t","page_size":"7"})").code == "config.invalid_option");
    BOOST_TEST(refused(R"({"token":"t","mode":"c"})").message.find("[\"a\",\"b\"]") != std::string::npos);
    BOOST_TEST(refused(R"({"token":42})").message.find("42") == std::string::npos);
    BOOST_TEST(list_options(schema, "connection").size() == 4u);
}
