"""Many rows with one and the same cursor value, read a thousand at a time: they load in bounded memory, with a small state, and a row
that joins them later is found."""

import json
import os
import subprocess
import sys
import time
import unittest

from harness import BUILD, HOST, Scratch

ROWS = 300_000
# Sanitizers keep shadow memory and freed blocks; what they measure is no memory of the host's.
SANITIZED = b"__asan_init" in HOST.read_bytes()[: 64 << 20]
PEAK_BYTES = 128 << 20


class Ties(Scratch):
    def run_rows(self, rows, tied):
        report = self.folder / "report.json"
        begin = time.monotonic()
        process = subprocess.run(
            [str(HOST), "--config", str(self.folder / "job.toml"), "--report", str(report), "--set", f"connection.rows={rows}",
             "--set", f"connection.tied={tied}"],
            cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual(process.returncode, 0, process.stderr)
        out = json.loads(report.read_text())
        table = out["tables"][0]
        print(f"{table['mode']} of {table['source']}: {table['rows_landed']} rows in {table['batches']} batches, "
              f"{time.monotonic() - begin:.1f} s, {out['cpu_seconds']:.1f} s CPU, {out['peak_rss_bytes'] >> 20} MiB", file=sys.stderr)
        return out

    def check(self, source, mode):
        (self.folder / "job.toml").write_text(
            f'[job]\nname = "ties"\nplugin = "{BUILD}/tests/plugins/many_rows.so"\n'
            '[connection]\nrows = 0\n[destination]\ntype = "delta"\npath = "lake"\n'
            f'[[tables]]\nsource = "{source}"\ndestination = "rows"\nmode = "{mode}"\nlimits = {{ max_rows = 1000 }}\n')
        first = self.run_rows(ROWS, ROWS)
        table = first["tables"][0]
        self.assertEqual((table["rows_landed"], table["batches"]), (ROWS, ROWS // 1000))
        if not SANITIZED:
            self.assertLess(first["peak_rss_bytes"], PEAK_BYTES)
        # One row a run: the first shares the cursor value, the others lie past it.
        for more, tied in ((1, ROWS + 1), (2, ROWS + 1), (3, ROWS + 1)):
            table = self.run_rows(ROWS + more, tied)["tables"][0]
            self.assertEqual((table["rows_read"], table["rows_landed"]), (1, 1))
        self.assertEqual(self.run_rows(ROWS + 3, ROWS + 1)["tables"][0]["rows_read"], 0)
        state = sum(path.stat().st_size for path in (self.folder / "state").rglob("*") if path.is_file())
        self.assertLess(state, 64 << 10)
        found = self.delta("rows", "count(*) AS n, count(DISTINCT id) AS ids, min(id) AS least, max(id) AS most")[0]
        self.assertEqual(found, {"n": ROWS + 3, "ids": ROWS + 3, "least": 1, "most": ROWS + 3})
        tied = self.delta("rows", "sum(CASE WHEN n = 1000000 THEN 1 ELSE 0 END) AS tied")[0]
        self.assertEqual(tied, {"tied": ROWS + 1})

    def test_append(self):
        self.check("rows", "append")

    def test_append_on_the_simple_path(self):
        self.check("simple", "append")

    def test_scd1(self):
        self.check("rows", "scd1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
