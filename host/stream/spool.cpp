// host/stream/spool.cpp: see spool.h.
#include "host/stream/spool.h"

#include <boost/json.hpp>
#include <cstring>

#include "host/arrow/codec.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view magic = "lakeflow-spool 1 ";
constexpr std::string_view batch_name = "batch";
constexpr std::size_t file_bytes = std::size_t{4}
                                   << 20;  // of rows, before the next file begins: it is held in memory whole

constexpr char kind_rows = 'r';
constexpr char kind_deletes = 'd';
constexpr char kind_done = 'e';
constexpr char kind_bad = 'q';

[[noreturn]] void corrupt(const std::string& file, const std::string& why) {
    throw failure("state.corrupt", "the spooled batch " + file + " " + why,
                  "nothing replaces it silently: its source cannot be read again, or some of it may have gone out "
                  "already. `lakeflow-host reset` of the flow, or "
                  "the removal of that folder, gives the batch up: the next run reads what the source has now");
}

// The first line tells version, what it is, size and checksum of all that follows.
std::string framed(const std::string& title, std::string_view body) {
    return std::string(magic) + title + " " + std::to_string(body.size()) + " " +
           sha256_hex(title + "\n" + std::string(body)) + "\n" + std::string(body);
}

std::string_view unframed(std::string_view bytes, const std::string& title, const std::string& file) {
    const auto line_end = bytes.find('\n');
    if (!bytes.starts_with(magic) || line_end == std::string_view::npos)
        corrupt(file, "does not begin like one of this version of lakeflow-host, or is cut");
    const auto fields = split(bytes.substr(magic.size(), line_end - magic.size()), ' ');
    if (fields.size() != 3 || fields[0] != title) corrupt(file, "is not what its name says");
    const auto body = bytes.substr(line_end + 1);
    if (parse_int(fields[1]) != static_cast<std::int64_t>(body.size()))
        corrupt(file, "holds " + std::to_string(body.size()) + " bytes where " + fields[1] + " were written");
    if (sha256_hex(title + "\n" + std::string(body)) != fields[2])
        corrupt(file, "was changed: its checksum does not fit");
    return body;
}

std::string rows_title(const std::string& id, std::uint32_t number) {
    return "rows-" + id + "-" + std::to_string(number);
}

template <class T>
void put_number(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof bytes);
}

template <class T>
T take_number(std::string_view& from, const std::string& file) {
    if (from.size() < sizeof(T)) corrupt(file, "ends inside an entry");
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    from.remove_prefix(sizeof value);
    return value;
}

void put_text(std::string& out, const std::string& text) {
    put_number(out, static_cast<std::uint64_t>(text.size()));
    out += text;
}

std::string take_text(std::string_view& from, const std::string& file) {
    const auto size = take_number<std::uint64_t>(from, file);
    if (size > from.size()) corrupt(file, "ends inside an entry");
    std::string out(from.substr(0, size));
    from.remove_prefix(size);
    return out;
}

std::string encode_bad(const std::vector<bad_row>& rows) {
    std::string out;
    for (const bad_row& b : rows) {
        for (const std::string* part : {&b.row, &b.reason, &b.code, &b.column}) put_text(out, *part);
    }
    return out;
}

std::vector<bad_row> decode_bad(std::string_view bytes, const std::string& file) {
    std::vector<bad_row> out;
    while (!bytes.empty()) {
        bad_row& b = out.emplace_back();
        for (std::string* part : {&b.row, &b.reason, &b.code, &b.column}) *part = take_text(bytes, file);
    }
    return out;
}

std::string text(const json::object& o, std::string_view key) { return std::string(o.at(key).as_string()); }

std::vector<std::string> column_names(const arrow_schema& schema) {
    std::vector<std::string> out;
    out.reserve(static_cast<std::size_t>(schema.columns()));
    for (std::int64_t i = 0; i < schema.columns(); ++i) out.emplace_back(name_of(schema.column(i)));
    return out;
}

}  // namespace

