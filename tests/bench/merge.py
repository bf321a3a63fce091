#!/usr/bin/env python3
"""An scd1 update of 1,000 keys in a Delta table of 2,000,000 rows with keys in arrival order, beside delta-rs's own merge of the same rows;
and the first load of an scd2 table of 500,000 rows of 300 bytes, whose keys come in no order.

    ${LAKEFLOW_CACHE}/python-test/bin/python tests/bench/merge.py build/release/tests/merge-bench [--rows 2000000] [--keys 1000] [--check]

Prints JSON. With --check it fails if files are rewritten that hold no updated key, if memory passes 512 MiB in either, if the tables differ, or if
delta-rs is quicker. Both are run three times on copies of one table; the quickest run of each counts.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def bench(program, *arguments):
    return json.loads(subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout)


def rows_where(table, condition):
    import pyarrow
    from deltalake import DeltaTable, QueryBuilder

    found = QueryBuilder().register("t", DeltaTable(str(table))).execute(f"SELECT * FROM t WHERE {condition} ORDER BY id").read_all()
    return pyarrow.table(found)


def merge_with_delta_rs(table, source):
    from deltalake import DeltaTable

    began = time.monotonic()
    (
        DeltaTable(str(table))
        .merge(source=source, predicate="t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update_all(predicate="s.updated_at >= t.updated_at")
        .when_not_matched_insert_all()
        .execute()
    )
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--history", type=int, default=500_000, help="rows of the scd2 table")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.program).resolve()
    with tempfile.TemporaryDirectory(prefix="lakeflow-bench-") as folder:
        folder = pathlib.Path(folder)
        load = bench(program, "load", folder / "base", arguments.rows, arguments.keys)
        ours, theirs = [], []
        for number in range(3):
            mine, other = folder / f"ours{number}", folder / f"theirs{number}"
            shutil.copytree(folder / "base", mine)
            shutil.copytree(folder / "base", other)
            ours.append(bench(program, "update", mine, arguments.rows, arguments.keys))
            edited = f"id >= {arguments.rows // 2} AND id < {arguments.rows // 2 + arguments.keys // 2} OR id >= {arguments.rows - arguments.keys // 2}"
            source = rows_where(mine / "rows", edited)
            theirs.append(merge_with_delta_rs(other / "rows", source))
            same = rows_where(mine / "rows", "true").equals(rows_where(other / "rows", "true")) if number == 0 else same
            shutil.rmtree(mine)
            shutil.rmtree(other)
        history = bench(program, "history", folder / "history", arguments.history, 0)
        versions = rows_where(folder / "history" / "rows", "__END_AT IS NULL").num_rows
    quickest = min(ours, key=lambda run: run["seconds"])
    result = {"rows": arguments.rows, "keys": arguments.keys, "load": load, "update": quickest, "delta_rs_seconds": round(min(theirs), 3), "same_rows": same, "history": history}
    print(json.dumps(result, indent=1))
    if arguments.check:
        wrong = []
        if not same:
            wrong.append("the tables differ")
        # The newest stretch lies in the last file, the other in one file or across two.
        if not 1 <= quickest["files_rewritten"] <= 3:
            wrong.append(f"{quickest['files_rewritten']} files were rewritten")
        if max(run["peak_rss_mib"] for run in ours) >= 512:
            wrong.append("memory passed 512 MiB")
        if versions != arguments.history:
            wrong.append(f"{versions} versions of {arguments.history} are open")
        if history["peak_rss_mib"] >= 512:
            wrong.append("memory of the scd2 load passed 512 MiB")
        if quickest["seconds"] > min(theirs):
            wrong.append("delta-rs was quicker")
        if wrong:
            sys.exit("; ".join(wrong))


main()
