"""The http-api plugin end to end: a job declares a paged JSON service, and its rows land; what a service does wrong is named."""

import json
import random
import signal
import subprocess
import threading
import time
import unittest

from harness import HOST, Scratch
from json_service import Service

ROWS = [
    {
        "id": i,
        "name": f"n{i}" if i % 7 else None,
        "amount": i / 4,
        "category": "abc"[i % 3],
        "ts": 1_767_225_600_000 + i * 60_000,
    }
    for i in range(1, 3001)
]

ORDERS = """
[connection.resources.orders]
path = "v2/orders"
records = "/data/items"
schema = "id BIGINT NOT NULL, name STRING, amount DOUBLE, category STRING, ts TIMESTAMP"
primary_keys = ["id"]
columns = { ts = { format = "epoch_ms" } }
paging = { type = "offset", offset = "offset", limit = "limit", page_size = 200 }
total = { header = "X-Total-Count" }
"""


def orders(rows):
    """The service of ORDERS over a list that may change."""

    def answer(asked):
        wanted = [row for row in rows if row["ts"] >= asked.number("since", 0)]
        start, size = asked.number("offset", 0), min(asked.number("limit", 50), 500)
        page = wanted[start : start + size]
        return 200, {"data": {"items": page}}, {"X-Total-Count": len(wanted)}

    return answer


class Job(Scratch):
    def service(self, answer):
        service = Service(answer)
        self.addCleanup(service.stop)
        return service

    def declare(self, service, resources, tables, connection="", job=""):
        text = f'[job]\nname = "http"\nplugin = "http-api"\n{job}\n[connection]\nbase_url = "{service.url}/api"\n{connection}\n{resources}\n'
        text += '[destination]\ntype = "delta"\npath = "lake"\n'
        for table in tables:
            keys = {"source": f'"{table}"'} if isinstance(table, str) else table
            text += "[[tables]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
        path = self.folder / "job.toml"
        path.write_text(text)
        return path

    def landed(self, table):
        return self.delta(table)


class Reading(Job):
    def test_a_snapshot_lands_in_parts(self):
        service = self.service(orders(ROWS))
        run = self.run_job(self.declare(service, ORDERS, ["orders"]))
        self.assertEqual(run.table("orders")["rows_landed"], 3000)
        self.assertEqual(run.table("orders")["partitions"], 3)
        rows = {row["id"]: row for row in self.landed("orders")}
        self.assertEqual(len(rows), 3000)
        self.assertAlmostEqual(sum(row["amount"] for row in rows.values()), sum(row["amount"] for row in ROWS))
        self.assertEqual(rows[7]["name"], None)
        self.assertEqual(rows[60]["ts"].strftime("%Y-%m-%dT%H:%M:%SZ"), "2026-01-01T01:00:00Z")
        self.assertEqual(len(service.targets("GET")), 15)

    def test_changes_land_once_and_the_next_run_goes_on(self):
        rows = [dict(row) for row in ROWS[:500]]
        service = self.service(orders(rows))
        changing = ORDERS + 'ingestion = "cdc"\ncursor = { field = "ts", from = "since", format = "epoch_ms" }\n'
        job = self.declare(service, changing, ["orders"])
        self.run_job(job)
        self.assertEqual(len(self.landed("orders")), 500)
        rows[3]["ts"] = ROWS[600]["ts"]
        rows[3]["name"] = "changed"
        rows.append(dict(ROWS[700]))
        run = self.run_job(job)
        self.assertEqual(run.table("orders")["rows_landed"], 2)
        found = {row["id"]: row for row in self.landed("orders")}
        self.assertEqual(len(found), 501)
        self.assertEqual(found[4]["name"], "changed")
        before = len(service.targets())
        self.assertEqual(self.run_job(job).table("orders")["rows_landed"], 0)
        self.assertLess(len(service.targets()) - before, 4)

    def test_rows_that_are_missing_are_no_success(self):
        def short(asked):
            status, body, headers = orders(ROWS[:900])(asked)
            return status, body, {"X-Total-Count": 1000}

        run = self.run_job(self.declare(self.service(short), ORDERS, ["orders"]), code=1)
        error = run.report["tables"][0]["error"]
        self.assertEqual(error["code"], "source.incomplete")
        self.assertIn("1000", error["message"])
        self.assertFalse((self.folder / "lake" / "orders" / "_delta_log" / "00000000000000000000.json").exists())

    def test_a_misspelt_key_is_named_before_a_request(self):
        service = self.service(orders(ROWS))
        run = self.run_job(self.declare(service, ORDERS.replace("paging", "pagign"), ["orders"]), code=2)
        found = run.report.get("error") or run.report["tables"][0]["error"]
        self.assertEqual(found["code"], "config.unknown_option")
        self.assertIn("paging", found["hint"])
        self.assertEqual(service.targets(), [])

    def test_inferred_columns_are_shown_and_land(self):
        service = self.service(lambda asked: (200, [{"id": 1, "deep": {"a": 1}, "mixed": 1}, {"id": 2, "mixed": "x"}]))
        job = self.declare(service, "[connection.resources.things]\n", ["things"])
        shown = self.host("schema", "things", "--config", job)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("STRUCT", shown.stdout)
        self.run_job(job)
        self.assertEqual(sorted(row["mixed"] for row in self.landed("things")), ["1", "x"])

    def test_secrets_stay_inside(self):
        secret = "canary-of-http-api-1"
        service = self.service(lambda asked: (401, {"error": asked.headers.get("X-Own-Token")}))
        job = self.declare(
            service,
            "[connection.resources.t]\nschema = 'id BIGINT'\n",
            ["t"],
            connection=f'auth = {{ type = "header", name = "X-Own-Token", value = "{secret}" }}\n',
        )
        run = self.run_job(job, "--log-level", "trace", code=1)
        self.assertEqual(run.report["tables"][0]["error"]["code"], "source.auth")
        self.assertNotIn(secret, run.stderr + run.stdout + json.dumps(run.report))


