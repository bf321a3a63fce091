"""The lesson's service (id BIGINT, name, amount DOUBLE, category, ts TIMESTAMP; filters on id, amount and category, joined by AND, and
nothing else) declared for http-api, with faults: what is pushed, what explain promises and what the service then sees."""

import json
import unittest
import urllib.parse

from harness import Scratch
from json_service import Service

KEY = "canary-of-the-lesson-1"


def order(i):
    return {
        "id": i,
        "name": None if i % 11 == 0 else ("x" if i % 3 == 0 else "y") + str(i),
        "amount": None if i % 13 == 0 else i % 40 + 0.5,
        "category": ("a", "b", "c")[i % 3] if i % 7 else None,
        "ts": 1_767_225_600_000 + i * 60_000,
    }


ROWS = [order(i) for i in range(1, 4001)]

RESOURCE = """
[connection.resources.orders]
path = "data"
schema = "id BIGINT NOT NULL, name STRING, amount DOUBLE, category STRING, ts TIMESTAMP"
primary_keys = ["id"]
columns = { ts = { format = "epoch_ms" } }
paging = { type = "offset", offset = "offset", limit = "limit" }
total = { header = "X-Total-Count" }
aggregate = { path = "data/aggregate", group_by = "group_by", functions = "agg", records = "/groups" }
[connection.resources.orders.filters]
id = { "=" = "id", "in" = "id_in", ">" = "id_gt", "<" = "id_lt", ">=" = "id_gte", "<=" = "id_lte" }
amount = { "=" = "amount", ">" = "amount_gt", "<" = "amount_lt", ">=" = "amount_gte", "<=" = "amount_lte" }
category = { "=" = "category", "in" = "category_in" }
"""

COMPARE = {"": lambda a, b: a == b, "_gt": lambda a, b: a > b, "_lt": lambda a, b: a < b, "_gte": lambda a, b: a >= b, "_lte": lambda a, b: a <= b}


class Lesson:
    """What it does wrong: `faults` are called with the request and may answer it."""

    def __init__(self):
        self.faults = []
        self.ignored = set()

    def wanted(self, asked):
        out = ROWS
        for column, read in (("id", int), ("amount", float), ("category", str)):
            for suffix, holds in COMPARE.items():
                value = asked.get(column + suffix)
                if value is not None and column + suffix not in self.ignored:
                    out = [row for row in out if row[column] is not None and holds(row[column], read(value))]
            several = asked.get(column + "_in")
            if several is not None:
                known = {read(one) for one in several.split(",")}
                out = [row for row in out if row[column] in known]
        return out

    def __call__(self, asked):
        if asked.headers.get("X-API-Key") != KEY:
            return 401, {}
        for fault in self.faults:
            answer = fault(asked)
            if answer:
                return answer
        rows = self.wanted(asked)
        if asked.path == "/data/aggregate":
            return 200, {"groups": self.groups(rows, asked)}
        start = asked.number("offset", 0)
        return 200, rows[start : start + asked.number("limit", 100)], {"X-Total-Count": len(rows)}

    @staticmethod
    def groups(rows, asked):
        by = [name for name in (asked.get("group_by") or "").split(",") if name]
        groups = {}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in by), []).append(row)
        out = []
        for key, members in groups.items():
            group = dict(zip(by, key))
            for text in asked.get("agg").split(","):
                function, column = text[:-1].split("(")
                values = [row[column] for row in members if row[column] is not None] if column != "*" else members
                group[text] = {"count": len, "sum": sum, "min": min, "max": max}[function](values) if values or function == "count" else None
            out.append(group)
        return out


def once(answer, when=lambda asked: asked.method == "GET"):
    """A fault that strikes the first request of a kind."""
    left = [1]

    def fault(asked):
        if left[0] and when(asked):
            left[0] -= 1
            return answer
        return None

    return fault


