#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy in the root) over every translation unit of the release preset; findings in headers count where the
header is the project's own. Tests get the few checks of `for_tests`: Boost.Test's headers make each check dear.

    tests/tools/run_tidy.py [BUILD_FOLDER] [PART_OF_A_PATH...]
"""

import pathlib
import re
import sys

import translation_units

for_tests = "-*,bugprone-dangling-handle,bugprone-infinite-loop,bugprone-unused-raii,bugprone-use-after-move,readability-identifier-naming"


def main():
    root = translation_units.root
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build/release").resolve()
    units = translation_units.chosen(translation_units.load(build), sys.argv[2:])
    header_filter = f"^{re.escape(str(root))}/({'|'.join(translation_units.folders)})/"

    def command(item):
        checks = [f"--checks={for_tests}"] if translation_units.is_test(item) else []
        options = ["--quiet", f"--header-filter={header_filter}", *checks]
        return ["clang-tidy-14", *options, str(item.source), "--", item.compiler, *item.arguments]

    inputs = [translation_units.version("clang-tidy-14"), (root / ".clang-tidy").read_text()]
    sys.exit(1 if translation_units.run_all("tidy", build, units, command, inputs) else 0)


main()
