#!/usr/bin/env python3
"""Reads a table of 5,000,000 rows and 10 columns from a PostgreSQL of its own with 4 partitions, and prints, as JSON, what it cost beside
`psql -c '\\copy .. (format binary)'` of the same table.

    LAKEFLOW_BUILD=build/release LAKEFLOW_SOURCE=. tests/bench/postgres.py [ROWS]
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from postgres_server import PostgresServer  # noqa: E402

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
build = pathlib.Path(os.environ.get("LAKEFLOW_BUILD", "build/release")).resolve()
host = pathlib.Path(os.environ.get("LAKEFLOW_HOST", build / "lakeflow-host"))


def cost(arguments, **more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    subprocess.run(arguments, check=True, timeout=900, **more)
    seconds = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "rows_per_second": int(rows / seconds)}


def job(pg, folder, destination):
    (folder / "job.toml").write_text(
        f'[job]\nname = "bench"\nplugin = "{build}/plugins/postgres.so"\nparallelism = 4\n[connection]\nhost = "127.0.0.1"\nport = {pg.port}\n'
        f'dbname = "postgres"\nuser = "lakeflow"\npassword = "{pg.password}"\n[destination]\n{destination}\n'
        '[[tables]]\nsource = "public.wide"\ndestination = "wide"\noptions = { num_partitions = 4 }\n')


with PostgresServer() as pg, tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    pg.sql(f"""CREATE TABLE wide AS SELECT i AS id, i * 7 AS big, (i % 1000)::smallint AS small, i * 0.25::float8 AS f, (i % 100000)::numeric(12,2) / 4 AS amount,
        'name of ' || i AS name, timestamptz '2024-01-01' + i * interval '1 second' AS at, date '2024-01-01' + (i % 1000)::int AS day, i % 2 = 0 AS flag,
        CASE WHEN i % 5 = 0 THEN NULL ELSE 'note ' || i % 50 END AS note FROM generate_series(1, {rows}::bigint) i;
        ALTER TABLE wide ALTER amount TYPE numeric(12,2); ALTER TABLE wide ADD PRIMARY KEY (id); VACUUM ANALYZE wide""")
    out = {"rows": rows}
    out["psql"] = cost(pg.psql("-c", "\\copy wide to /dev/null (format binary)"), env=pg.environment)
    job(pg, folder, 'type = "jsonl"\npath = "out"')
    # Every row into Arrow, and none further: DuckDB counts them.
    if "query" in subprocess.run([host, "--help"], capture_output=True, text=True, check=True).stdout:
        out["arrow"] = cost([host, "query", "SELECT count(*), count(note) FROM wide", "--no-pushdown", "--config", "job.toml"], cwd=folder)
        out["arrow"]["cpu_ratio"] = round(out["arrow"]["cpu_seconds"] / out["psql"]["cpu_seconds"], 2)
    job(pg, folder, 'type = "delta"\npath = "lake"')
    out["delta"] = cost([host, "run", "--config", "job.toml", "--report", "report.json", "--no-progress"], cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    out["delta"]["cpu_ratio"] = round(out["delta"]["cpu_seconds"] / out["psql"]["cpu_seconds"], 2)
    out["delta"]["peak_rss_mib"] = report["peak_rss_bytes"] >> 20
    assert report["tables"][0]["rows_landed"] == rows, report
    print(json.dumps(out, indent=1))
