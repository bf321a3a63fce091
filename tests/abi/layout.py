#!/usr/bin/env python3
"""Size of each struct, and offset and size of each field, as the compiler lays them out, against the committed layout.

usage: layout.py --cc CC --include FOLDER --golden FILE [--update]
The headers are read for the names, so that a new field cannot be forgotten; a missing golden file is a failure.
"""
import argparse
import difflib
import pathlib
import subprocess
import sys
import tempfile

from structs import structs_of, type_of


def program(structs):
    lines = ['#include "lakeflow/lakeflow.h"', "#include <stdio.h>", "int main(void) {"]
    for name, fields in structs.items():
        kind = type_of(name)
        lines.append(f'    printf("{name} size %zu align %zu\\n", sizeof({kind}), _Alignof({kind}));')
        for field in fields:
            lines.append(f'    printf("{name}.{field} at %zu size %zu\\n", offsetof({kind}, {field}), sizeof((({kind}*)0)->{field}));')
    return "\n".join(lines + ["    return 0;", "}", ""])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cc", default="cc")
    options.add_argument("--include", required=True)
    options.add_argument("--golden", required=True)
    options.add_argument("--update", action="store_true")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "layout.c")
        source.write_text(program(structs_of(pathlib.Path(options.include, "lakeflow"))))
        binary = str(pathlib.Path(folder, "layout"))
        subprocess.run([options.cc, "-std=c11", "-I", options.include, "-o", binary, str(source)], check=True)
        now = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    golden = pathlib.Path(options.golden)
    if options.update:
        golden.write_text(now)
        return 0
    if not golden.exists():
        print(f"the baseline {golden.name} is missing")
        return 1
    was = golden.read_text()
    if was == now:
        print(f"{len(now.splitlines())} sizes and offsets are as committed")
        return 0
    sys.stdout.writelines(difflib.unified_diff(was.splitlines(True), now.splitlines(True), "committed", "now"))
    print("The layout of the ABI has changed: tail growth needs a new minor version and layout.py --update, all else a new id.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
