"""The project's own translation units as the release preset compiles them, for the checks that run another compiler over each.

A check that passed is remembered in the cache under a digest of all that it depends on: the tool and its version, the flags, and the
content of the source and of every header that it includes. A second run over the same content runs nothing.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
folders = ("sdk", "host", "plugins", "tests")
# What gcc knows and clang does not; both are there for false positives of gcc.
only_gcc = {"-Wno-restrict", "-Wno-maybe-uninitialized", "-Wno-tsan"}


def cache_folder():
    return pathlib.Path(os.environ.get("LAKEFLOW_CACHE") or pathlib.Path.home() / ".cache" / "lakeflow")


class unit:
    def __init__(self, source, arguments, output, directory):
        self.source = source
        self.arguments = arguments  # flags only: no compiler, -c, -o nor the source
        self.output = output
        self.directory = directory
        self.name = str(source.relative_to(root))
        self.compiler = "clang-14" if source.suffix == ".c" else "clang++-14"


def is_test(item):
    return item.name.startswith("tests/") or item.source.stem.endswith("_test")


def load(build):
    """The units of compile_commands.json below the project's folders."""
    database = build / "compile_commands.json"
    if not database.exists():
        sys.exit(f"{database} is missing: cmake --preset {build.name}")
    units = []
    for entry in json.loads(database.read_text()):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not any(source.is_relative_to(root / folder) for folder in folders):
            continue
        words = shlex.split(entry["command"])[1:]
        arguments, output, skip = [], None, False
        for i, word in enumerate(words):
            if skip:
                skip = False
            elif word == "-o":
                output, skip = words[i + 1], True
            elif word == "-c" or (not word.startswith("-") and pathlib.Path(entry["directory"], word).resolve() == source):
                continue
            elif word not in only_gcc:
                arguments.append(word)
        units.append(unit(source, arguments, output, entry["directory"]))
    return units


def dependencies(build):
    """What each object was built from, by ninja's own record: {object: [file]}."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if match := re.match(r"(\S+): #deps \d+, .*\((VALID|STALE)\)", line):
            current = match[1] if match[2] == "VALID" else None
            if current:
                found[current] = []
        elif current and line.startswith("    "):
            found[current].append(line.strip())
    return found


class digests:
    """sha256 of files, each read once."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            self.known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        return self.known[path]


def run_all(what, build, units, command, inputs):
    """Runs command(unit) -> argv over the units, two at once or as many as there are cores, and prints what failed. inputs: texts
    that belong to the digest beside the unit's own (versions, configuration). Returns the number of failures."""
    passed = cache_folder() / what
    passed.mkdir(parents=True, exist_ok=True)
    found, files = dependencies(build), digests()
    waiting = []
    for item in units:
        argv = command(item)
        if item.output not in found:
            # Not built yet, so its headers are not known: checked, but not remembered.
            waiting.append((item, argv, None))
            continue
        digest = hashlib.sha256()
        # The folder of the clone is no part of the content.
        for text in [*inputs, *argv]:
            digest.update(text.replace(str(root), ".").encode() + b"\0")
        for path in sorted(found[item.output]):
            absolute = os.path.normpath(os.path.join(build, path))
            digest.update(f"{os.path.relpath(absolute, root) if absolute.startswith(str(root)) else absolute} {files.of(absolute)}\n".encode())
        mark = passed / digest.hexdigest()
        if not mark.exists():
            waiting.append((item, argv, mark))

    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def one(entry):
            item, argv, _ = entry
            return subprocess.run(argv, cwd=item.directory, capture_output=True, text=True)

        for (item, argv, mark), result in zip(waiting, pool.map(one, waiting)):
            if result.returncode == 0:
                if mark:
                    mark.touch()
            else:
                failures += 1
                print(f"{what}: {item.name}\n{result.stdout}{result.stderr}", flush=True)
    print(f"{what}: {len(units)} files, {len(units) - len(waiting)} known from the cache, {failures} failed", flush=True)
    return failures


def chosen(units, patterns):
    return [item for item in units if not patterns or any(pattern in item.name for pattern in patterns)]


def version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
