"""What the postgres plugin leaves to the server: the SQL that explain and the log show, and generated queries whose answers are the server's own, with
pushdown and without."""

import concurrent.futures
import json
import os
import random
import re
import time
import unittest
from decimal import Decimal

from postgres_scratch import PostgresScratch

QUERIES = int(os.environ.get("LAKEFLOW_QUERIES", "1000"))

# The text sorts and folds by a language in the server; the host compares bytes.
SETUP = """
CREATE TABLE orders (id int PRIMARY KEY, category text COLLATE "en-x-icu", amount numeric(10,2), price double precision, stamp timestamptz, day date, paid boolean,
  code uuid, n bigint, pad char(4));
INSERT INTO orders SELECT i, (ARRAY['toys', 'Toys', 'électro', 'a%b_c', 'it''s \\ "q"', '', 'zebra', 'Ärger'])[1 + i % 9], (i * 7919 % 20000)::numeric / 100 - 20,
  CASE WHEN i % 97 = 0 THEN 'NaN' WHEN i % 89 = 0 THEN '-Infinity' WHEN i % 10 = 0 THEN NULL ELSE i * 0.5 END, timestamptz '2024-01-01' + i * interval '7 hours',
  date '2020-02-28' + i, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, md5(i::text)::uuid, i::bigint * 3000000000 - 1000000000000, left(md5(i::text), i % 4)
  FROM generate_series(1, 2000) i;
CREATE VIEW by_bytes AS SELECT id, category COLLATE "C" AS category, amount, price, stamp, day, paid, code::text COLLATE "C" AS code, n, pad::text COLLATE "C" AS pad FROM orders;
"""


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Generator:
    def __init__(self, seed):
        self.chance = random.Random(seed)

    def text(self):
        return quoted(self.chance.choice(["toys", "Toys", "TOYS", "électro", "a%b_c", 'it\'s \\ "q"', "", "z", "Ä", "Zz", "_", "%", "\\", "'", "e", "A"]))

    def condition(self, depth=0):
        pick = self.chance.randrange
        kind = pick(16 if depth < 2 else 13)
        compare = self.chance.choice(["=", "<>", "<", "<=", ">", ">="])
        if kind == 0:
            return f"id {compare} {pick(2200)}"
        if kind == 1:
            return f"amount {compare} {pick(-3000, 20000) / 100}"
        if kind == 2:
            return f"category {compare} {self.text()}"
        if kind == 3:
            return f"category IN ({self.text()}, {self.text()}, {self.text()})"
        if kind == 4:
            return f"category LIKE {self.chance.choice([quoted('T%'), quoted('%s'), quoted('%o%'), quoted('%y%')])}"
        if kind == 5:
            return f"price {compare} {pick(1200) / 4}"
        if kind == 6:
            return f"stamp {compare} TIMESTAMPTZ '2024-{1 + pick(12):02}-01 00:00:00.5+00'"
        if kind == 7:
            return f"day {compare} DATE '202{pick(5)}-03-01'"
        if kind == 8:
            return f"paid = {self.chance.choice(['true', 'false'])}"
        if kind == 9:
            return f"{self.chance.choice(['category', 'price', 'paid', 'amount'])} IS {self.chance.choice(['', 'NOT '])}NULL"
        if kind == 10:
            return f"n {compare} {pick(-10**12, 5 * 10**12)}"
        if kind == 11:
            return f"pad {compare} '{self.chance.choice('abc0')}'"
        if kind == 12:
            return f"code {compare} '{pick(16):x}'"
        parts = [self.condition(depth + 1) for _ in range(2)]
        return {13: f"({parts[0]} AND {parts[1]})", 14: f"({parts[0]} OR {parts[1]})", 15: f"NOT ({parts[0]})"}[kind]

    def query(self):
        where = " AND ".join(self.condition() for _ in range(self.chance.randint(1, 3)))
        kind = self.chance.randrange(4)
        if kind == 0:
            keys = self.chance.choice(["category", "paid", "category, paid"])
            return f"SELECT {keys}, count(*) AS c, sum(amount) AS s, min(n) AS lo, max(category) AS hi, count(price) AS p FROM orders WHERE {where} GROUP BY {keys}", False
        if kind == 1:
            order = self.chance.choice(["category", "amount DESC", "pad", "n DESC", "paid", "day"])
            nulls = self.chance.choice(["NULLS FIRST", "NULLS LAST"])
            return f"SELECT id, category FROM orders WHERE {where} ORDER BY {order} {nulls}, id LIMIT {self.chance.randint(1, 50)} OFFSET {self.chance.choice([0, 0, 3])}", True
        if kind == 2:
            return f"SELECT count(*) AS c, sum(id) AS s, sum(n) AS t, min(category) AS lo, max(amount) AS hi FROM orders WHERE {where}", True
        return f"SELECT id, category, amount, n, pad FROM orders WHERE {where}", False


def plain(rows, ordered):
    out = [json.dumps({k: str(v.normalize() + 0) if isinstance(v, Decimal) else v for k, v in row.items()}, sort_keys=True, ensure_ascii=False) for row in rows]
    return out if ordered else sorted(out)


def parsed(line):
    return {k: Decimal(v) if isinstance(v, int) and not isinstance(v, bool) else v for k, v in json.loads(line, parse_float=Decimal).items()}


