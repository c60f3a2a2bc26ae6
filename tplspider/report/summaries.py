"""Reports of searches that are over, made of the feeds that hold their summaries and texts."""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from contextlib import closing
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TextIO, get_args, get_type_hints

from tplspider.items import CandidateSearch, PageTemplate
from tplspider.report.model import check_template, make_report
from tplspider.report.writer import INDEX, ReportFolder, check_place, write_report
from tplspider.search.answer import counted
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FORMATS = (".json", ".jl", ".jsonl", ".csv")


def report_feeds(
    summaries: Sequence[Path], report: str, template: Path | None = None, search_id: str = ""
) -> str:
    """Write the reports of all searches in some files, or of one; returns what was written.

    *report* is an HTML file, for one search, or a folder. Of several summaries of one search the
    last counts. Raises ValueError for what cannot be read, OSError for what cannot be written.
    """
    place = Path(report)
    try:
        is_folder = check_place(report, place)
    except ValueError as error:
        raise ValueError(f"{report}: {error}") from None
    texts = {row["search_id"]: row for row in _checked([template], PageTemplate)}
    rows = (
        row
        for row in _checked(summaries, CandidateSearch)
        if not search_id or row["search_id"] == search_id
    )
    first = next(rows, None)
    if first is None:
        what = f"search {search_id!r}" if search_id else "search"
        raise ValueError(f"there is no {what} in {', '.join(map(str, summaries))}")
    if is_folder:
        return _write_folder(place, chain([first], rows), texts)
    last = {row["search_id"]: row for row in chain([first], rows)}
    if len(last) > 1:
        why = f"there are {len(last)} searches: choose one by --search ID, or name a folder"
        raise ValueError(f"{report}: {why}")
    write_report(place, last[first["search_id"]], texts.get(first["search_id"]))
    return report


def _write_folder(
    place: Path, rows: Iterable[dict[str, Any]], texts: dict[str, dict[str, Any]]
) -> str:
    names: set[object] = set()
    with closing(ReportFolder(place)) as folder:
        try:
            for row in rows:
                folder.add(row, texts.get(row["search_id"]))
                names.add(row["search_id"] or len(names))
        finally:  # also when it is ended early: what is written is listed
            folder.write_index()
        total = folder.counts().total
    told = counted(len(names), "search").replace("searchs", "searches")
    return f"{place / INDEX} ({told}{f', {total} in the folder' if total != len(names) else ''})"


def _checked(paths: Sequence[Path | None], item_class: type) -> Iterator[dict[str, Any]]:
    """The rows of some files, in order."""
    for path in filter(None, paths):
        for place, row in enumerate(read_rows(path, item_class), 1):
            try:
                check_template(row) if item_class is PageTemplate else make_report(row)
            except ValueError as error:
                why = f"row {place} is another kind of row, or of another version: {error}"
                raise ValueError(f"{path}: {why}") from None
            yield row


def read_rows(path: Path, item_class: type) -> Iterator[dict[str, Any]]:
    """The rows of a feed. Raises ValueError if it is cut or malformed, and OSError."""
    name = path.name.lower()
    if not name.removesuffix(".gz").endswith(_FORMATS):
        raise ValueError(f"{path}: expected a file .json, .jl, .jsonl or .csv, or that with .gz")
    opened = gzip.open if name.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from _rows(file, name.removesuffix(".gz"), item_class)
    except (EOFError, zlib.error, gzip.BadGzipFile, csv.Error, ValueError) as error:
        raise ValueError(f"{path}: cut or malformed ({error})") from None


def _rows(file: TextIO, name: str, item_class: type) -> Iterable[Any]:
    if name.endswith(".json"):
        rows = json.load(file)
        return rows if isinstance(rows, list) else [rows]
    if name.endswith(".csv"):
        return _rows_of_csv(file, item_class)
    return (json.loads(line) for line in file if not line.isspace())


def _rows_of_csv(file: TextIO, item_class: type) -> Iterator[dict[str, Any]]:
    """The rows of a CSV feed, each cell as what it was."""
    csv.field_size_limit(sys.maxsize)
    hints = get_type_hints(item_class)
    for row in csv.DictReader(file, strict=True):
        if None in row or None in row.values():
            raise csv.Error("a row has more or fewer cells than the first line")
        yield {name: _value(text, hints[name]) for name, text in row.items() if name in hints}


def _value(text: str, hint: Any) -> Any:
    if hint is str:
        # An apostrophe was put before what a spreadsheet would take for a formula.
        return text[1:] if text[:1] == "'" and safe_cell(text[1:]) == text else text
    if not text and NoneType in get_args(hint):
        return None
    if text in ("True", "False"):
        return text == "True"
    return json.loads(text)  # numbers, lists and objects
