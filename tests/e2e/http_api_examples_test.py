"""The shipped examples, as they are but for the service's address: each lands what its service has. Stripe is localstripe, json-server is itself;
GitHub's links and PostgREST's ranges are served here."""

import json
import pathlib
import re
import sqlite3
import unittest
import urllib.request

from harness import SOURCE
from http_api_servers_test import CACHE, DATA, SERVERS, Servers, fill, free_port, node
from json_service import Service

EXAMPLES = SOURCE / "plugins" / "http_api" / "examples"
SECRETS = {"STRIPE_KEY": "sk_test_12345", "GITHUB_TOKEN": "canary-of-links-1", "API_KEY": "canary-of-ranges-1"}


class Examples(Servers):
    def example(self, name):
        path = self.folder / name
        path.write_text((EXAMPLES / name).read_text())
        return path

    def service(self, answer):
        service = Service(answer)
        self.addCleanup(service.stop)
        return service

    def land(self, name, url, *arguments, code=0):
        """Runs an example against another address."""
        run = self.run_job(self.example(name), "--set", f"connection.base_url={url}", *arguments, code=code, env=SECRETS)
        self.assertNotIn("canary", run.stderr + json.dumps(run.report))
        return run

    def query(self, name, url, sql):
        out = self.host("query", sql, "--config", self.example(name), "--set", f"connection.base_url={url}", env=SECRETS)
        self.assertEqual(out.returncode, 0, out.stderr)
        return [json.loads(line) for line in out.stdout.splitlines()]

    def test_every_example_is_here(self):
        here = pathlib.Path(__file__).read_text()
        for path in EXAMPLES.glob("*.toml"):
            self.assertIn(f'"{path.name}"', here)

    def test_stripe(self):
        port = free_port()
        program = pathlib.Path(__file__).with_name("localstripe_here.py")
        server = self.start(port, [str(SERVERS / "python"), str(program), "--port", str(port), "--from-scratch"], "/localstripe.js")
        fill(server, 250)
        run = self.land("stripe.toml", server.url + "/v1", "--only", "customers")
        self.assertEqual(run.table("customers")["rows_landed"], 250)
        self.assertEqual({row["email"] for row in self.delta("customers")}, {f"c{number}@example.com" for number in range(250)})
        self.assertEqual(len(self.query("stripe.toml", server.url + "/v1", "SELECT id FROM customers WHERE email = 'c7@example.com'")), 1)

    def test_json_server(self):
        movies = [{"id": i + 1, **row} for i, row in enumerate(json.loads((DATA / "movies.json").read_text()))]
        (self.folder / "db.json").write_text(json.dumps({"movies": movies, "copies": []}))
        port = free_port()
        program = CACHE / "node-servers" / "node_modules" / "json-server" / "lib" / "cli" / "bin.js"
        server = self.start(port, [node(), str(program), "--host", "127.0.0.1", "--port", str(port), "--quiet", "db.json"], "/movies?_limit=1")
        run = self.land("json_server.toml", server.url)
        self.assertEqual((run.table("movies")["rows_landed"], run.table("movies")["partitions"]), (3201, 4))
        found = self.query("json_server.toml", server.url, "SELECT count(*) AS n FROM movies WHERE \"MPAA Rating\" = 'R'")
        self.assertEqual(found, [{"n": 1194}])
        # It takes rows too, one a request. It cannot remove all of them, and need not: there are none.
        job = self.folder / "copy.toml"
        job.write_text(
            f'[job]\nname = "copy"\nplugin = "http-api"\n[connection]\nbase_url = "{server.url}"\n[connection.resources.movies]\nparams = {{ id_lte = 60 }}\n'
            'schema = "id BIGINT NOT NULL, Title STRING, `IMDB Rating` DOUBLE"\n[destination]\ntype = "connector"\nplugin = "http-api"\n'
            f'[destination.connection]\nbase_url = "{server.url}"\nretry = {{ attempts = 2 }}\n[destination.connection.resources.copies]\n'
            'write = { path = "copies", rows = "object", id = "/id", rollback = { path = "copies/{id}" }, truncate = { method = "GET", path = "copies" } }\n'
            '[[tables]]\nsource = "movies"\ndestination = "copies"\n'
        )
        self.assertEqual(self.run_job(job).table("copies")["rows_landed"], 60)
        def copies():  # of the server: its file comes after its answer
            with urllib.request.urlopen(server.url + "/copies?_limit=1000", timeout=30) as answer:
                return json.load(answer)

        kept = {row["id"]: row for row in copies()}
        self.assertEqual(set(kept), set(range(1, 61)))
        self.assertEqual({i: row["IMDB Rating"] for i, row in kept.items()}, {row["id"]: row["IMDB Rating"] for row in movies[:60]})
        # The ids are taken now: what is refused is rolled back, and of what was there nothing is lost.
        error = self.run_job(job, code=1).table("copies")["error"]
        self.assertIn("Nothing had been posted", error["message"])
        self.assertEqual(len(copies()), 60)

    def test_github_links(self):
        releases = [{"id": i, "tag_name": f"v{i}", "draft": i % 9 == 0, "created_at": f"2026-01-{1 + i % 28:02d}T00:00:00Z"} for i in range(1, 231)]

        def answer(asked):
            if asked.headers.get("Authorization") != f"Bearer {SECRETS['GITHUB_TOKEN']}" or "github" not in asked.headers.get("Accept", ""):
                return 401, {}
            child = re.fullmatch(r"/repos/apache/arrow/releases/(\d+)/assets", asked.path)
            if child and int(child[1]) % 50 == 0:
                return 404, {"message": "Not Found"}
            rows = releases if not child else [{"id": int(child[1]) * 1000 + i, "name": f"a{i}", "size": i, "download_count": 1} for i in range(int(child[1]) % 3)]
            size, page = asked.number("per_page", 30), asked.number("page", 1)
            more = f'<http://127.0.0.1:{service.server.server_port}{asked.path}?per_page={size}&page={page + 1}>; rel="next"'
            return 200, rows[(page - 1) * size : page * size], {"Link": more} if page * size < len(rows) else {}

        service = self.service(answer)
        run = self.land("github_links.toml", service.url + "/repos/apache/arrow")
        self.assertEqual(run.table("releases")["rows_landed"], 230)
        wanted = {i * 1000 + j: i for i in range(1, 231) if i % 50 for j in range(i % 3)}
        self.assertEqual({row["id"]: row["release"] for row in self.delta("assets")}, wanted)
        self.assertEqual(run.table("assets")["items_skipped"], 4)

    def test_postgrest(self):
        table = sqlite3.connect(":memory:", check_same_thread=False)
        table.execute("CREATE TABLE orders (id INTEGER, amount REAL, category TEXT, updated_at TEXT)")
        for i in range(1, 2501):
            table.execute("INSERT INTO orders VALUES (?, ?, ?, ?)", (i, i / 8, None if i % 10 == 0 else "abc"[i % 3], f"2026-01-{1 + i // 100:02d}T00:{i % 60:02d}:00+00:00"))

        def answer(asked):
            """As PostgREST reads them: column=operator.value, select, order, limit and offset; the total behind the slash."""
            if asked.headers.get("X-API-Key") != SECRETS["API_KEY"] or asked.headers.get("Prefer") != "count=exact":
                return 401, {}
            where, values = [], []
            for name, (value, *_) in asked.query.items():
                if name in ("select", "order", "limit", "offset"):
                    continue
                operator, text = value.split(".", 1)
                if operator == "is":
                    where.append(f"{name} IS NULL")
                elif operator == "in":
                    several = text.strip("()").split(",")
                    where.append(f"{name} IN ({','.join('?' * len(several))})")
                    values += several
                else:
                    sign = {"eq": "=", "gte": ">=", "lt": "<"}[operator]
                    where.append(f"{name} {sign} ?")
                    values.append(text.replace("Z", "+00:00") if name == "updated_at" else float(text) if name in ("id", "amount") else text)
            condition = " AND ".join(where) or "1"
            names = asked.get("select", "id,amount,category,updated_at").split(",")
            with service.lock:
                total = table.execute(f"SELECT count(*) FROM orders WHERE {condition}", values).fetchone()[0]
                found = table.execute(
                    f"SELECT {','.join(names)} FROM orders WHERE {condition} ORDER BY id LIMIT ? OFFSET ?", (*values, asked.number("limit", 1000), asked.number("offset", 0))
                ).fetchall()
            first = asked.number("offset", 0)
            shown = f"{first}-{first + len(found) - 1}" if found else "*"
            return 206 if len(found) < total else 200, [dict(zip(names, row)) for row in found], {"Content-Range": f"{shown}/{total}"}

        service = self.service(answer)
        url = service.url + "/rest/v1"
        self.assertEqual(self.land("postgrest.toml", url).table("orders")["rows_landed"], 2500)
        self.assertEqual(sum(row["amount"] for row in self.delta("orders")), sum(i / 8 for i in range(1, 2501)))
        with service.lock:
            table.execute("UPDATE orders SET amount = 0, updated_at = '2026-03-01T00:00:00+00:00' WHERE id IN (7, 8)")
        self.assertEqual(self.land("postgrest.toml", url).table("orders")["rows_landed"], 2)
        before = len(service.targets())
        found = self.query("postgrest.toml", url, "SELECT id, amount FROM orders WHERE id IN (5, 6, 7) AND amount < 1")
        self.assertEqual(sorted(found, key=lambda row: row["id"]), [{"id": 5, "amount": 0.625}, {"id": 6, "amount": 0.75}, {"id": 7, "amount": 0.0}])
        self.assertTrue(all("id=in." in target and "amount=lt." in target for target in service.targets()[before:]))
        self.assertEqual(self.query("postgrest.toml", url, "SELECT count(*) AS n FROM orders WHERE category IS NULL"), [{"n": 250}])


if __name__ == "__main__":
    unittest.main()