class Pushdown(PostgresScratch):
    SETUP = SETUP

    def setUp(self):
        super().setUp()
        self.job_with()

    def job_with(self, options="{ }"):
        (self.folder / "job.toml").write_text(
            f'[job]\nname = "pg"\nplugin = "postgres"\n[connection]\nhost = "127.0.0.1"\nport = {self.pg.port}\ndbname = "postgres"\nuser = "lakeflow"\n'
            f'password = "{self.pg.password}"\n[destination]\ntype = "jsonl"\npath = "out"\n[[tables]]\nsource = "public.orders"\ndestination = "orders"\noptions = {options}\n')

    def ask(self, command, sql, *more, code=0):
        done = self.host(command, sql, "--config", "job.toml", *more)
        self.assertEqual(done.returncode, code, sql + "\n" + done.stderr)
        self.assertNotIn(self.pg.password, done.stdout + done.stderr)
        return done

    def test_the_lessons_query_is_one_statement_or_partial_sums(self):
        sql = "SELECT category, SUM(amount) AS total FROM orders WHERE amount > 100 GROUP BY category"
        truth = plain([parsed(row[0]) for row in self.pg.sql(f"SELECT row_to_json(q) FROM ({sql}) q")], False)
        for options, statements in (("{ }", 1), ('{ partitionColumn = "id", lowerBound = 1, upperBound = 100000, numPartitions = 4 }', 4)):
            self.job_with(options)
            page = self.ask("explain", sql).stdout
            self.assertRegex(page, r'sum\("amount"\).*WHERE \(?"amount" > \'100(\.00)?\'::numeric.*GROUP BY')
            done = self.ask("query", sql, "--log-level", "debug")
            sent = re.findall(r"COPY \(SELECT .*sum\(.*WHERE .*GROUP BY", done.stderr)
            self.assertEqual(len(sent), statements, done.stderr)
            self.assertEqual(plain([parsed(line) for line in done.stdout.splitlines()], False), truth)

    def test_generated_queries_agree_with_the_server(self):
        """LAKEFLOW_QUERIES of them; LAKEFLOW_SEED makes those of a failure again."""
        seed = int(os.environ.get("LAKEFLOW_SEED", time.time_ns() % 1_000_000))
        maker = Generator(seed)
        queries = [maker.query() for _ in range(QUERIES)]
        self.job_with()
        whole, split = self.folder / "job.toml", self.folder / "split.toml"
        split.write_text(whole.read_text().replace("options = { }", 'options = { partition_column = "id", lower_bound = 1, upper_bound = 2000, num_partitions = 3 }'))
        # The server's answers, all in one session.
        script = "".join(f"SELECT {n}, row_to_json(q) FROM ({sql.replace('FROM orders', 'FROM by_bytes')}) q;\n" for n, (sql, _) in enumerate(queries))
        truths = [[] for _ in queries]
        for number, row in self.pg.sql(script):
            truths[int(number)].append(parsed(row))

        def check(number):
            (sql, ordered), job = queries[number], split if number % 4 == 3 else whole
            for switch in ([], ["--no-pushdown"]):
                done = self.host("query", sql, "--config", job, *switch)
                if done.returncode != 0 or plain(map(parsed, done.stdout.splitlines()), ordered) != plain(truths[number], ordered):
                    page = self.host("explain", sql, "--config", job).stdout
                    return f"LAKEFLOW_SEED={seed} {sql} {switch}\n{page}{done.stderr}\nhost: {done.stdout}\nserver: {truths[number]}"
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = [text for text in pool.map(check, range(QUERIES)) if text]
        self.assertEqual(found, [])

    def test_values_and_names_of_any_kind_are_only_that(self):
        chance = random.Random(5)
        names = ['a"b', "c'd", "e\\f", "select", "Ü x", "--", "/*", "$1", "%s", "a.b", ";", "A"]
        values = ["'", "\\'", "\\\\", "'; DROP TABLE fuzz; --", "$$", "\n", "\t\x01", "ü€😀", "%_", "a" * 300, "E'\\n'", "''"]
        columns = ", ".join('"' + name.replace('"', '""') + '" text' for name in names)
        self.pg.sql(f"CREATE TABLE fuzz (id int PRIMARY KEY, {columns})")
        rows = [[chance.choice(values) for _ in names] for _ in range(60)]
        for key, row in enumerate(rows):
            self.pg.sql("INSERT INTO fuzz VALUES (" + ", ".join([str(key)] + [quoted(value) for value in row]) + ")")
        for place, name in enumerate(names):
            value = values[place]
            column = '"' + name.replace('"', '""') + '"'
            wanted = [key for key, row in enumerate(rows) if row[place] == value]
            for condition in (f"{column} = {quoted(value)}", f"{column} IN ({quoted(value)}, 'nothing')"):
                done = self.ask("query", f"SELECT id FROM \"public.fuzz\" WHERE {condition}")
                self.assertEqual(sorted(json.loads(line)["id"] for line in done.stdout.splitlines()), wanted, condition)
        self.assertEqual(self.pg.value("SELECT count(*) FROM fuzz"), "60")

    def test_a_sample_and_a_limit_are_the_servers(self):
        page = self.ask("explain", "SELECT id FROM orders ORDER BY amount DESC NULLS LAST, id LIMIT 5 OFFSET 2").stdout
        self.assertIn("LIMIT 5 OFFSET 2", page)
        page = self.ask("explain", "SELECT category FROM orders WHERE category >= 'z'").stdout
        self.assertIn("COLLATE \"C\"", page)


if __name__ == "__main__":
    unittest.main()
