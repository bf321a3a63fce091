"""query, explain, where and preview through the executable: the lesson's service as a plugin, and a source that takes nothing over."""

import csv
import io
import json
import unittest

from harness import BUILD, Scratch

KEY = "canary0key1never2shown3"
LESSON = BUILD / "tests" / "scan_plugin" / "lesson.so"


def order(i):
    name = None if i % 5 == 0 else ("Pro " if i % 3 == 0 else "Basic ") + str(i)
    return {"id": i, "name": name, "amount": i % 100 + 0.5, "category": "electronics" if i % 2 else "toys"}


ORDERS = [order(i) for i in range(1, 1001)]
LESSON_SQL = "SELECT id, name, amount FROM orders WHERE category = 'electronics' AND amount > 50 AND name LIKE '%Pro%'"


class Queries(Scratch):
    def setUp(self):
        super().setUp()
        self.write()

    def write(self, entry='source = "orders"', destination='type = "jsonl"\npath = "out"'):
        path = self.folder / "job.toml"
        path.write_text(
            f'[job]\nname = "q"\n[connection]\napi_key = "{KEY}"\n[destination]\n{destination}\n[[tables]]\n{entry}\n'
        )

    def ask(self, *arguments, code=0):
        process = self.host(*arguments, "--config", "job.toml", "--plugin", LESSON)
        self.assertEqual(process.returncode, code, process.stderr)
        self.assertNotIn(KEY, process.stdout + process.stderr)
        return process

    def rows(self, sql, *arguments):
        return [json.loads(line) for line in self.ask("query", sql, *arguments).stdout.splitlines()]

    def test_the_lessons_query(self):
        wanted = [
            {name: row[name] for name in ("id", "name", "amount")}
            for row in ORDERS
            if row["category"] == "electronics" and row["amount"] > 50 and "Pro" in (row["name"] or "")
        ]
        self.assertGreater(len(wanted), 50)
        for switch in ([], ["--no-pushdown"], ["--option", "numPartitions=7"]):
            self.assertEqual(sorted(self.rows(LESSON_SQL, *switch), key=lambda r: r["id"]), wanted)
        # A query leaves nothing behind.
        self.assertEqual([path.name for path in self.folder.iterdir()], ["job.toml"])

    def test_the_lessons_explain(self):
        lines = self.ask("explain", LESSON_SQL).stdout.splitlines()
        requests = ", ".join(
            f"GET /data?apiKey=***&category=electronics&amount_gt=50.0&offset={250 * i}&limit=250" for i in range(4)
        )
        self.assertEqual(
            lines,
            [
                "lesson.orders[schema=id,name,amount, filters=[EqualTo(category, electronics), GreaterThan(amount, 50.0)]]",
                "Table: lesson:https://api.example.com/data orders",
                "PushedFilters: [EqualTo(category, electronics), GreaterThan(amount, 50.0)]",
                "PostScanFilters: [Contains(name, Pro)]",
                "PushedAggregates: []",
                "PushedGroupBy: []",
                "PushedLimit: none",
                "ReadSchema: struct<id:bigint,name:string,amount:double>",
                "Partitions: 4",
                f"Requests: [{requests}]",
                "Total: 1000",
            ],
        )
        page = json.loads(self.ask("explain", LESSON_SQL, "--json", "--option", "num_partitions=8").stdout)
        self.assertEqual(page["partitions"], 8)
        self.assertEqual(page["pushed_filters"], ["EqualTo(category, electronics)", "GreaterThan(amount, 50.0)"])
        self.assertEqual(page["post_scan_filters"], ["Contains(name, Pro)"])
        self.assertEqual(page["read_schema"], "struct<id:bigint,name:string,amount:double>")
        self.assertEqual(len(page["requests"]), 8)
        self.assertIsNone(page["pushed_limit"])

    def test_not_and_or_stay_behind(self):
        page = json.loads(self.ask("explain", "SELECT * FROM orders WHERE NOT category = 'toys' AND (id = 1 OR amount = 2)", "--json").stdout)
        self.assertEqual(page["pushed_filters"], [])
        self.assertEqual(page["post_scan_filters"], ["Not(EqualTo(category, toys))", "Or(EqualTo(id, 1), EqualTo(amount, 2.0))"])

    def test_an_aggregate_is_one_request(self):
        sql = "SELECT category, COUNT(*) AS n, SUM(amount) AS total FROM orders WHERE amount > 10 GROUP BY category ORDER BY category"
        page = json.loads(self.ask("explain", sql, "--json").stdout)
        self.assertEqual(page["pushed_aggregates"], ["COUNT(*)", "SUM(amount)"])
        self.assertEqual(page["pushed_group_by"], ["category"])
        self.assertEqual(page["requests"], ["GET /data/aggregate?apiKey=***&amount_gt=10.0&group_by=category&agg=count(*),sum(amount)"])
        wanted = []
        for category in ("electronics", "toys"):
            amounts = [row["amount"] for row in ORDERS if row["category"] == category and row["amount"] > 10]
            wanted.append({"category": category, "n": len(amounts), "total": sum(amounts)})
        self.assertEqual(self.rows(sql), wanted)
        self.assertEqual(self.rows(sql, "--no-pushdown"), wanted)

    def test_formats(self):
        sql = "SELECT id, name FROM orders WHERE id <= 6 ORDER BY id DESC LIMIT 2"
        self.assertEqual(self.ask("query", sql).stdout, '{"id":6,"name":"Pro 6"}\n{"id":5,"name":null}\n')
        rows = list(csv.DictReader(io.StringIO(self.ask("query", sql, "--format", "csv").stdout)))
        self.assertEqual(rows, [{"id": "6", "name": "Pro 6"}, {"id": "5", "name": ""}])
        self.assertEqual(
            self.ask("query", sql, "--format", "table").stdout,
            "id  name\n--  -----\n 6  Pro 6\n 5  NULL\n(2 rows)\n",
        )

    def test_mistakes(self):
        for arguments, words in (
            (["query", "SELECT nam FROM orders"], ["config.query", "nam", "name"]),
            (["query", "SELECT 1 FROM orders JOIN x ON true"], ["config.query", "a join"]),
            (["query", "SELECT * FROM orders", "--option", "num_partition=2"], ["config.unknown_option", "num_partitions"]),
            (["query", "SELECT * FROM orders", "--option", "num_partitions=many"], ["config.invalid_option", "integer"]),
            (["explain", "ordres"], ["source.not_found", "ordres"]),
        ):
            with self.subTest(arguments):
                process = self.ask(*arguments, code=1 if "source.not_found" in words else 2)
                for word in words:
                    self.assertIn(word, process.stderr)

    def test_where_in_a_job(self):
        self.write('source = "orders"\nmode = "append"\nwhere = "amount > 97 AND name LIKE \'Pro%\'"')
        run = self.run_job("job.toml", "--plugin", LESSON)
        wanted = [row for row in ORDERS if row["amount"] > 97 and (row["name"] or "").startswith("Pro")]
        self.assertGreater(len(wanted), 2)
        landed = [json.loads(line) for line in (self.folder / "out" / "orders.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(landed, key=lambda r: r["id"]), wanted)
        self.assertEqual(run.table("orders")["rows_landed"], len(wanted))
        # What the entry reads is what explain and preview of it are about.
        page = self.ask("explain", "orders").stdout
        self.assertIn("PushedFilters: [GreaterThan(amount, 97.0)]\nPostScanFilters: [StartsWith(name, Pro)]\n", page)
        self.assertEqual(len(self.ask("preview", "orders", "--limit", "2").stdout.splitlines()), 2)

    def test_a_where_that_is_wrong(self):
        for where, words in (
            ("lower(name) = 'x'", ["config.where", "the function lower"]),
            ("amount > 1 ORDER BY id", ["config.where", "an ORDER BY"]),
            ("nam = 'x'", ["config.where", "Did you mean \"name\"?"]),
        ):
            with self.subTest(where):
                self.write(f'source = "orders"\nmode = "append"\nwhere = "{where}"')
                run = self.run_job("job.toml", "--plugin", LESSON, code=2)
                for word in words:
                    self.assertIn(word, json.dumps(run.report["error"]) if "\"" not in word else run.report["error"]["hint"])

    def test_a_source_that_takes_nothing_over(self):
        server = self.server(issues=60)
        job = self.job(server, ["issues"])
        arguments = ["--config", job, "--plugin-dir", BUILD / "plugins"]
        process = self.host("query", "SELECT count(*) AS n, max(number) AS newest FROM issues WHERE number > 10", *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        answer = json.loads(process.stdout)
        numbers = [row["number"] for row in server.truth("issues").values() if row["number"] > 10]
        self.assertEqual(answer, {"n": len(numbers), "newest": max(numbers)})
        page = self.host("explain", "issues", *arguments).stdout
        self.assertIn("PushedFilters: []\nPostScanFilters: []\n", page)
        self.assertIn("Table: github issues\n", page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
