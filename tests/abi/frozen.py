#!/usr/bin/env python3
"""Today's C headers against the frozen copy of a release: what was declared then is declared now, and structs grew at their tail.

usage: frozen.py --include FOLDER --frozen FOLDER [--update]
While both state the same LF_ABI_VERSION, the declarations are equal (comments may differ). --update copies today's headers, which
is right only until that version is released.
"""
import argparse
import difflib
import pathlib
import re
import sys

from structs import structs_of, without_comments


def version_of(folder):
    return int(re.search(r"LF_ABI_VERSION (\d+)u", pathlib.Path(folder, "abi.h").read_text())[1])


def declarations_of(header):
    lines = (" ".join(line.split()) for line in without_comments(header.read_text()).splitlines())
    return [line for line in lines if line]


def check_equal(now, then):
    bad = 0
    names = {p.name for p in now.glob("*.h")} | {p.name for p in then.glob("*.h")}
    for name in sorted(names):
        left, right = then / name, now / name
        if not left.exists() or not right.exists():
            print(f"{name} is only in {'today' if right.exists() else 'the frozen copy'}")
            bad += 1
            continue
        difference = list(difflib.unified_diff(declarations_of(left), declarations_of(right), f"frozen {name}", f"now {name}", lineterm=""))
        if difference:
            print("\n".join(difference))
            bad += 1
    return bad


def check_grown(now, then):
    bad = 0
    today = structs_of(now)
    for name, fields in structs_of(then).items():
        if today.get(name, [])[: len(fields)] != fields:
            print(f"{name} does not begin as it did: {fields} then, {today.get(name)} now")
            bad += 1
    return bad


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--include", required=True)
    options.add_argument("--frozen", required=True)
    options.add_argument("--update", action="store_true")
    options = options.parse_args()
    now, then = pathlib.Path(options.include, "lakeflow"), pathlib.Path(options.frozen, "lakeflow")
    if options.update:
        then.mkdir(parents=True, exist_ok=True)
        for old in then.glob("*.h"):
            old.unlink()
        for header in now.glob("*.h"):
            (then / header.name).write_text(header.read_text())
        return 0
    if not (then / "abi.h").exists():
        print("the frozen headers are missing")
        return 1
    bad = check_equal(now, then) if version_of(now) == version_of(then) else check_grown(now, then)
    print(f"version {version_of(now)} now, {version_of(then)} frozen: {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
