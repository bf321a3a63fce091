"""What a reader saw in a table, in a form in which two readers can be compared: spark_read.py and delta_read.py print it."""

import base64
import datetime
import decimal
import hashlib
import json


def plain(value):
    """A value as JSON can hold it, the same for every reader: instants without a zone in UTC, maps as objects, decimals as text."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(key): plain(item) for key, item in value}
        return [plain(item) for item in value]
    return value


def summary(rows, columns, keys):
    """rows: an iterable of dicts; columns: their names in order; keys: the columns of the primary key, none to leave it out."""
    lines = []
    distinct = set()
    non_null = {name: 0 for name in columns}
    for row in rows:
        row = plain(row)
        for name in columns:
            non_null[name] += row[name] is not None
        if keys:
            distinct.add(json.dumps([row[key] for key in keys]))
        lines.append(json.dumps(row, sort_keys=True, ensure_ascii=False))
    lines.sort()
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    result = {"rows": len(lines), "columns": list(columns), "non_null": non_null, "sha256": digest}
    if keys:
        result["distinct_keys"] = len(distinct)
    return result


def key_columns(text):
    return [name for name in text.split(",") if name]


def questions(file):
    """The tables of a file of questions (see delta_read.py), with what is asked of each."""
    if not file:
        return []
    with open(file, encoding="utf-8") as opened:
        return list(json.load(opened).items())
