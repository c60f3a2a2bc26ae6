"""Where packed pages are kept until they can be compared: in memory, and beyond that in a file."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tplspider.pools.pool import PooledPage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShelvedPage:
    """A page that is kept. If *row* is not None, its HTML is in the file."""

    page: PooledPage
    size: int
    row: int | None = None


class PageShelf:
    """Keeps packed pages, at most so many *megabytes* of them in memory.

    The rest is in a temporary table of SQLite, which uses again what pages leave behind, and whose
    file has no name: the system takes it away, whatever way the process ends.
    """

    def __init__(self, megabytes: float) -> None:
        self.in_memory = 0  # bytes
        self.in_file = 0  # pages that were put into the file so far
        self._most = megabytes * 1_000_000
        self._table: sqlite3.Connection | None = None  # made for the first page
        self._told = False

    def put(self, page: PooledPage) -> ShelvedPage:
        """Keep a page; in memory where the disk is full."""
        size = len(page.packed)
        if self.in_memory + size > self._most:
            try:
                row = self._write(page.packed)
            except sqlite3.Error as error:
                if not self._told:
                    self._told = True
                    logger.warning("Pages are kept in memory, not in a file: %s", error)
            else:
                self.in_file += 1
                return ShelvedPage(replace(page, packed=b""), size, row)
        self.in_memory += size
        return ShelvedPage(page, size)

    def take(self, shelved: ShelvedPage) -> PooledPage:
        """Give a page back, once. Raises sqlite3.Error where the file cannot be read."""
        if shelved.row is None:
            self.in_memory -= shelved.size
            return shelved.page
        assert self._table is not None
        row = (shelved.row,)
        (packed,) = self._table.execute("SELECT packed FROM pages WHERE id = ?", row).fetchone()
        with suppress(sqlite3.Error):  # on a full disk: it is read, and that is enough
            self._table.execute("DELETE FROM pages WHERE id = ?", row)
        return replace(shelved.page, packed=packed)

    def close(self) -> None:
        """Let go of all pages."""
        if self._table is not None:
            self._table.close()
            self._table = None

    def _write(self, packed: bytes) -> int | None:
        if self._table is None:
            # No name: a table of its own on disk, for as long as it is open.
            self._table = sqlite3.connect("", isolation_level=None)
            self._table.execute("PRAGMA journal_mode = MEMORY")
            self._table.execute("PRAGMA cache_size = -256")  # kB
            self._table.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, packed BLOB)")
        return self._table.execute("INSERT INTO pages (packed) VALUES (?)", (packed,)).lastrowid
