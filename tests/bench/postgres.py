#!/usr/bin/env python3
"""Reads a table of 5,000,000 rows and 10 columns from a PostgreSQL of its own with 4 partitions, and prints, as JSON, what it cost beside
`psql -c '\\copy .. to stdout (format binary)'` of the same table into a file: the CPU of the clients, not of the server.

    tests/bench/run.sh --postgres [--check]

--check ends with 1 if a limit is broken: into Arrow (every row given to DuckDB, which counts them) at most 2 times psql's CPU, into a Delta table at
most 3 times, memory under 256 MiB."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from measured import measured  # noqa: E402
from postgres_server import PostgresServer  # noqa: E402

BUILD = pathlib.Path(os.environ["LAKEFLOW_BUILD"]).resolve()

TABLE = """CREATE TABLE wide AS SELECT i AS id, i * 7 AS big, (i % 1000)::smallint AS small, i * 0.25::float8 AS f, (i % 100000)::numeric(12,2) / 4 AS amount,
  'name of ' || i AS name, timestamptz '2024-01-01' + i * interval '1 second' AS at, date '2024-01-01' + (i % 1000)::int AS day, i % 2 = 0 AS flag,
  CASE WHEN i % 5 = 0 THEN NULL ELSE 'note ' || i % 50 END AS note FROM generate_series(1, {rows}::bigint) i;
ALTER TABLE wide ALTER amount TYPE numeric(12,2); ALTER TABLE wide ADD PRIMARY KEY (id); VACUUM ANALYZE wide"""


def cost(rows, arguments, **more):
    figures = measured(arguments, **more)
    return figures | {"rows_per_second": int(rows / figures["seconds"])}


def job(pg, folder, destination):
    (folder / "job.toml").write_text(
        f'[job]\nname = "bench"\nplugin = "{BUILD}/plugins/postgres.so"\nparallelism = 4\n[connection]\nhost = "127.0.0.1"\nport = {pg.port}\n'
        f'dbname = "postgres"\nuser = "lakeflow"\npassword = "{pg.password}"\n[destination]\n{destination}\n'
        '[[tables]]\nsource = "public.wide"\ndestination = "wide"\noptions = { num_partitions = 4 }\n')


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--rows", type=int, default=5_000_000)
    chosen = arguments.parse_args()
    rows, host = chosen.rows, BUILD / "lakeflow-host"
    with PostgresServer() as pg, tempfile.TemporaryDirectory(prefix="lakeflow-bench-") as name:
        folder = pathlib.Path(name)
        pg.sql(TABLE.format(rows=rows))
        with open(folder / "copied", "wb") as copied:
            psql = cost(rows, pg.psql("-c", "\\copy wide to stdout (format binary)"), env=pg.environment, stdout=copied)
        (folder / "copied").unlink()
        job(pg, folder, 'type = "jsonl"\npath = "out"')
        with open(folder / "counted", "wb") as counted:
            arrow = cost(rows, [host, "query", "SELECT count(*) AS n, count(note) AS notes FROM wide", "--no-pushdown", "--config", "job.toml"], cwd=folder, stdout=counted)
        job(pg, folder, 'type = "delta"\npath = "lake"')
        delta = cost(rows, [host, "run", "--config", "job.toml", "--report", "report.json", "--no-progress"], cwd=folder, stderr=subprocess.DEVNULL)
        table = json.loads((folder / "report.json").read_text())["tables"][0]
        seen = json.loads((folder / "counted").read_text())
    limits = {
        "all rows": seen == {"n": rows, "notes": rows - rows // 5} and table["rows_landed"] == rows and table["partitions"] == 4,
        "arrow <= 2 psql": arrow["cpu"] <= 2 * psql["cpu"],
        "delta <= 3 psql": delta["cpu"] <= 3 * psql["cpu"],
        "peak < 256 MiB": max(arrow["peak_mib"], delta["peak_mib"]) < 256,
    }
    result = {"rows": rows, "psql": psql, "arrow": arrow | {"cpu_over_psql": round(arrow["cpu"] / psql["cpu"], 2)},
              "delta": delta | {"cpu_over_psql": round(delta["cpu"] / psql["cpu"], 2)}, "limits": limits}
    print(json.dumps(result, indent=1))
    return 0 if all(limits.values()) or not chosen.check else 1


sys.exit(main())
