"""github.so into Delta, end to end: what lands, what a second run costs, and what changed arrives."""

import unittest

from harness import Scratch

ALL = ["issues", "pull_requests", "comments", "commits", "reviews", "assignees", "collaborators", "branches"]


class FirstLoadAndChanges(Scratch):
    def test_five_thousand_issues_land_then_nothing_then_ten(self):
        server = self.server(issues=5000, pulls=1000)
        job = self.job(server, ["issues"])
        first = self.run_job(job)
        self.assertEqual(first.table("issues")["rows_landed"], 5000)
        self.assertLessEqual(server.ask("stats")["requests"], 60)
        self.assert_equals_truth(server, "issues", fields=("updated_at", "title", "state", "number"))

        server.control("reset_stats")
        version = self.version("issues")
        second = self.run_job(job)
        self.assertEqual(server.ask("stats")["requests"], 1)
        self.assertEqual(server.ask("stats")["not_modified"], 1)
        self.assertEqual(second.table("issues")["rows_read"], 0)
        self.assertEqual(self.version("issues"), version)

        server.control("edit", count=7)
        server.control("add", table="issues", count=3)
        third = self.run_job(job)
        self.assertEqual(third.table("issues")["rows_read"], 10)
        self.assertEqual(third.table("issues")["rows_landed"], 10)
        self.assert_equals_truth(server, "issues", fields=("updated_at", "title"))

    def test_the_incremental_tables_each_by_their_own_rule(self):
        server = self.server(issues=900, pulls=300, comments=700, commits=600, reviews_per_pull=2)
        names = ["pull_requests", "comments", "commits", "reviews"]
        job = self.job(server, names)
        first = self.run_job(job)
        truth = {"pull_requests": "pulls"}
        keys = {"commits": "sha"}
        fields = {"commits": (), "reviews": ()}

        def compare():
            for name in names:
                self.assert_equals_truth_of(server, name, truth.get(name, name), keys.get(name, "id"), fields.get(name, ("updated_at",)))

        compare()
        self.assertEqual(first.table("commits")["rows_landed"], 600)

        for name, most in (("pull_requests", 1), ("comments", 1), ("commits", 1), ("reviews", 2)):
            server.control("reset_stats")
            idle = self.run_job(job, "--only", name)
            self.assertLessEqual(server.ask("stats")["requests"], most, name)
            self.assertEqual(idle.table(name)["rows_read"], 0, name)

        server.control("edit", table="pulls", count=5)
        server.control("edit", table="comments", count=4)
        server.control("push", count=3)
        server.control("merge", count=6)  # commits with dates of last year, reachable only now
        server.control("add", table="reviews", count=2)
        third = self.run_job(job)
        compare()
        self.assertEqual(third.table("commits")["rows_landed"], len(server.truth("commits")) - 600)
        self.assertEqual(third.table("reviews")["rows_landed"], 2)

    def assert_equals_truth_of(self, server, destination, table, key, fields):
        self.assert_equals_truth(server, table, destination=destination, key=key, fields=fields)

    def test_snapshot_tables_cost_one_request_a_page_when_idle(self):
        server = self.server(issues=10, commits=50, branches=230, assignees=120, collaborators=7)
        names = ["assignees", "collaborators", "branches", "users", "organizations", "teams"]
        tables = [{"source": f'"{name}"'} for name in names]
        tables.append({"source": '"repositories"', "options": '{ org = "octo" }'})
        job = self.job(server, tables)
        self.run_job(job)
        self.assertEqual(len(self.delta("branches")), 230)
        self.assertEqual(len(self.delta("assignees")), 120)
        columns = set(self.delta("repositories")[0])
        self.assertNotIn("temp_clone_token", columns)
        server.control("reset_stats")
        idle = self.run_job(job, "--only", "branches", "--only", "assignees")
        self.assertEqual(server.ask("stats")["requests"], 3 + 2)
        self.assertEqual(sum(table["rows_landed"] for table in idle.report["tables"]), 0)
        server.control("branch", name="feature-x")
        self.run_job(job, "--only", "branches")
        self.assertEqual(len(self.delta("branches")), 231)
        server.control("branch", name="feature-x", delete=True)
        self.run_job(job, "--only", "branches")
        self.assertEqual(len(self.delta("branches")), 230)


    def test_a_first_load_of_a_snapshot_walks_its_pages_once(self):
        server = self.server(issues=10, commits=50, branches=1500)
        self.run_job(self.job(server, ["branches"]))
        self.assertEqual(len(self.delta("branches")), 1500)
        self.assertLessEqual(server.ask("stats")["requests"], 1500 // 100 + 5)


class LargeListings(Scratch):
    def test_deep_pages_that_are_refused_do_not_lose_rows(self):
        for deep in ("refuse_rows:10000", "refuse_pages:10"):
            with self.subTest(deep):
                self.setUp()
                server = self.server(issues=25000, pulls=0, deep=deep, latency_ms=2)
                run = self.run_job(self.job(server, ["issues"]))
                self.assertEqual(run.table("issues")["rows_landed"], 25000)
                partitions = run.table("issues")["partitions"]
                self.assertGreater(partitions, 1)
                self.assertLessEqual(server.ask("stats")["requests"], 250 + 5 * partitions)
                self.assertGreater(server.ask("stats")["max_in_flight"], 1)
                self.assert_equals_truth(server, "issues")

    def test_ten_thousand_issues_edited_within_one_second(self):
        server = self.server(issues=12000, pulls=0, deep="refuse_pages:10")
        job = self.job(server, ["issues"])
        self.run_job(job)
        server.control("edit", count=10000, updated_at="2025-01-01T00:00:00Z")
        run = self.run_job(job)
        self.assertEqual(run.table("issues")["rows_landed"], 10000)
        self.assert_equals_truth(server, "issues")

    def test_eight_requests_are_in_flight(self):
        server = self.server(issues=8000, pulls=0, latency_ms=50)
        self.run_job(self.job(server, ["issues"]))
        self.assertEqual(server.ask("stats")["max_in_flight"], 8)


class ManyRepositories(Scratch):
    def test_one_job_holds_many_repositories(self):
        server = self.server(issues=300, repo=["octo/demo", "octo/other"])
        tables = [
            {"source": '"issues"', "destination": '"demo_issues"'},
            {"source": '"issues"', "destination": '"other_issues"', "options": '{ owner = "octo", repo = "other" }'},
            {"source": '"issues"', "destination": '"all_issues"', "name": '"a"'},
            {"source": '"issues"', "destination": '"all_issues"', "name": '"b"', "options": '{ owner = "octo", repo = "other" }'},
        ]
        job = self.job(server, tables)
        self.run_job(job)
        self.assert_equals_truth(server, "issues", destination="demo_issues")
        self.assert_equals_truth(server, "issues", destination="other_issues", repo="octo/other")
        self.assertEqual(len(self.delta("all_issues")), 600)
        self.assertEqual(self.run_job(job).requests, 4)

    def test_a_renamed_repository_keeps_its_rows_and_its_token(self):
        server = self.server(issues=150)
        job = self.job(server, ["issues"])
        self.run_job(job)
        server.control("rename", to="octo/moved")
        server.control("edit", repo="octo/moved", count=2)
        run = self.run_job(job)
        self.assertEqual(run.table("issues")["rows_landed"], 2)
        self.assert_equals_truth(server, "issues", repo="octo/moved")


class OtherDestinations(Scratch):
    def test_commits_into_duckdb_and_json_lines(self):
        import json

        import duckdb

        server = self.server(issues=10, commits=230)
        job = self.job(server, ["commits"], destination='type = "duckdb"\npath = "lake.duckdb"')
        self.run_job(job)
        self.assertEqual(self.run_job(job).table("commits")["rows_read"], 0)
        server.control("push", count=2)
        self.run_job(job)
        # The pinned reader is older than the writer: the storage version must be one that it reads.
        with duckdb.connect(str(self.folder / "lake.duckdb"), read_only=True) as lake:
            self.assertEqual(lake.execute("SELECT count(*), count(DISTINCT sha) FROM commits").fetchone(), (232, 232))

        job = self.job(server, ["commits"], destination='type = "jsonl"\npath = "lines"', job='state = "state2"')
        self.run_job(job)
        server.control("push", count=1)
        self.run_job(job)
        rows = [json.loads(line) for line in (self.folder / "lines" / "commits.jsonl").read_text().splitlines()]
        self.assertEqual({row["sha"] for row in rows}, set(server.truth("commits")))
        self.assertEqual(len(rows), 233)


if __name__ == "__main__":
    unittest.main(verbosity=2)
