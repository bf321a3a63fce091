"""A service as a destination, end to end (contract 28): http-api reads from one service and writes to another. The one that takes the rows keeps
every answer under its key and gives it again, also when the batch has been rolled back since, as real services do."""

import json
import os
import random
import signal
import subprocess
import threading
import time
import unittest

from harness import HOST, Scratch
from json_service import Service

SECRET = "canary-of-the-sink-1"


def numbers(count):
    return [{"id": i, "name": f"n{i}" if i % 5 else None, "amount": i / 4, "ts": f"2026-01-{1 + i % 28:02d}T00:00:00Z"} for i in range(1, count + 1)]


class Source:
    """Rows by offset and limit, with a total; of an incremental table those after `since`, which is an id."""

    def __init__(self, count):
        self.rows = numbers(count)

    def __call__(self, asked):
        rows = self.rows[asked.number("since", 0) :]
        start, size = asked.number("offset", 0), min(asked.number("limit", 50), 5000)
        return 200, rows[start : start + size], {"X-Total-Count": len(rows)}


class Sink:
    """POST of a batch, its DELETE, a commit, and the question whether a commit is known."""

    def __init__(self, commits=True):
        self.lock = threading.Lock()
        self.answers = {}  # by idempotency key
        self.batches = {}  # by id: (key of the write, rows)
        self.committed = {}
        self.fail = lambda asked, key: None  # (status, body) instead of doing anything
        self.on_commit = lambda: None
        self.truncated = 0
        self.largest = 0
        self.commits = commits
        self.keys = []

    def __call__(self, asked):
        key = asked.headers.get("Idempotency-Key")
        if asked.headers.get("Authorization") != f"Bearer {SECRET}":
            return 401, {"error": "who are you"}
        with self.lock:
            if key:
                self.keys.append(key)
                failed = self.fail(asked, key)
                if failed:
                    return failed
                if key in self.answers:
                    return self.answers[key]
            answer = self.act(asked, key)
            if key:
                self.answers[key] = answer
        if asked.method == "POST" and "/commits/" in asked.path:
            self.on_commit()
        return answer

    def act(self, asked, key):
        if asked.method == "POST" and asked.path == "/api/orders/batch":
            rows = json.loads(asked.body)["data"]["items"]
            self.largest = max(self.largest, len(rows))
            self.batches[f"b{len(self.answers) + 1}"] = (key.rsplit("-", 2)[0], rows)
            return 201, {"id": f"b{len(self.answers) + 1}"}
        if asked.method == "DELETE" and asked.path == "/api/orders":
            self.truncated += 1
            self.batches.clear()
            return 200, {}
        if asked.method == "DELETE":
            gone = self.batches.pop(asked.path.rsplit("/", 1)[1], None)
            return (200 if gone else 404), {}
        if asked.method == "POST":
            self.committed[asked.path] = json.loads(asked.body)
            return 200, {}
        return (200 if asked.path in self.committed else 404), {}

    def rows(self):
        with self.lock:
            return [row for _, rows in self.batches.values() for row in rows]


