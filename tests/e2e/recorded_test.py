"""The plugin reads what GitHub really answered: the recordings of @octokit/fixtures, which conan/setup.sh --test brings. Objects and
headers are served as recorded; a page size that was not recorded is cut from the recorded rows."""

import http.server
import json
import os
import pathlib
import re
import threading
import unittest
import urllib.parse

from harness import Scratch

SCENARIOS = pathlib.Path(os.environ["LAKEFLOW_OCTOKIT_FIXTURES"]) / "scenarios" / "api.github.com"
ORGANIZATION = "octokit-fixture-org"


def recorded(scenario):
    return [entry for entry in json.loads((SCENARIOS / scenario / "normalized-fixture.json").read_text()) if entry["method"] == "get"]


class Recordings(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        issues = [entry for entry in recorded("paginate-issues") if "/issues" in entry["path"]]
        self.pages = issues  # in the order in which they were asked for: page 1, 2, ...
        self.issues = [row for entry in issues for row in entry["response"]]
        self.collaborators = recorded("add-and-remove-repository-collaborator")
        self.repository = recorded("get-repository")[0]["response"]
        self.seen = []


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, rows, headers=()):
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.server.seen.append(self.path)
        if url.path in (f"/repos/{ORGANIZATION}/paginate-issues/issues", "/repositories/1000/issues"):
            return self.issues(query)
        if url.path.endswith("/collaborators"):
            listing = next(entry for entry in self.server.collaborators if entry["path"].split("?")[0].endswith("/collaborators"))
            return self.give(listing["response"])
        if url.path == f"/orgs/{ORGANIZATION}/repos":
            return self.give([self.server.repository])
        self.send_error(404)

    def issues(self, query):
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        rows = self.server.issues
        if query.get("sort", "created") == "created" and query.get("direction") == "asc":
            rows = sorted(rows, key=lambda row: row["number"])
        elif query.get("sort") == "updated":
            rows = sorted(rows, key=lambda row: row["updated_at"], reverse=query.get("direction", "desc") == "desc")
        last = -(-len(rows) // size)
        links = []
        for relation, number in (("next", page + 1 if page < last else None), ("last", last if page < last else None)):
            if number:
                target = f"http://127.0.0.1:{self.server.server_port}/repositories/1000/issues?" + urllib.parse.urlencode({**query, "page": number})
                links.append(f'<{target}>; rel="{relation}"')
        # What GitHub sent beside the body, apart from what belongs to one connection or to the page's cut.
        kept = [
            (name, str(value))
            for name, value in self.server.pages[0]["headers"].items()
            if not re.fullmatch("connection|content-.*|transfer-encoding|link|date|etag|server", name, re.IGNORECASE)
        ]
        self.give(rows[(page - 1) * size : page * size], [*kept, ("Link", ", ".join(links))])


class RecordedAnswers(Scratch):
    def test_the_recorded_answers_land(self):
        server = Recordings()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        tables = [
            {"source": '"issues"', "options": f'{{ owner = "{ORGANIZATION}", repo = "paginate-issues", per_page = 3 }}'},
            {"source": '"collaborators"', "options": f'{{ owner = "{ORGANIZATION}", repo = "add-and-remove-repository-collaborator" }}'},
            {"source": '"repositories"', "options": f'{{ org = "{ORGANIZATION}" }}'},
        ]
        self.run_job(self.job(f"http://127.0.0.1:{server.server_port}", tables))
        self.assertEqual(len(server.issues), 13)
        landed = {row["id"]: row for row in self.delta("issues")}
        self.assertEqual(set(landed), {row["id"] for row in server.issues})
        for row in server.issues:
            found = landed[row["id"]]
            for name in ("node_id", "number", "title", "state", "html_url", "author_association", "comments", "locked"):
                self.assertEqual(found[name], row[name], name)
            self.assertEqual(found["updated_at"].strftime("%Y-%m-%dT%H:%M:%SZ"), row["updated_at"])
            self.assertEqual(found["user"]["login"], row["user"]["login"])
        self.assertGreaterEqual(len(self.delta("collaborators")), 1)
        repository = self.delta("repositories")[0]
        self.assertEqual(repository["full_name"], server.repository["full_name"])
        self.assertNotIn("temp_clone_token", repository)


if __name__ == "__main__":
    unittest.main(verbosity=2)
