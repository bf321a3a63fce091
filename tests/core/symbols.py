#!/usr/bin/env python3
"""Looks at the symbols of lakeflow_core: what it must not use, and that none of its objects does work when it is loaded.

    tests/core/symbols.py build/release/host/liblakeflow_core.a
"""

import re
import subprocess
import sys

# Undefined symbols that would mean that the core owns the process, or that an upper floor has leaked into it.
FORBIDDEN = {
    r"\btbb::": "TBB belongs to the engine",
    r"\bduckdb_": "DuckDB belongs to the engine",
    r"\btoml::|\bCLI::": "the job file and the command line belong to the program",
    r"^(signal|sigaction|bsd_signal|sigset|sigprocmask)$": "signals belong to the process",
    r"^(exit|_exit|quick_exit|_Exit|atexit|at_quick_exit)$": "the core does not end the process",
    r"^(stdout|puts|putchar|printf|vprintf|__printf_chk)$|\bstd::cout\b": "stdout carries data of the program alone",
    r"^(setlocale|uselocale|chdir|fchdir|setenv|putenv|unsetenv|fork|vfork)$": "the process's settings are not the core's",
}

# Asio's headers define references to its error categories in every file that includes them; their initialisation only stores an address.
MAY_INITIALISE = re.compile(r"^(connection|tls|stream|pool|proxy|resolver|loop|engine|exchange|exchange_core|parser|answers|blocks|http|abi|service)\.cpp\.o$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    archive = sys.argv[1]
    faults = []
    for line in run("nm", "--undefined-only", "--demangle", "--no-sort", archive).splitlines():
        name = line.strip().removeprefix("U ").strip()
        name = name.split("@")[0]
        for pattern, why in FORBIDDEN.items():
            if re.search(pattern, name):
                faults.append(f"uses {name}: {why}")
    member = ""
    for line in run("objdump", "--section-headers", archive).splitlines():
        header = re.match(r"^(\S+\.o):\s+file format", line)
        if header:
            member = header.group(1)
        if re.search(r"\s\.(init_array|ctors)\S*\s", line) and not MAY_INITIALISE.match(member):
            faults.append(f"{member} does work when it is loaded (.init_array)")
    for fault in sorted(set(faults)):
        print(fault)
    print(f"{len(set(faults))} faults in {archive}")
    return 1 if faults else 0


sys.exit(main())
