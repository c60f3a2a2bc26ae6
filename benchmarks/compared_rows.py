"""What differs between the outputs of two commands: rows by their keys and columns, else lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from difflib import unified_diff
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from lxml import etree

from benchmarks.feed_fields import without_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    Written = dict[str, bytes]
    Row = dict[str, Any]

SHOWN = 12  # lines of a difference
WIDTH = 90  # of a value, or of a line
# What tells rows apart, as far as both sides have it: of summaries, templates, candidates, pages
# that were stripped, and records. A search has no other name that stays: its id is a hash.
KEYS = ("line", "requested_url", "type", "search", "url", "path")


def differences(
    old: Written, new: Written, ignored: Collection[str], *, ordered: bool = True
) -> Iterator[str]:
    """What differs, each with its first rows or lines; *ignored* are columns, stats and outputs.

    Where outputs are not *ordered*, neither the order of rows counts nor that of lines.
    """
    for name in sorted({*old, *new}):
        if name.rpartition(".")[2] in ignored:
            continue
        if name not in old or name not in new:
            yield f"{name}: only of the {'old' if name in old else 'new'} one"
            continue
        one, other = (without_fields(name, side[name], ignored) for side in (old, new))
        if not ordered:
            one, other = (b"\n".join(sorted(side.splitlines())) for side in (one, other))
        if one == other:
            continue
        sides = [rows_of(name, side[name]) for side in (old, new)]
        if sides[0] is None or sides[1] is None:
            found = _lines(one, other)
        else:
            rows = row_differences(sides[0], sides[1], ignored)
            found = [*rows] or ["the same rows, written otherwise:", *_lines(one, other)]
        more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        yield "\n    ".join([f"{name}:", *found[:SHOWN], *more])


def row_differences(old: list[Row], new: list[Row], ignored: Collection[str]) -> Iterator[str]:
    """The rows that differ, by their keys, and in which columns.

    >>> old = [{"url": "/a", "n": 1, "t": "x"}, {"url": "/b", "n": 2, "t": "y"}]
    >>> new = [{"url": "/b", "n": 3, "t": "z"}, {"url": "/c", "n": 1, "t": "x"}]
    >>> for line in row_differences(old, new, ["t"]):
    ...     print(line)
    /a: only of the old one
    /b: n: 2 → 3
    /c: only of the new one
    """
    columns = [name for name in KEYS if name not in ignored]
    keys = [name for name in columns if all(name in row for row in (*old, *new))]
    if "requested_url" not in keys and "key_url" not in ignored:
        keys = ["key_url", *keys]
    sides = _grouped(old, keys, ignored), _grouped(new, keys, ignored)
    for key in {**sides[0], **sides[1]}:
        ours, theirs = ([*side.get(key, ())] for side in sides)
        for row in [*ours]:  # the same search twice, say: what is equal is not looked at
            if row in theirs:
                ours.remove(row)
                theirs.remove(row)
        title = ", ".join(clip(part) for part in key if part) or "a row"
        for one, other in zip_longest(ours, theirs):
            if one is None or other is None:
                yield f"{title}: only of the {'new' if one is None else 'old'} one"
                continue
            for name in {**one, **other}:
                if one.get(name, _NONE) != other.get(name, _NONE):
                    before, after = clipped(one.get(name, _NONE), other.get(name, _NONE))
                    yield f"{title}: {name}: {before} → {after}"


def with_columns_renamed(written: Written, renames: Mapping[str, str]) -> Written:
    r"""Feeds in which the columns have the names that another checkout gives them (row:OLD=NEW).

    >>> with_columns_renamed({"a.csv": b"x,y\n1,x\n"}, {"row:x": "z"})
    {'a.csv': b'z,y\n1,x\n'}
    """
    found = dict(written)
    for old, new in renames.items():
        if not old.startswith("row:"):
            continue
        before, after = old.removeprefix("row:").encode(), new.encode()
        for name, data in found.items():
            if name.endswith(".csv"):
                head, line, rest = data.partition(b"\n")
                found[name] = re.sub(rb"\b%s\b" % before, after, head) + line + rest
            else:
                renamed = data.replace(b'"%s": ' % before, b'"%s": ' % after)
                found[name] = re.sub(rb"(</?)%s>" % before, rb"\1%s>" % after, renamed)
    return found


class _Nothing:
    """In place of the value of a column that is not there."""

    def __repr__(self) -> str:
        return "(none)"


_NONE = _Nothing()


def clip(text: str, start: int = 0) -> str:
    """As much of a text as there is room for."""
    shown = text[start : start + WIDTH]
    return f"{'…' if start else ''}{shown}{'…' if len(text) > start + WIDTH else ''}"


def clipped(old: object, new: object) -> tuple[str, str]:
    """Two values as they are shown: from shortly before the place where they begin to differ.

    >>> print(*clipped("a" * 200 + "b", "a" * 200 + "c"))
    …aaaaaaaaaaaaaaaaaaab' …aaaaaaaaaaaaaaaaaaac'
    """
    one, other = repr(old), repr(new)
    if max(len(one), len(other)) <= WIDTH:
        return one, other
    same = next((i for i, pair in enumerate(zip_longest(one, other)) if len({*pair}) > 1), 0)
    start = max(0, same - 19)
    return tuple(clip(text, start) for text in (one, other))  # type: ignore[return-value]


def _grouped(
    rows: list[Row], keys: list[str], ignored: Collection[str]
) -> dict[tuple[str, ...], list[Row]]:
    found = defaultdict(list)
    for row in rows:
        kept = {name: value for name, value in row.items() if name not in ignored}
        found[tuple(str(row.get(name, "")) for name in keys)].append(kept)
    return dict(found)


def rows_of(name: str, content: bytes) -> list[Row] | None:
    """The rows of a feed whose name tells its format; None for what has none.

    >>> rows_of("x.xml", b"<items><item><a>1</a><b><value>2</value></b></item></items>")
    [{'a': '1', 'b': ['2']}]
    """
    kind = name.rpartition(".")[2]
    try:
        text = content.decode("utf-8")
        rows: Any = None
        if kind == "json":
            rows = json.loads(text)
        elif kind == "jl":
            rows = [json.loads(line) for line in text.split("\n") if line]
        elif kind == "csv":
            rows = [*csv.DictReader(io.StringIO(text, newline=""), restkey="(more)")]
        elif kind == "xml":
            rows = [{each.tag: _value(each) for each in item} for item in etree.fromstring(content)]
    except (ValueError, csv.Error, etree.LxmlError):
        return None
    is_table = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if is_table else None


def _value(element: Any) -> Any:
    return [_value(child) for child in element] if len(element) else element.text or ""


def _lines(old: bytes, new: bytes) -> list[str]:
    found = unified_diff(_parts(old), _parts(new), n=0, lineterm="")
    return [*islice(found, 2, None)] or ["white space"]


def _parts(content: bytes) -> list[str]:
    """Lines that are short enough to show what differs."""
    text = content.decode("utf-8", "backslashreplace")
    lines = re.sub(r"(?<=,) |(?<=>)(?=<)", "\n", text).splitlines()
    return [line[:200] for line in lines]
