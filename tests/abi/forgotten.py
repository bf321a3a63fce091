#!/usr/bin/env python3
"""A method that a connector forgets is a compile error that names it; an absent mixin is not.

usage: forgotten.py --cxx CXX --include FOLDER
"""
import argparse
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).with_name("forgotten.cpp")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cxx", default="c++")
    options.add_argument("--include", required=True)
    options = options.parse_args()

    def compiles(number):
        return subprocess.run([options.cxx, "-std=c++20", "-fsyntax-only", f"-DFORGET={number}", "-I", options.include, str(SOURCE)],
                              capture_output=True, text=True)

    whole = compiles(0)
    if whole.returncode:
        print(whole.stderr)
        return 1
    methods = re.findall(r"#if FORGET != (\d+)\n.*?(\w+)\(", SOURCE.read_text())
    # One of each class: all fifteen would take a minute.
    for number, name in methods:
        if int(number) not in (1, 7, 9, 10, 15):
            continue
        result = compiles(number)
        if result.returncode == 0 or name not in result.stderr:
            print(f"without {name} it {'compiles' if result.returncode == 0 else 'fails for another reason'}")
            return 1
    print(f"{len(methods)} methods; the ones that were left out are named by the compiler")
    return 0 if len(methods) == 15 else 1


if __name__ == "__main__":
    sys.exit(main())
