#!/usr/bin/env python3
"""The pages of the SDK are true: each code block equals the file or the marked region that it names, each link leads to a file.

usage: guide_test.py SDK_FOLDER
A block begins with ```cpp paged_json/orders.cpp#read (a path below examples/, or cmake/); a region lies between two lines that hold
`[read]`. Blocks of code that name no file are refused, so that nothing is shown that no compiler has seen.
"""
import pathlib
import re
import sys
import textwrap

CODE = {"cpp", "c", "cmake", "toml"}


def region(text, name):
    lines = text.splitlines()
    marks = [i for i, line in enumerate(lines) if line.strip() in (f"// [{name}]", f"# [{name}]")]
    if len(marks) != 2:
        raise SystemExit(f"the region '{name}' needs two marks, it has {len(marks)}")
    return "\n".join(lines[marks[0] + 1 : marks[1]])


def problems(page, sdk):
    text = page.read_text()
    blocks = 0
    for fence in re.finditer(r"^```(\S*)[ ]*(\S*)\n(.*?)^```$", text, re.M | re.S):
        language, source, shown = fence.groups()
        if language not in CODE:
            continue
        blocks += 1
        if not source:
            yield f"a {language} block names no file: {shown.splitlines()[0]}"
            continue
        path, _, name = source.partition("#")
        file = sdk / "examples" / path
        if not file.exists():
            yield f"{path} does not exist"
            continue
        real = region(file.read_text(), name) if name else file.read_text()
        if textwrap.dedent(real).strip() != shown.strip():
            yield f"the block of {source} is not what the file says"
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if "://" not in target and not (page.parent / target).exists():
            yield f"the link to {target} leads nowhere"
    if page.name == "guide.md" and blocks < 6:
        yield f"only {blocks} code blocks were found: the test or the page is broken"


def main():
    sdk = pathlib.Path(sys.argv[1])
    bad = 0
    for page in sorted([*sdk.glob("*.md"), *sdk.glob("docs/*.md")]):
        for what in problems(page, sdk):
            bad += 1
            print(f"{page.name}: {what}")
    print(f"{bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
