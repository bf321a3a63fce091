"""Readers that share no code with the host see the same rows in the tables: delta-rs, DuckDB's delta extension and, where its Python
is named (tests/run.sh --spark), Apache Spark."""

import json
import os
import subprocess
import sys
import unittest

from harness import SOURCE, Scratch

KEYS = {"issues": "id", "commits": "sha", "branches": "repository_owner,repository_name,name"}


class Readers(Scratch):
    def read(self, python, script, *arguments):
        tables = {name: str(self.folder / "lake" / name) for name in KEYS}
        seen = {}
        for name, path in tables.items():
            output = subprocess.run([python, SOURCE / "tests" / "tools" / script, *arguments, "--keys", KEYS[name], path], check=True, capture_output=True, text=True).stdout
            seen[name] = {what: value for what, value in json.loads(output)[path].items() if what in ("rows", "distinct_keys", "columns", "non_null", "sha256")}
        return seen

    def test_all_readers_see_the_same(self):
        server = self.server(issues=700, pulls=100, commits=300, branches=5)
        job = self.job(server, list(KEYS))
        self.run_job(job)
        for count in range(12):  # past a checkpoint of the log
            server.control("edit", count=3)
            server.control("push", count=1)
            self.run_job(job)
        first = self.read(sys.executable, "delta_read.py")
        self.assertEqual(first["issues"]["rows"], 700)
        self.assertEqual(first["issues"]["distinct_keys"], 700)
        self.assertEqual(first["commits"]["rows"], 312)
        self.assertEqual(self.read(sys.executable, "delta_read.py", "--with", "duckdb"), first)
        spark = os.environ.get("LAKEFLOW_SPARK_PYTHON")
        if spark:
            self.assertEqual(self.read(spark, "spark_read.py"), first)


if __name__ == "__main__":
    unittest.main(verbosity=2)
