// plugins/http_api/listing.cpp: see listing.hpp.
#include "listing.hpp"

#include <algorithm>

namespace lakeflow::http_api {
namespace {

class listing_reader final : public reader {
  public:
    listing_reader(std::shared_ptr<const service> source, listing_plan plan)
        : source_(std::move(source)), plan_(std::move(plan)) {
        // Rows without a cursor come each time: they are held back until it is known that something else came too.
        holds_ = plan_.follows && plan_.base.undated && plan_.at.has_value();
    }

    schema columns() const override { return plan_.base.columns; }

    bool next(batch& out) override {
        if (plan_.unchanged) return false;
        while (true) {
            if (!held_.empty() && !holds_) {
                out = std::move(held_.front());
                held_.erase(held_.begin());
                return true;
            }
            if (!walk_ && !open()) return false;
            batch some;
            if (!walk_->next(some)) {
                see();
                walk_.reset();
                continue;
            }
            see();
            if (!holds_) {
                out = std::move(some);
                return true;
            }
            held_.push_back(std::move(some));
        }
    }

    std::optional<json> end_offset() override {
        if (plan_.end) return plan_.end;
        if (!plan_.follows) return std::nullopt;
        auto end = newest_;
        if (end && plan_.bound && *plan_.bound < *end) end = plan_.bound;
        if (!end || (plan_.at && !(*plan_.at < *end))) return plan_.start;
        return json::object({{plan_.field, end->to_json()}});
    }

  private:
    // Opens the next walk; false: there is none.
    bool open() {
        if (!plan_.has_parents) {
            if (opened_++ > 0) return false;
            walk_.emplace(source_, plan_.base);
            return true;
        }
        if (opened_ >= plan_.parents.size()) return false;
        const auto& values = plan_.parents.items()[opened_++].items();
        std::vector<std::pair<std::string, std::string>> texts;
        for (std::size_t i = 0; i < plan_.names.size(); ++i) texts.emplace_back(plan_.names[i], plain_text(values[i]));
        walk_plan one = plan_.base;
        one.path = fill_path(one.path, texts);
        for (const auto& [column, parent] : plan_.given) {
            const auto at = std::find(plan_.names.begin(), plan_.names.end(), parent);
            json value = values[static_cast<std::size_t>(at - plan_.names.begin())];
            const field* type = one.all.find(column);
            // A number in a STRING column is its digits.
            if (type != nullptr && type->type.kind() == type_kind::text && !value.is_text()) value = plain_text(value);
            one.constants.emplace_back(column, std::move(value));
        }
        walk_.emplace(source_, std::move(one));
        return true;
    }

    void see() {
        const auto& now = walk_->newest();
        if (now && (!newest_ || *newest_ < *now)) newest_ = now;
        if (holds_ && newest_ && *plan_.at < *newest_) holds_ = false;
    }

    std::shared_ptr<const service> source_;
    listing_plan plan_;
    std::optional<walk> walk_;
    std::size_t opened_ = 0;
    std::optional<cursor_value> newest_;
    std::vector<batch> held_;
    bool holds_ = false;
};

class aggregate_reader final : public reader {
  public:
    aggregate_reader(std::shared_ptr<const service> source, walk_plan plan, bool whole)
        : columns_(plan.columns), walk_(std::move(source), std::move(plan)), whole_(whole) {}

    schema columns() const override { return columns_; }

    bool next(batch& out) override {
        if (walk_.next(out)) {
            whole_ = false;
            return true;
        }
        if (!std::exchange(whole_, false)) return false;
        // SQL counts nothing as 0; a service may leave it out.
        batch_builder one(columns_);
        for (const field& column : columns_.fields()) {
            if (column.name.substr(0, 5) == "count") one[column.name].append(std::int64_t{0});
        }
        one.end_row();
        out = one.finish();
        return true;
    }

  private:
    schema columns_;
    walk walk_;
    bool whole_;
};

}  // namespace

void listing_plan::follow_cursor(const json& start_offset, const std::string& name,
                                 const std::optional<json>& planned_end, const std::optional<cursor_value>& limit,
                                 cursor_kind kind) {
    follows = true;
    field = name;
    start = start_offset;
    end = planned_end;
    bound = limit;
    if (const json* value = start.find(name)) at = cursor_value::from(kind, *value);
}

std::unique_ptr<reader> read_listing(std::shared_ptr<const service> source, listing_plan plan) {
    return std::make_unique<listing_reader>(std::move(source), std::move(plan));
}

std::unique_ptr<reader> read_aggregate(std::shared_ptr<const service> source, walk_plan plan, bool whole) {
    return std::make_unique<aggregate_reader>(std::move(source), std::move(plan), whole);
}

}  // namespace lakeflow::http_api
