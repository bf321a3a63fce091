"""A run that is put to sleep in the middle of a batch (SIGSTOP) while another one takes the job over and ends it: when it wakes, it fails
with state.fenced, and the table is right. The real host, two processes at once."""

import json
import os
import signal
import subprocess
import time
import unittest

from harness import HOST, Scratch

OPTIONS = '{ owner = "octo", repo = "demo", max_records_per_batch = 300 }'
DESTINATIONS = {
    "delta": 'type = "delta"\npath = "lake"',
    "duckdb": 'type = "duckdb"\npath = "lake.duckdb"',
}


class Fenced(Scratch):
    def begin(self, job):
        """A run of the job, asleep while it reads its second batch or a later one."""
        process = subprocess.Popen(
            [HOST, "run", "--config", job, "--report", self.folder / "first.json", "--no-progress"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 60
        while self.planned_batch() < 2:
            self.assertIsNone(process.poll(), "the run ended too early")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        self.assertGreaterEqual(self.planned_batch(), 2)
        return process

    def planned_batch(self):
        """The batch that the state names as under way; 0: none."""
        best = (0, 0)
        for file in (self.folder / "state").glob("*/*.state"):
            head, _, body = file.read_text().partition("\n")
            planned = json.loads(body).get("planned")
            best = max(best, (int(head.split()[2]), planned["batch"] if planned else 0))
        return best[1]

    def rows(self, kind):
        if kind == "delta":
            return [row["id"] for row in self.delta("issues", "id")]
        import duckdb

        with duckdb.connect(str(self.folder / "lake.duckdb"), read_only=True) as lake:
            return [row[0] for row in lake.execute("SELECT id FROM issues").fetchall()]

    def check(self, kind, mode, *, elsewhere):
        # Slow enough that a batch is under way for a while.
        server = self.server(issues=1500, latency_ms=150)
        job = self.job(server, [{"source": '"issues"', "options": OPTIONS, "mode": f'"{mode}"'}], destination=DESTINATIONS[kind])
        first = self.begin(job)
        server.control("server", latency_ms=0)

        # Without leave: refused, and the holder is named.
        locked = self.run_job(job, code=2)
        error = locked.report["error"]
        self.assertEqual(error["code"], "state.locked", error)
        for named in (str(first.pid), os.uname().nodename, "--take-over"):
            self.assertIn(named, error["message"] + error["hint"])
            self.assertIn(named, locked.stderr)

        # With it. From another state directory the sleeper cannot see that its lock is gone: then the destination alone stops it.
        arguments = ["--set", f"job.state={self.folder}/elsewhere"] if elsewhere else []
        second = self.run_job(job, "--take-over", *arguments)
        self.assertEqual(second.report["status"], "succeeded")
        if not elsewhere:
            self.assertIn(str(first.pid), second.stderr)  # from whom
        self.assertEqual(sorted(self.rows(kind)), sorted(server.truth("issues")))

        first.send_signal(signal.SIGCONT)
        _, stderr = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 1, stderr)
        table = json.loads((self.folder / "first.json").read_text())["tables"][0]
        self.assertEqual(table["status"], "failed")
        self.assertEqual(table["error"]["code"], "state.fenced", table["error"])
        self.assertTrue(table["error"]["message"])
        self.assertTrue(table["error"]["hint"])
        self.assertEqual(sorted(self.rows(kind)), sorted(server.truth("issues")))

        # Nothing is broken for those who come after.
        server.control("add", table="issues", count=7)
        after = self.run_job(job, *arguments)
        self.assertEqual(after.report["tables"][0]["rows_landed"], 7)
        self.assertEqual(sorted(self.rows(kind)), sorted(server.truth("issues")))

    def test_delta(self):
        self.check("delta", "scd1", elsewhere=False)

    def test_delta_with_a_state_of_its_own(self):
        self.check("delta", "append", elsewhere=True)

    def test_duckdb(self):
        self.check("duckdb", "append", elsewhere=False)

    def test_duckdb_with_a_state_of_its_own(self):
        self.check("duckdb", "append", elsewhere=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
