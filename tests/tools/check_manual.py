#!/usr/bin/env python3
"""The manual page and the completions name every command and option that `lakeflow-host --help` prints, and no other.

    tests/tools/check_manual.py LAKEFLOW_HOST
"""

import pathlib
import re
import subprocess
import sys

share = pathlib.Path(__file__).resolve().parents[2] / "host/share"
pages = {
    "man page": (share / "man/man1/lakeflow-host.1").read_text().replace("\\-", "-"),
    "bash completion": (share / "bash-completion/completions/lakeflow-host").read_text(),
    "zsh completion": (share / "zsh/site-functions/_lakeflow-host").read_text(),
}


def help_of(host, *words):
    return subprocess.run([host, *words, "--help"], capture_output=True, text=True, check=True).stdout


def long_options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))


def main():
    host = sys.argv[1]
    top = help_of(host)
    listed = top[top.index("Subcommands:") :]
    commands = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
    options = set()
    for words in [[], *([command] for command in commands)]:
        # Only the first word of a line is an option there; the rest of it is prose.
        for line in help_of(host, *words).splitlines():
            if re.match(r"\s+-", line):
                options |= long_options(re.split(r"\s{2,}", line.strip())[0])
    failures = []
    if len(commands) < 8 or len(options) < 10:
        failures.append(f"the help names too little to compare: {commands} {sorted(options)}")
    for name, text in pages.items():
        for command in commands:
            if not re.search(rf"\b{command}\b", text):
                failures.append(f"{name}: no command {command}")
        for option in sorted(options - long_options(text)):
            failures.append(f"{name}: no option {option}")
        for option in sorted(long_options(text) - options):
            failures.append(f"{name}: {option} is no option of lakeflow-host")
    for line in failures:
        print(line)
    sys.exit(1 if failures else 0)


main()
