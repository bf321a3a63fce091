// plugins/postgres/session.cpp: see session.hpp.
#include "session.hpp"

#include <poll.h>

#include <array>
#include <cerrno>

#include "sql.hpp"

namespace lakeflow::postgres {
namespace {

bool begins(const std::string& state, std::string_view prefix) { return state.starts_with(prefix); }

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    return text;
}

// The last SQLSTATE in "FATAL:  28P01: password authentication failed": libpq gives those of a failed connection in its text alone.
std::string state_in(std::string_view message) {
    std::string out;
    for (size_t at = message.find(":  "); at != std::string_view::npos; at = message.find(":  ", at + 1)) {
        std::string_view word = message.substr(at + 3, 6);
        bool fits = word.size() == 6 && word[5] == ':';
        for (size_t i = 0; fits && i < 5; ++i)
            fits = (word[i] >= '0' && word[i] <= '9') || (word[i] >= 'A' && word[i] <= 'Z');
        if (fits) out = word.substr(0, 5);
    }
    return out;
}

void notice(void* log, const char* text) { static_cast<const log_service*>(log)->debug(trimmed(text)); }

}  // namespace

failure server_failure(const std::string& state, std::string message) {
    message += " (SQLSTATE " + state + ")";
    if (begins(state, "28")) {
        return auth_refused(std::move(message), "check user, password and the server's pg_hba.conf")
            .with_code("source.auth");
    }
    if (state == "42501")
        return auth_refused(std::move(message), "grant the role SELECT on it").with_code("source.auth");
    if (state == "42P01" || state == "3F000" || state == "3D000") {
        return not_found(std::move(message), "lakeflow-host tables lists what is there").with_code("source.not_found");
    }
    if (state == "42703") {
        return not_found(std::move(message), "the column is not there, or no longer: see lakeflow-host schema")
            .with_code("source.not_found");
    }
    if (state == "57014") {
        bool timed_out = message.find("statement timeout") != std::string::npos;
        return failure(timed_out ? retry::permanent : retry::transient, std::move(message),
                       timed_out ? "raise statement_timeout, or split the read into more partitions" : "",
                       "source.cancelled");
    }
    // Of a snapshot that went away with the session that exported it: the whole batch is planned anew.
    bool lost_snapshot = (state == "22023" || state == "42704") && message.find("snapshot") != std::string::npos;
    bool passing = begins(state, "08") || begins(state, "40") || begins(state, "53") || begins(state, "57P") ||
                   begins(state, "58") || state == "55P03" || state == "72000" || state == "25P03" ||
                   state == "25P04" || lost_snapshot;
    if (passing) return transient(std::move(message)).with_code("source.transient");
    if (begins(state, "42") || begins(state, "0A") || begins(state, "25")) {
        return invalid(std::move(message)).with_code("source.refused");
    }
    return permanent(std::move(message)).with_code("source.failed");
}

session::session(const services& host, const connection_settings& settings,
                 std::vector<std::shared_ptr<stop_flag>> stops)
    : host_(host), stops_(std::move(stops)) {
    connect(settings);
    // One way to write values, whatever the role or database have set. A read changes nothing. A session that exports a snapshot waits
    // inside its transaction for as long as the others read.
    std::string setup =
        "SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET extra_float_digits = 1; SET bytea_output = 'hex'; "
        "SET timezone = 'UTC'; "
        "SET lc_monetary = 'C'; SET standard_conforming_strings = on; SET default_transaction_read_only = on; "
        "SET idle_in_transaction_session_timeout = 0";
    if (!settings.statement_timeout.empty()) setup += "; SET statement_timeout = " + settings.statement_timeout;
    ask(setup);
}

