"""The columns of the tables that go between Spark and Python, and items as rows of them."""

from __future__ import annotations

import json
from dataclasses import fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.web.text import storable_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_BYTES = 32 << 20  # of rows that are given out together
_PLAIN = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_NAMES = {
    pa.string(): "string",
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}

# A capture: which record of which file, and of which address. With a *fault* it stands for a file.
CAPTURE = pa.schema(
    {
        "key": pa.int64(),
        "kind": pa.int32(),
        "date": pa.int64(),
        "file": pa.int32(),
        "offset": pa.int64(),
        "length": pa.int64(),
        "site": pa.string(),
        "search": pa.string(),
        "target": pa.int64(),  # the key of where it leads, if that is known
        "target_date": pa.int64(),  # and of which date the capture there is, if it says so
        "fault": pa.string(),
    }
)
# A capture as those who read it have it; *own* is for those of the search that asks.
PLACE_NAMES = ("key", "kind", "date", "file", "offset", "length", "target", "own")
PLACE = pa.struct([*(CAPTURE.field(name) for name in PLACE_NAMES[:-1]), ("own", pa.bool_())])


def arrow_type(hint: Any) -> pa.DataType:
    """The type of a column for values of a type of Python's; a dict is told as JSON."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (other,) = (each for each in arguments if each is not NoneType)
        return arrow_type(other)
    if origin is list:
        return pa.list_(arrow_type(arguments[0]))
    if is_typeddict(hint):
        return pa.struct([(name, arrow_type(of)) for name, of in get_type_hints(hint).items()])
    assert origin is dict
    return pa.string()


def item_columns(item: type) -> pa.StructType:
    """The columns of the rows of an item: its fields, and where the page is archived."""
    hints = get_type_hints(item)
    found = [(each.name, arrow_type(hints[each.name])) for each in fields(item)]
    return pa.struct([*found, ("warc_filename", pa.string()), ("warc_record_offset", pa.int64())])


def item_row(
    item: CandidateSearch | PageTemplate | TemplateCandidate,
    filename: str | None,
    offset: int | None,
) -> dict[str, Any]:
    """An item as a row; its texts are made fit to be stored."""
    row = {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
        for name, value in storable_value(vars(item)).items()
    }
    return {**row, "warc_filename": filename, "warc_record_offset": offset}


# Records that could not be fetched: how many, and why the first could not.
UNREAD = (("unread", pa.int64()), ("unread_why", pa.string()))


def unread_row(count: int, why: str | None) -> dict[str, Any]:
    """The columns of :data:`UNREAD`."""
    return {"unread": count, "unread_why": why}


# What goes into an attempt to search from a key page, and what comes out of it.
ASKED = pa.schema(
    {
        "number": pa.int64(),
        "job": pa.string(),  # JSON: see KeyJob
        "search": pa.string(),
        "asked": pa.list_(pa.int64()),  # keys that are to be looked up
        "pool_of": pa.string(),  # a site whose first pages are, too
        "deep": pa.bool_(),  # many of them
    }
)
HOST_KEYS = pa.schema([*ASKED, *UNREAD])  # those of key pages that are taken from the archive
LOOKED_UP = pa.schema([*ASKED, ("places", pa.list_(PLACE)), ("pool", pa.list_(PLACE))])
ATTEMPT = pa.schema(
    [
        *ASKED,
        *UNREAD,
        ("done", pa.bool_()),
        ("misfits", pa.int64()),
        ("fault", pa.string()),
        ("summary", pa.list_(item_columns(CandidateSearch))),
        ("candidates", pa.list_(item_columns(TemplateCandidate))),
        ("template", pa.list_(item_columns(PageTemplate))),
    ]
)

# The pool of a site, and the pages that are stripped by it.
DRAWN = pa.schema({"site": pa.string(), "places": pa.list_(PLACE), "is_whole": pa.bool_()})
POOLED = pa.schema(
    [("site", pa.string()), ("pool", pa.list_(PLACE)), ("is_ready", pa.bool_()), *UNREAD]
)


def ddl(columns: pa.Schema) -> str:
    """The columns as Spark's SQL has them."""
    return ", ".join(f"`{each.name}` {_sql_type(each.type)}" for each in columns)


def batches_of(
    rows: Iterable[dict[str, Any]], columns: pa.Schema, most: int, most_bytes: int = _MOST_BYTES
) -> Iterator[pa.RecordBatch]:
    """The rows, some at a time: so many, or fewer where they are large."""
    waiting: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += _size(row)
        if len(waiting) >= most or size >= most_bytes:
            yield pa.RecordBatch.from_pylist(waiting, schema=columns)
            waiting, size = [], 0
    if waiting:
        yield pa.RecordBatch.from_pylist(waiting, schema=columns)


def _size(value: Any) -> int:
    """How many bytes a value has, more or less: texts are what makes a row large."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, list):
        return sum(map(_size, value))
    return 8


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        inside = ",".join(f"`{each.name}`:{_sql_type(each.type)}" for each in kind)
        return f"struct<{inside}>"
    return _NAMES[kind]