class Tokens(Job):
    """OAuth2 with a server that replaces the refresh token each time. As such servers do, it takes the one before again as long as nobody has
    used its successor: an answer may get lost. From the first use of the successor on it is spent; a server that sees it again takes it for
    stolen and gives up the whole grant: no token of it is worth anything from then on."""

    def test_rotation_survives_kills_at_any_moment(self):
        state = {"current": "refresh-canary-0", "before": None, "used": True, "number": 0, "spent": 0}
        lock = threading.Lock()

        def answer(asked):
            with lock:
                if asked.path == "/token":
                    given = dict(pair.split("=", 1) for pair in asked.body.split("&"))["refresh_token"]
                    if given == state["current"]:
                        state["before"] = given
                    elif given != state["before"] or state["used"]:
                        state["spent"] += 1
                        state["current"] = state["before"] = None
                        state["number"] += 1
                        return 400, {"error": "invalid_grant"}
                    state["number"] += 1
                    state["current"] = f"refresh-canary-{state['number']}"
                    state["used"] = False
                    return 200, {"access_token": f"access-canary-{state['number']}", "refresh_token": state["current"], "expires_in": 1}
                if asked.headers.get("Authorization") != f"Bearer access-canary-{state['number']}":
                    return 401, {"error": "expired"}
                state["used"] = True
            time.sleep(0.01)
            return orders(ROWS)(asked)

        service = self.service(answer)
        grant = (
            f'auth = {{ type = "oauth2", grant = "refresh_token", token_url = "{service.url}/token", client_id = "c", '
            'client_secret = "client-canary", refresh_token = "refresh-canary-0" }\n'
        )
        small = ORDERS.replace("page_size = 200", "page_size = 20") + "rows_per_partition = 100\n"
        job = self.declare(service, small, ["orders"], connection=grant)
        chance = random.Random(7)
        killed = 0
        for _ in range(20):
            process = subprocess.Popen(
                [str(HOST), "run", "--config", str(job), "--take-over"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                process.wait(chance.uniform(0.02, 0.5))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed += 1
        self.assertGreater(killed, 10)
        run = self.run_job(job, "--take-over")
        self.assertEqual(run.table("orders")["partitions"], 4)
        self.assertEqual(len(self.landed("orders")), 3000)
        self.assertEqual(state["spent"], 0)
        self.assertGreater(state["number"], 3)
        kept = list((self.folder / "state" / "oauth").glob("*.json"))
        self.assertEqual(len(kept), 1)
        self.assertEqual(kept[0].stat().st_mode & 0o777, 0o600)
        self.assertNotIn("canary", run.stderr + json.dumps(run.report))


if __name__ == "__main__":
    unittest.main()
