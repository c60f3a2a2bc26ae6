"""Reports as files: one page, or a folder of pages with an index, written as searches end."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tplspider.items import CandidateSearch, PageTemplate
from tplspider.report.model import check_template, make_report
from tplspider.report.rendering import (
    BY_POOL,
    Counts,
    IndexEntry,
    index_entry,
    render_index,
    render_report,
)
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tplspider.report.model import Summary, Template

INDEX = "index.html"
ROWS = ".index.sqlite"  # what the index is made of
_MARK = b'<meta name="generator" content="tplspider index">'
_HEAD = 2000  # bytes of an index in which its mark is
_EXPECTED = "report: expected a file that ends in .html, or a folder"
# The index of a long list takes time: it is written again after so many seconds, and after so many
# times as long as it took.
_AGE, _SHARE = 5.0, 20
_TABLE = """CREATE TABLE IF NOT EXISTS rows (search_id TEXT PRIMARY KEY, line INT NOT NULL,
    answer TEXT NOT NULL, entry TEXT NOT NULL) WITHOUT ROWID"""
_LAST = 2**62  # in place of a line, for a search that has none


def names_folder(name: str, path: Path) -> bool:
    """Whether a name is that of a folder, and not of an HTML file. Raises ValueError for neither.

    A name with the ending of another kind of file is a folder if it ends in a slash, or if *path*,
    where it leads, is one.
    """
    if name.lower().endswith((".html", ".htm")):
        return False
    ending = PurePath(name).suffix
    if not name or name.startswith("-"):
        raise ValueError(_EXPECTED)
    if ending[1:2].isalpha() and not name.endswith("/") and not path.is_dir():
        raise ValueError(f"{_EXPECTED} (if {ending} belongs to its name, end it with a slash)")
    return True


def check_place(given: str, path: Path, *, many: bool = False) -> bool:
    """Whether *path*, which the user called *given*, is a folder; *many* reports need one.

    Raises ValueError if reports cannot be written there; nothing is changed.
    """
    is_folder = names_folder(given, path)
    place = path if is_folder else path.parent
    existing: Path = next(each for each in (place, *place.parents) if each.exists())
    is_file = path.exists() and not path.is_dir()
    can_write = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    if (path.exists() and is_file == is_folder) or not can_write:
        raise ValueError(f"report: cannot write to this {'folder' if is_folder else 'file'}")
    index = path / INDEX
    if is_folder and index.exists() and _MARK not in index.read_bytes()[:_HEAD]:
        raise ValueError(f"report: there is another {INDEX} in this folder: give an empty one")
    if many and not is_folder:
        raise ValueError("report: many key pages need a folder for their reports, not a file")
    return is_folder


def write_report(path: Path, summary: Summary, template: Template | None = None) -> None:
    """Write the report of a search to a file.

    Raises ValueError for what is not a summary of this version, and OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, [render_report(make_report(summary, template))])


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Write a file beside its place, and put it there when it is whole."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(pieces)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