std::string encode_spooled(const spooled_batch& b) {
    json::object o{{"job", b.job},
                   {"flow", b.flow},
                   {"batch", b.batch},
                   {"start", b.start},
                   {"end", b.end},
                   {"deletes_start", b.deletes_start},
                   {"deletes_end", b.deletes_end},
                   {"deletes_read", b.deletes_read},
                   {"init_time", format_rfc3339(b.init_time_us)},
                   {"rows", b.rows},
                   {"again", b.again},
                   {"tombstones", b.tombstones},
                   {"parts", b.parts},
                   {"schema", b.schema},
                   {"delete_columns", json::array(b.delete_columns.begin(), b.delete_columns.end())},
                   {"id", b.id},
                   {"files", b.files}};
    if (b.bound) o["bound"] = *b.bound;
    return framed(std::string(batch_name), json::serialize(o) + "\n");
}

spooled_batch decode_spooled(const std::string& job, const std::string& flow, std::string_view bytes,
                             const std::string& file) {
    const auto body = unframed(bytes, std::string(batch_name), file);
    spooled_batch out;
    try {
        const auto value = json::parse(json::string_view(body.data(), body.size()));
        const auto& o = value.as_object();
        out.job = text(o, "job");
        out.flow = text(o, "flow");
        out.batch = o.at("batch").to_number<std::uint32_t>();
        out.start = text(o, "start");
        out.end = text(o, "end");
        out.deletes_start = text(o, "deletes_start");
        out.deletes_end = text(o, "deletes_end");
        out.deletes_read = o.at("deletes_read").as_bool();
        if (o.contains("bound")) out.bound = text(o, "bound");
        out.init_time_us = parse_rfc3339_us(o.at("init_time").as_string()).value();
        out.rows = o.at("rows").to_number<std::int64_t>();
        out.again = o.at("again").to_number<std::int64_t>();
        out.tombstones = o.at("tombstones").to_number<std::int64_t>();
        out.parts = o.at("parts").to_number<std::uint32_t>();
        out.schema = text(o, "schema");
        const auto& names = o.at("delete_columns").as_array();
        out.delete_columns.reserve(names.size());
        for (const auto& name : names) out.delete_columns.emplace_back(name.as_string());
        out.id = text(o, "id");
        out.files = o.at("files").to_number<std::uint32_t>();
    } catch (const std::exception& e) {
        corrupt(file, std::string("lacks something: ") + e.what());
    }
    if (out.job != job || out.flow != flow)
        corrupt(file, "belongs to flow '" + out.flow + "' of job '" + out.job + "'");
    return out;
}

spool_writer::spool_writer(spool_place place, std::shared_ptr<const arrow_schema> source)
    : place_(std::move(place)), source_(std::move(source)), id_(random_id()) {}

spool_writer::~spool_writer() {
    if (finished_) return;
    try {
        start_over();
    } catch (...) {
        // The next run removes it.
        return;
    }
}

void spool_writer::add(std::uint32_t part, record_batch rows) { put(kind_rows, part, &rows); }

void spool_writer::add_deletes(record_batch rows) {
    if (delete_columns_.empty()) delete_columns_ = column_names(*rows.schema);
    put(kind_deletes, 0, &rows);
}

void spool_writer::part_done(std::uint32_t part) {
    if (entries_ > 0) put(kind_done, part, nullptr);
}

void spool_writer::add_bad(std::vector<bad_row> rows) { put(kind_bad, 0, encode_bad(rows)); }

void spool_writer::put(char kind, std::uint32_t part, const record_batch* rows) {
    std::string body;
    if (rows) encode_rows(*rows->schema->get(), *rows->array.get(), body);
    put(kind, part, body);
}

void spool_writer::put(char kind, std::uint32_t part, const std::string& body) {
    if (written_ + pending_.size() + body.size() > place_.limit) {
        throw failure(
            error{"state.spool_full",
                  place_.what + ": the batch takes more than the " + human_bytes(place_.limit) +
                      " that a spool may take on disk, and it has to lie there before it is landed",
                  "smaller batches fit: limits = { max_rows = .. } of the table; or give it more room: spool = "
                  "\"4GiB\" in [job]",
                  retry_class::permanent});
    }
    ++entries_;
    pending_ += kind;
    put_number(pending_, part);
    put_number(pending_, static_cast<std::uint64_t>(body.size()));
    pending_ += body;
    if (pending_.size() >= file_bytes) flush();
}

void spool_writer::flush() {
    if (files_ == 0) place_.io->make_directories(place_.folder);
    const auto title = rows_title(id_, ++files_);
    const auto file = place_.folder / title;
    place_.io->write(file, framed(title, pending_));
    place_.io->sync(file);
    written_ += pending_.size();
    pending_.clear();
}

