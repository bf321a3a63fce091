"""Reads the structs of the C headers: names, fields and functions' tables. Used by layout.py and reference.py."""
import pathlib
import re

STRUCT = re.compile(r"(?:typedef\s+)?struct\s+(\w+)\s*\{(.*?)\n\}\s*(\w*)\s*;", re.S)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def fields_of(body):
    for declaration in without_comments(body).split(";"):
        declaration = " ".join(declaration.split())
        if not declaration:
            continue
        pointer = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        yield pointer[1] if pointer else re.search(r"(\w+)\s*(?:\[\w+\])?$", declaration)[1]


def structs_of(folder):
    """{name: [field, ...]} over all headers of a folder, in a stable order."""
    out = {}
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        for name, body, alias in STRUCT.findall(header.read_text()):
            out[name if not alias else alias] = list(fields_of(body))
    if len(out) < 20:
        raise SystemExit(f"only {len(out)} structs were found in {folder}: the reader of headers is broken")
    return out


def type_of(name):
    return f"struct {name}" if name.startswith("Arrow") else name
