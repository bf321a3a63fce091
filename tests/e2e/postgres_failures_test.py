"""The postgres plugin where something is wrong: roles, certificates, timeouts, a server that is killed or full, a table that changes meanwhile."""

import json
import subprocess
import time
import unittest

from harness import HOST, SOURCE
from postgres_scratch import PostgresScratch
from postgres_server import PostgresServer


class Certificates:
    """An authority, a server certificate of it for localhost, and another authority."""

    def __init__(self, folder):
        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], cwd=folder, check=True, capture_output=True)

        for name in ("root", "other"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", 2,
                    "-subj", f"/CN={name}")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-out", "server.pem", "-days", 2)
        self.root, self.other, self.certificate, self.key = (folder / name for name in ("root.pem", "other.pem", "server.pem", "server.key"))


class Failures(PostgresScratch):
    def test_errors_say_what_to_do_and_no_password(self):
        self.pg.sql("CREATE ROLE poor LOGIN PASSWORD 'poor-secret'; CREATE TABLE closed (id int PRIMARY KEY)")
        here = f'host = "127.0.0.1"\nport = {self.pg.port}\ndbname = "postgres"\n'
        cases = [
            (here + 'user = "lakeflow"\npassword = "wrong-canary"', "closed", "source.auth"),
            (here + 'user = "poor"\npassword = "poor-secret"', "closed", "source.auth"),
            (None, "nowhere", "source.not_found"),
            (here.replace('"postgres"', '"nobase"') + f'user = "lakeflow"\npassword = "{self.pg.password}"', "closed", "source.not_found"),
            (f'host = "127.0.0.1"\nport = 1\nuser = "x"\npassword = "wrong-canary"', "closed", "source.transient"),
        ]
        for connection, table, code in cases:
            done = self.host("run", "--config", self.pg_job([{"source": f'"{table}"'}], connection=connection), "--log-level", "debug")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(code, done.stderr)
            self.assertNotIn("canary", done.stderr)
            self.assertNotIn("poor-secret", done.stderr)

    def test_passwords_from_a_file_a_service_and_addresses(self):
        self.pg.sql("CREATE TABLE reached (id int PRIMARY KEY); INSERT INTO reached VALUES (1)")
        (self.folder / "pass").write_text(f"127.0.0.1:{self.pg.port}:*:lakeflow:{self.pg.password}\n")
        (self.folder / "pass").chmod(0o600)
        (self.folder / "services").write_text(f"[shop]\nhost=127.0.0.1\nport={self.pg.port}\ndbname=postgres\nuser=lakeflow\npassword={self.pg.password}\n")
        env = {"PGPASSFILE": str(self.folder / "pass"), "PGSERVICEFILE": str(self.folder / "services")}
        for at, connection in enumerate((
            f'dsn = "host=127.0.0.1 port={self.pg.port} dbname=postgres user=lakeflow"',
            'service = "shop"',
            f'url = "jdbc:postgresql://127.0.0.1:{self.pg.port}/postgres?user=lakeflow&sslmode=disable"',
            f'dsn = "postgresql://lakeflow:{self.pg.password}@127.0.0.1:{self.pg.port}/postgres"',
        )):
            self.run_job(self.pg_job([{"source": '"public.reached"', "destination": f'"r{at}"'}], connection=connection), env=env)
            self.assertEqual(self.duck(f"SELECT * FROM r{at}"), [(1,)])

    def test_each_statement_is_logged_and_a_cancelled_run_leaves_none_behind(self):
        slow = "SELECT i AS id, pg_sleep(0.01)::text AS p FROM generate_series(1, 100000) i"
        job = self.pg_job([{"source": '"slow"', "options": f'{{ query = "{slow}", primary_keys = ["id"] }}'}])
        process = subprocess.Popen([str(HOST), "run", "--config", str(job), "--log-level", "debug"], cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lakeflow-host' AND state = 'active' AND query LIKE 'COPY%'"
        until = time.monotonic() + 30
        while self.pg.value(running) == "0" and time.monotonic() < until:
            time.sleep(0.1)
        process.terminate()
        time.sleep(0.3)
        process.terminate()
        begun = time.monotonic()
        while self.pg.value(running) != "0" and time.monotonic() < begun + 10:
            time.sleep(0.05)
        self.assertLess(time.monotonic() - begun, 2)
        _, text = process.communicate(timeout=30)
        self.assertIn("COPY (SELECT", text)
        self.assertNotIn(self.pg.password, text)

    def test_a_statement_timeout_ends_clearly(self):
        connection = f'dsn = "host=127.0.0.1 port={self.pg.port} dbname=postgres user=lakeflow password={self.pg.password}"\nstatement_timeout = "200ms"'
        query = "SELECT i AS id, pg_sleep(1)::text AS p FROM generate_series(1, 5) i"
        run = self.run_job(self.pg_job([{"source": '"slow"', "options": f'{{ query = "{query}", primary_keys = ["id"] }}'}], connection=connection), code=1)
        self.assertIn("57014", run.table("slow")["error"]["message"])
        self.assertIn("statement_timeout", run.table("slow")["error"]["hint"])

    def test_a_column_dropped_between_planning_and_reading_is_named_and_nothing_lands(self):
        self.pg.sql("CREATE TABLE dropping (id int PRIMARY KEY, v int); INSERT INTO dropping SELECT i, i FROM generate_series(1, 100) i")
        split = '{ partition_column = "id", lower_bound = 1, upper_bound = 100, num_partitions = 2 }'
        other = self.pg.session()
        # The catalog shows the column until the other commits; the read waits for that.
        other.run("BEGIN; ALTER TABLE dropping DROP COLUMN v")
        process = self.start_run(self.pg_job([{"source": '"dropping"', "options": split}], destination='type = "delta"\npath = "lake"'))
        self.await_session("wait_event_type = 'Lock'")
        other.run("COMMIT")
        other.close()
        _, text = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, text)
        error = json.loads((self.folder / "report.json").read_text())["tables"][0]["error"]
        self.assertEqual(error["code"], "source.not_found")
        self.assertIn('"v"', error["message"])
        self.assertFalse(list(self.folder.glob("lake/dropping/_delta_log/*.json")) and self.delta("dropping"))

    def test_a_server_killed_while_it_is_read_is_read_again_and_nothing_lands_twice(self):
        self.pg = PostgresServer()
        self.addCleanup(self.pg.stop)
        slow = "SELECT i AS id, pg_sleep(0.001)::text AS p FROM generate_series(1, 2000) i"
        process = self.start_run(self.pg_job([{"source": '"slow"', "options": f'{{ query = "{slow}", primary_keys = ["id"] }}'}]))
        self.await_session("state = 'active'")
        self.pg.kill()
        self.pg.start()
        _, text = process.communicate(timeout=50)
        self.assertEqual(process.returncode, 0, text)
        self.assertEqual(self.duck("SELECT count(*), count(DISTINCT id) FROM slow"), [(2000, 2000)])
        self.assertGreaterEqual(self.pg.log().count("COPY (SELECT"), 1)


    def test_each_tls_mode_does_what_libpq_says(self):
        keys = Certificates(self.folder)
        server = PostgresServer(certificate=keys.certificate, key=keys.key, hba="hostssl all all 127.0.0.1/32 scram-sha-256")
        self.addCleanup(server.stop)
        server.sql("CREATE TABLE closed (id int PRIMARY KEY); INSERT INTO closed VALUES (1)")

        def attempt(more, host="localhost"):
            connection = f'host = "{host}"\nport = {server.port}\ndbname = "postgres"\nuser = "lakeflow"\npassword = "{server.password}"\n{more}'
            return self.host("query", "SELECT id FROM closed", "--config", self.pg_job([{"source": '"closed"'}], connection=connection))

        root, other = f'sslrootcert = "{keys.root}"', f'sslrootcert = "{keys.other}"'
        for more in ('sslmode = "require"', f'sslmode = "verify-ca"\n{root}', f'sslmode = "verify-full"\n{root}', 'sslmode = "prefer"', ""):
            done = attempt(more)
            self.assertEqual(json.loads(done.stdout or "null"), {"id": 1}, more + done.stderr)
        for more, code in (('sslmode = "disable"', "source.auth"), (f'sslmode = "verify-full"\n{other}', "source.tls"), ('sslmode = "sometimes"', "config.invalid"),
                           (f'sslmode = "verify-ca"\n{other}', "source.tls")):
            done = attempt(more)
            self.assertNotEqual(done.returncode, 0, more)
            self.assertIn(code, done.stderr, more)
        # The certificate names localhost: another name for the same server is not it.
        self.assertIn("source.tls", attempt(f'sslmode = "verify-full"\n{root}', host="127.0.0.1").stderr)

    def test_a_full_disk_on_the_server_is_waited_for_and_then_told(self):
        library = self.folder / "full_disk.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE / "tests" / "support" / "full_disk.c", "-ldl"], check=True)
        self.folder.chmod(0o755)
        full = self.folder / "full"
        server = PostgresServer(settings=["work_mem=64kB"], preload={"LD_PRELOAD": str(library), "LAKEFLOW_FULL_DISK": str(full)})
        self.addCleanup(server.stop)
        connection = f'host = "127.0.0.1"\nport = {server.port}\ndbname = "postgres"\nuser = "lakeflow"\npassword = "{server.password}"'
        # Sorted on the server, and more than its memory takes.
        query = "SELECT i AS id, md5(i::text) AS body FROM generate_series(1, 20000) i ORDER BY 2"
        tables = [{"source": '"sorted"', "options": f'{{ query = "{query}", primary_keys = ["id"] }}'}]
        full.touch()
        run = self.run_job(self.pg_job(tables, connection=connection), code=1)
        error = run.table("sorted")["error"]
        self.assertIn("53100", error["message"])
        self.assertIn("No space left on device", error["message"])
        self.assertEqual(error["retry_class"], "transient")
        self.assertEqual(run.table("sorted")["rows_landed"], 0)
        # Where there is room again before the retries end, the same run goes on.
        process = self.start_run(self.pg_job(tables, connection=connection))
        until = time.monotonic() + 20
        failures = server.log().count("could not write")
        while server.log().count("could not write") == failures:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        full.unlink()
        _, text = process.communicate(timeout=50)
        self.assertEqual(process.returncode, 0, text)
        self.assertEqual(self.duck("SELECT count(*), count(DISTINCT id) FROM sorted"), [(20000, 20000)])


if __name__ == "__main__":
    unittest.main()
