"""The postgres plugin, end to end: the real host against a real PostgreSQL, tables read back by DuckDB and delta-rs."""

import concurrent.futures
import json
import random
import re
import subprocess
import sys
import threading
import time
import unittest

import duckdb
from harness import HOST, SOURCE, Scratch

sys.path.insert(0, str(SOURCE / "tests" / "support"))

from postgres_server import PostgresServer, program  # noqa: E402

EDGES = """
CREATE TABLE edges (
  id int PRIMARY KEY, b boolean, i2 smallint, i4 int, i8 bigint, f4 real, f8 double precision, n1 numeric(38,0), n2 numeric(12,4), n3 numeric(38,38),
  n4 numeric(3,-2), n5 numeric(2,5), nx numeric, t text, v varchar(40), c char(8), d date, ts timestamp, tz timestamptz, tm time, u uuid, j json, jb jsonb,
  e mood, dom positive, iv interval, ip inet, bt bit(5), x xml, r int4range, co pair, m money, ttz timetz, o oid);
INSERT INTO edges VALUES
  (1, true, -32768, -2147483648, -9223372036854775808, '-Infinity', '-0', -99999999999999999999999999999999999999, -99999999.9999,
   0.00000000000000000000000000000000000001, 99900, 0.00099, 'NaN', 'grüße', 'a''b\\c', 'pad', '4713-01-01 BC', '0044-03-15 12:00:00.000001 BC',
   '0001-01-01 00:00:00+00', '24:00:00', '00000000-0000-0000-0000-000000000001', '{"a": 1}', '{"b": [1, null]}', 'happy', 5,
   '-1 year 2 mons -3 days 04:05:06.789', '10.0.0.1/8', '10101', '<a>1</a>', '[1,5)', '(1,"x,y")', '-12.34', '12:00:00.5+05:30', 4294967295),
  (2, false, 32767, 2147483647, 9223372036854775807, 'NaN', 'NaN', 99999999999999999999999999999999999999, 99999999.9999, -0.5, -100, -0.00001,
   '-Infinity', '', 'ü', '', '5874897-12-31', '294246-12-31 23:59:59.999999', '294246-12-31 23:59:59.999999+00', '00:00:00.000001',
   'ffffffff-ffff-ffff-ffff-ffffffffffff', 'null', '"x"', 'sad', 1, '00:00:00', '::1', '00000', '<b/>', 'empty', '(,)', '0', '00:00:00-12', 0),
  (3, NULL, 0, 0, 0, 1.17549435e-38, 2.2250738585072014e-308, 0, 0.0001, 0, 0, 0, 1234567890123456789012345678901234567890.000100, E'line\\nbreak\\ttab',
   'x', 'a b', '2000-01-01', '2000-01-01', '1969-12-31 23:59:59.999999+00', '12:34:56.7', gen_random_uuid(), '[]', '{}', 'ok', 2,
   '178000000 years', '192.168.0.0/24', '11111', '<c>ü</c>', '(,)', '(2,)', '92233720368547758.07', '00:00:00+00', 1),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""

SETUP = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE pair AS (a int, b text);
"""


