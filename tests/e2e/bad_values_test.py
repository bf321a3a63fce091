"""10,000 rows of which 3 do not fit, into every destination: a run fails and says which, or it lands 9,997 and puts 3 aside, or it lands
null for what does not fit; kills and replays double nothing. And members that no column asks for are kept where the table wants them."""

import json
import os
import random
import signal
import subprocess
import sys
import unittest

from harness import HOST, SOURCE, Scratch
from json_service import Service

sys.path.insert(0, str(SOURCE / "tests" / "support"))

from postgres_server import PostgresServer  # noqa: E402

SECRET = "sk_canary0token1never2shown3"
BAD = {
    17: {"n": "many"},  # a text where a number belongs
    5001: {"amount": "1.234"},  # digits past the scale
    9999: {"n": 3000000000, "name": SECRET},  # past the range
}
RESOURCE = """
[connection.resources.orders]
path = "orders"
records = "/items"
schema = "id BIGINT NOT NULL, n INT, amount DECIMAL(10,2), name STRING"
primary_keys = ["id"]
paging = { type = "offset", offset = "offset", limit = "limit", page_size = 500 }
total = { header = "X-Total-Count" }
"""
CHANGES = RESOURCE + 'ingestion = "cdc"\ncursor = { field = "id", from = "since", window = 1000 }\n'


def row(number):
    return {"id": number, "n": number, "amount": number / 4, "name": f"n{number}", **BAD.get(number, {})}


