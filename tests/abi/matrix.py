#!/usr/bin/env python3
"""The headers compile with every standard and compiler that the SDK names, alone and together, without a warning.

usage: matrix.py --include FOLDER [--c] [--cpp]
--c: the C headers, C11 to C23 and C++11 to C++23; --cpp: the C++ layer, C++20 and C++23. A missing compiler is a failure.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
C = [("gcc", "c11"), ("gcc", "c17"), ("gcc", "c2x"), ("clang-14", "c11"), ("clang-14", "c17"), ("clang-14", "c2x")]
CPP = [(compiler, standard) for compiler in ("g++", "clang++-14") for standard in ("c++11", "c++14", "c++17", "c++20", "c++2b")]
LAYER = [(compiler, standard) for compiler in ("g++", "clang++-14") for standard in ("c++20", "c++2b")]


def compiles(compiler, standard, include, headers, folder):
    language = "c++" if "++" in standard else "c"
    source = pathlib.Path(folder, "unit.cpp" if language == "c++" else "unit.c")
    # Included twice: a guard that does not guard is found.
    text = "".join(f'#include "{header}"\n' for header in headers) * 2
    source.write_text(text + "int unit_is_not_empty(void);\n")
    extra = ["-Wno-restrict"] if compiler == "g++" else []  # GCC bug 105651: wrong for std::string operator+
    run = subprocess.run([compiler, f"-std={standard}", *STRICT, *extra, "-I", include, str(source)], capture_output=True, text=True)
    if run.returncode:
        print(f"{compiler} -std={standard} {' '.join(headers)}\n{run.stderr}")
    return run.returncode == 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--include", required=True)
    options.add_argument("--c", action="store_true")
    options.add_argument("--cpp", action="store_true")
    options = options.parse_args()
    root = pathlib.Path(options.include)
    done = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        if options.c:
            each = [str(header.relative_to(root)) for header in sorted(root.glob("lakeflow/*.h"))]
            jobs += [(compiler, standard, each) for compiler, standard in C + CPP]
            jobs += [(compiler, standard, [one]) for compiler, standard in (C[0], C[5], CPP[0], CPP[9]) for one in each]
        if options.cpp:
            each = [str(header.relative_to(root)) for header in sorted(root.glob("lakeflow/cpp/*.hpp"))]
            jobs += [(compiler, standard, ["lakeflow/lakeflow.hpp"]) for compiler, standard in LAYER]
            jobs += [("g++", "c++20", [one]) for one in each]
        for compiler, standard, headers in jobs:
            done += 1
            bad += not compiles(compiler, standard, options.include, headers, folder)
    print(f"{done} units, {bad} do not compile")
    return 1 if bad or not done else 0


if __name__ == "__main__":
    sys.exit(main())
