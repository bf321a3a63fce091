// A connector whose reads are split over workers, whole: a source of ten numbered pages of three rows each, read as a batch and as a
// stream whose offset is the last page. It needs no network, so the rules of partitions can be seen bare.
#include "lakeflow/lakeflow.hpp"

namespace {

using namespace lakeflow;

constexpr int64_t last_page = 10, rows_of_page = 3;
constexpr plugin_info info{.id = "numbered-pages", .version = "1.0.0", .summary = "Ten pages of three rows"};

schema columns_of_table() { return schema().add("page", type::int64(), not_null).add("line", type::text()); }

// [reader]
// The rows from..to, page by page. One reader serves a partition and a whole read alike.
class page_rows : public reader {
  public:
    page_rows(int64_t from, int64_t to, std::optional<json> end) : at_(from), to_(to), end_(std::move(end)) {}

    schema columns() const override { return columns_of_table(); }

    bool next(batch& out) override {
        if (at_ > to_) return false;
        batch_builder rows(columns_of_table());
        for (int64_t line = 1; line <= rows_of_page; ++line) {
            rows["page"].append(at_);
            rows["line"].append("line " + std::to_string(line));
            rows.end_row();
        }
        ++at_;
        out = rows.finish();
        return true;
    }

    std::optional<json> end_offset() override { return end_; }

  private:
    int64_t at_, to_;
    std::optional<json> end_;
};
// [reader]

class pages : public connector, public partitioned_stream {
  public:
    using connector::connector;

    std::vector<std::string> list_tables() override { return {"pages"}; }
    schema table_schema(std::string_view table, const json&) override { return known(table), columns_of_table(); }
    lakeflow::table_metadata table_metadata(std::string_view table, const json&) override {
        known(table);
        return {.kind = ingestion::append, .cursor_field = "page", .offset_member = "page", .offset_form = "integer"};
    }

    std::unique_ptr<reader> read_table(const read_args& args) override {
        known(args.table);
        if (args.is_batch()) return std::make_unique<page_rows>(1, last_page, std::nullopt);
        int64_t end = args.end ? args.end->integer("page") : last_page;
        return std::make_unique<page_rows>(args.start->integer("page") + 1, end, json::object({{"page", end}}));
    }

    // [partitions]
    // The newest page within the limits: a batch never ends inside a page.
    latest latest_offset(const latest_args& args) override {
        known(args.table);
        int64_t start = args.start.integer("page"), end = last_page;
        latest out;
        if (args.limits.max_rows) {
            end = std::min(end, start + std::max<int64_t>(1, *args.limits.max_rows / rows_of_page));
            out.honoured = {"max_rows"};
        }
        out.offset = json::object({{"page", end}});
        return out;
    }

    // One descriptor a page: all of them in a batch, those of (start, end] in a stream.
    std::vector<json> get_partitions(const plan_args& args) override {
        known(args.table);
        int64_t from = args.is_batch() ? 1 : args.start->integer("page") + 1;
        int64_t to = args.is_batch() ? last_page : args.end->integer("page");
        std::vector<json> out;
        for (int64_t page = from; page <= to; ++page) out.push_back(json::object({{"page", page}}));
        return out;
    }

    // On a fresh instance, perhaps in another process: the descriptor is all it has.
    std::unique_ptr<reader> read_partition(const read_args& args) override {
        int64_t page = args.descriptor.at("page").as_int();
        return std::make_unique<page_rows>(page, page, std::nullopt);
    }
    // [partitions]

  private:
    static void known(std::string_view table) {
        if (table != "pages")
            throw not_found("there is no table '" + std::string(table) + "'", "the only table is 'pages'");
    }
};

}  // namespace

LAKEFLOW_PLUGIN(pages, info)
