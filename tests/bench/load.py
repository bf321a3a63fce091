#!/usr/bin/env python3
"""Loads issues from a GitHub-shaped server on this machine and prints, as JSON, what it cost beside a floor measured in the same run.

    tests/bench/run.sh [--check]

    a  CPU of downloading the pages and passing over them with a SAX parser that keeps nothing
    b  CPU of DuckDB's COPY of the same Arrow columns to Parquet (one thread, zstd 1)
    c  CPU of the host, end to end into a Delta table

--check ends with 1 if a limit is broken: c <= 3 (a + b) + 0.1 s, c < 2.5 s, memory for 200,000 issues < 256 MiB, an idle job < 0.3 s."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from measured import measured

BUILD = pathlib.Path(os.environ["LAKEFLOW_BUILD"])
TOKEN = "bench-token"


class Server:
    def __init__(self, issues):
        self.process = subprocess.Popen(
            [BUILD / "github-server", "--exit-with-stdin", "--token", TOKEN, "--issues", str(issues), "--pulls", str(issues // 5),
             "--issue-bytes", "1800", "--no-gzip"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def load(folder, port, report):
    job = folder / "job.toml"
    job.write_text(f"""[job]
name = "bench"
[connection]
base_url = "http://127.0.0.1:{port}"
token = "{TOKEN}"
[destination]
type = "delta"
path = "lake"
[[tables]]
source = "issues"
options = {{ owner = "octo", repo = "demo" }}
""")
    figures = measured([BUILD / "lakeflow-host", "--plugin", BUILD / "plugins" / "github.so", "--config", job, "--report", report, "--no-progress"],
                       stderr=subprocess.PIPE)
    return figures, json.loads(report.read_text())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--issues", type=int, default=50000)
    arguments.add_argument("--large", type=int, default=200000)
    chosen = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakeflow-bench-"))
    try:
        with Server(chosen.issues) as server:
            floor = json.loads(subprocess.run(
                [BUILD / "tests" / "bench-floor", BUILD / "plugins" / "github.so", str(server.port), "octo", "demo", TOKEN, folder],
                check=True, capture_output=True, text=True).stdout)
            host, report = load(folder, server.port, folder / "report.json")
            idle, second = load(folder, server.port, folder / "report.json")
        table = report["tables"][0]
        with Server(chosen.large) as server:
            (folder / "large").mkdir()
            large, large_report = load(folder / "large", server.port, folder / "report.json")
    finally:
        shutil.rmtree(folder)
    a, b, c = floor["download_and_sax_cpu"], floor["copy_cpu"], host["cpu"]
    result = {
        "issues": chosen.issues, "pages": floor["pages"], "megabytes": round(floor["bytes"] / 1e6, 1),
        "a_download_and_sax_cpu": a, "b_copy_cpu": b, "c_host_cpu": c,
        "c_over_a_plus_b": round(c / (a + b), 2),
        "rows_per_second": round(table["rows_landed"] / host["seconds"]), "requests": report["http"]["requests"], "peak_mib": host["peak_mib"],
        "idle": {"seconds": idle["seconds"], "requests": second["http"]["requests"], "rows": second["tables"][0]["rows_read"]},
        "large": {"issues": large_report["tables"][0]["rows_landed"], "requests": large_report["http"]["requests"], **large},
    }
    limits = {
        "c <= 3 (a + b) + 0.1": c <= 3 * (a + b) + 0.1,
        "c < 2.5": c < 2.5,
        "all rows": table["rows_landed"] == chosen.issues and large_report["tables"][0]["rows_landed"] == chosen.large,
        "large peak < 256 MiB": large["peak_mib"] < 256,
        "idle < 0.3 s": idle["seconds"] < 0.3,
    }
    print(json.dumps(result | {"limits": limits}, indent=1))
    return 0 if all(limits.values()) or not chosen.check else 1


sys.exit(main())