void session::connect(const connection_settings& settings) {
    std::vector<const char*> names, values;
    for (const auto& [name, value] : settings.parameters) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    std::int64_t seconds = 10;
    for (const auto& [name, value] : settings.parameters) {
        if (name == "connect_timeout") seconds = std::max<std::int64_t>(1, detail::plain_integer(value).value_or(10));
    }
    const std::int64_t until = host_.clock.monotonic_us() + seconds * 1'000'000;
    connection_.reset(PQconnectStartParams(names.data(), values.data(), 0));
    if (!connection_) throw transient("no memory for a connection");
    // Nothing goes to stderr, and the text of a refused connection holds its SQLSTATE.
    PQsetNoticeProcessor(connection_.get(), &notice, &host_.log);
    PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
    PostgresPollingStatusType next =
        PQstatus(connection_.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED) {
        pollfd socket{PQsocket(connection_.get()), static_cast<short>(next == PGRES_POLLING_READING ? POLLIN : POLLOUT),
                      0};
        int ready = poll(&socket, 1, 50);
        if (stopping()) throw cancelled();
        if (ready < 0 && errno != EINTR)
            throw transient("the connection cannot be waited for").with_code("source.transient");
        if (ready > 0) next = PQconnectPoll(connection_.get());
        if (next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED && host_.clock.monotonic_us() > until) {
            throw transient(place() + " does not answer within " + std::to_string(seconds) + " s",
                            "check host and port, or raise connect_timeout")
                .with_code("source.transient");
        }
    }
    if (next == PGRES_POLLING_FAILED) {
        std::string text = without_secrets(trimmed(PQerrorMessage(connection_.get())));
        std::string state = state_in(text);
        if (!state.empty()) throw server_failure(state, text);
        // Without an answer of the server: what libpq itself found wrong.
        if (text.find("no password supplied") != std::string::npos) {
            throw auth_refused(text, "give password, PGPASSFILE or a service").with_code("source.auth");
        }
        bool certificate = text.find("certificate") != std::string::npos || text.find("SSL") != std::string::npos;
        if (certificate && text.find("SYSCALL") == std::string::npos) {
            throw permanent(text, "check sslmode and sslrootcert").with_code("source.tls");
        }
        if (text.find("service") != std::string::npos || text.find("invalid") != std::string::npos)
            throw invalid(text).with_code("config.invalid");
        throw transient(text, "is the server running, and reachable from here?").with_code("source.transient");
    }
    PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
    PQsetnonblocking(connection_.get(), 1);
}

std::string session::place() const {
    const char* host = PQhost(connection_.get());
    const char* port = PQport(connection_.get());
    const char* base = PQdb(connection_.get());
    return "postgresql://" + std::string(host ? host : "") + ":" + std::string(port ? port : "") + "/" +
           std::string(base ? base : "");
}

bool session::stopping() const {
    for (const auto& flag : stops_) {
        if (flag->raised.load(std::memory_order_relaxed)) return true;
    }
    return host_.cancel.requested();
}

std::string session::without_secrets(std::string text) const {
    const char* password = PQpass(connection_.get());
    std::string secret = password ? password : "";
    if (secret.size() < 4) return text;
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret))
        text.replace(at, secret.size(), "***");
    return text;
}

failure session::broken() const {
    std::string text = without_secrets(trimmed(PQerrorMessage(connection_.get())));
    return transient("the connection to " + place() + " broke" + (text.empty() ? "" : ": " + text))
        .with_code("source.transient");
}

void session::wait(bool writing) {
    pollfd socket{PQsocket(connection_.get()), static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), 0};
    for (;;) {
        if (stopping()) {
            // The server is told as well; the connection is not used again.
            std::array<char, 256> problem{};
            std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> request(PQgetCancel(connection_.get()), &PQfreeCancel);
            if (request) PQcancel(request.get(), problem.data(), problem.size());
            throw cancelled();
        }
        int ready = poll(&socket, 1, 50);
        if (ready > 0) return;
        if (ready < 0 && errno != EINTR) throw broken();
    }
}

