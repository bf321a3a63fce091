#!/usr/bin/env python3
"""Every slot of the C headers has the five comment lines of abi.h, in their order, and names all its parameters.

usage: slots.py HEADER_FOLDER [--self-test]
A slot is a function pointer in a struct, or a function type. --self-test shows that a missing line is found.
"""
import pathlib
import re
import sys

SLOT = re.compile(r"(?:/\*(?P<comment>(?:(?!\*/).)*)\*/\s*)?(?:typedef\s+)?[\w\s\*]+\(\*(?P<name>\w+)\)\((?P<args>[^)]*)\)\s*;", re.S)
THREAD = re.compile(r"^\[(control|any|serial)\]")
FAILURE = re.compile(r"LF_|NULL|Cannot fail|gives \[\]|fails")


def problems_of(text):
    """Yields (slot, what is wrong) and counts the slots through the generator's return value."""
    found = []
    count = 0
    for slot in SLOT.finditer(text):
        count += 1
        name = slot["name"]
        lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in (slot["comment"] or "").strip("\n").split("\n")]
        lines = [line for line in lines if line.strip()]
        need = next((i for i, line in enumerate(lines) if re.match(r"(Required|Optional)\b", line)), None)
        if need is None or need == 0:
            found.append((name, "no line that says what it does, then required or optional"))
            continue
        thread = need + 1
        while thread < len(lines) and not THREAD.match(lines[thread]) and thread <= need + 2:
            thread += 1
        if thread >= len(lines) or not THREAD.match(lines[thread]):
            found.append((name, "no thread line after 'required or optional'"))
            continue
        rest = lines[thread + 1:]
        if len(rest) < 2:
            found.append((name, "ownership or failure is missing after the thread line"))
        elif not any(FAILURE.search(line) for line in rest[1:]):
            found.append((name, "the last line does not say what a failure means"))
        for argument in slot["args"].split(","):
            if argument.strip() != "void" and not re.search(r"[\s\*](\w+)$", argument.strip()):
                found.append((name, f"the parameter '{argument.strip()}' has no name"))
    return found, count


def self_test():
    whole = "/*\n * Does it.\n * Required.\n * [any].\n * -\n * Cannot fail.\n */\nvoid (*f)(int a);\n"
    assert problems_of(whole) == ([], 1)
    lines = whole.split("\n")
    for gone in range(1, 6):
        cut = "\n".join(lines[:gone] + lines[gone + 1:])
        assert problems_of(cut)[0], f"not noticed: the slot without '{lines[gone]}'"
    assert problems_of("void (*f)(int a);")[0]
    assert problems_of(whole.replace("int a", "int"))[0]


def main():
    self_test()
    if "--self-test" in sys.argv:
        return 0
    bad = total = 0
    for header in sorted(pathlib.Path(sys.argv[1]).glob("*.h")):
        # The two Arrow structs are those of the Arrow specification, word by word.
        ours = re.sub(r"#ifndef ARROW_C_DATA_INTERFACE.*?#endif", "", header.read_text(), flags=re.S)
        found, count = problems_of(ours)
        total += count
        for name, what in found:
            bad += 1
            print(f"{header.name}: {name}: {what}")
    print(f"{total} slots, {bad} with problems")
    return 1 if bad or total < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
