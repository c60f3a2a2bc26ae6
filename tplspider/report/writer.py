"""Reports as files: one page, or a folder of pages with an index, written as searches end."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tplspider.report.model import make_report
from tplspider.report.rendering import (
    BY_POOL,
    Counts,
    IndexEntry,
    index_entry,
    render_index,
    render_report,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.items import CandidateSearch, PageTemplate
    from tplspider.report.model import Summary, Template

INDEX = "index.html"
ROWS = ".index.sqlite"  # what the index is made of
_MARK = b'<meta name="generator" content="tplspider index">'
_HEAD = 2000  # bytes of an index in which its mark is
_EXPECTED = "expected a file that ends in .html, or a folder"
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


def check_place(given: str, path: Path) -> bool:
    """Whether *path*, which the user called *given*, is a folder.

    Raises ValueError if reports cannot be written there.
    """
    is_folder = names_folder(given, path)
    place = path if is_folder else path.parent
    existing: Path = next(each for each in (place, *place.parents) if each.exists())
    is_file = path.exists() and not path.is_dir()
    can_write = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    if (path.exists() and is_file == is_folder) or not can_write:
        raise ValueError(f"cannot write to this {'folder' if is_folder else 'file'}")
    index = path / INDEX
    if is_folder and index.exists() and _MARK not in index.read_bytes()[:_HEAD]:
        raise ValueError(f"there is another {INDEX} in this folder: give an empty one")
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
        self._folder: ReportFolder | None = None
        self._turn = asyncio.Lock()
        self._next_index = 0.0

    @property
    def page(self) -> Path:
        """The file to open in a browser."""
        return self._path / INDEX if self._is_folder else self._path

    @staticmethod
    def check(given: str, path: Path, *, many: bool) -> None:
        """Raise ValueError if reports cannot be written there; nothing is changed."""
        if not check_place(given, path) and many:
            raise ValueError("many key pages need a folder for their reports, not a file")

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
        self._open().add(summary, text)
        begun = time.monotonic()
        if begun >= self._next_index:
            self._open().write_index()
            ended = time.monotonic()
            self._next_index = ended + max(_AGE, _SHARE * (ended - begun))

    def _close(self) -> None:
        folder = self._open()
        try:
            folder.write_index()
        finally:
            folder.close()

    def _open(self) -> ReportFolder:
        if self._folder is None:
            self._folder = ReportFolder(self._path)
        return self._folder