class BadValues(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.database = PostgresServer()
        cls.addClassCleanup(cls.database.stop)
        cls.rows = [row(number) for number in range(1, 10001)]

    def service(self, rows=None):
        rows = self.rows if rows is None else rows

        def answer(asked):
            start, size = asked.number("offset", 0), asked.number("limit", 100)
            return 200, {"items": rows[start : start + size]}, {"X-Total-Count": len(rows)}

        service = Service(answer)
        self.addCleanup(service.stop)
        return service

    def declare(self, service, destination, table="", resource=RESOURCE, name="job.toml"):
        text = f'[job]\nname = "bad"\nplugin = "http-api"\n[connection]\nbase_url = "{service.url}"\n'
        text += f'auth = {{ type = "bearer", token = "{SECRET}" }}\n{resource}\n[destination]\n{destination}\n'
        text += f'[[tables]]\nsource = "orders"\n{table}\n'
        path = self.folder / name
        path.write_text(text)
        return path

    def destinations(self):
        yield "delta", 'type = "delta"\npath = "lake"'
        yield "duckdb", 'type = "duckdb"\npath = "lake.duckdb"'
        yield "jsonl", 'type = "jsonl"\npath = "lines"'
        yield "postgres", f'type = "postgres"\ndsn = "{self.database.dsn}"\nschema = "bad_values"'

    def read(self, kind, table):
        """Rows as dicts of text, whatever holds them."""
        if kind == "delta":
            if not (self.folder / "lake" / table / "_delta_log").exists():
                return []
            from deltalake import DeltaTable

            return DeltaTable(str(self.folder / "lake" / table)).to_pyarrow_table().to_pylist()
        if kind == "duckdb":
            import duckdb

            if not (self.folder / "lake.duckdb").exists():
                return []
            with duckdb.connect(str(self.folder / "lake.duckdb"), read_only=True) as connection:
                if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [table]).fetchall():
                    return []
                what = '"row", reason, code, column_name, position' if table.endswith("__quarantine") else "*"
                found = connection.execute(f'SELECT {what} FROM "{table}"')
                names = [column[0] for column in found.description]
                return [dict(zip(names, values)) for values in found.fetchall()]
        if kind == "jsonl":
            path = self.folder / "lines" / f"{table}.jsonl"
            return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        if self.database.ask(f"SELECT to_regclass('bad_values.\"{table}\"') IS NULL") == [["t"]]:
            return []
        return [json.loads(found[0]) for found in self.database.ask(f'SELECT to_jsonb(t)::text FROM bad_values."{table}" t')]

    def assert_put_aside(self, kind):
        rows = self.read(kind, "orders")
        self.assertEqual(len(rows), 9997, kind)
        self.assertEqual({one["id"] for one in rows}, set(range(1, 10001)) - set(BAD))
        aside = self.read(kind, "orders__quarantine")
        self.assertEqual(sorted(json.loads(one["row"])["id"] for one in aside), sorted(BAD), kind)
        for one in aside:
            number = json.loads(one["row"])["id"]
            self.assertIn(one["column_name"], ("n", "amount"))
            self.assertIn(f"(id {number})", one["reason"])
            self.assertEqual(one["code"], "value.mismatch")
            self.assertIn("start", json.loads(one["position"]))
            self.assertNotIn(SECRET, str(one))

    def test_rows_are_put_aside_and_kills_double_nothing(self):
        seed = int(os.environ.get("LAKEFLOW_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        service = self.service()
        for kind, destination in self.destinations():
            with self.subTest(kind):
                mode = 'on_mismatch = "quarantine"\nmax_mismatches = 3\n'
                job = self.declare(service, destination, mode, name=f"{kind}.toml")
                state = ("--set", f"job.state={kind}-state")
                for _ in range(5):
                    process = subprocess.Popen([HOST, "--config", job, "--no-progress", *state], cwd=self.folder, stderr=subprocess.DEVNULL)
                    try:
                        process.wait(0.05 + chance.random() * 0.8)
                    except subprocess.TimeoutExpired:
                        process.send_signal(signal.SIGKILL)
                    process.wait()
                run = self.run_job(job, *state)
                self.assert_put_aside(kind)
                table = run.table("orders")
                if table["rows_landed"]:
                    self.assertEqual((table["rows_read"], table["rows_landed"], table["rows_quarantined"]), (10000, 9997, 3))
                    self.assertIn("3 rows were put aside in orders__quarantine", run.stderr)
                # Read again from the beginning: nothing changes, nothing is doubled.
                self.host("reset", "orders", "--config", job, *state)
                self.run_job(job, *state)
                self.assert_put_aside(kind)

    def test_more_than_a_run_bears_land_nothing(self):
        service = self.service()
        for kind, destination in self.destinations():
            with self.subTest(kind):
                destination = destination.replace("bad_values", "bad_values_2").replace('"lake', '"lake2').replace('"lines', '"lines2')
                job = self.declare(service, destination, 'on_mismatch = "quarantine"\nmax_mismatches = 2\n', name=f"{kind}.toml")
                run = self.run_job(job, "--set", f"job.state={kind}-state", code=1)
                error = run.table("orders")["error"]
                self.assertEqual(error["code"], "value.mismatch")
                self.assertIn("max_mismatches = 2", error["message"])
                self.assertEqual(run.table("orders")["rows_landed"], 0)
        self.assertFalse(list(self.folder.glob("lake2/orders*/_delta_log/*.json")))
        self.assertFalse(list(self.folder.glob("lines2/*.jsonl")))
        self.assertEqual(self.database.ask("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'orders%' AND schemaname = 'bad_values_2'"), [["0"]])

    def test_by_default_the_run_fails_and_says_which_row(self):
        service = self.service()
        job = self.declare(service, 'type = "delta"\npath = "lake"')
        run = self.run_job(job, code=1)
        error = run.table("orders")["error"]
        self.assertEqual(error["code"], "value.mismatch")
        # Parts are read side by side: any of the three may be met first.
        self.assertRegex(error["message"], r"http-api\.orders.*\(id (17|5001|9999)\): column (n|amount): .* (is|has) ")
        self.assertNotIn(SECRET, run.stderr)
        self.assertEqual(run.table("orders")["rows_landed"], 0)
        self.assertEqual(self.read("delta", "orders"), [])

    def test_null_stands_for_what_does_not_fit(self):
        service = self.service()
        job = self.declare(service, 'type = "duckdb"\npath = "lake.duckdb"', 'on_mismatch = "null"\n')
        run = self.run_job(job)
        table = run.table("orders")
        self.assertEqual((table["rows_read"], table["rows_landed"], table["rows_quarantined"], table["values_nulled"]), (10000, 10000, 0, 3))
        rows = {one["id"]: one for one in self.read("duckdb", "orders")}
        self.assertEqual([number for number, one in rows.items() if one["n"] is None or one["amount"] is None], sorted(BAD))
        self.assertEqual(rows[17]["name"], "n17")

    def test_members_that_no_column_asks_for_are_rescued(self):
        rows = [{"id": 1, "n": 1, "extra": {"a": [1.50, None]}, "more": "x"}, {"id": 2, "n": 2}]
        service = self.service(rows)
        for kind, destination in self.destinations():
            with self.subTest(kind):
                destination = destination.replace('"lake', '"rescued/lake').replace('"lines', '"rescued/lines')
                (self.folder / "rescued").mkdir(exist_ok=True)
                job = self.declare(service, destination, 'schema = "rescue"\ndestination = "rescued"\nwhere = "n < 10"\n', name=f"{kind}.toml")
                if kind == "jsonl":
                    job.write_text(job.read_text().replace('where = "n < 10"\n', ""))
                self.run_job(job, "--set", f"job.state={kind}-state")
                folder, self.folder = self.folder, self.folder / "rescued"
                found = {one["id"]: one["_rescued_data"] for one in self.read(kind, "rescued")}
                self.folder = folder
                self.assertEqual(found, {1: '{"extra":{"a":[1.5,null]},"more":"x"}', 2: None})

    def test_a_snapshot_of_a_part_keeps_the_rest(self):
        rows = [{"id": number, "n": number, "amount": 1, "name": "in" if number % 2 else "out"} for number in range(1, 11)]
        service = self.service(rows)
        for kind, destination in self.destinations():
            if kind == "jsonl":
                continue
            with self.subTest(kind):
                rows[:] = [{"id": number, "n": number, "amount": 1, "name": "in" if number % 2 else "out"} for number in range(1, 11)]
                destination = destination.replace('"lake', '"part-lake')
                state = ("--set", f"job.state={kind}-part-state")
                whole = self.declare(service, destination, 'destination = "part"\n', name=f"{kind}.toml")
                self.run_job(whole, *state)
                part = self.declare(service, destination, 'destination = "part"\nwhere = "name = \'in\'"\n', name=f"{kind}.toml")
                rows[:] = [one for one in rows if one["id"] not in (3, 4)]
                self.host("reset", "part", "--config", part, *state)
                run = self.run_job(part, *state)
                self.assertEqual(run.table("part")["rows_deleted"], 1)
                if kind == "delta":
                    found = self.delta_at("part-lake", "part")
                elif kind == "duckdb":
                    os.rename(self.folder / "part-lake.duckdb", self.folder / "lake.duckdb")
                    found = self.read(kind, "part")
                    os.rename(self.folder / "lake.duckdb", self.folder / "part-lake.duckdb")
                else:
                    found = self.read(kind, "part")
                # 3 passed the condition and is gone; 4 did not, and stays.
                self.assertEqual({one["id"] for one in found}, set(range(1, 11)) - {3})

    def delta_at(self, lake, table):
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder / lake / table)).to_pyarrow_table().to_pylist()


if __name__ == "__main__":
    unittest.main(verbosity=2)
