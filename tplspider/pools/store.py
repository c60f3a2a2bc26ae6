"""Where pools are: those of sites met lately in memory, others in a temporary file, kept ones in a
folder. Both files are databases of SQLite with the same tables.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from tempfile import mkstemp
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tplspider.pools.pool import POOL, Pool, PooledPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

MEGABYTES = 10  # of pools in memory: those of a few dozen sites
KEPT = "pools.sqlite"
_WAIT = 10  # seconds for another process to finish a transaction
_SITE, _PAGE = 1700, 700  # bytes that a site, and a page in its pool, take beside packed HTML
_PERSISTENT = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
_TEMPORARY = """
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -256;
CREATE TABLE sites (site BLOB PRIMARY KEY, seen INTEGER NOT NULL, changed INTEGER NOT NULL);
"""
_PAGES = """
CREATE TABLE IF NOT EXISTS pages (site BLOB NOT NULL, place BLOB NOT NULL,
    url BLOB NOT NULL, identity BLOB NOT NULL, digest BLOB NOT NULL, packed BLOB NOT NULL,
    taken REAL NOT NULL, size INTEGER NOT NULL, words BLOB, signs BLOB,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
"""


class PoolFile:
    """Pools in a file of SQLite's, which threads may share; without a path, in a temporary one.

    All methods raise sqlite3.Error, and the constructor OSError, too.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock = RLock()
        name = str(path)
        if path is None:
            # SQLite's own temporary files are written when its cache is full: on a full disk, what
            # was taken already could not be read any more.
            descriptor, name = mkstemp(prefix="tplspider-")
            os.close(descriptor)
        self._connection = sqlite3.connect(
            name, timeout=_WAIT, isolation_level=None, check_same_thread=False
        )
        weakref.finalize(self, self._connection.close)
        self._connection.executescript((_PERSISTENT if path else _TEMPORARY) + _PAGES)
        if path is None:
            Path(name).unlink()  # it goes with the process

    def run(self, statement: str, *values: object) -> list[Any]:
        """Run a statement; its rows."""
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction: everything inside takes effect, or nothing; other processes wait."""
        with self._lock:
            self.run("BEGIN IMMEDIATE")
            with self._connection:  # commits, or rolls back
                yield

    def read(self, site: str) -> Iterator[PooledPage]:
        """The pages of a site, by their sample keys."""
        rows = self.run(
            "SELECT url, identity, place, digest, packed, taken, size, words, signs FROM pages"
            " WHERE site = ? ORDER BY place",
            _bytes(site),
        )
        for url, identity, place, digest, packed, taken, size, words, signs in rows:
            key = int.from_bytes(place)
            page = PooledPage(_text(url), _text(identity), key, digest, packed, taken, size)
            page.words, page.packed_signs = words, signs
            yield page

    def write(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Replace the pages of a site."""
        name = _bytes(site)
        self.run("DELETE FROM pages WHERE site = ?", name)
        for page in pages:
            names = name, page.place.to_bytes(8), _bytes(page.url), _bytes(page.identity)
            content = page.digest, page.packed, page.taken, page.size
            values = *names, *content, page.words, page.packed_signs
            self.run("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # addresses may have lone surrogates, too


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


@runtime_checkable
class PoolStore(Protocol):
    """Where pools are kept from one crawl to the next."""

    def load(self, site: str) -> Iterable[PooledPage]:
        """The pages of a pool; none if there is no valid one."""

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages."""


class PoolFolder:
    """Keeps pools in a folder, which is made if it is missing; at most *pool* pages of each site.

    They are in one file, ``pools.sqlite``. Threads and processes may share it: a pool that is saved
    is merged with what is there; afterwards the file has the pool of all pages of both, and of an
    address with several contents that which was taken last, by the clock. A pool that was loaded
    before does not see what others save.

    A file that cannot be read or written is logged once, and *faults* counts the pools that could
    not be saved. Nothing is raised but ValueError by the constructor.
    """

    def __init__(self, directory: str | os.PathLike[str], *, pool: int = POOL) -> None:
        self.directory = Path(directory)
        self.faults = 0
        self._most = pool
        self._file: PoolFile | None = None
        self._has_failed = False
        if pool < 1:
            raise ValueError(f"pool={pool!r}: expected a whole number, 1 or more")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # the latter of a name with a NUL
            reason = getattr(error, "strerror", None) or error
            raise ValueError(f"{str(directory)!r} cannot be a folder for pools: {reason}") from None

    def load(self, site: str) -> list[PooledPage]:
        """The pages of the pool of a site; none if there is no valid one."""
        try:
            if self._file or (self.directory / KEPT).exists():
                return [*self._opened().read(site)]
        except sqlite3.Error as error:
            self._fail("read", error)
        return []

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages, together with those that are there."""
        given = list(pages)
        try:
            file = self._opened()
            with file.transaction():
                merged = sorted((*file.read(site), *given), key=attrgetter("taken"))
                file.write(site, Pool(merged, most=max(self._most, len(given))))
        except sqlite3.Error as error:
            self.faults += 1
            self._fail("written", error)

    def _opened(self) -> PoolFile:
        self._file = self._file or PoolFile(self.directory / KEPT)
        return self._file

    def _fail(self, what: str, error: sqlite3.Error) -> None:
        level = logging.DEBUG if self._has_failed else logging.WARNING
        self._has_failed = True
        logger.log(level, "The pools in %s cannot be %s: %s", self.directory, what, error)


@dataclass(slots=True)
class SitePool:
    """The pool of a site, with counts."""

    pool: Pool
    seen: int = 0  # pages of the site
    changed: bool = False  # since it was loaded or saved
    size: int = 0  # bytes in memory, when it was last looked at


class PoolCache:
    """The pools of all sites, of *most* pages each.

    They take *megabytes* of memory. Those of sites that were not met lately are in a temporary
    file, and come back when they are. If that cannot be written, they stay in memory.
    """

    def __init__(self, *, most: int, megabytes: float, store: PoolStore | None) -> None:
        self.most = most
        self._most_bytes = megabytes * 1_000_000
        self._bytes = 0
        self._store = store
        self._sites: OrderedDict[str, SitePool] = OrderedDict()  # the last used comes last
        self._file: PoolFile | None = None

    def __len__(self) -> int:
        """How many are in memory."""
        return len(self._sites)

    def add(self, site: str, page: PooledPage) -> SitePool:
        """Add a page of a site; returns its pool."""
        known = self._known(site)
        if known is None:
            known = SitePool(Pool(self._store.load(site) if self._store else (), most=self.most))
        self._sites[site] = known
        self._sites.move_to_end(site)
        known.seen += 1
        known.changed |= known.pool.add(page)
        before, known.size = known.size, _SITE + _PAGE * len(known.pool) + known.pool.size
        self._bytes += known.size - before
        while self._bytes > self._most_bytes and len(self._sites) > 1:
            self._put_first()
        return known

    def pages(self, site: str) -> tuple[PooledPage, ...]:
        """The pages of the pool of a site, which stays where it is."""
        known = self._known(site)
        return known.pool.pages if known else ()

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        if not self._store:
            return
        for site, known in self._sites.items():
            if known.changed:
                self._store.save(site, known.pool.pages)
                known.changed = False
        if self._file:
            for (name,) in self._file.run("SELECT site FROM sites WHERE changed"):
                if _text(name) not in self._sites:  # what is in the file is older
                    self._store.save(_text(name), self.pages(_text(name)))
            self._file.run("UPDATE sites SET changed = 0")

    def _known(self, site: str) -> SitePool | None:
        if self._file is None or site in self._sites:
            return self._sites.get(site)
        found = self._file.run("SELECT seen, changed FROM sites WHERE site = ?", _bytes(site))
        return SitePool(Pool(self._file.read(site), self.most), *found[0]) if found else None

    def _put_first(self) -> None:
        """Move the pool of the least recently used site to the file."""
        site, known = next(iter(self._sites.items()))
        try:
            self._file = self._file or PoolFile()
            with self._file.transaction():
                values = _bytes(site), known.seen, known.changed
                self._file.run("INSERT OR REPLACE INTO sites VALUES (?, ?, ?)", *values)
                self._file.write(site, known.pool)
        except (sqlite3.Error, OSError) as error:
            logger.warning("Pools stay in memory, the temporary file cannot be used: %s", error)
            self._most_bytes = math.inf
        else:
            self._bytes -= self._sites.pop(site).size
