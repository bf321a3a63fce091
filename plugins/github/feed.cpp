// plugins/github/feed.cpp: see feed.hpp.
#include "feed.hpp"

#include <optional>
#include <utility>

#include "commits.hpp"
#include "pulls.hpp"
#include "since.hpp"

namespace lakeflow::github {
namespace {

class serial_reader final : public reader {
  public:
    serial_reader(std::unique_ptr<feed> from, read_args args, schema columns)
        : feed_(std::move(from)), args_(std::move(args)), columns_(std::move(columns)) {}

    schema columns() const override { return columns_; }

    bool next(batch& out) override {
        if (!begun_) {
            begun_ = true;
            plan();
        }
        while (part_ || at_ < parts_.size()) {
            if (!part_) {
                args_.descriptor = parts_[at_++];
                part_ = feed_->read(args_);
            }
            if (part_->next(out)) return true;
            part_.reset();
        }
        return false;
    }

    std::optional<json> end_offset() override { return args_.start ? args_.end : std::nullopt; }

  private:
    void plan() {
        if (args_.start && !args_.end) {
            args_.end = feed_->latest({args_.table, args_.options, *args_.start, args_.bound, args_.limits}).offset;
        }
        if (args_.start && *args_.start == *args_.end) return;
        parts_ = feed_->plan({args_.table, args_.options, args_.start, args_.end, args_.scan, 1});
    }

    std::unique_ptr<feed> feed_;
    read_args args_;
    schema columns_;
    std::vector<json> parts_;
    std::size_t at_ = 0;
    std::unique_ptr<reader> part_;
    bool begun_ = false;
};

}  // namespace

std::unique_ptr<feed> open_feed(const environment& env, const table& what, const json& options) {
    auto source = std::make_shared<const client>(env, what, settings::from(options));
    switch (what.how) {
        case family::since: return std::make_unique<since_feed>(std::move(source));
        case family::newest: return std::make_unique<pulls_feed>(std::move(source));
        case family::per_pull: return std::make_unique<reviews_feed>(std::move(source));
        case family::history: return std::make_unique<commits_feed>(std::move(source));
        case family::snapshot: break;
    }
    throw unsupported("table " + std::string(what.name) + " is read whole: it has no partitions");
}

std::unique_ptr<reader> read_serially(std::unique_ptr<feed> parts, const read_args& args) {
    schema columns = schema::ddl(find_table(args.table).ddl);
    return std::make_unique<serial_reader>(std::move(parts), args, std::move(columns));
}

}  // namespace lakeflow::github
