"""A real PostgreSQL of a test's own: data in a temporary folder, a free port of the loopback, a user with a password. The server refuses to
run as root: it then runs as postgres, or nobody. It is ended by its id. The twin of postgres_server.h."""

import ctypes
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time


def program(name):
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not found:
        raise RuntimeError(f"PostgreSQL's {name} is not installed: conan/setup.sh --test brings it")
    return str(found[-1])


def account():
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("there is no user that PostgreSQL could run as")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class PostgresServer:
    """`with PostgresServer() as server: server.dsn`."""

    def __init__(self, fast=True, settings=(), hba=None, preload=None, certificate=None, key=None):
        """`settings`: further ones, "name=value". `hba`: who may connect, in the place of all with a password. `preload`: environment variables of the
        server's processes, LD_PRELOAD among them. `certificate`, `key`: files of a server that speaks TLS."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lakeflow-pg-"))
        self.password = "pw-" + secrets.token_hex(6)
        self.process = None
        self.fast = fast
        self.settings = list(settings)
        self.preload = preload or {}
        user = account()
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.folder.chmod(0o755)
        (self.folder / "password").write_text(self.password + "\n")
        made = self._start([program("initdb"), "-D", f"{self.folder}/data", "-U", "lakeflow", "-E", "UTF8", "--locale=C", "-N",
                            "-A", "scram-sha-256", f"--pwfile={self.folder}/password"])
        if made.wait(120) != 0:
            raise RuntimeError("initdb failed:\n" + self.log())
        if certificate:
            for name, source in (("certificate", certificate), ("key", key)):
                copy = self.folder / name
                copy.write_bytes(pathlib.Path(source).read_bytes())
                copy.chmod(0o600)
                if user:
                    os.chown(copy, user.pw_uid, user.pw_gid)
            self.settings += ["ssl=on", f"ssl_cert_file={self.folder}/certificate", f"ssl_key_file={self.folder}/key"]
        if hba:
            (self.folder / "data" / "pg_hba.conf").write_text(hba + "\n")
        self.port = free_port()
        self.start()

    def _start(self, arguments):
        user = account()

        def become():
            if user:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG: it does not outlive the test

        with open(self.folder / "log", "a", encoding="utf-8") as log:
            return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=become,
                                    env={"PATH": os.environ["PATH"], "LC_ALL": "C", **self.preload}, cwd=self.folder)

    def start(self):
        settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "shared_buffers=32MB", "log_statement=all"]
        if self.fast:
            settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        settings += self.settings
        arguments = [program("postgres"), "-D", f"{self.folder}/data", "-p", str(self.port)]
        for setting in settings:
            arguments += ["-c", setting]
        (self.folder / "log").unlink(missing_ok=True)
        self.process = self._start(arguments)
        for _ in range(1500):
            if self.process.poll() is not None or "database system is ready" in self.log():
                break
            time.sleep(0.02)
        if self.process.poll() is not None:
            raise RuntimeError("PostgreSQL did not start:\n" + self.log())

    def kill(self):
        """Ends it at once, its sessions too: what was not written is recovered at the next start."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def dsn(self):
        return f"host=127.0.0.1 port={self.port} dbname=postgres user=lakeflow password={self.password}"

    @property
    def environment(self):
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGDATABASE": "postgres",
                "PGUSER": "lakeflow", "PGPASSWORD": self.password, "PGTZ": "UTC"}

    def psql(self, *more):
        return [program("psql"), "-X", "-q", "-A", "-t", "-F", "\x1f", "-0", "-P", "null=\x1d", "-v", "ON_ERROR_STOP=1", *more]

    def sql(self, text):
        """Runs statements; the rows of them all as lists of text, None for null."""
        done = subprocess.run(self.psql("-f", "-"), input=text, env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=120)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        rows = done.stdout.split("\0")[:-1]
        return [[None if value == "\x1d" else value for value in row.split("\x1f")] for row in rows]

    def copy(self, table, source, form):
        """Fills a table from an open file."""
        subprocess.run(self.psql("-c", f"COPY {table} FROM STDIN ({form})"), input=source.read(), env=self.environment, cwd=self.folder, check=True,
                       capture_output=True, timeout=120)

    def value(self, text):
        return self.sql(text)[0][0]

    def session(self):
        return Session(self)

    def ask(self, sql):
        """The rows of a query as lists of text, null as the empty text."""
        return [[value or "" for value in row] for row in self.sql(sql)]


class Session:
    """A session that stays open: statements one after the other, each done when `run` returns."""

    def __init__(self, server):
        self.process = subprocess.Popen(server.psql("-f", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=server.environment, cwd=server.folder)

    def run(self, text):
        late = threading.Timer(30, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(text + ";\n\\echo done\n")
            self.process.stdin.flush()
            lines = []
            for line in self.process.stdout:
                if line.strip().endswith("done"):
                    return lines
                lines.append(line)
        finally:
            late.cancel()
        raise RuntimeError("the session ended, or waited for 30 s: " + "".join(lines))

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()
