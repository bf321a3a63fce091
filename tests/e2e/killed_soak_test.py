"""Two hundred SIGKILLs over one job of several tables, at moments that spread over the whole of a run; the tables end equal to what
the server holds. The moments come from a printed seed (LAKEFLOW_SEED); LAKEFLOW_KILLS says how many, fewer under the sanitizers."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from harness import HOST, Scratch

KILLS = int(os.environ.get("LAKEFLOW_KILLS", "200"))
ALL = 200
FRESH = 20  # kills until the tables are looked at; after twice as many all is begun from nothing again
SMALL = '{ owner = "octo", repo = "demo", max_records_per_batch = 200 }'
TABLES = [
    {"source": '"issues"', "options": SMALL},  # scd1
    {"source": '"comments"', "options": SMALL, "mode": '"append"'},
    {"source": '"commits"'},  # append, in parts
    {"source": '"branches"'},  # snapshot
]


class Soak(Scratch):
    def test_kills(self):
        seed = int(os.environ.get("LAKEFLOW_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed}, {KILLS} kills" + ("" if KILLS >= ALL else f" of the {ALL} of a release build"), flush=True)
        chance = random.Random(seed)
        server = self.server(issues=800, pulls=100, comments=400, commits=300, branches=120, latency_ms=2)
        job = self.job(server, TABLES)
        begin = time.monotonic()
        self.run_job(job)
        length = time.monotonic() - begin
        self.assert_all(server)
        self.forget()

        self.met = {"while it ran": 0, "in a batch": 0, "after a commit of the same run": 0, "of a job that had rows": 0}
        begin = time.monotonic()
        now = 1_735_689_600  # of the server's changes: instants that are past, so that no run waits for its second to end
        kills = runs = 0
        while kills < KILLS:
            runs += 1
            if runs % 3 == 0:
                now += 60
                self.change(server, chance, now)
            if not self.one(job, chance.random() * length):
                continue
            kills += 1
            if kills % FRESH == 0:
                self.run_job(job)
                self.assert_all(server)
                if kills % (2 * FRESH) == 0:
                    self.forget()
        self.run_job(job)
        self.assert_all(server)
        print(f"{kills} kills in {runs} runs, {time.monotonic() - begin:.0f} s; a run takes {length:.2f} s; " +
              ", ".join(f"{count} {what}" for what, count in self.met.items()), flush=True)
        self.assertGreaterEqual(self.met["in a batch"], kills // 4)
        self.assertGreaterEqual(self.met["after a commit of the same run"], kills // 10)

    def one(self, job, moment):
        """One run, killed at the moment; False if it had ended by then."""
        before = self.commits()
        process = subprocess.Popen([HOST, "--config", job, "--no-progress"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(moment)
            self.assertEqual(process.returncode, 0)
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        if process.returncode != -signal.SIGKILL:
            return False
        self.met["while it ran"] += 1
        self.met["in a batch"] += self.planned()
        self.met["after a commit of the same run"] += self.commits() > before
        self.met["of a job that had rows"] += before > 0
        return True

    def commits(self):
        return len(list((self.folder / "lake").glob("*/_delta_log/*.json")))

    def planned(self):
        """Whether the state names a batch as under way."""
        newest = {}
        for file in (self.folder / "state").glob("*/*.state"):
            head, _, body = file.read_text().partition("\n")
            flow = file.name.rsplit(".", 2)[0]
            newest[flow] = max(newest.get(flow, (0, False)), (int(head.split()[2]), "planned" in json.loads(body)))
        return any(planned for _, planned in newest.values())

    def change(self, server, chance, now):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        server.control("edit", table="issues", count=chance.randrange(1, 300), updated_at=at, set={"title": f"as of {at}"})
        server.control("push", branch="main", count=chance.randrange(1, 60))
        server.control("branch", name=f"b{now}", sha="main")

    def forget(self):
        shutil.rmtree(self.folder / "lake")
        shutil.rmtree(self.folder / "state")

    def assert_all(self, server):
        self.assert_equals_truth(server, "issues", fields=("updated_at", "title"))
        self.assert_equals_truth(server, "comments", fields=())
        self.assert_equals_truth(server, "commits", key="sha", fields=())
        self.assert_equals_truth(server, "branches", key="name", fields=())


if __name__ == "__main__":
    unittest.main(verbosity=2)
