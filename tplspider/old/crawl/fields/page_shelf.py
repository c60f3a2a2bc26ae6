"""Where packed pages are kept until they can be compared: in memory, and beyond that in a file."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.pools.store import SideFile, SideFileError

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

    The rest is in a temporary file.
    """

    def __init__(self, megabytes: float) -> None:
        self.in_memory = 0  # bytes
        self.in_file = 0  # pages that were put into the file so far
        self._most = megabytes * 1_000_000
        self._file = SideFile("CREATE TABLE pages (id INTEGER PRIMARY KEY, packed BLOB)")
        self._told = False

    def put(self, page: PooledPage) -> ShelvedPage:
        """Keep a page; in memory where the disk is full."""
        size = len(page.packed)
        if self.in_memory + size > self._most:
            try:
                ((row,),) = self._file.run(
                    "INSERT INTO pages (packed) VALUES (?) RETURNING id", page.packed
                )
            except SideFileError as error:
                if not self._told:
                    self._told = True
                    logger.warning("Pages are kept in memory, not in a file: %s", error)
            else:
                self.in_file += 1
                return ShelvedPage(page.with_packed(b""), size, row)
        self.in_memory += size
        return ShelvedPage(page, size)

    def take(self, shelved: ShelvedPage) -> PooledPage:
        """Give a page back, once. Raises SideFileError where the file cannot be read."""
        if shelved.row is None:
            self.in_memory -= shelved.size
            return shelved.page
        ((packed,),) = self._file.run("SELECT packed FROM pages WHERE id = ?", shelved.row)
        with suppress(SideFileError):  # on a full disk: it is read, and that is enough
            self._file.run("DELETE FROM pages WHERE id = ?", shelved.row)
        return shelved.page.with_packed(packed)

    def close(self) -> None:
        """Let go of all pages."""
        self._file.close()
