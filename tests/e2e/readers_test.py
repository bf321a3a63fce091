"""Readers that share no code with the host see the same rows in the tables: delta-rs, DuckDB's delta extension and, where its Python
is named (tests/run.sh --spark), Apache Spark. Readers that cannot read mapped columns: delta-rs through pyarrow (to_pyarrow_table gives
nulls), which is why it is asked through its QueryBuilder alone."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from harness import BUILD, SOURCE, Scratch

KEYS = {"issues": "id", "commits": "sha", "branches": "repository_owner,repository_name,name"}
SEEN = ("rows", "distinct_keys", "columns", "non_null", "sha256", "found")

# What the statistics of table `edges` (tests/land/make_lakes.cpp) could hide: a condition, and the rows that it finds. The instants lie
# between two milliseconds, the texts are longer than the 32 characters of a bound. Conditions on zeros hold in SQL's order of numbers
# and in IEEE's total order alike, as readers differ in that.
WIDE = "x" * 300
EDGES = {
    "z = TIMESTAMP '2026-03-01 11:59:59.999999+00:00'": 3000,
    "z > TIMESTAMP '2026-03-01 11:59:59.999+00:00' AND z < TIMESTAMP '2026-03-01 12:00:00+00:00'": 3000,
    "z = TIMESTAMP '2026-03-01 12:00:00.123456+00:00'": 3000,
    "z = TIMESTAMP '1969-12-31 23:59:59.999999+00:00'": 3000,
    "z >= TIMESTAMP '2100-01-01 00:00:00.000001+00:00'": 3000,
    "l = TIMESTAMP '2026-03-01 12:00:00.123456'": 3000,
    "l = TIMESTAMP '1970-01-01 00:00:00.000001'": 3000,
    "l < TIMESTAMP '1700-01-01 00:00:00'": 3000,
    f"t = '{WIDE}'": 3000,
    f"t >= '{WIDE}'": 6000,  # itself, and the greatest character there is
    f"t > 'a' AND t < 'a\u00ea'": 3000,
    f"t > '{'b' * 31}' AND t < 'c'": 3000,
    "t = ''": 3000,
    "d > 1e299": 2,  # infinity, and NaN, which orders highest
    "d < -1e299": 1,
    "d <= 0.0 AND d >= -0.0": 1,
    "d > 0.0 AND d < 1e-300": 1,
    "f > CAST(1e30 AS FLOAT)": 2,
    "n.v = 9223372036854775804": 3000,
    "day = DATE '2026-03-01'": 6000,
    "dc = CAST('100000000000000000000000000.0003' AS DECIMAL(38, 4))": 3000,
}


class Readers(Scratch):
    def ask(self, python, script, questions, *arguments):
        """What a reader sees: {name of the table: summary}."""
        file = self.folder / "questions.json"
        file.write_text(json.dumps(questions))
        run = subprocess.run([python, SOURCE / "tests" / "tools" / script, *arguments, "--questions", file], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr[-4000:])
        return {table: {what: seen[what] for what in SEEN if what in seen} for table, seen in json.loads(run.stdout).items()}

    def read(self, questions, left_to_two=()):
        """What all readers see; fails where one sees other rows than the first. Spark, which takes its time, is not asked about the tables
        that are left to the other two."""
        first = self.ask(sys.executable, "delta_read.py", questions)
        others = {"DuckDB": self.ask(sys.executable, "delta_read.py", questions, "--with", "duckdb")}
        spark = os.environ.get("LAKEFLOW_SPARK_PYTHON")
        if spark:
            others["Spark"] = self.ask(spark, "spark_read.py", {table: of for table, of in questions.items() if table not in left_to_two})
        for reader, seen in others.items():
            for table in seen:
                self.assertEqual(seen[table], first[table], f"{table} by {reader}, and by delta-rs")
        return first

    def test_all_readers_see_the_same_of_a_job(self):
        server = self.server(issues=700, pulls=100, commits=300, branches=5)
        job = self.job(server, list(KEYS), destination='type = "delta"\npath = "lake"\noptimize = { every = 5 }\nvacuum = { }')
        self.run_job(job)
        compacted = 0
        for count in range(12):  # past a checkpoint of the log
            server.control("edit", count=3)
            server.control("push", count=1)
            compacted += self.run_job(job).table("commits")["files_compacted"]
        self.assertGreaterEqual(compacted, 10)
        lake = self.folder / "lake"
        seen = self.read({str(lake / name): {"keys": keys.split(",")} for name, keys in KEYS.items()})
        issues, commits = seen[str(lake / "issues")], seen[str(lake / "commits")]
        self.assertEqual((issues["rows"], issues["distinct_keys"]), (700, 700))
        self.assertEqual(commits["rows"], 312)

    def test_tables_of_every_mode_type_and_name(self):
        """Twice: after a dozen commits, and after more, which removed the first ones as expired. In between delta-rs has compacted those that
        it can write, while a batch was being landed."""
        lake, first = self.folder / "lake", self.folder / "first"
        maker = subprocess.Popen([BUILD / "tests" / "make-lakes", lake], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(maker.stdout.close)
        self.addCleanup(maker.wait)
        self.addCleanup(maker.stdin.close)
        before = json.loads(maker.stdout.readline())
        shutil.copytree(lake, first)
        compacted = self.compact(lake)
        self.assertEqual(compacted, {"append", "append_keyed", "names", "scd1", "scd2", "snapshot"})
        for commit in lake.glob("*/_delta_log/*.json"):
            os.utime(commit, (time.time() - 40 * 86400,) * 2)
        maker.stdin.write("\n")
        maker.stdin.flush()
        after = json.loads(maker.stdout.readline())
        self.assertEqual(maker.wait(), 0)
        for name in before:
            if not name.startswith(("evolved", "mapped_later")):
                log = lake / name / "_delta_log"
                self.assertTrue(list(log.glob("*.checkpoint.parquet")), name)
                self.assertFalse((log / f"{0:020}.json").exists(), name)

        questions, keys = {}, {}
        for folder, told in ((first, before), (lake, after)):
            for name, distinct in told.items():
                mapped = name.startswith("mapped") and name != "mapped_later"
                questions[str(folder / name)] = {"keys": ["id no" if mapped else "id"]}
                keys[str(folder / name)] = distinct
        questions[str(lake / "edges")] = {"keys": ["id"], "where": list(EDGES)}
        seen = self.read(questions, left_to_two=[str(first / name) for name in before])
        for table, distinct in keys.items():
            self.assertEqual(seen[table]["distinct_keys"], distinct, table)
            if "scd2" not in table:
                self.assertEqual(seen[table]["rows"], distinct, table)
        self.assertEqual(seen[str(lake / "edges")]["found"], EDGES)

    def compact(self, lake):
        """Compacts by delta-rs what it can write; its names. It refuses mapped columns before it touches anything."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        done = set()
        for table in sorted(pathlib.Path(lake).iterdir()):
            if table.name.startswith(("evolved", "edges")):
                continue
            try:
                DeltaTable(str(table)).optimize.compact()
                done.add(table.name)
            except DeltaError as error:
                self.assertIn("olumn", str(error), table.name)
                self.assertTrue(table.name.startswith("mapped"), table.name)
        return done


if __name__ == "__main__":
    unittest.main(verbosity=2)
