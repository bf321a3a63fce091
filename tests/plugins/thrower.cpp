// A connector over the SDK whose methods throw what is no failure of the SDK's own: the trampolines turn it into plugin.exception.
#include <stdexcept>

#include "lakeflow/lakeflow.hpp"

namespace {

using namespace lakeflow;

constexpr plugin_info info{.id = "thrower", .version = "1.0.0", .summary = "Tables whose readers throw"};

schema columns_of_table() { return schema().add("id", type::int64(), not_null); }

class throwing_rows : public reader {
  public:
    explicit throwing_rows(std::string_view table) : table_(table) {}
    schema columns() const override { return columns_of_table(); }
    bool next(batch& out) override {
        if (given_) throw_what();
        batch_builder rows(columns_of_table());
        rows["id"].append(std::int64_t{1});
        rows.end_row();
        out = rows.finish();
        given_ = true;
        return true;
    }
    std::optional<json> end_offset() override { return json::object({{"id", std::int64_t{1}}}); }

  private:
    void throw_what() const {
        if (table_ == "number") throw 42;
        throw std::runtime_error("the sky fell");
    }
    std::string table_;
    bool given_ = false;
};

class thrower : public connector {
  public:
    using connector::connector;
    std::vector<std::string> list_tables() override { return {"exception", "number"}; }
    schema table_schema(std::string_view, const json&) override { return columns_of_table(); }
    lakeflow::table_metadata table_metadata(std::string_view, const json&) override {
        return {.kind = ingestion::append, .cursor_field = "id"};
    }
    std::unique_ptr<reader> read_table(const read_args& args) override {
        return std::make_unique<throwing_rows>(args.table);
    }
};

}  // namespace

LAKEFLOW_PLUGIN(thrower, info)