void session::send(int accepted) {
    if (accepted != 1) throw broken();
    for (int rest = PQflush(connection_.get()); rest != 0; rest = PQflush(connection_.get())) {
        if (rest < 0) throw broken();
        wait(true);
        if (PQconsumeInput(connection_.get()) != 1) throw broken();
    }
}

session::result session::next_result() {
    while (PQisBusy(connection_.get()) == 1) {
        wait();
        if (PQconsumeInput(connection_.get()) != 1) throw broken();
    }
    return {PQgetResult(connection_.get()), &PQclear};
}

void session::check(const PGresult* answer) {
    ExecStatusType status = PQresultStatus(answer);
    if (status != PGRES_FATAL_ERROR && status != PGRES_BAD_RESPONSE) return;
    const char* state = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    std::string text = without_secrets(trimmed(PQresultErrorMessage(answer)));
    if (state == nullptr || *state == '\0') throw broken();
    throw server_failure(state, text);
}

template <class F>
void session::take_results(F take) {
    std::optional<failure> failed;
    while (result answer = next_result()) {
        try {
            check(answer.get());
            take(answer.get());
        } catch (failure& error) {
            if (PQstatus(connection_.get()) == CONNECTION_BAD) throw;
            if (!failed) failed = error;
        }
    }
    if (failed) throw failure(*failed);
}

std::vector<answer_row> session::ask(const std::string& sql) {
    host_.log.debug("statement: " + sql);
    send(PQsendQuery(connection_.get(), sql.c_str()));
    std::vector<answer_row> out;
    take_results([&](const PGresult* answer) {
        if (PQresultStatus(answer) != PGRES_TUPLES_OK) return;
        out.clear();
        for (int row = 0; row < PQntuples(answer); ++row) {
            answer_row& here = out.emplace_back();
            for (int column = 0; column < PQnfields(answer); ++column) {
                if (PQgetisnull(answer, row, column) == 1) {
                    here.emplace_back(std::nullopt);
                } else {
                    here.emplace_back(std::string(PQgetvalue(answer, row, column),
                                                  static_cast<size_t>(PQgetlength(answer, row, column))));
                }
            }
        }
    });
    return out;
}

std::string session::ask_value(const std::string& sql) {
    std::vector<answer_row> rows = ask(sql);
    if (rows.size() != 1 || rows[0].size() != 1) throw protocol("'" + sql + "' gave no single value");
    return rows[0][0].value_or("");
}

std::vector<described_column> session::describe(const std::string& sql) {
    host_.log.debug("describe: " + sql);
    std::vector<described_column> out;
    const auto columns = [&](const PGresult* answer) {
        for (int column = 0; column < PQnfields(answer); ++column)
            out.push_back({PQfname(answer, column), PQftype(answer, column), PQfmod(answer, column)});
    };
    send(PQsendPrepare(connection_.get(), "", sql.c_str(), 0, nullptr));
    take_results(columns);
    send(PQsendDescribePrepared(connection_.get(), ""));
    take_results(columns);
    return out;
}

void session::begin_copy(const std::string& sql) {
    host_.log.debug("statement: " + sql);
    send(PQsendQuery(connection_.get(), sql.c_str()));
    result answer = next_result();
    if (!answer) throw broken();
    check(answer.get());
    if (PQresultStatus(answer.get()) != PGRES_COPY_OUT) throw protocol("the server does not begin to copy");
}

std::optional<std::string_view> session::next_copied() {
    for (;;) {
        char* raw = nullptr;
        int size = PQgetCopyData(connection_.get(), &raw, 1);
        if (size > 0) {
            copied_.reset(raw);
            return std::string_view(raw, static_cast<size_t>(size));
        }
        if (size == -2) throw broken();
        if (size == -1) {
            while (result answer = next_result()) check(answer.get());
            return std::nullopt;
        }
        wait();
        if (PQconsumeInput(connection_.get()) != 1) throw broken();
    }
}

}  // namespace lakeflow::postgres
