#!/usr/bin/env python3
"""The types of the ABI as libabigail sees them, against the committed baseline.

usage: reference.py --cc CC --include FOLDER --baseline FILE [--update]
A reference library with one function for each struct is compiled with debug information, described by abidw and compared by
abidiff; so a changed type, not only a moved field, is seen. A missing baseline or a missing abidiff is a failure.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from structs import structs_of, type_of


def source_of(structs):
    lines = ['#include "lakeflow/lakeflow.h"']
    for name in structs:
        lines.append(f"void reference_{name}(const {type_of(name)}* value);")
        lines.append(f"void reference_{name}(const {type_of(name)}* value) {{ (void)value; }}")
    lines.append("const lf_plugin* reference_entry(lf_entry_fn entry);")
    lines.append("const lf_plugin* reference_entry(lf_entry_fn entry) { return entry(LF_ABI_VERSION, NULL, NULL); }")
    return "\n".join(lines) + "\n"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cc", default="cc")
    options.add_argument("--include", required=True)
    options.add_argument("--baseline", required=True)
    options.add_argument("--update", action="store_true")
    options = options.parse_args()
    for tool in ("abidw", "abidiff"):
        if shutil.which(tool) is None:
            print(f"{tool} is missing: install abigail-tools (conan/setup.sh does)")
            return 1
    baseline = pathlib.Path(options.baseline)
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "reference.c"), pathlib.Path(folder, "libreference.so")
        source.write_text(source_of(structs_of(pathlib.Path(options.include, "lakeflow"))))
        subprocess.run([options.cc, "-std=c11", "-g", "-O0", "-shared", "-fPIC", "-I", str(pathlib.Path(options.include).resolve()),
                        "-o", str(library), source.name], check=True, cwd=folder)
        described = subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", str(library)],
                                   check=True, capture_output=True, text=True).stdout
        if options.update:
            baseline.write_text(described)
            return 0
        if not baseline.exists():
            print(f"the baseline {baseline.name} is missing")
            return 1
        now = pathlib.Path(folder, "now.abi")
        now.write_text(described)
        result = subprocess.run(["abidiff", "--no-show-locs", str(baseline), str(now)], capture_output=True, text=True)
    print(result.stdout + result.stderr)
    print("the same" if result.returncode == 0 else f"abidiff says {result.returncode}: the types of the ABI have changed")
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
