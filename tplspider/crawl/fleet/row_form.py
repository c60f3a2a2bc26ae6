"""Whether rows from Redis are in form: nothing that is written later fails on them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

_DEEPEST = 128  # levels: what is nested in a line of a list, and what is around it here
_HIGHEST = 2**63  # as databases have it
_HALF = re.compile("[\ud800-\udfff]")

_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def read_rows(packed: bytes) -> dict[str, Any]:
    """The rows of an answer, by their kinds; ValueError, in one line, if they are out of form."""
    try:
        rows = json.loads(packed.decode())
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(rows, dict) or not isinstance(rows.get("summary"), dict):
        raise ValueError("no summary in it")  # noqa: TRY004 - out of form like others
    for kind in ("candidates", "templates"):
        found = rows.setdefault(kind, [])
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise ValueError(f"its {kind} are not rows")
    _check_parts(rows)
    return rows


def check_types(item: object) -> None:
    """Raise ValueError, in one line, for a row in which something is not what it should be."""
    kind: Any = type(item)
    for name, expected in _expected(kind).items():
        if not any(_is(getattr(item, name), each) for each in expected):
            raise ValueError(f"{name!r} in a row is not {_NAMES[expected[0]]}")


@cache
def _expected(kind: type) -> dict[str, tuple[type, ...]]:
    """The types that the fields of an item may have; of a list's members nothing is asked."""
    hints = get_type_hints(kind)
    found = {}
    for each in fields(kind):
        hint = hints[each.name]
        parts = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        found[each.name] = tuple(get_origin(part) or part for part in parts)
    return found


def _is(value: object, expected: type) -> bool:
    if type(value) is int and expected in (int, float):
        return abs(value) < _HIGHEST
    return type(value) is expected


def _check_parts(rows: object) -> None:
    """Level by level: nothing that has no bytes in a file, and not more levels than there can be.

    JSON can name half a character, and numbers that it cannot write again.
    """
    level = [rows]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inner += part.keys()
                inner += part.values()
            elif isinstance(part, list):
                inner += part
            elif isinstance(part, str) and not part.isascii() and _HALF.search(part):
                raise ValueError("half a character (a surrogate) is in it")
            elif isinstance(part, float) and not math.isfinite(part):
                raise ValueError(f"{part} is not a JSON number")
        if not inner:
            return
        level = inner
    raise ValueError("nested too deep")
