"""A run that is killed at any moment and run again gives the same table. The moments come from a printed seed."""

import os
import random
import signal
import subprocess
import time
import unittest

from harness import HOST, Scratch


class Killed(Scratch):
    def test_twenty_kills(self):
        seed = int(os.environ.get("LAKEFLOW_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        server = self.server(issues=3000, pulls=300, commits=800, latency_ms=5)
        # Small batches, so that a run has many commits to be killed between.
        options = '{ owner = "octo", repo = "demo", max_records_per_batch = 400 }'
        tables = [{"source": '"issues"', "options": options}, {"source": '"commits"', "options": options}]
        whole = self.job(server, tables, job='state = "state-measure"', destination='type = "delta"\npath = "measured"', name="measure.toml")
        begin = time.monotonic()
        self.run_job(whole)
        length = time.monotonic() - begin

        job = self.job(server, tables)
        after_first_commit = 0
        for kill in range(20):
            # Each killed run goes on where the last one stopped; when all is there, a new one begins from nothing.
            process = subprocess.Popen([HOST, "--config", job, "--no-progress"], cwd=self.folder, stderr=subprocess.DEVNULL)
            moment = length * (kill % 10 + chance.random()) / 10
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                pass
            committed = any((self.folder / "lake").glob("*/_delta_log/*.json"))
            if process.poll() is None:
                after_first_commit += committed
                process.send_signal(signal.SIGKILL)
            process.wait()
            if kill % 4 == 3:
                self.run_job(job)
                self.assert_all(server)
                self.host("reset", "issues", "--config", job)
                server.control("edit", count=200)
        self.run_job(job)
        self.assert_all(server)
        print(f"{after_first_commit} of 20 kills came after the first commit of a run that was still going", flush=True)
        self.assertGreaterEqual(after_first_commit, 10)

    def assert_all(self, server):
        self.assert_equals_truth(server, "issues")
        self.assert_equals_truth(server, "commits", key="sha", fields=())


if __name__ == "__main__":
    unittest.main(verbosity=2)
