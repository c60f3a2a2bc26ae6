"""The rows of an index, kept on disk beside it: however many there are, memory holds one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

from tplspider.report.field_types import check_fields
from tplspider.report.index_entry import IndexEntry, page_of
from tplspider.report.model import check_search_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TABLE = """CREATE TABLE IF NOT EXISTS rows (search_id TEXT NOT NULL, line INT NOT NULL,
    answer TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (search_id, line)) WITHOUT ROWID"""
_HINTS = get_type_hints(IndexEntry)
_LAST = 2**62  # in the place of a line, for a search that has none


class Counts(NamedTuple):
    """How many searches there are, and how they ended."""

    total: int
    complete: int
    partial: int
    others: tuple[tuple[str, int], ...] = ()  # why there is no answer, and how often


class IndexRows:
    """A row for each search and line, in a small SQLite file. A fault of it is an OSError.

    A process that is killed leaves it as it was after the last row. One thread may use it at a
    time, whichever that is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._told():
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                # What a loss of power takes can be made anew.
                self._connection.execute("PRAGMA synchronous = OFF")
                self._connection.execute(_TABLE)
            except sqlite3.Error:
                self._connection.close()
                raise

    def put(self, entry: IndexEntry, *, alone: bool = False) -> None:
        """Add a row, or replace that of the same search and line; *alone*, of all its lines."""
        line = _LAST if entry.line is None else entry.line
        values = (entry.search_id, line, entry.answer, json.dumps(asdict(entry)))
        with self._told():
            if alone and entry.search_id:
                self._connection.execute("DELETE FROM rows WHERE search_id = ?", values[:1])
            self._connection.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", values)

    def has(self, search_id: str) -> bool:
        """Whether there is a row of that search."""
        with self._told():
            found = self._connection.execute(
                "SELECT 1 FROM rows WHERE search_id = ? LIMIT 1", (search_id,)
            )
            return found.fetchone() is not None

    def clear(self) -> None:
        """Forget all rows."""
        with self._told():
            self._connection.execute("DELETE FROM rows")

    def counts(self) -> Counts:
        """How many rows there are of each kind."""
        with self._told():
            found = self._connection.execute("SELECT answer, count(*) FROM rows GROUP BY answer")
            by_answer: dict[str, int] = dict(found)
        total = sum(by_answer.values())
        complete, partial = by_answer.pop("complete", 0), by_answer.pop("partial", 0)
        others = sorted(by_answer.items(), key=lambda item: (-item[1], item[0]))
        return Counts(total, complete, partial, tuple(others))

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
            raise OSError(f"{self._path}: {error}") from error


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
