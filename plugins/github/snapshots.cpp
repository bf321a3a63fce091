// plugins/github/snapshots.cpp: see snapshots.hpp.
#include "snapshots.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "instant.hpp"

namespace lakeflow::github {
namespace {

// The host stores offsets of up to 64 KiB; a table with more pages than that has validators for is read again each time.
constexpr std::size_t most_etag_bytes = 60 << 10;
constexpr std::int64_t batch_rows = 4'096;

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

class snapshot_reader final : public reader {
  public:
    snapshot_reader(std::shared_ptr<const client> source, const read_args& args)
        : source_(std::move(source)), start_(args.start), end_(args.end), columns_(source_->columns()) {}

    schema columns() const override { return columns_; }

    bool next(batch& out) override {
        if (!begun_) {
            begun_ = true;
            if (is_unchanged()) return false;
            changed_ = true;
            rows_ = source_->host().rows.open(columns_, source_->spec());
            if (!answer_) answer_ = source_->get(address(1));
        }
        while (answer_) {
            read_page();
            if (rows_.stats().pending >= batch_rows) break;
        }
        return rows_ && rows_.take(out);
    }

    std::optional<json> end_offset() override {
        if (!start_) return std::nullopt;
        if (!changed_) return start_;
        // A batch that is read again keeps the end that it was planned with; the next run then finds other validators.
        if (end_) return end_;
        json out = json::object({{"as_of", as_of()}});
        return etags_.empty() || etags_.size() > most_etag_bytes ? out : out.set("etags", etags_);
    }

  private:
    std::string as_of() const { return format_instant(source_->init_time_us()); }
    bool is_listing() const { return source_->what().path != "user"; }

    std::string address(std::int64_t page) const {
        std::string url = source_->listing();
        if (!is_listing()) return url;
        // What is new comes first, and so moves every page.
        if (source_->what().of == scope::account) url = url_add(url, {{"sort", "created"}, {"direction", "desc"}});
        url = url_add(url, "per_page", std::to_string(source_->chosen().per_page));
        return page == 1 ? url : url_add(url, "page", std::to_string(page));
    }

    // Asks for each page with its validator. A first page that has changed is kept: it begins the read.
    bool is_unchanged() {
        if (!start_ || end_) return false;
        if (start_->text("as_of") == as_of()) return true;
        std::vector<std::string> etags = split_words(start_->text("etags"));
        for (std::size_t i = 0; i < etags.size(); ++i) {
            exchange answer = source_->get(address(static_cast<std::int64_t>(i) + 1), etags[i]);
            if (source_->head(answer) == 304) continue;
            if (i == 0) answer_ = std::move(answer);
            return false;
        }
        return !etags.empty();
    }

    void read_page() {
        exchange answer = std::exchange(answer_, exchange());
        source_->head(answer);
        page_links links = source_->links(answer);
        std::string etag = answer.header("ETag").value_or("");
        validated_ = validated_ && !etag.empty() && etag.find(' ') == std::string::npos;
        if (links.next) answer_ = source_->get(address(++page_));
        rows_.decode(answer);
        // A full last page does not change when a row is added behind it, so the empty page behind it has a validator too.
        if (!links.next && is_listing() && rows_.stats().rows == source_->chosen().per_page) {
            answer_ = source_->get(address(++page_));
        }
        etags_ = validated_ ? etags_ + (etags_.empty() ? "" : " ") + etag : "";
    }

    std::shared_ptr<const client> source_;
    std::optional<json> start_, end_;
    schema columns_;
    decoder rows_;
    exchange answer_;
    std::int64_t page_ = 1;
    std::string etags_;
    bool begun_ = false, changed_ = false, validated_ = true;
};

}  // namespace

std::unique_ptr<reader> read_snapshot(std::shared_ptr<const client> source, const read_args& args) {
    return std::make_unique<snapshot_reader>(std::move(source), args);
}

}  // namespace lakeflow::github
