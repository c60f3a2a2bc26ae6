"""Reports as files, one page or a folder of pages with an index: of a crawl, or of its feeds."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import zlib
from contextlib import closing
from pathlib import Path
from secrets import token_hex
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, get_args, get_type_hints

from tplspider.items import CandidateSearch, PageTemplate
from tplspider.report.model import check_template, make_report
from tplspider.report.place import INDEX, ROWS, check_file, check_folder, names_folder
from tplspider.report.rendering import IndexRows, index_entry, page_of, render_index, render_report
from tplspider.search.answer import counted
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    Summary = CandidateSearch | Mapping[str, Any]
    Template = PageTemplate | Mapping[str, Any]


def write_report(path: Path, summary: Summary, template: Template | None = None) -> None:
    """Write the report of a search to a file.

    Raises ValueError for what is not a summary of this version, and OSError.
    """
    _write(path, [render_report(make_report(summary, template))])


class ReportFolder:
    """A folder with the report of each search in SEARCH_ID.html, and an index of all.

    What was added before stays. One process may have it at a time. To *mend* one is to begin a new
    index where the old one is damaged.
    """

    def __init__(self, path: Path, *, mend: bool = False) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._rows = IndexRows(path / ROWS, mend=mend)
        # It is ours alone from here on: nobody is writing to what a kill has left.
        for part in path.glob(".*.html.????????.part"):
            part.unlink(missing_ok=True)

    def __contains__(self, search_id: str) -> bool:
        return self._rows.has(search_id) and (self.path / page_of(search_id)).exists()

    def add(
        self, summary: Summary, template: Template | None = None, *, replace: bool = True
    ) -> None:
        """Write the report of a search, and remember its row of the index.

        A line that could not be searched has a row alone. A page that is there stays if it is not
        to *replace* it: it may have a template.
        """
        report = make_report(summary, template)
        entry = index_entry(report.summary)
        if entry.page and (replace or not (self.path / entry.page).exists()):
            _write(self.path / entry.page, [render_report(report)])
        self._rows.put(entry)

    def count(self) -> int:
        """How many rows there are."""
        return self._rows.counts().total

    def write_index(self) -> None:
        """Write the index of what was added so far, by line."""
        _write(self.path / INDEX, render_index(self._rows, self._rows.counts()))

    def close(self) -> None:
        """Let go of the file with the rows."""
        self._rows.close()


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Write a file beside its place, and put it there when it is whole."""
    beside = path.parent / f".{path.name[:50]}.{token_hex(4)}.part"
    try:
        with beside.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(pieces)
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


# Summaries and texts, read back from the feeds that they were written to.

_FORMATS = (".json", ".jl", ".jsonl", ".csv")


def read_summaries(paths: Iterable[Path], search_id: str = "") -> Iterator[dict[str, Any]]:
    """The summaries in some files, or those of one search, in the order they are there.

    ValueError for a file that is cut or holds something else; OSError.
    """
    for path in paths:
        yield from _read(path, CandidateSearch, search_id)


def read_templates(path: Path, search_id: str = "") -> Iterator[dict[str, Any]]:
    """The texts in a file, or that of one search."""
    yield from _read(path, PageTemplate, search_id)


def _read(path: Path, item_class: type, search_id: str) -> Iterator[dict[str, Any]]:
    name = path.name.lower()
    if not name.removesuffix(".gz").endswith(_FORMATS):
        raise ValueError(f"{path}: expected a file .json, .jl, .jsonl or .csv, or that with .gz")
    opened = gzip.open if name.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            for row in _rows(file, name.removesuffix(".gz"), item_class):
                if not isinstance(row, dict):
                    raise ValueError("a row is not an object")  # noqa: TRY004, TRY301
                if not search_id or row.get("search_id") == search_id:
                    yield row
    except (EOFError, zlib.error, gzip.BadGzipFile, csv.Error, RecursionError, ValueError) as error:
        raise ValueError(f"{path}: cut or malformed ({error})") from None


