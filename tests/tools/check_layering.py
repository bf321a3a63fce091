#!/usr/bin/env python3
"""Arrows run one way: plugins -> sdk <- host, and inside host/ a floor includes only itself and the floors below it.

    tests/tools/check_layering.py [ROOT]

The order of the floors is the one of host/CMakeLists.txt. Of the packages, the SDK and the plugins see none; the floors of
lakeflow_core see neither TBB nor toml++, CLI11 or DuckDB, since a JVM module will link them too.
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
core = ["base", "arrow", "http", "rows", "plugin", "scan", "laws"]
engine_packages = re.compile(r"(tbb|oneapi/tbb|toml\+\+|toml|CLI)(/|\.h)|CLI11|duckdb")
foreign_packages = re.compile(r"(boost|tbb|oneapi|toml\+\+|CLI|openssl)/|zlib\.h|libpq")
include_line = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def floors():
    text = (root / "host/CMakeLists.txt").read_text()
    order = re.search(r"foreach\(floor ([a-z ]+)\)", text)[1].split()
    if order[: len(core)] != core:
        sys.exit(f"host/CMakeLists.txt lists the floors {order}; the first ones must be {core}")
    return order


def sources(folder):
    return sorted(path for path in (root / folder).rglob("*") if path.suffix in (".h", ".hpp", ".c", ".cpp"))


def includes(path):
    """What a file includes: paths from the root where they name one of the project's files, else as written."""
    for quote, name in include_line.findall(path.read_text()):
        beside = (path.parent / name).resolve()
        if quote == '"' and beside.exists():
            yield beside.relative_to(root).as_posix()
        elif (root / name).exists():
            yield name
        elif (root / "sdk/include" / name).exists():
            yield f"sdk/include/{name}"
        else:
            yield name


def complaints():
    order = floors()
    for folder in ("sdk", "plugins"):
        for path in sources(folder):
            own = path.relative_to(root)
            is_test = path.stem.endswith("_test")
            for name in includes(path):
                if name.startswith("host/") or (name.startswith("tests/") and not is_test):
                    yield f"{own} includes {name}: {folder}/ knows nothing of it"
                if folder == "sdk" and name.startswith("plugins/"):
                    yield f"{own} includes {name}: the SDK knows no plugin"
                if folder == "plugins" and name.startswith("plugins/") and name.split("/")[1] != own.parts[1]:
                    yield f"{own} includes {name}: a plugin knows no other plugin"
                # A database is spoken to by its own client library, which that plugin alone links.
                if folder == "plugins" and own.parts[1] == "postgres" and name == "libpq-fe.h":
                    continue
                if foreign_packages.match(name) and not is_test:
                    yield f"{own} includes {name}: no package in {folder}/"
    for path in sources("host"):
        own = path.relative_to(root)
        is_test = path.stem.endswith("_test") or "testing" in own.parts
        if len(own.parts) < 3 or own.parts[1] not in order:
            yield f"{own} is on no floor of host/CMakeLists.txt"
            continue
        floor = own.parts[1]
        for name in includes(path):
            parts = name.split("/")
            if parts[0] == "host" and len(parts) > 2 and order.index(parts[1]) > order.index(floor):
                yield f"{own} includes {name}: {parts[1]} is above {floor}"
            if parts[0] == "plugins" or (parts[0] == "tests" and not is_test):
                yield f"{own} includes {name}: the host knows neither plugins nor tests"
            if floor in core and engine_packages.match(name):
                yield f"{own} includes {name}: lakeflow_core is free of it"


def main():
    found = list(complaints())
    for line in found:
        print(line)
    print(f"layering: {len(found)} arrows in the wrong direction")
    sys.exit(1 if found else 0)


main()
