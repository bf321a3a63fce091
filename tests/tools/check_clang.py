#!/usr/bin/env python3
"""Checks with clang 14 what gcc compiles: every translation unit of the release preset, -fsyntax-only -Werror.

    tests/tools/check_clang.py [--beside-tidy] [BUILD_FOLDER] [PART_OF_A_PATH...]

--beside-tidy leaves out what run_tidy.py compiles with the same flags and clang's warnings as errors: all but the tests.
"""

import pathlib
import sys

import translation_units


def main():
    words = [word for word in sys.argv[1:] if word != "--beside-tidy"]
    build = pathlib.Path(words[0] if words else translation_units.root / "build/release").resolve()
    units = translation_units.chosen(translation_units.load(build), words[1:])
    if "--beside-tidy" in sys.argv:
        units = [item for item in units if translation_units.is_test(item)]

    def command(item):
        return [item.compiler, *item.arguments, "-Werror", "-fsyntax-only", str(item.source)]

    sys.exit(1 if translation_units.run_all("clang", build, units, command, [translation_units.version("clang++-14")]) else 0)


main()
