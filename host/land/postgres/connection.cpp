// host/land/postgres/connection.cpp: see connection.h.
#include "host/land/postgres/connection.h"

#include <postgresql/libpq-fe.h>

#include <array>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::postgres {
namespace {

struct result_owner {
    PGresult* result = nullptr;
    explicit result_owner(PGresult* r) : result(r) {}
    ~result_owner() { PQclear(result); }
    result_owner(const result_owner&) = delete;
    result_owner& operator=(const result_owner&) = delete;
};

struct option_list {
    PQconninfoOption* options = nullptr;
    explicit option_list(const std::string& dsn) {
        char* message = nullptr;
        options = PQconninfoParse(dsn.c_str(), &message);
        // libpq's message repeats what it did not understand, which may be the password.
        if (message) PQfreemem(message);
        if (!options) {
            throw failure("config.destination", "the dsn of the destination is no connection string of PostgreSQL",
                          "write \"host=.. port=.. dbname=.. user=..\" or \"postgresql://user@host:port/dbname\"",
                          retry_class::invalid);
        }
    }
    ~option_list() { PQconninfoFree(options); }
    option_list(const option_list&) = delete;
    option_list& operator=(const option_list&) = delete;

    std::string value(const char* keyword) const {
        for (const PQconninfoOption* o = options; o->keyword; ++o) {
            if (std::strcmp(o->keyword, keyword) == 0 && o->val) return o->val;
        }
        return {};
    }
};

std::string trimmed(const char* text) { return std::string(trim(text ? text : "")); }

struct meaning {
    const char* code;
    retry_class retry;
    const char* hint;
};
meaning meaning_of(std::string_view state) {
    const auto is = [&](std::string_view start) { return state.starts_with(start); };
    if (is("08") || is("57P0") || is("53300"))
        return {"destination.unavailable", retry_class::transient, "see whether the server runs, and run again"};
    if (is("40") || is("55P03")) return {"destination.conflict", retry_class::transient, "run again"};
    if (is("28")) return {"destination.auth", retry_class::auth, "check user and password of the dsn"};
    if (is("42501"))
        return {"destination.denied", retry_class::permanent,
                "grant the user what it lacks: CREATE and USAGE on the schema, TEMPORARY on the database"};
    if (is("3D") || is("3F")) return {"destination.not_found", retry_class::permanent, "create it, or name another"};
    if (is("53100"))
        return {"destination.full", retry_class::permanent, "free space on the server's disk and run again"};
    if (is("22"))
        return {"value.mismatch", retry_class::permanent,
                "mend the value at its source, or land into a column that can hold it"};
    if (is("23"))
        return {"destination.constraint", retry_class::permanent,
                "drop the constraint, or land by its columns as `primary_keys` in mode scd1"};
    if (is("57014")) return {"cancelled", retry_class::cancelled, ""};
    return {"destination.postgres", retry_class::permanent, ""};
}

}  // namespace

std::string describe_dsn(const std::string& dsn) {
    const option_list options(dsn);
    std::string host = options.value("host");
    if (host.empty()) host = options.value("hostaddr");
    if (host.empty()) host = "localhost";
    const std::string port = options.value("port");
    const std::string name = options.value("dbname");
    return host + (port.empty() ? "" : ":" + port) + "/" + (name.empty() ? options.value("user") : name);
}

std::vector<std::string> secrets_of_dsn(const std::string& dsn) {
    const option_list options(dsn);
    std::vector<std::string> found;
    for (const char* keyword : {"password", "sslpassword"}) {
        if (std::string value = options.value(keyword); !value.empty()) found.push_back(std::move(value));
    }
    if (!found.empty()) found.push_back(dsn);
    return found;
}

connection::connection(const std::string& dsn, std::shared_ptr<cancel_token> stop) : stop_(std::move(stop)) {
    if (stop_) stop_->check();
    const std::string where = describe_dsn(dsn);
    const option_list given(dsn);
    const bool waits = !given.value("connect_timeout").empty();
    const std::array<const char*, 5> keywords{"dbname", "application_name", "client_encoding",
                                              waits ? nullptr : "connect_timeout", nullptr};
    const std::array<const char*, 5> values{dsn.c_str(), "lakeflow-host", "UTF8", "20", nullptr};
    handle_ = PQconnectdbParams(keywords.data(), values.data(), 1);
    if (PQstatus(handle_) != CONNECTION_OK) {
        const std::string text = trimmed(PQerrorMessage(handle_));
        PQfinish(handle_);
        const bool refused = text.find("authentication") != std::string::npos ||
                             text.find("no password") != std::string::npos || text.find("role \"") != std::string::npos;
        if (refused)
            throw failure("destination.auth", "PostgreSQL " + where + ": " + text, "check user and password of the dsn",
                          retry_class::auth);
        if (text.find("does not exist") != std::string::npos && text.find("database") != std::string::npos)
            throw failure("destination.not_found", "PostgreSQL " + where + ": " + text,
                          "create the database, or name another in the dsn");
        throw failure("destination.unavailable", "PostgreSQL " + where + ": " + text,
                      "see whether the server runs and lets this machine in", retry_class::transient);
    }
    PQsetNoticeProcessor(
        handle_, [](void*, const char*) {}, nullptr);
    cancel_ = PQgetCancel(handle_);
    if (stop_) {
        stop_id_ = stop_->on_cancel([cancel = cancel_] {
            std::array<char, 256> why{};
            PQcancel(cancel, why.data(), static_cast<int>(why.size()));
        });
    }
    try {
        // Instants and numbers are written and read in one form wherever the server stands, and only names that we qualify are meant.
        run("SET TimeZone = 'UTC'");
        run("SET DateStyle = 'ISO, YMD'");
        run("SET standard_conforming_strings = on");
        run("SET search_path = pg_catalog");
        run("SET client_min_messages = warning");
    } catch (...) {
        if (stop_) stop_->remove(stop_id_);
        PQfreeCancel(cancel_);
        PQfinish(handle_);
        throw;
    }
}

