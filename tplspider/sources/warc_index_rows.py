"""How files get into the index of an archive."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from tplspider.sources.warc_index import told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tplspider.sources.warc_index import WarcIndex

# Rows come in any order, and go into the table in its own: that is much faster.
_ADDED = """CREATE TEMP TABLE IF NOT EXISTS added (key INT, kind INT, date INT, offset INT,
    site INT, search TEXT)"""
_MERGE = """INSERT OR IGNORE INTO captures SELECT key, kind, date, ?, offset, site, search
    FROM temp.added ORDER BY key, kind, date DESC, offset DESC"""
_MOST_SITES = 100_000  # whose numbers are kept at hand

Row = tuple[int, int, int, int, int, str | None]  # of what is added; the key by stored_key()


class Added(Protocol):
    """What takes the captures of a file that is read."""

    about: tuple[object, ...]  # as in the table

    def add(self, rows: Sequence[Row]) -> None:
        """Put captures in."""

    def clear(self) -> bool:
        """Begin again; whether anything was put in."""

    def site(self, name: str) -> int:
        """The number of a site, which may be new."""


@contextmanager
def adding(index: WarcIndex, file: Path) -> Iterator[AddedFile]:
    """Put in what a file holds, in place of what was known of it: all of it, or nothing."""
    index.run(_ADDED)
    index.run("BEGIN IMMEDIATE")
    try:
        added = AddedFile(index)
        with told(index.path):
            yield added
        path = os.fsencode(os.path.relpath(file, index.folder))
        # It keeps its number: others may be reading.
        for known in index.run("SELECT number FROM files WHERE path = ?", (path,)):
            index.run("DELETE FROM captures WHERE file = ?", known)
        values = (path, *added.about)
        index.run(
            "INSERT INTO files (path, size, changed, records, faults, samples, copy, cdxj)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
            " size = excluded.size, changed = excluded.changed, records = excluded.records,"
            " faults = excluded.faults, samples = excluded.samples, copy = excluded.copy,"
            " cdxj = excluded.cdxj",
            values,
        )
        index.run(_MERGE, index.run("SELECT number FROM files WHERE path = ?", (path,))[0])
        index.run("DELETE FROM temp.added")
        index.run("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            index.connection.execute("ROLLBACK")
        raise


class AddedFile:
    """A file that is being put into an index."""

    def __init__(self, index: WarcIndex) -> None:
        self.about: tuple[object, ...] = ()  # as in the table
        self._index = index
        self._sites: dict[str, int] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Put captures in."""
        self._index.connection.executemany("INSERT INTO temp.added VALUES (?, ?, ?, ?, ?, ?)", rows)

    def clear(self) -> bool:
        """Begin again; whether anything was put in."""
        ((found,),) = self._index.run("SELECT EXISTS (SELECT 1 FROM temp.added)")
        self._index.run("DELETE FROM temp.added")
        return bool(found)

    def site(self, name: str) -> int:
        """The number of a site, which may be new."""
        number = self._sites.get(name)
        if number is None:
            number = self._index.site_number(name)
            if number is None:
                new = "INSERT INTO sites (name) VALUES (?)"
                number = self._index.connection.execute(new, (name,)).lastrowid
                assert number is not None  # a row was put in
            if len(self._sites) >= _MOST_SITES:
                self._sites.clear()
            self._sites[name] = number
        return number
