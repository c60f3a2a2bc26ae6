"""Reports as files, one page or a folder of pages with an index: of a crawl, or of its feeds."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import sys
import zlib
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from secrets import token_hex
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, get_args, get_origin, get_type_hints

from tplspider.items import CandidateSearch, PageTemplate
from tplspider.report.model import check_template, make_report
from tplspider.report.place import INDEX, ROWS, check_file, check_folder, names_folder
from tplspider.report.rendering import IndexRows, index_entry, page_of, render_index, render_report
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    Summary = CandidateSearch | Mapping[str, Any]
    Template = PageTemplate | Mapping[str, Any]


def write_report(path: Path, summary: Summary, template: Template | None = None) -> None:
    """Write the report of a search to a file.

    Raises ValueError, in one line, for what is not a summary of this version, and OSError.
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


# Summaries and templates, read back from the feeds that they were written to.

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


# Reports of searches that are over, made of the feeds that hold their summaries and templates.


def report_feeds(
    summaries: Sequence[Path], report: str, template: Path | None = None, search_id: str = ""
) -> str:
    """Write the reports of all searches in some files, or of one; says what was written.

    *report* is a file of HTML, for one search, or a folder. Of several summaries of one search the
    last counts. Raises ValueError, in one line, for what cannot be read, and then nothing is
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
        finally:  # also when somebody ends it: what is written is listed
            folder.write_index()
        total = folder.count()
    told = counted(number, "search").replace("searchs", "searches")
    return f"{place / INDEX} ({told}{f', {total} in the folder' if total != number else ''})"


def _check(summaries: Sequence[Path], search_id: str) -> dict[str, tuple[int, int]]:
    """Where the last summary of each search is: in which file, and in which row of it.

    All files are read once, so that nothing is written where one of them will not do.
    """
    found = {}
    for number, path in enumerate(summaries):
        for place, row in enumerate(read_summaries([path], search_id), 1):
            try:
                summary = make_report(row).summary
            except ValueError as error:
                told = (
                    wrong_kind(row, "summaries") or f"row {place} is not of this version: {error}"
                )
                raise ValueError(f"{path}: {told}") from None
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
            told = wrong_kind(row, "templates") or f"row {place} is not of this version: {error}"
            raise ValueError(f"{path}: {told}") from None
        if search in searches:
            found[search] = row
    if not found:
        raise ValueError(f"{path}: there is no template of these searches")
    return found
