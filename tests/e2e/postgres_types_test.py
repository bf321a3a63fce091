"""The postgres plugin's types, end to end: what lands in DuckDB and in Delta is what the server's own ::text says, cast by DuckDB."""

import datetime
import decimal
import json
import os
import random
import struct
import time
import unittest
import uuid

from postgres_scratch import PostgresScratch

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

TYPES = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE pair AS (a int, b text);
"""


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Types(PostgresScratch):
    SETUP = TYPES

    def assert_lands_as_text(self, table, place):
        """Each value that landed is what the server's ::text says, cast by DuckDB."""
        lake = self.lake(table, place)
        columns = lake.execute("SELECT column_name, column_type FROM (DESCRIBE landed)").fetchall()
        self.assertEqual(len(columns), int(self.pg.value(f"SELECT count(*) FROM information_schema.columns WHERE table_name = '{table}'")))
        for name, kind in columns:
            # DuckDB reads neither BC dates nor years of six digits from PostgreSQL's text: those are compared as numbers. So are lists by their JSON, bytes by hex.
            server, host = f'q."{name}"::text', f"CAST({name} AS VARCHAR)"
            cast = f"CAST(q.text AS {kind})"
            same = f"l.{name} IS NOT DISTINCT FROM {cast}"
            if kind == "DATE":
                server, same = f"(q.\"{name}\" - date '1970-01-01')::text", f"date_diff('day', DATE '1970-01-01', l.{name}) IS NOT DISTINCT FROM CAST(q.text AS BIGINT)"
            elif kind.startswith("TIMESTAMP"):
                server, same = f'(extract(epoch FROM q."{name}") * 1000000)::bigint::text', f"epoch_us(l.{name}) IS NOT DISTINCT FROM CAST(q.text AS BIGINT)"
            elif kind == "BLOB":
                server, same = f"encode(q.\"{name}\", 'hex')", f"lower(hex(l.{name})) IS NOT DISTINCT FROM q.text"
            elif kind.endswith("[]"):
                server, same = f'array_to_json(q."{name}"::text[])::text', f"CAST(l.{name} AS VARCHAR[]) IS NOT DISTINCT FROM CAST(CAST(q.text AS JSON) AS VARCHAR[])"
            truth = self.pg.sql(f"SELECT q.id, {server} FROM {table} q ORDER BY q.id")
            self.assertEqual(lake.execute("SELECT count(*) FROM landed").fetchone()[0], len(truth))
            other = lake.execute(
                f"SELECT id, {host}, q.text FROM landed l JOIN (SELECT unnest(?) AS id, unnest(?) AS text) q USING (id) WHERE NOT ({same})",
                [[int(key) for key, _ in truth], [text for _, text in truth]]).fetchall()
            self.assertEqual(other, [], f"{name} {kind} in {place}")

    def land_everywhere(self, table):
        self.run_job(self.pg_job([{"source": f'"{table}"'}]))
        self.run_job(self.pg_job([{"source": f'"{table}"'}], destination='type = "delta"\npath = "lake"', name="delta.toml"))
        for place in ("duckdb", "delta"):
            self.assert_lands_as_text(table, place)

    def test_every_type_lands_as_the_server_writes_it(self):
        self.pg.sql(EDGES)
        self.land_everywhere("edges")
        columns = self.duck_columns("edges")
        self.assertEqual(columns["n1"], "DECIMAL(38,0)")
        self.assertEqual(columns["n4"], "DECIMAL(5,0)")
        self.assertEqual(columns["n5"], "DECIMAL(5,5)")
        self.assertEqual(columns["nx"], "VARCHAR")
        self.assertEqual(columns["tz"], "TIMESTAMP WITH TIME ZONE")
        self.assertEqual(columns["ts"], "TIMESTAMP")

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
        self.land_everywhere("numerics")

    def test_generated_values_of_each_type(self):
        """The seed of a failure is in its message; LAKEFLOW_SEED runs it again."""
        seed = int(os.environ.get("LAKEFLOW_SEED", time.time_ns() % 1_000_000))
        chance = random.Random(seed)
        text = lambda: "".join(chance.choice("ab '\"\\,{}%\t\nüß€😀\u200b") for _ in range(chance.randint(0, 12)))
        micros = lambda: f"timestamp '2000-01-01' + interval '{chance.randint(-10**8, 3 * 10**9) * 60} seconds' + interval '{chance.randint(0, 10**6)} microseconds'"
        a_list = lambda make, kind: f"ARRAY[{', '.join('NULL' if chance.random() < 0.2 else make() for _ in range(chance.randint(0, 4)))}]::{kind}[]"
        bits = lambda n: str(chance.getrandbits(n) - 2 ** (n - 1))
        double = lambda: f"'{struct.unpack('d', struct.pack('Q', chance.getrandbits(64)))[0]!r}'::float8"
        single = lambda: f"'{struct.unpack('f', struct.pack('I', chance.getrandbits(32)))[0]!r}'::float4"
        money = lambda: str(chance.choice([-1, 1]) * chance.getrandbits(chance.randint(1, 40))) + "::numeric / 100"
        makers = {
            "b": ("boolean", lambda: chance.choice(["true", "false"])), "i2": ("smallint", lambda: f"({bits(16)})"), "i4": ("int", lambda: f"({bits(32)})"),
            "i8": ("bigint", lambda: f"'{bits(64)}'"), "f4": ("real", single), "f8": ("double precision", double), "n": ("numeric(20,2)", money), "nx": ("numeric", money),
            "t": ("text", lambda: quoted(text())), "v": ("varchar(20)", lambda: quoted(text())), "d": ("date", lambda: f"date '2000-01-01' + {chance.randint(-10**6, 10**6)}"),
            "ts": ("timestamp", micros), "tz": ("timestamptz", lambda: f"({micros()}) AT TIME ZONE 'UTC'"), "tm": ("time", lambda: f"time '00:00' + interval '{chance.randint(0, 86399999999)} microseconds'"),
            "u": ("uuid", lambda: f"'{uuid.UUID(int=chance.getrandbits(128))}'"), "jb": ("jsonb", lambda: quoted(json.dumps({text(): [chance.getrandbits(40), None, text()]}))),
            "iv": ("interval", lambda: f"make_interval(months => {chance.randint(-5000, 5000)}, days => {chance.randint(-99, 99)}, secs => {chance.randint(-10**6, 10**6)} / 7.0)"),
            "raw": ("bytea", lambda: f"'\\x{chance.randbytes(chance.randint(0, 9)).hex()}'"), "m": ("money", lambda: f"({money()})::numeric::money"),
            "li": ("int[]", lambda: a_list(lambda: f"({bits(32)})", "int")), "lt": ("text[]", lambda: a_list(lambda: quoted(text()), "text")),
            "ld": ("date[]", lambda: a_list(lambda: f"date '2000-01-01' + {chance.randint(-7000, 7000)}", "date")), "e": ("mood", lambda: chance.choice(["'sad'", "'ok'", "'happy'"])),
            "r": ("int8range", lambda: f"int8range({chance.randint(-99, 0)}, {chance.randint(1, 99)})"), "bt": ("varbit", lambda: f"B'{chance.getrandbits(9):b}'"),
        }
        rows = ["(" + ", ".join([str(key)] + ["NULL" if chance.random() < 0.1 else make() for _, make in makers.values()]) + ")" for key in range(300)]
        self.pg.sql(f"DROP TABLE IF EXISTS many; CREATE TABLE many (id int PRIMARY KEY, {', '.join(f'{name} {kind}' for name, (kind, _) in makers.items())});"
                    f"INSERT INTO many VALUES {', '.join(rows)}")
        with self.subTest(LAKEFLOW_SEED=seed):
            self.land_everywhere("many")

    def test_arrays_keep_nulls_and_bytes_stay_bytes(self):
        self.pg.sql("""CREATE TABLE lists (id int PRIMARY KEY, a int[], t text[], d date[], n numeric(6,2)[], iv interval[], deep int[][], raw bytea, e mood[]);
            INSERT INTO lists VALUES (1, '{1,NULL,3}', '{"a,b",NULL,"",ü}', '{2024-01-31,NULL}', '{1.50,NULL,-2}', '{1 day,NULL}', '{{1,2},{3,4}}', '\\x00ff10', '{sad,NULL}'),
            (2, '{}', NULL, '{}', '{NULL}', '{}', NULL, '', '{}')""")
        self.run_job(self.pg_job([{"source": '"lists"'}]))
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


if __name__ == "__main__":
    unittest.main()