class Postgres(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.pg = PostgresServer()
        cls.pg.sql(SETUP)

    @classmethod
    def tearDownClass(cls):
        cls.pg.stop()

    def pg_job(self, tables, *, destination='type = "duckdb"\npath = "lake.duckdb"', job="", connection=None, name="job.toml"):
        if connection is None:
            connection = f'host = "127.0.0.1"\nport = {self.pg.port}\ndbname = "postgres"\nuser = "lakeflow"\npassword = "{self.pg.password}"'
        text = f'[job]\nname = "pg"\nplugin = "postgres"\n{job}\n[connection]\n{connection}\n[destination]\n{destination}\n'
        for table in tables:
            text += "[[tables]]\n" + "".join(f"{key} = {value}\n" for key, value in table.items())
        path = self.folder / name
        path.write_text(text)
        return path

    def host(self, *arguments, **more):
        more["timeout"] = min(more.get("timeout", 60), 60)
        done = super().host(*arguments, **more)
        self.assertNotIn(self.pg.password, done.stdout + done.stderr)
        return done

    def duck(self, sql):
        with duckdb.connect(str(self.folder / "lake.duckdb"), read_only=True) as lake:
            return lake.execute(sql).fetchall()

    def duck_columns(self, table):
        return {row[0]: row[1] for row in self.duck(f"SELECT column_name, column_type FROM (DESCRIBE {table})")}

    def assert_lands_as_text(self, table, landed, skip=()):
        """Each value that landed is what the server's ::text says, cast by DuckDB."""
        columns = self.duck_columns(landed)
        for name, kind in columns.items():
            if name in skip:
                continue
            # DuckDB reads neither BC dates nor years of six digits from PostgreSQL's text: those are compared as numbers below.
            if kind.startswith(("DATE", "TIMESTAMP")):
                unit = "extract(epoch FROM {0})::numeric::text" if kind != "DATE" else "({0} - date '1970-01-01')::text"
                truth = self.pg.sql(f'SELECT id, {unit.format(chr(34) + name + chr(34))} FROM {table} ORDER BY id')
                form = f"epoch_us({name})" if kind != "DATE" else f"date_diff('day', DATE '1970-01-01', {name})"
                got = self.duck(f"SELECT id, {form} FROM {landed} ORDER BY id")
                for (key, text), (_, value) in zip(truth, got, strict=True):
                    if text is None:
                        wanted = None
                    elif kind == "DATE":
                        wanted = int(text)
                    else:
                        seconds, _, micro = text.partition(".")
                        wanted = int(seconds + (micro + "000000")[:6])
                    self.assertEqual(value, wanted, f"{name} of {key}: {text}")
                continue
            truth = self.pg.sql(f'SELECT q.id, q."{name}"::text FROM {table} q ORDER BY q.id')
            with duckdb.connect(str(self.folder / "lake.duckdb"), read_only=True) as lake:
                other = lake.execute(
                    f"SELECT id, CAST(l.{name} AS VARCHAR), q.text FROM {landed} l JOIN (SELECT unnest(?) AS id, unnest(?) AS text) q USING (id) "
                    f"WHERE l.{name} IS DISTINCT FROM CAST(q.text AS {kind})", [[int(key) for key, _ in truth], [text for _, text in truth]]).fetchall()
                self.assertEqual(other, [], f"{name} {kind}")

    def test_every_type_lands_as_the_server_writes_it(self):
        self.pg.sql(EDGES)
        self.run_job(self.pg_job([{"source": '"public.edges"', "destination": '"edges"'}]))
        columns = self.duck_columns("edges")
        self.assertEqual(columns["n1"], "DECIMAL(38,0)")
        self.assertEqual(columns["n4"], "DECIMAL(5,0)")
        self.assertEqual(columns["n5"], "DECIMAL(5,5)")
        self.assertEqual(columns["nx"], "VARCHAR")
        self.assertEqual(columns["tz"], "TIMESTAMP WITH TIME ZONE")
        self.assertEqual(columns["ts"], "TIMESTAMP")
        self.assert_lands_as_text("edges", "edges")

    def test_generated_numerics_of_all_scales(self):
        random.seed(7)
        scales = [(p, s) for p in (1, 4, 5, 9, 18, 19, 37, 38) for s in (0, 1, 3, 4, 5, 8, 17, 38) if s <= p]
        names = ", ".join(f"n{p}_{s} numeric({p},{s})" for p, s in scales)
        rows = []
        for key in range(120):
            values = []
            for p, s in scales:
                digits = "".join(random.choice("0123456789") if random.random() < 0.6 else "0" for _ in range(random.randint(1, p)))
                digits = digits.rjust(s + 1, "0")
                values.append(random.choice(["", "-"]) + (digits[: len(digits) - s] + "." + digits[len(digits) - s :] if s else digits))
            anything = random.choice(["", "-"]) + str(random.getrandbits(random.randint(1, 400))) + "." + "0" * random.randint(0, 9) + str(random.getrandbits(60))
            rows.append(f"({key}, {', '.join(values)}, {anything})")
        self.pg.sql(f"CREATE TABLE numerics (id int PRIMARY KEY, {names}, free numeric); INSERT INTO numerics VALUES {', '.join(rows)}")
        self.run_job(self.pg_job([{"source": '"numerics"'}]))
        self.assert_lands_as_text("numerics", "numerics")

    def test_arrays_keep_nulls_and_bytes_stay_bytes(self):
        self.pg.sql("""CREATE TABLE lists (id int PRIMARY KEY, a int[], t text[], d date[], n numeric(6,2)[], iv interval[], deep int[][], raw bytea, e mood[]);
            INSERT INTO lists VALUES (1, '{1,NULL,3}', '{"a,b",NULL,"",ü}', '{2024-01-31,NULL}', '{1.50,NULL,-2}', '{1 day,NULL}', '{{1,2},{3,4}}', '\\x00ff10', '{sad,NULL}'),
            (2, '{}', NULL, '{}', '{NULL}', '{}', NULL, '', '{}')""")
        self.run_job(self.pg_job([{"source": '"lists"'}]))
        import datetime
        import decimal

        first, second = self.duck("SELECT a, t, d, n, iv, deep, raw, e FROM lists ORDER BY id")
        self.assertEqual(first, ([1, None, 3], ["a,b", None, "", "ü"], [datetime.date(2024, 1, 31), None],
                                 [decimal.Decimal("1.50"), None, decimal.Decimal("-2.00")], ["1 day", None], "[[1,2],[3,4]]", b"\x00\xff\x10", ["sad", None]))
        self.assertEqual(second, ([], None, [], [None], [], None, b"", []))
        # A value of more dimensions than its column's type says is an error with a way out of it.
        self.pg.sql("UPDATE lists SET a = '{{1},{2}}' WHERE id = 2")
        run = self.run_job(self.pg_job([{"source": '"lists"'}], name="again.toml"), code=1)
        error = run.table("lists")["error"]
        self.assertEqual(error["code"], "value.mismatch")
        self.assertIn("column 'a' of the row id = 2", error["message"])
        self.assertIn("json", error["hint"])
        self.run_job(self.pg_job([{"source": '"lists"', "destination": '"texts"', "options": '{ arrays = "json" }'}], name="json.toml"))
        self.assertEqual(self.duck("SELECT a FROM texts ORDER BY id"), [("[1,null,3]",), ("[[1],[2]]",)])

    def test_infinity_is_an_error_or_null_and_never_an_instant(self):
        self.pg.sql("""CREATE TABLE infinite (id int PRIMARY KEY, tz timestamptz NOT NULL, d date, n numeric(5,1));
            INSERT INTO infinite VALUES (1, 'infinity', NULL, 1), (2, now(), '-infinity', 2), (3, now(), current_date, 'NaN')""")
        run = self.run_job(self.pg_job([{"source": '"infinite"'}]), code=1)
        self.assertEqual(run.table("infinite")["error"]["code"], "value.mismatch")
        self.assertIn("column 'tz' of the row id = 1: 'infinity'", run.table("infinite")["error"]["message"])
        self.run_job(self.pg_job([{"source": '"infinite"', "options": '{ non_finite = "null" }'}]))
        self.assertEqual(self.duck("SELECT tz IS NULL, d IS NULL, n IS NULL FROM infinite ORDER BY id"), [(True, True, False), (False, True, False), (False, False, True)])

    def test_names_of_any_kind_schemas_and_queries(self):
        self.pg.sql("""CREATE SCHEMA "Odd.One"; CREATE TABLE "Odd.One"."Tab ""le" ("Id" int PRIMARY KEY, "a.b" text, "select" int);
            INSERT INTO "Odd.One"."Tab ""le" VALUES (1, 'x', 2); CREATE VIEW public.seen AS SELECT "Id" AS id, "a.b" AS ab FROM "Odd.One"."Tab ""le" """)
        listed = self.host("tables", "--plugin", "postgres", "--config", self.pg_job([{"source": '"seen"', "options": '{ primary_keys = ["id"] }'}]), "--json").stdout
        self.assertIn('"public.seen"', listed)
        source = '\'"Odd.One"."Tab ""le"\''
        self.run_job(self.pg_job([
            {"source": source, "destination": '"odd"'},
            {"source": '"public.seen"', "destination": '"seen"', "options": '{ primary_keys = ["id"] }'},
            {"source": '"sums"', "options": """{ query = 'SELECT "Id" AS id, count(*) AS n FROM "Odd.One"."Tab ""le" GROUP BY 1 -- all', primary_keys = ["id"] }"""},
        ], destination='type = "delta"\npath = "lake"'))
        self.assertEqual(self.delta("odd"), [{"Id": 1, "a.b": "x", "select": 2}])
        self.assertEqual(self.delta("seen"), [{"id": 1, "ab": "x"}])
        self.assertEqual(self.delta("sums"), [{"id": 1, "n": 1}])

    def test_bounds_split_and_never_filter(self):
        self.pg.sql("CREATE TABLE strided (id int PRIMARY KEY, k int, at timestamptz, d date); INSERT INTO strided SELECT i, CASE WHEN i % 10 = 0 THEN NULL ELSE i - 50 END,"
                    " timestamptz '2024-01-01' + i * interval '1 hour', date '2024-01-01' + i FROM generate_series(1, 300) i")
        for column, low, high in (("k", "10", "60"), ("at", '"2024-01-02"', '"2024-01-05 12:00:00"'), ("d", '"2024-01-10"', '"2024-02-10"')):
            options = f"{{ partitionColumn = \"{column}\", lowerBound = {low}, upperBound = {high}, numPartitions = 4 }}"
            run = self.run_job(self.pg_job([{"source": '"strided"', "destination": f'"by_{column}"', "options": options}]))
            self.assertEqual(run.table(f"by_{column}")["partitions"], 4)
            self.assertEqual(self.duck(f"SELECT count(*), count(DISTINCT id) FROM by_{column}"), [(300, 300)])
        for options, named in (('{ numPartitionColumn = "id" }', "partition_column"), ("{ lowerBound = 1, upperBound = 5 }", "partition_column"),
                               ('{ partitionColumn = "id" }', "upper_bound")):
            done = self.host("run", "--config", self.pg_job([{"source": '"strided"', "options": options}]))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(named, done.stderr)

    def test_four_parts_see_one_snapshot_while_others_write(self):
        environment = {**self.pg.environment, "PGOPTIONS": "-c log_statement=none"}
        subprocess.run([program("pgbench"), "-i", "-s", "3", "-q"], env=environment, check=True, capture_output=True, timeout=60)
        # The law of pgbench: the balances of accounts add up to those of the branches, in one snapshot and in no other.
        law = "SELECT aid, abalance, (SELECT sum(bbalance) FROM pgbench_branches)::bigint AS branches FROM pgbench_accounts"
        load = subprocess.Popen([program("pgbench"), "-T", "60", "-c", "2", "-n"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            split = 'partition_column = "aid", lower_bound = 1, upper_bound = 300000, num_partitions = 4'
            for law_of in ("law_a", "law_b", "law_c"):
                run = self.run_job(self.pg_job([{"source": f'"{law_of}"', "options": f'{{ query = "{law}", primary_keys = ["aid"], {split} }}'}], name="law.toml"))
                self.assertEqual(run.table(law_of)["partitions"], 4)
                self.assertEqual(self.duck(f"SELECT count(*), count(DISTINCT branches), sum(abalance) = max(branches) FROM {law_of}"), [(300000, 1, True)])
                self.parts_share_a_snapshot()
            self.assertNotEqual(self.duck("SELECT max(branches) FROM law_c"), [(0,)])
            run = self.run_job(self.pg_job([{"source": '"pgbench_accounts"', "options": "{ num_partitions = 4 }"}], name="pages.toml"))
            self.assertEqual(run.table("pgbench_accounts")["partitions"], 4)
            self.assertEqual(self.duck("SELECT count(*), count(DISTINCT aid) FROM pgbench_accounts"), [(300000, 300000)])
            self.parts_share_a_snapshot()
        finally:
            load.terminate()
            load.wait(30)

    def parts_share_a_snapshot(self):
        imported = re.findall(r"SET TRANSACTION SNAPSHOT '([^']+)'", self.pg.log())
        self.assertEqual(len(imported[-4:]), 4)
        self.assertEqual(len(set(imported[-4:])), 1, imported)

    def test_writers_that_commit_out_of_order_lose_no_row(self):
        self.pg.sql("CREATE TABLE late (id bigserial PRIMARY KEY, body text, at timestamptz NOT NULL DEFAULT now())")
        job = self.pg_job([{"source": '"late"', "destination": f'"late_{mode}"', "mode": f'"{mode}"', "options": '{ cursor = "at" }'} for mode in ("append", "scd1")])
        early, other = self.pg.session(), self.pg.session()
        early.run("BEGIN; SAVEPOINT a; INSERT INTO late (body) VALUES ('early')")
        other.run("INSERT INTO late (body) VALUES ('other')")
        self.run_job(job)
        early.run("RELEASE a; COMMIT")
        self.run_job(job)
        self.run_job(job)
        for session in (early, other):
            session.close()
        for mode in ("append", "scd1"):
            self.assertEqual(self.duck(f"SELECT body FROM late_{mode} ORDER BY id"), [("early",), ("other",)])
        # And a crowd of them, over many runs.
        done = threading.Event()

        def write(seed):
            chance = random.Random(seed)
            session = self.pg.session()
            for n in range(12):
                session.run(f"BEGIN; INSERT INTO late (body) SELECT 'w{seed}-{n}-' || i FROM generate_series(1, {chance.randint(1, 20)}) i")
                if chance.random() < 0.3:
                    session.run("SAVEPOINT s; INSERT INTO late (body) VALUES ('inside'); RELEASE s")
                time.sleep(chance.random() * 0.4)
                session.run("ROLLBACK" if chance.random() < 0.2 else "COMMIT")
            session.close()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write, seed) for seed in range(4)]
            for _ in range(20):
                self.run_job(job)
                if all(one.done() for one in writers):
                    done.set()
            for one in writers:
                one.result()
        self.run_job(job)
        truth = [(int(a), b) for a, b in self.pg.sql("SELECT id, body FROM late ORDER BY id")]
        for mode in ("append", "scd1"):
            self.assertEqual(self.duck(f"SELECT id, body FROM late_{mode} ORDER BY id"), truth)

    def test_an_update_comes_with_the_next_run_and_an_idle_one_brings_nothing(self):
        self.pg.sql("CREATE TABLE moving (id int PRIMARY KEY, v int, at timestamptz NOT NULL DEFAULT now()); INSERT INTO moving SELECT i, 0 FROM generate_series(1, 1000) i")
        for name, options in (("by_xmin", '{ cursor = "at" }'), ("by_cursor", '{ cursor = "at", lookback = "1m" }')):
            job = self.pg_job([{"source": '"moving"', "destination": f'"{name}"', "options": options}])
            self.assertEqual(self.run_job(job).table(name)["rows_read"], 1000)
            idle = self.run_job(job).table(name)
            self.assertEqual(idle["rows_read"], 0)
            self.pg.sql("UPDATE moving SET v = v + 1, at = now() WHERE id <= 10")
            self.run_job(job)
            wanted = [(int(a), int(b)) for a, b in self.pg.sql("SELECT id, v FROM moving ORDER BY id")]
            self.assertEqual(self.duck(f"SELECT id, v FROM {name} ORDER BY id"), wanted)

    def test_rows_that_are_marked_as_removed_go(self):
        self.pg.sql("""CREATE TABLE marked (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), gone timestamptz);
            INSERT INTO marked (id) SELECT i FROM generate_series(1, 10) i; UPDATE marked SET gone = now() WHERE id = 10""")
        job = self.pg_job([{"source": '"marked"', "options": '{ cursor = "at", deleted = "gone" }'}])
        self.run_job(job)
        self.assertEqual(self.duck("SELECT count(*) FROM marked"), [(9,)])
        self.pg.sql("UPDATE marked SET gone = now(), at = now() WHERE id IN (2, 3)")
        self.run_job(job)
        self.assertEqual(self.duck("SELECT id FROM marked ORDER BY id"), [(i,) for i in (1, 4, 5, 6, 7, 8, 9)])
        self.pg.sql("UPDATE marked SET gone = NULL, at = now() WHERE id = 2")
        self.run_job(job)
        self.assertEqual(self.duck("SELECT id FROM marked ORDER BY id"), [(i,) for i in (1, 2, 4, 5, 6, 7, 8, 9)])

    def test_ties_come_whole_and_a_limit_cuts_between_them(self):
        self.pg.sql("CREATE TABLE ties (id int PRIMARY KEY, n int NOT NULL); INSERT INTO ties SELECT i, i / 400 FROM generate_series(1, 1000) i")
        job = self.pg_job([{"source": '"ties"', "mode": '"append"', "limits": "{ max_rows = 100 }", "options": '{ cursor = "n", lookback = "0" }'}])
        run = self.run_job(job)
        self.assertEqual(run.table("ties")["batches"], 3)
        self.assertEqual(run.table("ties")["end"], {"cursor": 2})
        self.assertEqual(self.duck("SELECT count(*), count(DISTINCT id) FROM ties"), [(1000, 1000)])

    def test_a_view_with_a_cursor_asks_for_a_lookback_and_null_cursors_are_told(self):
        self.pg.sql("CREATE TABLE undated (id int PRIMARY KEY, at timestamptz); INSERT INTO undated VALUES (1, now()), (2, NULL); CREATE VIEW undated_view AS SELECT * FROM undated")
        done = self.host("run", "--config", self.pg_job([{"source": '"undated_view"', "options": '{ cursor = "at", primary_keys = ["id"] }'}]))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lookback", done.stderr)
        run = self.run_job(self.pg_job([{"source": '"undated_view"', "options": '{ cursor = "at", lookback = "5m", primary_keys = ["id"] }'}]), code=1)
        self.assertEqual(run.table("undated_view")["error"]["code"], "value.null_cursor")

    def test_errors_say_what_to_do_and_no_password(self):
        self.pg.sql("CREATE ROLE poor LOGIN PASSWORD 'poor-secret'; CREATE TABLE closed (id int PRIMARY KEY)")
        here = f'host = "127.0.0.1"\nport = {self.pg.port}\ndbname = "postgres"\n'
        cases = [
            (here + 'user = "lakeflow"\npassword = "wrong-canary"', "closed", "source.auth"),
            (here + 'user = "poor"\npassword = "poor-secret"', "closed", "source.auth"),
            (None, "nowhere", "source.not_found"),
            (here.replace('"postgres"', '"nobase"') + f'user = "lakeflow"\npassword = "{self.pg.password}"', "closed", "source.not_found"),
            (f'host = "127.0.0.1"\nport = 1\nuser = "x"\npassword = "wrong-canary"', "closed", "source.transient"),
        ]
        for connection, table, code in cases:
            done = self.host("run", "--config", self.pg_job([{"source": f'"{table}"'}], connection=connection), "--log-level", "debug")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(code, done.stderr)
            self.assertNotIn("canary", done.stderr)
            self.assertNotIn("poor-secret", done.stderr)

    def test_passwords_from_a_file_a_service_and_addresses(self):
        self.pg.sql("CREATE TABLE reached (id int PRIMARY KEY); INSERT INTO reached VALUES (1)")
        (self.folder / "pass").write_text(f"127.0.0.1:{self.pg.port}:*:lakeflow:{self.pg.password}\n")
        (self.folder / "pass").chmod(0o600)
        (self.folder / "services").write_text(f"[shop]\nhost=127.0.0.1\nport={self.pg.port}\ndbname=postgres\nuser=lakeflow\npassword={self.pg.password}\n")
        env = {"PGPASSFILE": str(self.folder / "pass"), "PGSERVICEFILE": str(self.folder / "services")}
        for at, connection in enumerate((
            f'dsn = "host=127.0.0.1 port={self.pg.port} dbname=postgres user=lakeflow"',
            'service = "shop"',
            f'url = "jdbc:postgresql://127.0.0.1:{self.pg.port}/postgres?user=lakeflow&sslmode=disable"',
            f'dsn = "postgresql://lakeflow:{self.pg.password}@127.0.0.1:{self.pg.port}/postgres"',
        )):
            self.run_job(self.pg_job([{"source": '"public.reached"', "destination": f'"r{at}"'}], connection=connection), env=env)
            self.assertEqual(self.duck(f"SELECT * FROM r{at}"), [(1,)])

    def test_each_statement_is_logged_and_a_cancelled_run_leaves_none_behind(self):
        slow = "SELECT i AS id, pg_sleep(0.01)::text AS p FROM generate_series(1, 100000) i"
        job = self.pg_job([{"source": '"slow"', "options": f'{{ query = "{slow}", primary_keys = ["id"] }}'}])
        process = subprocess.Popen([str(HOST), "run", "--config", str(job), "--log-level", "debug"], cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lakeflow-host' AND state = 'active' AND query LIKE 'COPY%'"
        until = time.monotonic() + 30
        while self.pg.value(running) == "0" and time.monotonic() < until:
            time.sleep(0.1)
        process.terminate()
        time.sleep(0.3)
        process.terminate()
        begun = time.monotonic()
        while self.pg.value(running) != "0" and time.monotonic() < begun + 10:
            time.sleep(0.05)
        self.assertLess(time.monotonic() - begun, 2)
        _, text = process.communicate(timeout=30)
        self.assertIn("COPY (SELECT", text)
        self.assertNotIn(self.pg.password, text)

    def test_a_statement_timeout_ends_clearly(self):
        connection = f'dsn = "host=127.0.0.1 port={self.pg.port} dbname=postgres user=lakeflow password={self.pg.password}"\nstatement_timeout = "200ms"'
        query = "SELECT i AS id, pg_sleep(1)::text AS p FROM generate_series(1, 5) i"
        run = self.run_job(self.pg_job([{"source": '"slow"', "options": f'{{ query = "{query}", primary_keys = ["id"] }}'}], connection=connection), code=1)
        self.assertIn("57014", run.table("slow")["error"]["message"])
        self.assertIn("statement_timeout", run.table("slow")["error"]["hint"])

    def start_run(self, job):
        """A run in the background, which the test's end kills if it still goes on."""
        process = subprocess.Popen([str(HOST), "run", "--config", str(job), "--report", str(self.folder / "report.json")], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def end():
            process.kill()
            process.communicate(timeout=10)

        self.addCleanup(end)
        return process

    def await_session(self, condition):
        until = time.monotonic() + 20
        while self.pg.value(f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lakeflow-host' AND query LIKE 'COPY%' AND {condition}") == "0":
            self.assertLess(time.monotonic(), until, "no session of the run came to " + condition)
            time.sleep(0.05)

    def test_a_column_dropped_between_planning_and_reading_is_named_and_nothing_lands(self):
        self.pg.sql("CREATE TABLE dropping (id int PRIMARY KEY, v int); INSERT INTO dropping SELECT i, i FROM generate_series(1, 100) i")
        split = '{ partition_column = "id", lower_bound = 1, upper_bound = 100, num_partitions = 2 }'
        other = self.pg.session()
        # The catalog shows the column until the other commits; the read waits for that.
        other.run("BEGIN; ALTER TABLE dropping DROP COLUMN v")
        process = self.start_run(self.pg_job([{"source": '"dropping"', "options": split}], destination='type = "delta"\npath = "lake"'))
        self.await_session("wait_event_type = 'Lock'")
        other.run("COMMIT")
        other.close()
        _, text = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, text)
        error = json.loads((self.folder / "report.json").read_text())["tables"][0]["error"]
        self.assertEqual(error["code"], "source.not_found")
        self.assertIn('"v"', error["message"])
        self.assertFalse(list(self.folder.glob("lake/dropping/_delta_log/*.json")) and self.delta("dropping"))

    def test_a_server_killed_while_it_is_read_is_read_again_and_nothing_lands_twice(self):
        self.pg = PostgresServer()
        self.addCleanup(self.pg.stop)
        slow = "SELECT i AS id, pg_sleep(0.001)::text AS p FROM generate_series(1, 2000) i"
        process = self.start_run(self.pg_job([{"source": '"slow"', "options": f'{{ query = "{slow}", primary_keys = ["id"] }}'}]))
        self.await_session("state = 'active'")
        self.pg.kill()
        self.pg.start()
        _, text = process.communicate(timeout=50)
        self.assertEqual(process.returncode, 0, text)
        self.assertEqual(self.duck("SELECT count(*), count(DISTINCT id) FROM slow"), [(2000, 2000)])
        self.assertGreaterEqual(self.pg.log().count("COPY (SELECT"), 1)


if __name__ == "__main__":
    unittest.main()
