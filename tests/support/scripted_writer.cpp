// tests/support/scripted_writer.cpp: see scripted_writer.h.
#include "tests/support/scripted_writer.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>
#include <map>
#include <stdexcept>

#include "host/arrow/arrow.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/state/effects.h"
#include "tests/support/scripted_plugin.h"

namespace lakeflow::host::testing {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

scripted_writer* current = nullptr;

lf_status put(const lf_sink* sink, const std::string& text) {
    return sink->write(sink->state, text.data(), text.size());
}

lf_status failed(lf_retry retry, const std::string& code, const std::string& message, lf_error* out) {
    out->retry = retry;
    std::snprintf(out->code, sizeof out->code, "%s", code.c_str());
    std::snprintf(out->message, sizeof out->message, "%s", message.c_str());
    return LF_ERROR;
}

template <class Call>
lf_status guarded(lf_error* out, Call call) {
    try {
        call();
        return LF_OK;
    } catch (const script_error& e) {
        return failed(e.retry, e.code, e.message, out);
    } catch (const failure& f) {
        return failed(LF_RETRY_PERMANENT, "destination.io", f.get().message, out);
    }
}

// One partition's writer.
struct part {
    lf_writer raw{};
    std::string key, mode;
    std::uint32_t partition = 0, attempt = 0;
    arrow_schema schema;
    std::vector<std::string> buffer;
    std::vector<std::string> ids;
    std::int64_t rows = 0;
    int chunk = 0;

    void flush() {
        if (buffer.empty()) return;
        const auto id =
            current->post(key + "-" + std::to_string(partition) + "-" + std::to_string(chunk), mode, buffer);
        ++chunk;
        rows += static_cast<std::int64_t>(buffer.size());
        buffer.clear();
        ids.push_back(id);
    }
    std::string message() const {
        return json::serialize(json::object{{"partition", partition},
                                            {"attempt", attempt},
                                            {"said", current->said},
                                            {"rows", rows - current->miscounts},
                                            {"batch_ids", json::array(ids.begin(), ids.end())}});
    }
};

part& of(lf_writer* w) { return *static_cast<part*>(w->state); }

lf_status write(lf_writer* w, ArrowArray* batch, lf_error* error) {
    const arrow_array rows(*batch);
    batch->release = nullptr;
    return guarded(error, [&] {
        auto& p = of(w);
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
            std::string text;
            for (std::int64_t c = 0; c < p.schema.columns(); ++c) {
                const auto& child = *rows.get()->children[c];
                text += (c ? "|" : "") + value_text(p.schema.column(c), child, rows.get()->offset + row);
            }
            p.buffer.push_back(text);
            if (static_cast<std::int64_t>(p.buffer.size()) >= current->batch_size) p.flush();
        }
    });
}

lf_status commit_part(lf_writer* w, const lf_sink* message, lf_error* error) {
    return guarded(error, [&] {
        of(w).flush();
        put(message, of(w).message());
    });
}

lf_status abort_part(lf_writer* w, const lf_sink* message, lf_error* error) {
    return guarded(error, [&] {
        of(w).buffer.clear();
        put(message, of(w).message());
    });
}

void cancel_part(lf_writer*) {}
void close_part(lf_writer* w) { const std::unique_ptr<part> owned(&of(w)); }

lf_status begin(lf_connector*, const lf_write_args* args, const lf_sink* out, lf_error* error) {
    return guarded(error, [&] {
        current->begin(*args);
        put(out, R"({"session":1})");
    });
}

lf_status open_writer(lf_connector*, const lf_write_args* args, lf_writer** out, lf_error* error) {
    return guarded(error, [&] {
        if (view(args->options).find(R"("begin":{"session":1})") == std::string_view::npos)
            throw script_error{LF_RETRY_PERMANENT, "test", "the writer does not know what begin said", 0};
        auto made = std::make_unique<part>();
        made->raw = {sizeof(lf_writer), 0, made.get(), write, commit_part, abort_part, cancel_part, close_part};
        made->key = view(args->key);
        made->mode = view(args->mode);
        made->partition = args->partition;
        made->attempt = args->attempt;
        made->schema = copy_schema(*args->schema);
        *out = &made.release()->raw;
    });
}

std::vector<std::string> ids_of(lf_str messages) {
    std::vector<std::string> out;
    const auto text = view(messages);
    const auto all = json::parse(json::string_view(text.data(), text.size()));
    for (const auto& message : all.as_array()) {
        for (const auto& id : message.at("batch_ids").as_array()) out.emplace_back(id.as_string());
    }
    return out;
}

lf_status commit(lf_connector*, const lf_write_args* args, lf_str messages, lf_error* error) {
    return guarded(error, [&] { current->commit(*args, ids_of(messages)); });
}

lf_status abort(lf_connector*, const lf_write_args*, lf_str messages, const lf_sink* out, lf_error* error) {
    return guarded(error, [&] {
        json::array left;
        for (const auto& id : ids_of(messages)) {
            if (!current->roll_back(id)) left.emplace_back(id);
        }
        put(out, json::serialize(left));
    });
}