connection::~connection() {
    if (stop_) stop_->remove(stop_id_);
    PQfreeCancel(cancel_);
    PQfinish(handle_);
}

void connection::fail(void* result) {
    auto* r = static_cast<PGresult*>(result);
    const auto field = [&](int code) {
        const char* text = r ? PQresultErrorField(r, code) : nullptr;
        return std::string(text ? text : "");
    };
    const std::string state = field(PG_DIAG_SQLSTATE);
    std::string text = field(PG_DIAG_MESSAGE_PRIMARY);
    if (text.empty()) text = trimmed(PQerrorMessage(handle_));
    if (const std::string detail = field(PG_DIAG_MESSAGE_DETAIL); !detail.empty()) text += " (" + detail + ")";
    if (const std::string context = field(PG_DIAG_CONTEXT); !context.empty()) text += ", " + context;
    if (stop_) stop_->check();
    meaning m = meaning_of(state);
    if (state.empty() || broken()) m = meaning_of("08006");
    throw failure(m.code, "PostgreSQL: " + text, m.hint, m.retry);
}

namespace {

PGresult* execute(PGconn* handle, const std::string& sql, const std::vector<std::string>& parameters) {
    if (parameters.empty()) return PQexec(handle, sql.c_str());
    std::vector<const char*> values;
    values.reserve(parameters.size());
    for (const std::string& p : parameters) values.push_back(p.c_str());
    return PQexecParams(handle, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr,
                        0);
}

}  // namespace

std::int64_t connection::run(const std::string& sql, const std::vector<std::string>& parameters) {
    if (stop_) stop_->check();
    const result_owner r(execute(handle_, sql, parameters));
    const ExecStatusType status = PQresultStatus(r.result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(r.result);
    return parse_int(PQcmdTuples(r.result)).value_or(0);
}

text_rows connection::rows(const std::string& sql, const std::vector<std::string>& parameters) {
    if (stop_) stop_->check();
    const result_owner r(execute(handle_, sql, parameters));
    if (PQresultStatus(r.result) != PGRES_TUPLES_OK) fail(r.result);
    text_rows out;
    for (int row = 0; row < PQntuples(r.result); ++row) {
        auto& cells = out.emplace_back();
        for (int column = 0; column < PQnfields(r.result); ++column) {
            if (PQgetisnull(r.result, row, column)) {
                cells.emplace_back();
            } else {
                cells.emplace_back(std::string(PQgetvalue(r.result, row, column),
                                               static_cast<std::size_t>(PQgetlength(r.result, row, column))));
            }
        }
    }
    return out;
}

void connection::begin_copy(const std::string& sql) {
    if (stop_) stop_->check();
    const result_owner r(PQexec(handle_, sql.c_str()));
    if (PQresultStatus(r.result) != PGRES_COPY_IN) fail(r.result);
}

void connection::put_copy(std::string_view lines) {
    while (!lines.empty()) {
        const std::string_view some = lines.substr(0, 1 << 20);
        if (PQputCopyData(handle_, some.data(), static_cast<int>(some.size())) != 1) {
            end_copy();  // throws what the server said
            fail(nullptr);
        }
        lines.remove_prefix(some.size());
    }
}

void connection::end_copy() {
    PQputCopyEnd(handle_, nullptr);
    const result_owner r(PQgetResult(handle_));
    const bool ok = PQresultStatus(r.result) == PGRES_COMMAND_OK;
    while (PGresult* rest = PQgetResult(handle_)) PQclear(rest);
    if (!ok) fail(r.result);
}

void connection::abandon_copy() noexcept {
    if (PQtransactionStatus(handle_) != PQTRANS_ACTIVE) return;
    PQputCopyEnd(handle_, "the batch was dropped");
    while (PGresult* rest = PQgetResult(handle_)) PQclear(rest);
}

bool connection::broken() const noexcept { return PQstatus(handle_) != CONNECTION_OK; }
bool connection::in_transaction() const noexcept { return PQtransactionStatus(handle_) != PQTRANS_IDLE; }
int connection::server_version() const noexcept { return PQserverVersion(handle_); }

std::string quote_name(std::string_view name) {
    std::string out = "\"";
    for (const char c : name) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string quote_text(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += '\'';
        out += c;
    }
    return out + "'";
}

std::string short_name(const std::string& name) {
    if (name.size() <= 63) return name;
    const std::uint64_t hash = hash64(name);
    static constexpr char digits[] = "0123456789abcdef";
    std::string out(cut_utf8(name, 54));
    out += '_';
    for (int shift = 28; shift >= 0; shift -= 4) out += digits[hash >> shift & 15];
    return out;
}

}  // namespace lakeflow::host::postgres
