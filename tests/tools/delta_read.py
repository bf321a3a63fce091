#!/usr/bin/env python3
"""Reads Delta tables with delta-rs or DuckDB's delta extension and prints, as JSON, what it saw in each (see table_summary.py).

    ${LAKEFLOW_CACHE}/python-test/bin/python tests/tools/delta_read.py [--with delta-rs|duckdb] [--keys id] [--where SQL] [--questions FILE] TABLE...

delta-rs is asked through its QueryBuilder: its pyarrow path gives nulls for mapped columns. With --where both readers skip files by
their statistics, so statistics that hide a row show. A file of questions is {TABLE: {"keys": [..], "where": [condition, ..]}}: its tables
are read too, and the rows that each condition finds are counted as "found".
"""

import argparse
import json
import pathlib

import table_summary


def with_delta_rs(table, where):
    from deltalake import DeltaTable, QueryBuilder

    source = DeltaTable(table)
    import pyarrow

    found = pyarrow.table(QueryBuilder().register("seen", source).execute("SELECT * FROM seen" + where).read_all())
    return found, {"version": source.version(), "files": len(source.file_uris())}


def with_duckdb(table, where):
    import duckdb
    import duckdb_ext

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    extension = next(pathlib.Path(duckdb_ext.__path__[0]).glob("extensions/*/*/delta.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection.execute("SELECT * FROM delta_scan(?)" + where, [table]).arrow().read_all(), {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="reader", choices=["delta-rs", "duckdb"], default="delta-rs")
    parser.add_argument("--keys", default="", help="columns of the primary key, separated by commas")
    parser.add_argument("--where", default="", help="a condition on the rows, in SQL that both readers know")
    parser.add_argument("--questions", help="a file of tables, their keys and conditions")
    parser.add_argument("tables", nargs="*")
    arguments = parser.parse_args()
    keys = table_summary.key_columns(arguments.keys)
    read = with_delta_rs if arguments.reader == "delta-rs" else with_duckdb
    seen = {}
    for table in arguments.tables:
        found, more = read(str(pathlib.Path(table).resolve()), f" WHERE {arguments.where}" if arguments.where else "")
        seen[table] = table_summary.summary(found.to_pylist(maps_as_pydicts="strict"), found.column_names, keys) | more
    for table, asked in table_summary.questions(arguments.questions):
        found, more = read(table, "")
        seen[table] = table_summary.summary(found.to_pylist(maps_as_pydicts="strict"), found.column_names, asked["keys"]) | more
        seen[table]["found"] = {condition: read(table, " WHERE " + condition)[0].num_rows for condition in asked.get("where", [])}
    print(json.dumps(seen, indent=1, ensure_ascii=False))


main()
