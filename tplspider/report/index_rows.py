"""The rows of an index, kept on disk beside it: however many there are, memory holds one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import asdict, fields
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

from tplspider.report.field_types import check_fields
from tplspider.report.index_entry import BY_POOL, IndexEntry, page_of
from tplspider.report.model import check_search_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TABLE = """CREATE TABLE IF NOT EXISTS rows (search_id TEXT PRIMARY KEY, line INT NOT NULL,
    answer TEXT NOT NULL, entry TEXT NOT NULL) WITHOUT ROWID"""
_HINTS = get_type_hints(IndexEntry)
_LAST = 2**62  # in the place of a line, for a search that has none


class Counts(NamedTuple):
    """How many searches there are, and how they ended."""

    total: int
    complete: int
    partial: int
    others: tuple[tuple[str, int], ...] = ()  # why there is no answer, and how often
    by_pool: int = 0  # pages that were compared with saved ones, without a search


class IndexRows:
    """A row for each search, in a small SQLite file. A fault of it is an OSError.

    A process that is killed leaves it as it was after the last row. One thread may use it at a
    time, whichever that is.
    """

    def __init__(self, path: Path, *, mend: bool = False) -> None:
        self._path = path
        if path.is_symlink():  # SQLite would follow it
            raise OSError(f"{path}: it is a symbolic link")
        with self._told():
            try:
                self._connection = _open(path)
            except sqlite3.DatabaseError as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if not mend or code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                    raise
                path.unlink()
                self._connection = _open(path)

    def put(self, entry: IndexEntry) -> None:
        """Add a row, or replace that of the same search, or of a line that is the same in all."""
        line = _LAST if entry.line is None else entry.line
        text = json.dumps(asdict(entry))
        key = entry.search_id or sha256(text.encode()).hexdigest()
        with self._told():
            self._connection.execute(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", (key, line, entry.answer, text)
            )

    def has(self, search_id: str) -> bool:
        """Whether there is a row of that search."""
        with self._told():
            found = self._connection.execute(
                "SELECT 1 FROM rows WHERE search_id = ? LIMIT 1", (search_id,)
            )
            return found.fetchone() is not None

    def counts(self) -> Counts:
        """How many rows there are of each kind."""
        with self._told():
            found = self._connection.execute("SELECT answer, count(*) FROM rows GROUP BY answer")
            by_answer: dict[str, int] = dict(found)
        total = sum(by_answer.values())
        complete, partial = by_answer.pop("complete", 0), by_answer.pop("partial", 0)
        by_pool = by_answer.pop(BY_POOL, 0)
        others = sorted(by_answer.items(), key=lambda item: (-item[1], item[0]))
        return Counts(total, complete, partial, tuple(others), by_pool)

    def __iter__(self) -> Iterator[IndexEntry]:
        """All rows, by line."""
        with self._told():
            found = self._connection.execute("SELECT entry FROM rows ORDER BY line, search_id")
            for (text,) in found:
                if entry := _entry(text):
                    yield entry

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            why = "another crawl or report is writing to this folder" if busy else error
            raise OSError(f"{self._path}: {why}") from error


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
    try:
        # What a loss of power takes can be made anew.
        connection.execute("PRAGMA synchronous = OFF")
        # The lock is taken now, and kept: rows of two at once would be lost.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute(_TABLE)
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _entry(text: str) -> IndexEntry | None:
    """A row as it was put down; None for one that somebody has changed."""
    try:
        values = json.loads(text)
        check_fields(values, _HINTS, "a row")
        entry = IndexEntry(**{field.name: values[field.name] for field in fields(IndexEntry)})
        if entry.search_id:
            check_search_id(entry.search_id)
    except (ValueError, RecursionError):
        return None
    return entry if entry.page == page_of(entry.search_id) else None