void spool_writer::start_over() {
    for (; files_ > 0; --files_) place_.io->remove(place_.folder / rows_title(id_, files_));
    pending_.clear();
    written_ = 0;
    entries_ = 0;
}

spooled_batch spool_writer::finish(spooled_batch batch) {
    if (!pending_.empty()) flush();
    if (files_ == 0) place_.io->make_directories(place_.folder);
    batch.id = id_;
    batch.files = files_;
    batch.schema = to_ddl(*source_->get());
    batch.delete_columns = delete_columns_;
    const auto file = place_.folder / batch_name;
    const auto temporary = place_.folder / "batch.tmp";
    place_.io->write(temporary, encode_spooled(batch));
    place_.io->sync(temporary);
    place_.io->sync_directory(place_.folder.parent_path());
    finished_ = true;  // from here on it may count, so it is not this writer's to remove
    place_.io->rename(temporary, file);
    place_.io->sync_directory(place_.folder);
    return batch;
}

std::optional<spooled_batch> find_spooled(const spool_place& place, const std::string& job, const std::string& flow,
                                          std::string& note) {
    const auto names = place.io->list(place.folder);
    if (names.empty()) return std::nullopt;
    const auto file = place.folder / batch_name;
    std::optional<spooled_batch> out;
    if (const auto bytes = place.io->read(file)) out = decode_spooled(job, flow, *bytes, file.string());
    std::size_t left = 0;
    for (const auto& name : names) {
        if (name == batch_name || (out && name.starts_with("rows-" + out->id + "-"))) continue;
        place.io->remove(place.folder / name);
        ++left;
    }
    if (left > 0 && !out) {
        note = "a run died before it had read a batch to its end; what it had spooled (" + std::to_string(left) +
               " files) was never landed and is dropped, and the batch is read anew";
    }
    return out;
}

void replay_spooled(const spool_place& place, const spooled_batch& batch,
                    const std::shared_ptr<const arrow_schema>& source, batch_sink& to) {
    if (batch.schema != to_ddl(*source->get())) {
        throw failure(error{"records.schema_drift",
                            place.what + ": the spooled batch in " + place.folder.string() +
                                " was read with the columns " + batch.schema + ", and the table has " +
                                to_ddl(*source->get()) + " now",
                            "land it with the plugin that read it; or `lakeflow-host reset` of the flow gives it up",
                            retry_class::permanent});
    }
    std::shared_ptr<const arrow_schema> tombstones;
    if (!batch.delete_columns.empty()) {
        auto columns = select_columns(*source->get(), batch.delete_columns);
        for (std::int64_t i = 0; i < columns.columns(); ++i) columns.get()->children[i]->flags |= ARROW_FLAG_NULLABLE;
        tombstones = std::make_shared<const arrow_schema>(std::move(columns));
    }
    for (std::uint32_t number = 1; number <= batch.files; ++number) {
        const auto title = rows_title(batch.id, number);
        const auto file = (place.folder / title).string();
        const auto bytes = place.io->read(file);
        if (!bytes) corrupt(file, "is missing");
        auto body = unframed(*bytes, title, file);
        while (!body.empty()) {
            const char kind = take_number<char>(body, file);
            const auto part = take_number<std::uint32_t>(body, file);
            const auto size = take_number<std::uint64_t>(body, file);
            if (size > body.size()) corrupt(file, "ends inside an entry");
            const auto rows = body.substr(0, size);
            body.remove_prefix(size);
            if (kind == kind_rows) {
                to.add(part, {source, decode_rows(*source->get(), rows, file)});
            } else if (kind == kind_deletes && tombstones) {
                to.add_deletes({tombstones, decode_rows(*tombstones->get(), rows, file)});
            } else if (kind == kind_bad) {
                to.add_bad(decode_bad(rows, file));
            } else if (kind == kind_done) {
                to.part_done(part);
            } else {
                corrupt(file, "holds an entry of a kind that does not exist");
            }
        }
    }
}

// The `batch` file goes first: without it the rest counts for nothing.
void remove_spooled(effects& io, const fs::path& folder) {
    const auto names = io.list(folder);
    if (names.empty()) return;
    io.remove(folder / batch_name);
    io.sync_directory(folder);
    for (const auto& name : names) {
        if (name != batch_name) io.remove(folder / name);
    }
}

}  // namespace lakeflow::host