class Writing(Scratch):
    def service(self, answer):
        service = Service(answer)
        self.addCleanup(service.stop)
        return service

    def declare(self, source, sink, kind="snapshot", write="", table="", more=""):
        """A job from one service to the other."""
        changing = {
            "snapshot": 'primary_keys = ["id"]\n',
            "append": 'ingestion = "append"\ncursor = { field = "id", from = "since", inclusive = false }\n',
        }[kind]
        commits = 'commit = { path = "commits/{key}" }, committed = { path = "commits/{key}" }, ' if self.commits else ""
        path = self.folder / "job.toml"
        path.write_text(f"""
[job]
name = "copy"
plugin = "http-api"
{more}
[connection]
base_url = "{source.url}/api"
[connection.resources.orders]
schema = "id BIGINT NOT NULL, name STRING, amount DOUBLE, ts TIMESTAMP"
paging = {{ type = "offset", offset = "offset", limit = "limit", page_size = 5000 }}
total = {{ header = "X-Total-Count" }}
{changing}
[destination]
type = "connector"
plugin = "http-api"
resource = "orders"
[destination.connection]
base_url = "{sink.url}/api"
auth = {{ type = "bearer", token = {{ env = "SINK_TOKEN" }} }}
retry = {{ attempts = 2 }}
[destination.connection.resources.orders]
schema = "id BIGINT NOT NULL, name STRING, amount DOUBLE, ts TIMESTAMP"
write = {{ path = "orders/batch", records = "/data/items", batch_size = 500, id = "/id", {commits}rollback = {{ path = "orders/batch/{{id}}" }}{write} }}
[[tables]]
source = "orders"
{table}
""")
        return path

    commits = True

    def host(self, *arguments, env=None, **more):
        process = super().host(*arguments, env={"SINK_TOKEN": SECRET, **(env or {})}, **more)
        self.assertNotIn(SECRET, process.stdout + process.stderr)
        return process

    def same(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        self.assertEqual(sorted(found, key=lambda row: row["id"]), wanted)

    def test_a_hundred_thousand_rows_in_four_partitions(self):
        source, sink = Source(100_000), Sink()
        job = self.declare(self.service(source), self.service(sink), write=', truncate = { path = "orders" }')
        run = self.run_job(job)
        table = run.table("orders")
        self.assertEqual((table["rows_landed"], table["partitions"], table["mode"]), (100_000, 4, "snapshot"))
        self.same(sink.rows(), source.rows)
        self.assertEqual(sink.truncated, 1)
        self.assertEqual(sink.largest, 500)
        # One commit, of all four messages; a key a chunk, none twice.
        self.assertEqual([one["rows"] for one in sink.committed.values()], [100_000])
        self.assertEqual(len(next(iter(sink.committed.values()))["batch_ids"]), 200)
        chunks = [key for key in sink.keys if not key.endswith(("-truncate", "-commit"))]
        self.assertEqual(len(chunks), len(set(chunks)), 200)
        self.assertEqual({key.split("/")[0:2] == ["copy", "orders"] for key in chunks}, {True})
        self.assertEqual({key.rsplit("-", 2)[1] for key in chunks}, {"0", "1", "2", "3"})
        status = self.host("status", "--config", job, "--json")
        self.assertEqual(json.loads(status.stdout)["batch"], 1, status.stderr)

    def test_the_third_batch_of_one_writer_fails_and_all_is_rolled_back(self):
        source, sink = Source(20_000), Sink()
        sink.fail = lambda asked, key: (503, {"error": "down"}) if key.endswith("-2-2") else None
        job = self.declare(self.service(source), self.service(sink), write=', truncate = { path = "orders" }')
        run = self.run_job(job, code=1)
        error = run.table("orders")["error"]
        self.assertEqual(error["code"], "source.transient")
        self.assertRegex(error["message"], r"The \d+ batches that had been posted are rolled back")
        self.assertEqual(run.table("orders")["rows_landed"], 0)
        self.assertEqual(sink.rows(), [])
        self.assertEqual(sink.committed, {})
        # No row is lost to a key that the service remembers.
        sink.fail = lambda asked, key: None
        self.assertEqual(self.run_job(job).table("orders")["rows_landed"], 20_000)
        self.same(sink.rows(), source.rows)

    def test_what_cannot_be_rolled_back_is_named(self):
        source, sink = Source(3000), Sink()
        sink.fail = lambda asked, key: (400, {}) if key.endswith("-0-2") or "-rollback-b" in key and key.endswith("b2") else None
        job = self.declare(self.service(source), self.service(sink), write=', truncate = { path = "orders" }', table="options = { num_partitions = 1 }")
        message = self.run_job(job, code=1).table("orders")["error"]["message"]
        self.assertIn("These batches could not be rolled back: b2", message)
        sink.fail = lambda asked, key: None
        self.run_job(job)
        self.same(sink.rows(), source.rows)

    def killed_at_commit(self, job, sink):
        """A run that dies when the service has committed and has not answered."""
        process = subprocess.Popen([str(HOST), "run", "--config", str(job)], cwd=self.folder, env={**os.environ, "SINK_TOKEN": SECRET}, stderr=subprocess.DEVNULL)

        def kill():
            sink.on_commit = lambda: None
            process.send_signal(signal.SIGKILL)
            process.wait()

        sink.on_commit = kill
        process.wait(60)
        self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_killed_between_the_commit_and_the_position(self):
        source, sink = Source(5000), Sink()
        job = self.declare(self.service(source), self.service(sink), kind="append")
        self.killed_at_commit(job, sink)
        self.same(sink.rows(), source.rows)
        asked = len(sink.keys)
        # The source has moved on: what was committed and what is new are told apart.
        source.rows = numbers(6000)
        self.run_job(job)
        self.same(sink.rows(), source.rows)
        self.assertEqual(sum(key.endswith("-commit") for key in sink.keys[asked:]), 1)
        self.assertEqual(self.run_job(job).table("orders")["rows_landed"], 0)
        self.same(sink.rows(), source.rows)

    def test_killed_at_any_moment_rows_are_there_once(self):
        for commits in (True, False):
            with self.subTest(commits=commits):
                self.commits = commits
                source, sink = Source(0), Sink()
                for path in self.folder.glob("state"):
                    subprocess.run(["rm", "-r", str(path)], check=True)
                job = self.declare(self.service(source), self.service(sink), kind="append")
                chance = random.Random(11)
                killed = 0
                for age in range(1, 13):
                    source.rows = numbers(3000 * age)
                    process = subprocess.Popen(
                        [str(HOST), "run", "--config", str(job), "--take-over"], cwd=self.folder, env={**os.environ, "SINK_TOKEN": SECRET}, stderr=subprocess.DEVNULL
                    )
                    try:
                        process.wait(chance.uniform(0.02, 0.35))
                    except subprocess.TimeoutExpired:
                        process.send_signal(signal.SIGKILL)
                        process.wait()
                        killed += 1
                self.run_job(job, "--take-over")
                self.assertGreater(killed, 3)
                self.same(sink.rows(), source.rows)

    def test_modes_that_the_service_cannot_do_are_refused_before_a_request(self):
        source, sink = Source(10), Sink()
        here, there = self.service(source), self.service(sink)
        for kind, table, word in (("snapshot", "", "truncate"), ("snapshot", 'mode = "scd1"', "upsert"), ("append", 'mode = "scd2"\nprimary_keys = ["id"]', "scd2"), ("append", 'mode = "snapshot"', "incremental")):
            run = self.run_job(self.declare(here, there, kind=kind, table=table), code=2)
            self.assertIn(run.report["error"]["code"], ("config.mode", "config.not_supported"))
            self.assertIn(word, run.report["error"]["message"] + run.report["error"]["hint"])
        self.assertEqual(here.targets() + there.targets(), [])

    def test_a_plugin_that_cannot_write_is_no_destination(self):
        job = self.declare(self.service(Source(1)), self.service(Sink()))
        job.write_text(job.read_text().replace('plugin = "http-api"\nresource', 'plugin = "github"\nresource'))
        run = self.run_job(job, code=2)
        self.assertIn(run.report["error"]["code"], ("config.unknown_option", "config.not_writable"))


if __name__ == "__main__":
    unittest.main()
