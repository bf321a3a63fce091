#!/usr/bin/env python3
"""What the laws cost: the share of a run's instructions that is spent in checks, by callgrind.

    tests/bench/laws.sh [--check] [--rows N]

The plugin makes its rows in memory (tests/plugins/many_rows.c), and they land in a Delta table by append, so that nothing but the host is
weighed: a source that has to be asked and decoded makes the share smaller. Counted are the checks of arrays, schemas, keys and cursors,
of offsets and descriptors, of secrets in them, of statuses, and the state machine of the laws; each with all that it calls.
--check ends with 1 if it is 2 % or more."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["LAKEFLOW_BUILD"])
LIMIT = 0.02

# None of them calls another one, so their inclusive costs add up.
CHECKS = [
    "check_array(", "check_schema(", "gate::check_schema(", "gate::pass(", "canonical_offset(", "descriptors(", "secrets::found_in(",
    "call_error::check(", "flow_laws::flow_laws(", "flow_laws::set_bound(", "flow_laws::set_bound_time(", "flow_laws::reaches(",
    "flow_laws::planned(", "flow_laws::replayed(", "flow_laws::read(", "flow_laws::moved(",
]
LINE = re.compile(r"^\s*([\d,]+)\s+(?:\([^)]*\))?\s+(\S+:.*)$")


def measure(rows):
    with tempfile.TemporaryDirectory(prefix="lakeflow-laws-") as folder:
        folder = pathlib.Path(folder)
        (folder / "job.toml").write_text(
            f'[job]\nname = "laws"\nplugin = "{BUILD}/tests/plugins/many_rows.so"\nplugin_timeout = "0s"\n'
            f'[connection]\nrows = {rows}\n[destination]\ntype = "delta"\npath = "lake"\n[[tables]]\nsource = "rows"\nmode = "append"\n')
        out = folder / "callgrind.out"
        subprocess.run(
            ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}", BUILD / "lakeflow-host", "--config",
             folder / "job.toml", "--report", folder / "report.json", "--no-progress"],
            cwd=folder, check=True, stdin=subprocess.DEVNULL)
        landed = json.loads((folder / "report.json").read_text())["tables"][0]["rows_landed"]
        if landed != rows:
            sys.exit(f"{landed} rows landed, not {rows}")
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--show-percs=no", "--auto=no", out],
                              check=True, capture_output=True, text=True).stdout
    total, seen = 0, {}
    for line in text.splitlines():
        if "PROGRAM TOTALS" in line:
            total = int(line.split()[0].replace(",", ""))
        found = LINE.match(line)
        if not found:
            continue
        function = found[2].split(":", 1)[1].replace("[abi:cxx11]", "").split(" [")[0]
        for check in CHECKS:
            if ("lakeflow::host::" + check) in function:
                # A function has a line for each file that a part of it was inlined from, and for each form of its file's name: the
                # largest is the whole.
                seen[check[:-1], function] = max(seen.get((check[:-1], function), 0), int(found[1].replace(",", "")))
    costs = {}
    for (check, _), cost in seen.items():
        costs[check] = costs.get(check, 0) + cost
    return total, costs


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--rows", type=int, default=200_000)
    given = arguments.parse_args()
    total, costs = measure(given.rows)
    if "check_array" not in costs or "flow_laws::moved" not in costs:
        sys.exit(f"callgrind has not seen the checks, only {sorted(costs)}: was the host built without symbols?")
    spent = sum(costs.values())
    print(json.dumps({"rows": given.rows, "instructions": total, "laws": spent, "share": round(spent / total, 5),
                      "of": dict(sorted(costs.items(), key=lambda one: -one[1]))}, indent=1))
    if given.check and spent >= LIMIT * total:
        sys.exit(f"the laws take {100 * spent / total:.2f} % of the instructions; the limit is {100 * LIMIT:.0f} %")


if __name__ == "__main__":
    main()