class LessonService(Scratch):
    def setUp(self):
        super().setUp()
        self.lesson = Lesson()
        self.service = Service(self.lesson)
        self.addCleanup(self.service.stop)
        self.write()

    def write(self, resource=RESOURCE, connection=""):
        (self.folder / "job.toml").write_text(
            f'[job]\nname = "lesson"\nplugin = "http-api"\n[connection]\nbase_url = "{self.service.url}"\napi_key = "{KEY}"\n{connection}\n{resource}\n'
            '[destination]\ntype = "jsonl"\npath = "out"\n[[tables]]\nsource = "orders"\n'
        )

    def ask(self, *arguments, code=0):
        process = self.host(*arguments, "--config", "job.toml")
        self.assertEqual(process.returncode, code, process.stderr)
        self.assertNotIn(KEY, process.stdout + process.stderr)
        return process

    def rows(self, sql, *arguments):
        return [json.loads(line) for line in self.ask("query", sql, *arguments).stdout.splitlines()]

    def explained(self, sql, *arguments):
        return json.loads(self.ask("explain", sql, "--json", *arguments).stdout)

    def log(self, since):
        """What the service was asked: method and target, decoded."""
        with self.service.lock:
            return [f"{one.method} {urllib.parse.unquote(one.target)}" for one in self.service.asked[since:]]

    def asked(self):
        with self.service.lock:
            return len(self.service.asked)

    def promised(self, page):
        return [urllib.parse.unquote(one.replace(self.service.url, "")) for one in page["requests"]]

    QUERY = "SELECT id, name, amount FROM orders WHERE category = 'a' AND amount > 10 AND name LIKE 'x%'"

    def test_two_filters_are_pushed_and_one_is_kept(self):
        wanted = [
            {name: row[name] for name in ("id", "name", "amount")}
            for row in ROWS
            if row["category"] == "a" and (row["amount"] or 0) > 10 and (row["name"] or "").startswith("x")
        ]
        self.assertGreater(len(wanted), 100)
        page = self.explained(self.QUERY)
        self.assertEqual(page["pushed_filters"], ["EqualTo(category, a)", "GreaterThan(amount, 10.0)"])
        self.assertEqual(page["post_scan_filters"], ["StartsWith(name, x)"])
        self.assertEqual(page["read_schema"], "struct<id:bigint,name:string,amount:double>")
        before = self.asked()
        self.assertEqual(sorted(self.rows(self.QUERY), key=lambda row: row["id"]), wanted)
        for line in self.log(before):
            self.assertRegex(line, r"^(GET|HEAD) /data\?category=a&amount_gt=10\.0&offset=\d+&limit=\d+$")
        before = self.asked()
        self.assertEqual(sorted(self.rows(self.QUERY, "--no-pushdown"), key=lambda row: row["id"]), wanted)
        self.assertNotIn("amount_gt", "".join(self.log(before)))

    def test_not_and_or_stay(self):
        sql = "SELECT id FROM orders WHERE NOT (category = 'a') AND (id < 100 OR amount > 39) AND id <> 50"
        page = self.explained(sql)
        self.assertEqual(page["pushed_filters"], [])
        self.assertEqual(len(page["post_scan_filters"]), 3)
        wanted = [row["id"] for row in ROWS if row["category"] not in (None, "a") and (row["id"] < 100 or (row["amount"] or 0) > 39) and row["id"] != 50]
        self.assertEqual(sorted(row["id"] for row in self.rows(sql)), wanted)

    def test_a_read_in_four_partitions_sends_what_explain_promises(self):
        page = self.explained("SELECT id, amount FROM orders WHERE id > 0", "--option", "fetch_size=1000")
        self.assertEqual(page["partitions"], 4)
        requests = ["HEAD /data?id_gt=0&offset=0&limit=1"] + [f"GET /data?id_gt=0&offset={offset}&limit=1000" for offset in (0, 1000, 2000, 3000)]
        self.assertEqual(self.promised(page), requests)
        before = self.asked()
        self.assertEqual(len(self.rows("SELECT id, amount FROM orders WHERE id > 0", "--option", "fetch_size=1000")), 4000)
        self.assertEqual(sorted(set(self.log(before))), sorted(requests))
        self.assertEqual(sum(line.startswith("GET") for line in self.log(before)), 4)
        # Several requests a part.
        page = self.explained("orders")
        before = self.asked()
        self.assertEqual(len(self.rows("SELECT * FROM orders")), 4000)
        self.assertEqual(sorted(set(self.log(before))), sorted(self.promised(page)))
        self.assertEqual(len(page["requests"]), 1 + 20)

    def test_groups_come_in_one_request_and_equal_the_hosts_own(self):
        sql = "SELECT category, COUNT(*) AS n, COUNT(amount) AS k, SUM(amount) AS s, MIN(amount) AS lo, MAX(id) AS hi FROM orders WHERE id <= 3000 AND amount >= 2 GROUP BY category ORDER BY category"
        page = self.explained(sql)
        self.assertEqual(page["pushed_group_by"], ["category"])
        self.assertEqual(self.promised(page), ["GET /data/aggregate?id_lte=3000&amount_gte=2.0&group_by=category&agg=count(*),count(amount),sum(amount),min(amount),max(id)"])
        before = self.asked()
        found = self.rows(sql)
        self.assertEqual(self.log(before), self.promised(page))
        self.assertEqual(len(found), 4)  # a, b, c and null
        self.assertEqual(found, self.rows(sql, "--no-pushdown"))
        # With a filter that stays behind the host counts for itself.
        left = sql.replace("GROUP BY", "AND name LIKE 'x%' GROUP BY")
        self.assertEqual(self.explained(left)["pushed_aggregates"], [])
        self.assertEqual(self.rows(left), self.rows(left, "--no-pushdown"))

    def test_faults_that_pass_change_nothing(self):
        wanted = [row["id"] for row in ROWS if row["category"] == "a" and (row["amount"] or 0) > 10 and (row["name"] or "").startswith("x")]
        for name, fault in {
            "no HEAD": lambda asked: (405, {}) if asked.method == "HEAD" else None,
            "503": once((503, {})),
            "429": once((429, "slow", {"Retry-After": "1", "Content-Type": "text/html"})),
            "html": once((200, "<html>maintenance</html>", {"Content-Type": "text/html"})),
            "cut document": once((200, '[{"id": 1, "na')),
            "no total": lambda asked: (200, self.lesson.wanted(asked)[asked.number("offset", 0) :][: asked.number("limit", 100)]),
            "a total of -1": lambda asked: (200, self.lesson.wanted(asked)[asked.number("offset", 0) :][: asked.number("limit", 100)], {"X-Total-Count": -1}),
            "smaller pages": lambda asked: (200, self.lesson.wanted(asked)[asked.number("offset", 0) :][: min(asked.number("limit", 100), 33)], {"X-Total-Count": len(self.lesson.wanted(asked))}),
        }.items():
            with self.subTest(name):
                self.lesson.faults = [fault]
                self.assertEqual(sorted(row["id"] for row in self.rows(self.QUERY)), wanted)

    def test_faults_that_last_are_named(self):
        self.write(connection="retry = { attempts = 2 }")
        self.lesson.ignored = {"amount_gt"}
        self.assertIn("source.filter_ignored", self.ask("query", self.QUERY, code=1).stderr)
        self.lesson.ignored = set()
        for name, fault, code in (
            ("html", lambda asked: (200, "<html></html>", {"Content-Type": "text/html"}), "source.protocol"),
            ("gone", lambda asked: (404, {}) if asked.method == "GET" else None, "source.not_found"),
            ("too few", lambda asked: (200, [], {"X-Total-Count": 4000}) if asked.number("offset", 0) >= 2000 else None, "source.incomplete"),
            ("a page again and again", lambda asked: (200, ROWS[:100], {"X-Total-Count": 4000}), "source."),
        ):
            with self.subTest(name):
                self.lesson.faults = [fault]
                self.assertIn(code, self.ask("query", "SELECT id, amount FROM orders", code=1).stderr)


if __name__ == "__main__":
    unittest.main()
