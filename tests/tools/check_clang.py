#!/usr/bin/env python3
"""Checks with clang 14 what gcc compiles: every translation unit of the release preset, -fsyntax-only -Werror.

    tests/tools/check_clang.py [BUILD_FOLDER] [PART_OF_A_PATH...]
"""

import pathlib
import sys

import translation_units


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else translation_units.root / "build/release").resolve()
    units = translation_units.chosen(translation_units.load(build), sys.argv[2:])

    def command(item):
        return [item.compiler, *item.arguments, "-Werror", "-fsyntax-only", str(item.source)]

    sys.exit(1 if translation_units.run_all("clang", build, units, command, [translation_units.version("clang++-14")]) else 0)


main()