def _rows(file: TextIO, name: str, item_class: type) -> Iterable[Any]:
    if name.endswith(".json"):
        rows = _load(file.read())
        return rows if isinstance(rows, list) else [rows]
    if name.endswith(".csv"):
        return _rows_of_csv(file, item_class)
    return (_load(line) for line in file if not line.isspace())


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)  # Python would take NaN


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _rows_of_csv(file: TextIO, item_class: type) -> Iterator[dict[str, Any]]:
    """The rows of a CSV feed, each cell as what it was."""
    csv.field_size_limit(sys.maxsize)
    hints = get_type_hints(item_class)
    for row in csv.DictReader(_whole_lines(file), strict=True):
        if None in row or None in row.values():
            raise csv.Error("a row has more or fewer cells than the first line")
        yield {name: _value(text, hints[name]) for name, text in row.items() if name in hints}


def _whole_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file, each with its end, which one that is cut lacks."""
    for line in file:
        if not line.endswith(("\n", "\r")):
            raise csv.Error("its last line has no end")
        yield line


def _value(text: str, hint: Any) -> Any:
    if hint is str:
        # An apostrophe was put before what a spreadsheet would take for a formula.
        return text[1:] if text[:1] == "'" and safe_cell(text[1:]) == text else text
    if not text and NoneType in get_args(hint):
        return None
    if text in ("True", "False"):
        return text == "True"
    return _load(text)  # numbers, lists and objects


# Reports of searches that are over, made of the feeds that hold their summaries and templates.


def report_feeds(
    summaries: Sequence[Path], report: str, template: Path | None = None, search_id: str = ""
) -> str:
    """Write the reports of all searches in some files, or of one; says what was written.

    *report* is a file of HTML, for one search, or a folder. Of several summaries of one search the
    last counts. Raises ValueError for what cannot be read, and then nothing is
    written; OSError for what cannot be written.
    """
    # Where links lead: a report takes the place of what is there and does not write to it.
    place = Path(os.path.realpath(report))
    try:
        is_folder = names_folder(report, place)
        (check_folder if is_folder else check_file)(place)
    except ValueError as error:
        raise ValueError(f"{report}: {error}") from None
    last = _check(summaries, search_id)
    if not last:
        what = f"search {search_id!r}" if search_id else "search"
        raise ValueError(f"there is no {what} in {', '.join(map(str, summaries))}")
    templates = _templates(template, last) if template else {}
    rows = _last_rows(summaries, search_id, last)
    if not is_folder:
        if len(last) > 1:
            why = f"there are {len(last)} searches: choose one by --search ID, or name a folder"
            raise ValueError(f"{report}: {why}")
        row = next(rows)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_report(place, row, templates.get(row["search_id"]))
        return report
    return _write_folder(place, rows, templates, len(last))


def _write_folder(
    place: Path, rows: Iterator[dict[str, Any]], templates: dict[str, dict[str, Any]], number: int
) -> str:
    with closing(ReportFolder(place)) as folder:
        try:
            for row in rows:
                folder.add(row, templates.get(row["search_id"]))
        finally:  # also when it is ended early: what is written is listed
            folder.write_index()
        total = folder.count()
    told = counted(number, "search").replace("searchs", "searches")
    return f"{place / INDEX} ({told}{f', {total} in the folder' if total != number else ''})"


def _check(summaries: Sequence[Path], search_id: str) -> dict[str, tuple[int, int]]:
    """Where the last summary of each search is: in which file, and in which row of it.

    All files are read once, so that nothing is written if one of them is invalid.
    """
    found = {}
    for number, path in enumerate(summaries):
        for place, row in enumerate(read_summaries([path], search_id), 1):
            try:
                summary = make_report(row).summary
            except ValueError as error:
                raise ValueError(_not_of_this_version(path, place, error)) from None
            found[summary.search_id or f"row {place} of {number}"] = (number, place)
    return found


def _last_rows(
    summaries: Sequence[Path], search_id: str, last: dict[str, tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    wanted = {*last.values()}
    for number, path in enumerate(summaries):
        for place, row in enumerate(read_summaries([path], search_id), 1):
            if (number, place) in wanted:
                yield row


def _templates(path: Path, searches: Container[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for place, row in enumerate(read_templates(path), 1):
        try:
            search = check_template(row).search_id
        except ValueError as error:
            raise ValueError(_not_of_this_version(path, place, error)) from None
        if search in searches:
            found[search] = row
    if not found:
        raise ValueError(f"{path}: there is no template of these searches")
    return found


def _not_of_this_version(path: Path, place: int, error: ValueError) -> str:
    return f"{path}: row {place} is another kind of row, or of another version: {error}"
