// tests/abi/forgotten.cpp: a connector with every mixin. With -DFORGET=n one method is left out; forgotten.py expects that this
// does not compile, and that the compiler names the method.
#include "lakeflow/lakeflow.hpp"

#ifndef FORGET
#define FORGET 0
#endif

using namespace lakeflow;

namespace {

class complete : public connector,
                 public partitioned_stream,
                 public namespaces,
                 public deletes,
                 public scan,
                 public writer {
  public:
    using connector::connector;
#if FORGET != 1
    std::vector<std::string> list_tables() override { return {}; }
#endif
#if FORGET != 2
    schema table_schema(std::string_view, const json&) override { return {}; }
#endif
#if FORGET != 3
    lakeflow::table_metadata table_metadata(std::string_view, const json&) override { return {}; }
#endif
#if FORGET != 4
    std::unique_ptr<reader> read_table(const read_args&) override { return nullptr; }
#endif
#if FORGET != 5
    std::vector<json> get_partitions(const plan_args&) override { return {}; }
#endif
#if FORGET != 6
    std::unique_ptr<reader> read_partition(const read_args&) override { return nullptr; }
#endif
#if FORGET != 7
    latest latest_offset(const latest_args&) override { return {}; }
#endif
#if FORGET != 8
    std::vector<name> list_namespaces(const name&) override { return {}; }
#endif
#if FORGET != 9
    std::vector<std::string> list_tables_in_namespace(const name&) override { return {}; }
#endif
#if FORGET != 10
    std::unique_ptr<reader> read_table_deletes(const read_args&) override { return nullptr; }
#endif
#if FORGET != 11
    json plan_scan(std::string_view, const json&, const json&) override { return {}; }
#endif
#if FORGET != 12
    json begin_write(const write_args&) override { return {}; }
#endif
#if FORGET != 13
    std::unique_ptr<batch_writer> open_writer(const write_args&) override { return nullptr; }
#endif
#if FORGET != 14
    void commit_write(const write_args&, const std::vector<json>&) override {}
#endif
#if FORGET != 15
    std::vector<std::string> abort_write(const write_args&, const std::vector<json>&) override { return {}; }
#endif
};

constexpr plugin_info info{.id = "complete", .version = "1", .summary = "s"};

}  // namespace

LAKEFLOW_PLUGIN(complete, info)
