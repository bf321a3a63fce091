"""The http-api plugin and json-server with toxiproxy between them: connections that are cut, reset or hang. All rows land, or the error is clear;
fewer rows are never called success."""

import json
import shutil
import threading
import unittest
import urllib.request

from http_api_servers_test import CACHE, DATA, Servers, free_port, node

TOXIPROXY = CACHE / "go-servers" / "toxiproxy-server"


class Toxic(Servers):
    """json-server with 3,201 movies behind toxiproxy."""

    def setUp(self):
        super().setUp()
        movies = json.loads((DATA / "movies.json").read_text())
        (self.folder / "db.json").write_text(json.dumps({"movies": movies}))
        port = free_port()
        program = CACHE / "node-servers" / "node_modules" / "json-server" / "lib" / "cli" / "bin.js"
        self.start(port, [node(), str(program), "--host", "127.0.0.1", "--port", str(port), "--quiet", "db.json"], "/movies?_limit=1")
        self.control, self.listen = free_port(), free_port()
        self.start(self.control, [str(TOXIPROXY), "-host", "127.0.0.1", "-port", str(self.control)], "/version")
        self.ask("proxies", {"name": "movies", "listen": f"127.0.0.1:{self.listen}", "upstream": f"127.0.0.1:{port}", "enabled": True})

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.control}/{path}", data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def poison(self, kind, toxicity=1.0, **attributes):
        self.ask("proxies/movies/toxics", {"name": "it", "type": kind, "stream": "downstream", "toxicity": toxicity, "attributes": attributes})

    def land(self, attempts, code=0):
        resource = '[connection.resources.movies]\nschema = "Title STRING, `IMDB Votes` BIGINT, `Worldwide Gross` BIGINT"\n'
        resource += 'paging = { type = "page", page = "_page", size = "_limit", page_size = 200 }\ntotal = { header = "X-Total-Count" }\n'
        connection = f'retry = {{ attempts = {attempts} }}\ntimeout = {{ connect = "2s", first_byte = "700ms", idle = "700ms" }}'
        job = self.declare(f"http://127.0.0.1:{self.listen}", resource, ["movies"], connection)
        process = self.host("run", "--config", job, "--report", self.folder / "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        return process.returncode, report["tables"][0], report

    def test_faults_that_last_are_no_success(self):
        for kind, attributes in (("limit_data", {"bytes": 3000}), ("reset_peer", {"timeout": 5}), ("timeout", {"timeout": 0})):
            with self.subTest(kind=kind):
                self.poison(kind, **attributes)
                code, table, report = self.land(attempts=2)
                self.ask("proxies/movies/toxics/it", method="DELETE")
                self.assertEqual(code, 1)
                self.assertEqual(table["error"]["code"], "source.transient")
                self.assertEqual(table["rows_landed"], 0)
                self.assertFalse((self.folder / "lake" / "movies" / "_delta_log").exists() and list((self.folder / "lake" / "movies" / "_delta_log").glob("*.json")))

    def test_faults_that_pass_cost_time_alone(self):
        for kind, attributes in (("limit_data", {"bytes": 3000}), ("reset_peer", {"timeout": 5}), ("timeout", {"timeout": 0})):
            with self.subTest(kind=kind):
                shutil.rmtree(self.folder / "lake", ignore_errors=True)
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                self.poison(kind, **attributes)
                heal = threading.Timer(1.0, lambda: self.ask("proxies/movies/toxics/it", method="DELETE"))
                heal.start()
                code, table, report = self.land(attempts=6)
                heal.join()
                self.assertEqual(code, 0, table.get("error"))
                self.assertEqual(table["rows_landed"], 3201)
                self.assertGreater(report["http"]["retries"], 0)
                self.assertEqual(sum(row["Worldwide Gross"] or 0 for row in self.delta("movies")), 272_586_820_052)

    def test_a_third_of_the_connections_is_cut(self):
        self.poison("limit_data", toxicity=0.34, bytes=20_000)
        code, table, _ = self.land(attempts=4)
        if code == 0:
            self.assertEqual(table["rows_landed"], 3201)
            self.assertEqual(len(self.delta("movies")), 3201)
        else:
            self.assertEqual((table["error"]["code"], table["rows_landed"]), ("source.transient", 0))


if __name__ == "__main__":
    unittest.main()