class ReportFolder:
    """A folder with the report of each search in SEARCH_ID.html, and an index of all.

    What was added before stays. The rows of the index are in a small SQLite file: however many
    there are, memory holds one. Its faults are OSErrors.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        with self._errors():
            # One thread uses it at a time, whichever that is.
            self._rows = sqlite3.connect(
                path / ROWS, timeout=60, isolation_level=None, check_same_thread=False
            )
            self._rows.execute("PRAGMA synchronous = OFF")  # it can be made again
            self._rows.execute(_TABLE)

    def add(self, summary: Summary, template: Template | None = None) -> None:
        """Write the report of a search, and its row of the index.

        A line that could not be searched has a row alone.
        """
        report = make_report(summary, template)
        entry = index_entry(report.summary)
        if entry.page:
            _write(self.path / entry.page, [render_report(report)])
        line = _LAST if entry.line is None else entry.line
        text = json.dumps(asdict(entry))
        values = entry.search_id or text, line, entry.answer, text
        with self._errors():
            self._rows.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", values)

    def counts(self) -> Counts:
        """How many searches there are, by their answers."""
        with self._errors():
            found = self._rows.execute("SELECT answer, count(*) FROM rows GROUP BY answer")
            by_answer: dict[str, int] = dict(found)
        total = sum(by_answer.values())
        complete, partial = by_answer.pop("complete", 0), by_answer.pop("partial", 0)
        by_pool = by_answer.pop(BY_POOL, 0)
        others = sorted(by_answer.items(), key=lambda item: (-item[1], item[0]))
        return Counts(total, complete, partial, tuple(others), by_pool)

    def write_index(self) -> None:
        """Write the index of what was added so far, by line."""
        _write(self.path / INDEX, render_index(self._entries(), self.counts()))

    def _entries(self) -> Iterator[IndexEntry]:
        with self._errors():
            for (text,) in self._rows.execute("SELECT entry FROM rows ORDER BY line, search_id"):
                yield IndexEntry(**json.loads(text))

    def close(self) -> None:
        self._rows.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(f"{self.path / ROWS}: {error}") from error


class ReportWriter:
    """Writes a report for each search of a crawl to *path*, which the user called *given*."""

    def __init__(self, given: str, path: Path) -> None:
        self._path = path
        self._is_folder = names_folder(given, path)
        self.page = path / INDEX if self._is_folder else path  # to open in a browser
        self._folder: ReportFolder | None = None
        self._turn = asyncio.Lock()
        self._next_index = 0.0

    async def write(self, summary: CandidateSearch, text: PageTemplate | None) -> None:
        """Write the report of a search, again if it is there. Raises OSError if it cannot."""
        async with self._turn:
            await asyncio.to_thread(self._write, summary, text)

    async def close(self) -> None:
        """Write the index for the last time. Raises OSError if it cannot."""
        if self._is_folder:
            async with self._turn:
                await asyncio.to_thread(self._close)

    def _write(self, summary: CandidateSearch, text: PageTemplate | None) -> None:
        if not self._is_folder:
            write_report(self._path, summary, text)
            return
        folder = self._folder = self._folder or ReportFolder(self._path)
        folder.add(summary, text)
        begun = time.monotonic()
        if begun >= self._next_index:
            folder.write_index()
            ended = time.monotonic()
            self._next_index = ended + max(_AGE, _SHARE * (ended - begun))

    def _close(self) -> None:
        with closing(self._folder or ReportFolder(self._path)) as folder:
            folder.write_index()


# Reports of finished searches, made of the feeds with their summaries and texts.


def report_feeds(summaries: Sequence[Path], report: str, template: Path | None = None) -> str:
    """Write the reports of all searches in some files; returns what was written.

    *report* is an HTML file, for one search, or a folder. Of several summaries of one search the
    last counts. Raises ValueError for what cannot be read, OSError for what cannot be written.
    """
    place = Path(report)
    is_folder = check_place(report, place)
    texts = {row["search_id"]: row for row in _checked([template], PageTemplate)}
    rows = _checked(summaries, CandidateSearch)
    if (first := next(rows, None)) is None:
        raise ValueError(f"there is no search in {', '.join(map(str, summaries))}")
    if is_folder:
        return _write_folder(place, chain([first], rows), texts)
    last = {row["search_id"]: row for row in chain([first], rows)}
    if len(last) > 1:
        raise ValueError(f"{report}: there are {len(last)} searches: name a folder")
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
        for place, row in enumerate(read_rows(path), 1):
            try:
                check_template(row) if item_class is PageTemplate else make_report(row)
            except ValueError as error:
                why = f"row {place} is another kind of row, or of another version: {error}"
                raise ValueError(f"{path}: {why}") from None
            yield row


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a feed. Raises ValueError if it is cut or malformed, and OSError."""
    is_lines = path.suffix.lower() in (".jl", ".jsonl")
    if not is_lines and path.suffix.lower() != ".json":
        raise ValueError(f"{path}: expected a file .json, .jl or .jsonl")
    try:
        with path.open(encoding="utf-8") as file:
            if is_lines:
                yield from (json.loads(line) for line in file if not line.isspace())
            else:
                rows = json.load(file)
                yield from rows if isinstance(rows, list) else [rows]
    except ValueError as error:
        raise ValueError(f"{path}: cut or malformed ({error})") from None
