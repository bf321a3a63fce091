"""A source that cannot be read again, killed again and again: what it gave is landed once, and nothing waits on disk at the end."""

import json
import os
import random
import subprocess
import sys
import time
import unittest

from harness import BUILD, HOST, Scratch

ROWS = 60_000
KILLS = 12


class Spool(Scratch):
    def command(self):
        return [str(HOST), "--config", str(self.folder / "job.toml"), "--report", str(self.folder / "report.json"), "--no-progress",
                "--log-level", "info"]

    def check(self, source, mode):
        (self.folder / "job.toml").write_text(
            f'[job]\nname = "spooled"\nplugin = "{BUILD}/tests/plugins/many_rows.so"\n'
            f'[connection]\nrows = {ROWS}\ntied = {ROWS // 2}\nonce = 1\n[destination]\ntype = "delta"\npath = "lake"\n'
            f'[[tables]]\nsource = "{source}"\ndestination = "rows"\nmode = "{mode}"\nlimits = {{ max_rows = 1000 }}\n')
        seed = int(os.environ.get("LAKEFLOW_SEED", "7"))
        chance = random.Random(f"{seed} {source} {mode}")
        killed, from_spool = 0, 0
        for _ in range(KILLS):
            process = subprocess.Popen(self.command(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(chance.uniform(0.05, 0.35))
            process.kill()
            killed += process.wait() < 0
            from_spool += "landed from the spool" in process.stderr.read()
            process.stderr.close()
        ended = subprocess.run(self.command(), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        print(f"{source}, {mode}: {killed} kills, {from_spool} batches landed from the spool of a dead run", file=sys.stderr)
        self.assertGreater(killed, 0)
        self.assertGreater(from_spool, 0)
        found = self.delta("rows", "count(*) AS n, count(DISTINCT id) AS ids, min(id) AS least, max(id) AS most")[0]
        self.assertEqual(found, {"n": ROWS, "ids": ROWS, "least": 1, "most": ROWS}, f"seed {seed}")
        self.assertEqual(list((self.folder / "state" / "spooled" / "rows.spool").iterdir()), [])
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["tables"][0]["status"], "reached_bound")

    def test_append(self):
        self.check("rows", "append")

    def test_scd1_on_the_simple_path(self):
        self.check("simple", "scd1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
