"""Feeds without some of their fields, the rest as it was, byte for byte.

Where a feed is not written as Scrapy writes it, it is not read either: it stays as it is.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


def without_fields(name: str, content: bytes, fields: Collection[str]) -> bytes:
    r"""The content of a file whose name tells its format.

    >>> without_fields("x.jl", b'{"a": "\xc3\xa4", "b": 2}\n', ["b"]).decode()
    '{"a": "ä"}\n'
    >>> without_fields("x.json", b'[\n{"b": 1},\n{"a": [1, 2]}\n]', ["b"])
    b'[\n{},\n{"a": [1, 2]}\n]'
    >>> without_fields("x.csv", b'a,b,c\r\n1,2,"x\ny"\r\n', ["b"])
    b'a,c\r\n1,"x\ny"\r\n'
    >>> without_fields("x.xml", b"<item><a>1</a><b><value>2</value></b><b/></item>", ["b"])
    b'<item><a>1</a></item>'
    >>> without_fields("stats", b"'tplspider/a': 1\n'tplspider/b': 2", ["b"])
    b"'tplspider/a': 1"
    >>> without_fields("x.json", b'[{"a":1}]', ["a"])  # not as Scrapy writes it
    b'[{"a":1}]'
    """
    text = content.decode("utf-8", "surrogateescape")
    kind = name.rpartition(".")[2]
    if fields and kind in ("json", "jl"):
        text = "".join(_json_line(line, fields) for line in text.splitlines(keepends=True))
    elif fields and kind == "csv":
        text = _csv(text, fields)
    elif fields and kind == "stats":
        for field in map(re.escape, fields):
            text = re.sub(rf"^'tplspider/{field}'.*\n?", "", text, flags=re.MULTILINE).rstrip()
    elif fields and kind == "xml":
        for field in map(re.escape, fields):
            text = re.sub(rf"<{field}>.*?</{field}>|<{field}\s*/>", "", text, flags=re.DOTALL)
    return text.encode("utf-8", "surrogateescape")


def _json_line(line: str, fields: Collection[str]) -> str:
    body = line.rstrip(",\r\n")
    try:
        found = json.loads(body)
    except ValueError:  # the brackets round the items
        return line
    if not isinstance(found, dict) or json.dumps(found, ensure_ascii=False) != body:
        return line
    kept: dict[str, Any] = {name: value for name, value in found.items() if name not in fields}
    return json.dumps(kept, ensure_ascii=False) + line[len(body) :]


def _csv(text: str, fields: Collection[str]) -> str:
    rows = [*csv.reader(io.StringIO(text, newline=""))]
    if not rows or _written(rows) != text:
        return text
    kept = [i for i, name in enumerate(rows[0]) if name not in fields]
    return _written([[row[i] for i in kept] for row in rows])


def _written(rows: list[list[str]]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue()
