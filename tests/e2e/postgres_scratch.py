"""What the tests of the postgres plugin share: a real PostgreSQL for a class of tests, jobs that read it, and what landed."""

import os
import subprocess
import sys
import time

import duckdb
from deltalake import DeltaTable
from harness import HOST, SOURCE, Scratch

sys.path.insert(0, str(SOURCE / "tests" / "support"))

from postgres_server import PostgresServer  # noqa: E402

# libkrb5, which libpq asks whether there is a ticket, keeps some bytes for each thread that connected, and LeakSanitizer counts them.
os.environ["PGGSSENCMODE"] = "disable"


class PostgresScratch(Scratch):
    SETUP = ""

    @classmethod
    def setUpClass(cls):
        cls.pg = PostgresServer()
        cls.addClassCleanup(cls.pg.stop)
        if cls.SETUP:
            cls.pg.sql(cls.SETUP)

    def pg_job(self, tables, *, destination='type = "duckdb"\npath = "lake.duckdb"', job="", connection=None, name="job.toml"):
        if connection is None:
            connection = f'host = "127.0.0.1"\nport = {self.pg.port}\ndbname = "postgres"\nuser = "lakeflow"\npassword = "{self.pg.password}"'
        text = f'[job]\nname = "pg"\nplugin = "postgres"\n{job}\n[connection]\n{connection}\n[destination]\n{destination}\n'
        for table in tables:
            text += "[[tables]]\n" + "".join(f"{key} = {value}\n" for key, value in table.items())
        path = self.folder / name
        path.write_text(text)
        return path

    def host(self, *arguments, **more):
        more["timeout"] = min(more.get("timeout", 60), 60)
        done = super().host(*arguments, **more)
        self.assertNotIn(self.pg.password, done.stdout + done.stderr)
        return done

    def duck(self, sql):
        with duckdb.connect(str(self.folder / "lake.duckdb"), read_only=True) as lake:
            return lake.execute(sql).fetchall()

    def duck_columns(self, table):
        return {row[0]: row[1] for row in self.duck(f"SELECT column_name, column_type FROM (DESCRIBE {table})")}

    def lake(self, table, place):
        """DuckDB with the landed rows as "landed": those of the DuckDB file, or of the Delta table as delta-rs reads it."""
        lake = duckdb.connect()
        self.addCleanup(lake.close)
        lake.execute("SET TimeZone = 'UTC'")
        if place == "delta":
            lake.register("landed", DeltaTable(str(self.folder / "lake" / table)).to_pyarrow_table())
        else:
            lake.execute(f"ATTACH '{self.folder}/lake.duckdb' AS file (READ_ONLY)")
            lake.execute(f"CREATE VIEW landed AS SELECT * FROM file.\"{table}\"")
        return lake

    def start_run(self, job):
        """A run in the background, which the test's end kills if it still goes on."""
        process = subprocess.Popen([str(HOST), "run", "--config", str(job), "--report", str(self.folder / "report.json")], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def end():
            process.kill()
            process.communicate(timeout=10)

        self.addCleanup(end)
        return process

    def await_session(self, condition):
        until = time.monotonic() + 20
        while self.pg.value(f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lakeflow-host' AND query LIKE 'COPY%' AND {condition}") == "0":
            self.assertLess(time.monotonic(), until, "no session of the run came to " + condition)
            time.sleep(0.05)
