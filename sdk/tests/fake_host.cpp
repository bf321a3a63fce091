// sdk/tests/fake_host.cpp: see the header. The tables are global as the ABI asks (they live as long as the process), so the host
// that is alive is found through one pointer.
#include "fake_host.hpp"

#include <cstring>

using namespace lakeflow;
using lakeflow::testing::answer;
using lakeflow::testing::fake_host;

struct lf_exchange {
    std::string url;
    answer said;
    size_t at = 0;
    std::string piece, found;
};

struct lf_decoder {
    schema columns;
    json spec;
    std::unique_ptr<batch_builder> rows;
    json document;
    int64_t in_document = 0;
    std::string fed;
};

namespace {

fake_host* current = nullptr;

lf_status say(lf_error* error, retry how, const char* code, const std::string& message) {
    detail::write_error(error, how, code, message, "");
    return LF_ERROR;
}

std::string lower(std::string_view text) { return detail::lower(text); }

lf_status http_start(lf_context*, const lf_http_request* request, lf_exchange** out, lf_error* error) {
    std::string url(view(request->url));
    current->events.push_back("start " + url);
    json seen = json::object({{"method", view(request->method)}, {"url", url}, {"origin", view(request->origin)}});
    seen.set("headers", absent(request->headers) ? json() : json::parse(view(request->headers)));
    seen.set("auth", absent(request->auth) ? json() : json::parse(view(request->auth)));
    seen.set("body", absent(request->body) ? json() : json(view(request->body)));
    current->requests.push_back(seen);
    if (current->cancelled.load()) return say(error, retry::cancelled, "", "cancelled");
    auto found = current->answers.find(url);
    *out = new lf_exchange{url, found == current->answers.end() ? answer{404, {}, ""} : found->second, 0, "", ""};
    ++current->open_objects;
    return LF_OK;
}

lf_status http_head(lf_exchange* exchange, int32_t* status, lf_error* error) {
    current->events.push_back("head " + exchange->url);
    if (exchange->said.status == 404)
        return say(error, retry::not_found, "source.not_found", "404 for " + exchange->url);
    *status = exchange->said.status;
    return LF_OK;
}

lf_status http_header(lf_exchange* exchange, lf_str name, lf_str* out, lf_error*) {
    auto found = exchange->said.headers.find(lower(view(name)));
    *out = no_str();
    if (found != exchange->said.headers.end()) exchange->found = found->second, *out = str(exchange->found);
    return LF_OK;
}

lf_status http_final_url(lf_exchange* exchange, lf_str* out, lf_error*) { return *out = str(exchange->url), LF_OK; }

lf_status http_read(lf_exchange* exchange, lf_str* data, lf_error*) {
    if (exchange->at == exchange->said.body.size()) return LF_END;
    exchange->piece = exchange->said.body.substr(exchange->at, 7);
    exchange->at += exchange->piece.size();
    *data = str(exchange->piece);
    return LF_OK;
}

lf_status http_retry(lf_exchange* exchange, lf_str reason, lf_error* error) {
    return say(error, retry::permanent, "source.protocol", exchange->url + ": " + std::string(view(reason)));
}

void http_close(lf_exchange* exchange) {
    --current->open_objects;
    delete exchange;
}

lf_status rows_open(lf_context*, const lf_rows_args* args, lf_decoder** out, lf_error* error) {
    return detail::guard(error, [&] {
        auto made = std::make_unique<lf_decoder>();
        made->columns = schema::from_arrow(*args->schema);
        made->spec = absent(args->spec) ? json::object() : json::parse(view(args->spec));
        made->rows = std::make_unique<batch_builder>(made->columns);
        *out = made.release();
        ++current->open_objects;
        return LF_OK;
    });
}

lf_status rows_finish(lf_decoder* decoder, lf_error* error) {
    return detail::guard(error, [&] {
        decoder->document = json::parse(std::exchange(decoder->fed, ""));
        const json* rows = decoder->document.pointer(decoder->spec.text("records"));
        decoder->in_document = 0;
        if (rows == nullptr || rows->is_null()) return LF_OK;
        for (const json& row : rows->items()) decoder->rows->append(row), ++decoder->in_document;
        return LF_OK;
    });
}

lf_status rows_feed(lf_decoder* decoder, lf_str bytes, lf_error*) { return decoder->fed += view(bytes), LF_OK; }

lf_status rows_decode(lf_decoder* decoder, lf_exchange* exchange, lf_error* error) {
    current->events.push_back("decode " + exchange->url);
    decoder->fed = exchange->said.body.substr(exchange->at);
    exchange->at = exchange->said.body.size();
    return rows_finish(decoder, error);
}

void rows_abandon(lf_decoder* decoder) { decoder->fed.clear(); }

lf_status rows_take(lf_decoder* decoder, ArrowArray* out, lf_error*) {
    if (decoder->rows->rows() == 0) return LF_END;
    decoder->rows->finish().move_to(out);
    return LF_OK;
}

lf_status rows_capture(lf_decoder* decoder, uint32_t index, const lf_sink* out, lf_error* error) {
    return detail::guard(error, [&] {
        const json* value = decoder->document.pointer(decoder->spec.at("captures").items().at(index).as_text());
        if (value != nullptr) detail::emit(out, value->dump());
        return LF_OK;
    });
}

lf_status rows_stats(lf_decoder* decoder, const lf_sink* out, lf_error* error) {
    return detail::guard(error, [&] {
        json most = json::object();
        const json* rows = decoder->document.pointer(decoder->spec.text("records"));
        const json* watched = decoder->spec.find("watch");
        for (size_t i = 0; watched != nullptr && i < watched->size(); ++i) {
            std::string name = watched->items()[i].as_text();
            for (const json& row : rows->items()) {
                const json* value = row.find(name);
                const json* known = most.find(name);
                if (value != nullptr && (known == nullptr || known->dump() < value->dump())) most.set(name, *value);
            }
        }
        json stats = json::object({{"rows", decoder->in_document},
                                   {"kept", decoder->in_document},
                                   {"pending", decoder->rows->rows()},
                                   {"pending_bytes", static_cast<int64_t>(decoder->rows->bytes())},
                                   {"max", most}});
        detail::emit(out, stats.dump());
        return LF_OK;
    });
}

void rows_close(lf_decoder* decoder) {
    --current->open_objects;
    delete decoder;
}

void log_write(lf_context*, int32_t level, lf_str text) {
    current->log.push_back(std::to_string(level) + " " + std::string(view(text)));
}
bool log_enabled(lf_context*, int32_t level) { return level >= LF_LOG_INFO; }
int64_t clock_now(lf_context*) { return current->now_us; }
int64_t clock_init(lf_context*) { return current->init_us; }
bool cancel_requested(lf_context*) { return current->cancelled.load(); }
lf_status cancel_wait(lf_context*, int64_t milliseconds) {
    current->now_us += milliseconds * 1000;
    return current->cancelled.load() ? LF_END : LF_OK;
}
void metrics_add(lf_context*, lf_str name, int64_t delta) { current->counters[std::string(view(name))] += delta; }
void metrics_set(lf_context*, lf_str name, int64_t value) { current->counters[std::string(view(name))] = value; }

const lf_http_v1 http_table = {sizeof(lf_http_v1), 0,         http_start, http_head, http_header,
                               http_final_url,     http_read, http_retry, http_close};
const lf_rows_v1 rows_table = {sizeof(lf_rows_v1), 0,         rows_open,    rows_decode, rows_feed, rows_finish,
                               rows_abandon,       rows_take, rows_capture, rows_stats,  rows_close};
const lf_log_v1 log_table = {sizeof(lf_log_v1), 0, log_write, log_enabled};
const lf_clock_v1 clock_table = {sizeof(lf_clock_v1), 0, clock_now, clock_now, clock_init};
const lf_cancel_v1 cancel_table = {sizeof(lf_cancel_v1), 0, cancel_requested, cancel_wait};
const lf_metrics_v1 metrics_table = {sizeof(lf_metrics_v1), 0, metrics_add, metrics_set};

const void* find_service(const lf_host*, lf_str id) {
    std::string_view wanted = view(id);
    if (wanted == LF_HTTP_ID) return &http_table;
    if (wanted == LF_ROWS_ID) return current->without_rows ? nullptr : &rows_table;
    if (wanted == LF_LOG_ID) return &log_table;
    if (wanted == LF_CLOCK_ID) return &clock_table;
    if (wanted == LF_CANCEL_ID) return &cancel_table;
    if (wanted == LF_METRICS_ID) return &metrics_table;
    return nullptr;
}

}  // namespace

fake_host::fake_host() : host_{sizeof(lf_host), LF_ABI_VERSION, LF_INIT("fake-host"), LF_INIT("1.0.0"), find_service} {
    current = this;
}

fake_host::~fake_host() { current = nullptr; }
