#!/usr/bin/env python3
"""Proof that check_layering.py sees each wrong arrow: a small tree with one of each, and the same tree without them."""

import pathlib
import subprocess
import sys
import tempfile

tools = pathlib.Path(__file__).resolve().parent

right = {
    "host/CMakeLists.txt": (tools.parents[1] / "host/CMakeLists.txt").read_text(),
    "sdk/include/lakeflow/abi.h": "#include <stdint.h>\n",
    "sdk/include/lakeflow/cpp/batch.hpp": '#include "lakeflow/abi.h"\n#include <vector>\n',
    "plugins/github/github.cpp": '#include "lakeflow/cpp/batch.hpp"\n#include "tables.h"\n',
    "plugins/github/tables.h": "#pragma once\n",
    "plugins/postgres/postgres.h": "#pragma once\n",
    "host/base/text.h": "#include <string>\n",
    "host/rows/decoder.h": '#include "host/base/text.h"\n#include <boost/json/basic_parser.hpp>\n',
    "host/rows/decoder_test.cpp": '#include "host/rows/decoder.h"\n#include "tests/servers/server.h"\n',
    "host/stream/flow.cpp": '#include "host/rows/decoder.h"\n#include <tbb/task_arena.h>\n',
    "tests/servers/server.h": "#pragma once\n",
}

# Each is put into one file of the tree; the complaint must name both.
wrong = [
    ("sdk/include/lakeflow/abi.h", '#include "host/base/text.h"'),
    ("sdk/include/lakeflow/cpp/batch.hpp", '#include "plugins/github/tables.h"'),
    ("sdk/include/lakeflow/cpp/batch.hpp", "#include <boost/json.hpp>"),
    ("plugins/github/github.cpp", '#include "host/base/text.h"'),
    ("plugins/github/github.cpp", '#include "../../host/base/text.h"'),
    ("plugins/github/github.cpp", '#include "plugins/postgres/postgres.h"'),
    ("plugins/github/github.cpp", "#include <openssl/ssl.h>"),
    ("host/base/text.h", '#include "host/rows/decoder.h"'),
    ("host/base/text.h", '#include "../rows/decoder.h"'),
    ("host/rows/decoder.h", '#include "host/stream/flow.cpp"'),
    ("host/rows/decoder.h", "#include <tbb/task_arena.h>"),
    ("host/rows/decoder.h", "#include <CLI/CLI.hpp>"),
    ("host/rows/decoder.h", '#include "tests/servers/server.h"'),
    ("host/stream/flow.cpp", '#include "plugins/github/tables.h"'),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, tools / "check_layering.py", folder], capture_output=True, text=True)


def main():
    failures = 0
    clean = check(right)
    if clean.returncode != 0:
        failures += 1
        print(f"the right tree is refused:\n{clean.stdout}{clean.stderr}")
    for name, line in wrong:
        result = check(right | {name: right[name] + line + "\n"})
        if result.returncode != 1 or not result.stdout.startswith(f"{name} includes "):
            failures += 1
            print(f"not seen: {name}: {line}\n{result.stdout}{result.stderr}")
    lost = check(right | {"host/attic/old.cpp": ""})
    if lost.returncode != 1 or "host/attic/old.cpp is on no floor" not in lost.stdout:
        failures += 1
        print(f"not seen: a file on no floor\n{lost.stdout}{lost.stderr}")
    print(f"{len(wrong) + 2 - failures} passed, {failures} failed")
    sys.exit(1 if failures else 0)


main()
