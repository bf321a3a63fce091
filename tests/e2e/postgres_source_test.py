"""The postgres plugin, end to end: the real host against a real PostgreSQL, tables read back by DuckDB and delta-rs."""

import concurrent.futures
import random
import re
import subprocess
import threading
import time
import unittest

from postgres_scratch import PostgresScratch
from postgres_server import program


class Postgres(PostgresScratch):
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


if __name__ == "__main__":
    unittest.main()
