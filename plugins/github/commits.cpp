// plugins/github/commits.cpp: see commits.hpp.
#include "commits.hpp"

#include <string>
#include <utility>

#include "ancestry.hpp"
#include "chunks.hpp"
#include "columns.hpp"
#include "instant.hpp"

namespace lakeflow::github {
namespace {

schema links_of_commits() { return schema::ddl("sha STRING NOT NULL, parents ARRAY<STRUCT<sha: STRING>>"); }

// The commits of a new head that an old one does not reach, page by page. Where the listing cannot tell in time, commits that
// have landed before come again: the host drops them by their key.
class walk_reader final : public reader {
  public:
    walk_reader(std::shared_ptr<const client> source, std::string old_head, const std::string& new_head,
                std::string new_listing, std::string old_listing)
        : source_(std::move(source)),
          columns_(source_->columns()),
          links_(source_->host().rows.open(links_of_commits())),
          old_head_(std::move(old_head)),
          known_(old_head_, new_head),
          new_url_(std::move(new_listing)),
          old_url_(std::move(old_listing)) {}

    schema columns() const override { return columns_; }

    bool next(batch& out) override {
        while (!new_url_.empty()) {
            std::string body = fetch(new_url_, {});
            std::vector<std::string> shas = texts(links_of_commits(), rows_, "sha");
            auto parents = text_lists(links_of_commits(), rows_, "parents");
            for (std::size_t i = 0; i < shas.size(); ++i) known_.saw(shas[i], std::move(parents[i]));
            if (known_.complete()) new_url_.clear();
            // An old head that does not show up may have been pushed away: its own listing then says what is old. One page of
            // it at once, more only if the walk grows long.
            ++pages_;
            bool ask_old = pages_ == 1 || pages_ > patience;
            if (ask_old && !new_url_.empty() && !known_.has_seen(old_head_)) read_old();
            if (known_.complete()) new_url_.clear();
            if (decode(body, shas, out)) return true;
        }
        return false;
    }

  private:
    static constexpr int patience = 3;

    // One page, whole: its rows' links are in rows_, the address of the next one in `url`. Asks again for a page that breaks.
    std::string fetch(std::string& url, std::initializer_list<int> accepted) {
        exchange answer = source_->get(url, {}, accepted);
        while (true) {
            int status = source_->head(answer);
            rows_.reset();
            if (status >= 300) {
                url.clear();
                return {};
            }
            try {
                std::string body = answer.text(std::size_t{256} << 20);
                links_.feed(body);
                links_.finish();
                links_.take(rows_);
                url = source_->links(answer).next.value_or("");
                return body;
            } catch (const failure& error) {
                links_.abandon();
                if (error.how() != retry::transient && error.code() != "source.protocol") throw;
                answer.retry(error.what());
            }
        }
    }

    void read_old() {
        if (old_url_.empty()) return;
        // GitHub may have forgotten it: then there is nothing to learn, and the walk goes to its end.
        fetch(old_url_, {404, 409, 422});
        std::vector<std::string> shas = texts(links_of_commits(), rows_, "sha");
        auto parents = text_lists(links_of_commits(), rows_, "parents");
        for (std::size_t i = 0; i < shas.size(); ++i) known_.saw_old(shas[i], parents[i]);
    }

    bool decode(const std::string& body, const std::vector<std::string>& shas, batch& out) {
        json old = json::array();
        for (const std::string& sha : shas)
            if (known_.is_old(sha)) old.push(json::array({sha}));
        if (old.size() == shas.size()) return false;
        rows_spec spec = source_->spec();
        if (!old.empty()) spec.drop_keys({"sha"}, std::move(old));
        decoder rows = source_->host().rows.open(columns_, spec);
        rows.feed(body);
        rows.finish();
        return rows.take(out);
    }

    std::shared_ptr<const client> source_;
    schema columns_;
    decoder links_;
    std::string old_head_;
    ancestry known_;
    std::string new_url_, old_url_;  // of the next page of each listing; empty: there is none
    batch rows_;
    int pages_ = 0;
};

}  // namespace

std::string commits_feed::listing(const json& descriptor, std::string_view head, std::int64_t per_page) const {
    std::string url = source().listing(descriptor);
    if (!head.empty()) {
        url = url_add(url, "sha", head);
        if (auto date = source().chosen().start_date_us; date && *date > 0) {
            url = url_add(url, "since", format_instant(floor_second(*date)));
        }
    }
    return url_add(url, "per_page", std::to_string(per_page));
}

lakeflow::latest commits_feed::latest(const latest_args& args) {
    json target = args.bound ? *args.bound : newest(args.start);
    bool same = target.text("head").empty() || target.text("head") == args.start.text("head");
    return {same ? args.start : target, {}};
}

json commits_feed::newest(const json& start) const {
    exchange answer = source().get(listing({}, "", 1), start.text("etag"), {409});
    int status = source().head(answer);
    // 409: a repository without a commit.
    if (status == 304 || status == 409) return start;
    decoder rows = source().host().rows.open(schema().add("sha", type::text()), rows_spec().watch("sha"));
    rows.decode(answer);
    std::string etag = answer.header("ETag").value_or("");
    rows_stats stats = rows.stats();
    auto head = stats.last_text("sha");
    if (!head) return start;
    json out = json::object({{"head", *head}});
    return etag.empty() ? out : out.set("etag", etag);
}

std::vector<json> commits_feed::plan(const plan_args& args) {
    std::string head = (args.end ? *args.end : newest(json::object())).text("head");
    if (head.empty()) return {};
    json place = json::object({{"head", head}});
    if (args.start && !args.start->text("head").empty()) return {place.set("walk", true)};
    extent size = source().measure(listing(place, head, 1));
    source().remember_move(place, size.answered);
    if (size.rows == 0) return {};
    if (size.rows > 0 && !size.opaque) return page_chunks(source(), place, size.rows, args.parallelism);
    return {place.set("follow", true)};
}

std::unique_ptr<reader> commits_feed::read(const read_args& args) {
    const json& part = args.descriptor;
    std::string head = part.text("head");
    std::int64_t per_page = source().chosen().per_page;
    std::string url = listing(part, head, per_page);
    if (part.contains("pages")) return read_chunk(shared(), source().spec(), url, part);
    if (part.boolean("follow")) return std::make_unique<follow_reader>(shared(), source().spec(), url);
    std::string old = args.start ? args.start->text("head") : std::string();
    return std::make_unique<walk_reader>(shared(), old, head, url, listing(part, old, per_page));
}

}  // namespace lakeflow::github
