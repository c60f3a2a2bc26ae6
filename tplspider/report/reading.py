"""Summaries and templates, read back from the feeds that they were written to."""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zlib
from contextlib import contextmanager
from dataclasses import fields
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, get_args, get_origin, get_type_hints

from tplspider.items import CandidateSearch, PageTemplate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_FORMATS = (".json", ".jl", ".jsonl", ".csv")
_KINDS = (  # and a field that no other has, and what writes it
    ("summaries", "explored", "-a summary="),
    ("templates", "template_html", "-a template="),
    ("candidates", "rank", "-O"),
)
# Of so many digits that Python takes them.
_NUMBERS = {
    int: re.compile(r"-?\d{1,400}", re.ASCII),
    float: re.compile(r"-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,5})?", re.ASCII),
}
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def read_summaries(paths: Iterable[Path], search_id: str = "") -> Iterator[dict[str, Any]]:
    """The summaries in some files, or those of one search, in the order they are there.

    Raises ValueError, in one line, for a file that is cut or holds something else, and OSError.
    """
    for path in paths:
        yield from _read(path, CandidateSearch, search_id)


def read_templates(path: Path, search_id: str = "") -> Iterator[dict[str, Any]]:
    """The templates in a file, or that of one search."""
    yield from _read(path, PageTemplate, search_id)


def wrong_kind(row: Mapping[str, Any], wanted: str) -> str:
    """What rows are, by their fields, that are not the *wanted* ones; '' where they may be."""
    for kind, field, _ in _KINDS:
        if field in row:
            kind_wanted = next(advice for name, _, advice in _KINDS if name == wanted)
            told = f"these are {kind}, not {wanted}: give the file of {kind_wanted}"
            return "" if kind == wanted else told
    return ""


def _read(path: Path, item_class: type, search_id: str) -> Iterator[dict[str, Any]]:
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(_FORMATS):
        raise ValueError(f"{path}: expected a file .json, .jl, .jsonl or .csv, or that with .gz")
    with _in_one_line(path), _open(path) as file:
        if name.endswith(".csv"):
            rows: Iterable[Any] = _rows_of_csv(file, item_class)
        elif name.endswith(".json"):
            rows = _rows_of_json(file)
        else:
            rows = (_load(line) for line in file if not line.isspace())
        for row in rows:
            if not isinstance(row, dict):
                raise ValueError(f"{path}: holds something else than objects with fields")  # noqa: TRY004
            if not search_id or row.get("search_id") == search_id:
                yield row


@contextmanager
def _in_one_line(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with a file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: cut, or not compressed by gzip ({error})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: cut, or not JSON (line {error.lineno})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path}: cut, or not CSV ({error})") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply") from None


def _open(path: Path) -> TextIO:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _rows_of_json(file: TextIO) -> list[Any]:
    rows = _load(file.read())
    return rows if isinstance(rows, list) else [rows]


def _load(text: str) -> Any:
    """JSON alone: Python would take NaN, and has a limit of its own to the digits of a number."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise json.JSONDecodeError(str(error), text, 0) from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file, each with its end, which one that is cut lacks."""
    for line in file:
        if not line.endswith(("\n", "\r")):
            raise csv.Error("its last line has no end")
        yield line


def _rows_of_csv(file: TextIO, item_class: type) -> Iterator[dict[str, Any]]:
    """The rows of a CSV feed, each cell as what it was."""
    csv.field_size_limit(sys.maxsize)
    hints = get_type_hints(item_class)
    known = {field.name: hints[field.name] for field in fields(item_class)}
    for row in csv.DictReader(_whole_lines(file), strict=True):
        if None in row or None in row.values():
            raise csv.Error("a row has more or fewer cells than the first line")
        yield {name: _value(text, known[name], name) for name, text in row.items() if name in known}


def _value(text: str, hint: Any, name: str) -> Any:
    kinds = get_args(hint) if get_origin(hint) not in (list, dict) else (hint,)
    kinds = kinds or (hint,)
    if not text and NoneType in kinds:
        return None
    kind = next(kind for kind in kinds if kind is not NoneType)
    if get_origin(kind) in (list, dict):
        return _load(text)
    if kind is str:
        # What a spreadsheet would take for a formula was written with an apostrophe before it.
        return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA_STARTS) else text
    if kind is bool and text in ("True", "False"):
        return text == "True"
    if kind not in _NUMBERS:
        return text
    if not _NUMBERS[kind].fullmatch(text):
        raise csv.Error(f"{name} is not a number")
    return kind(text)