lf_status was_committed(lf_connector*, const lf_write_args* args, std::int32_t* out, lf_error* error) {
    return guarded(error, [&] { *out = current->committed(std::string(view(args->key))) ? 1 : 0; });
}

// A file of the service: there with all its content, or not there.
void keep(const fs::path& file, const std::string& text) {
    const auto io = real_effects();
    auto temporary = file;
    temporary += ".tmp";
    io->make_directories(file.parent_path());
    io->write(temporary, text);
    io->rename(temporary, file);
}

std::vector<std::string> lines_of(const fs::path& file) {
    const auto text = real_effects()->read(file);
    if (!text) throw std::runtime_error("the service has lost " + file.string());
    auto out = split(*text, '\n');
    out.pop_back();
    return out;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> out;
    for (const auto& name : real_effects()->list(folder)) {
        if (!name.ends_with(".tmp")) out.push_back(name);
    }
    return out;
}

}  // namespace

scripted_writer::scripted_writer(fs::path folder) : folder_(std::move(folder)) { current = this; }
scripted_writer::~scripted_writer() {
    if (current == this) current = nullptr;
}

std::shared_ptr<const plugin> scripted_writer::added_to(const std::shared_ptr<const plugin>& p) {
    slots_ = {sizeof slots_,
              0,
              testing::begin,
              testing::open_writer,
              testing::commit,
              testing::abort,
              knows_commits ? testing::was_committed : nullptr};
    auto out = std::make_shared<plugin>(*p);
    out->writer = &slots_;
    return out;
}

void scripted_writer::step(const std::string& what, const std::function<void()>& act) {
    const std::lock_guard guard(mutex_);
    if (before) before(what);
    act();
    steps_.push_back(what);
    if (after) after(what);
}

std::vector<std::string> scripted_writer::steps() const {
    const std::lock_guard guard(mutex_);
    return steps_;
}

int scripted_writer::count(std::string_view beginning) const {
    int out = 0;
    for (const auto& s : steps()) out += s.starts_with(beginning) ? 1 : 0;
    return out;
}

void scripted_writer::begin(const lf_write_args& args) {
    step("begin", [&] {
        if (staged || view(args.mode) != "truncate") return;
        for (const auto& name : names_in(folder_ / "batches"))
            real_effects()->rename(folder_ / "batches" / name, folder_ / "gone" / name);
    });
}

std::string scripted_writer::post(const std::string& key, const std::string& mode,
                                  const std::vector<std::string>& rows) {
    const auto id = percent_encode(key);
    step("post " + key, [&] {
        const auto io = real_effects();
        if (io->read(folder_ / "batches" / id) || io->read(folder_ / "gone" / id)) return;  // answered from memory
        std::string text = mode + "\n";
        for (const auto& row : rows) text += row + "\n";
        io->make_directories(folder_ / "gone");
        keep(folder_ / "batches" / id, text);
    });
    return id;
}

void scripted_writer::commit(const lf_write_args& args, const std::vector<std::string>& ids) {
    const std::string key(view(args.key));
    step("commit " + key, [&] {
        const auto file = folder_ / "commits" / percent_encode(key);
        if (real_effects()->read(file)) return;
        std::string text =
            std::to_string(1000 + names_in(folder_ / "commits").size()) + "\n" + std::string(view(args.mode)) + "\n";
        for (const auto& id : ids) text += id + "\n";
        keep(file, text);
    });
}

bool scripted_writer::roll_back(const std::string& id) {
    bool gone = can_roll_back && !stubborn.contains(id);
    step("roll back " + id, [&] {
        if (gone && real_effects()->read(folder_ / "batches" / id))
            real_effects()->rename(folder_ / "batches" / id, folder_ / "gone" / id);
    });
    return gone;
}

bool scripted_writer::committed(const std::string& key) {
    bool out = false;
    step("was committed " + key,
         [&] { out = real_effects()->read(folder_ / "commits" / percent_encode(key)).has_value(); });
    return out;
}

std::multiset<std::string> scripted_writer::rows_in(const fs::path& folder, bool staged) {
    std::multiset<std::string> out;
    const auto show = [&](const std::string& id) {
        const auto lines = lines_of(folder / "batches" / id);
        for (auto row = lines.begin() + 1; row != lines.end(); ++row) {
            if (lines.front() == "upsert") {
                const auto key = row->substr(0, row->find('|') + 1);
                std::erase_if(out, [&](const auto& known) { return known.starts_with(key); });
            }
            out.insert(*row);
        }
    };
    if (!staged) {
        for (const auto& id : names_in(folder / "batches")) show(id);
        return out;
    }
    std::map<std::string, std::vector<std::string>> commits;
    for (const auto& name : names_in(folder / "commits")) {
        auto lines = lines_of(folder / "commits" / name);
        commits[lines.front()] = {lines.begin() + 1, lines.end()};
    }
    for (const auto& [number, lines] : commits) {
        if (lines.front() == "truncate") out.clear();
        for (auto id = lines.begin() + 1; id != lines.end(); ++id) show(*id);
    }
    return out;
}

}  // namespace lakeflow::host::testing
