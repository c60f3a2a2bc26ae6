"""Where pools are: those in use in memory, others in a temporary file, and kept ones in a folder.

Both files are databases of SQLite with the same tables.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from tempfile import mkstemp
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tplspider.pools.pool import LARGEST, POOL, Pool, PooledPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

MEGABYTES = 10  # of pools in memory: those of a few dozen sites ...
WITHOUT_FILE = 8  # ... times as much, where there cannot be a file for the others
FILE_MEGABYTES = 1000  # the pools of some thousand sites
KEPT = "pools.sqlite"
_WAIT = 10  # seconds for another process to finish a transaction
_SITE, _PAGE = 1700, 700  # bytes that a site, and a page in its pool, take beside packed HTML
_TEMPORARY = (
    "PRAGMA journal_mode = MEMORY",
    "PRAGMA synchronous = OFF",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA cache_size = -256",  # kB
)
_PERSISTENT = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL")
_PAGES = """CREATE TABLE IF NOT EXISTS pages (site BLOB NOT NULL, place BLOB NOT NULL,
    url BLOB NOT NULL, identity BLOB NOT NULL, digest BLOB NOT NULL, packed BLOB NOT NULL,
    taken REAL NOT NULL, size INTEGER NOT NULL, words BLOB, signs BLOB,
    PRIMARY KEY (site, place)) WITHOUT ROWID"""
_SITES = (
    """CREATE TABLE sites (site BLOB PRIMARY KEY, met INTEGER NOT NULL, seen INTEGER NOT NULL,
    changed INTEGER NOT NULL)""",
    "CREATE INDEX by_met ON sites (met)",
)


class SideFileError(Exception):
    """The disk is full, the file is damaged, or worse; the message is one line."""


class SideFile:
    """Tables of SQLite in a file, which is made when it is needed first.

    Without a *path* it is a temporary file without a name, which goes with the process. A process
    that is forked off begins with an empty one of its own. Threads may share it.
    """

    def __init__(self, *tables: str, path: Path | None = None) -> None:
        self._tables = tables
        self._path = path
        self._lock = RLock()
        self._opened: tuple[int, sqlite3.Connection] | None = None  # by which process

    @property
    def is_open(self) -> bool:
        """Whether there is a file, of this process."""
        return self._opened is not None and self._opened[0] == os.getpid()

    def run(self, statement: str, *values: object) -> list[Any]:
        """Run a statement; its rows. Raises SideFileError, and then nothing was changed."""
        with self._lock, _faults():
            return self._connection().execute(statement, values).fetchall()

    def many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement with each of the rows."""
        with self._lock, _faults():
            self._connection().executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is run inside takes effect, or nothing; other processes wait."""
        with self._lock:
            self.run("BEGIN IMMEDIATE")
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                with suppress(SideFileError):
                    self.run("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file; a temporary one is gone."""
        with self._lock:
            if self._opened is not None and self.is_open:
                self._opened[1].close()
            self._opened = None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None or not self.is_open:
            settings = _PERSISTENT if self._path else _TEMPORARY
            self._opened = os.getpid(), _open(self._path, (*settings, *self._tables))
        return self._opened[1]


def _open(path: Path | None, statements: tuple[str, ...]) -> sqlite3.Connection:
    # SQLite's own temporary files are written when its cache is full, not when something is
    # changed: on a full disk, what was taken already could not be read any more.
    name, is_temporary = str(path), path is None
    if path is None:
        descriptor, name = mkstemp(prefix="tplspider-")
        os.close(descriptor)
        if os.name == "nt":  # where a file that is in use keeps its name
            Path(name).unlink()
            name = ""
    try:
        made = sqlite3.connect(name, _WAIT, isolation_level=None, check_same_thread=False)
        try:
            for statement in statements:
                made.execute(statement)
        except sqlite3.Error:
            made.close()
            raise
        return made
    finally:
        if is_temporary:
            with suppress(OSError):
                Path(name).unlink()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise SideFileError(" ".join(str(error).split())) from error


def _read(file: SideFile, site: str) -> Iterator[PooledPage]:
    """The pages of a site, by their sample keys."""
    rows = file.run(
        "SELECT url, identity, place, digest, packed, taken, size, words, signs FROM pages"
        " WHERE site = ? ORDER BY place",
        _bytes(site),
    )
    for url, identity, place, digest, packed, taken, size, words, signs in rows:
        key = int.from_bytes(place)
        page = PooledPage(_text(url), _text(identity), key, digest, packed, taken, size)
        page.words, page.packed_signs = words, signs
        yield page


def _write(file: SideFile, site: str, pages: Iterable[PooledPage]) -> None:
    """Have these pages of a site and no others; what is there already is not written again."""
    name = _bytes(site)
    query = "SELECT place, digest, taken, words IS NULL, signs IS NULL FROM pages WHERE site = ?"
    known = {*file.run(query, name)}
    wanted = {}
    for page in pages:
        missing = page.words is None, page.packed_signs is None
        wanted[page.place.to_bytes(8), page.digest, page.taken, *missing] = page
    gone = [(name, place) for place, *_ in known - wanted.keys()]
    file.many("DELETE FROM pages WHERE site = ? AND place = ?", gone)
    rows = []
    for row, page in wanted.items():
        if row not in known:
            names = name, row[0], _bytes(page.url), _bytes(page.identity)
            content = page.digest, page.packed, page.taken, page.size
            rows.append((*names, *content, page.words, page.packed_signs))
    file.many("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # addresses may have lone surrogates, too


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


@runtime_checkable
class PoolStore(Protocol):
    """Where pools are kept from one crawl to the next."""

    def load(self, site: str) -> Iterable[PooledPage]:
        """The pages of a pool; none where there is none that can be used."""

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
        self._file = SideFile(_PAGES, path=self.directory / KEPT)
        self._has_failed = False
        if pool < 1:
            raise ValueError(f"pool={pool!r}: expected a whole number, 1 or more")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # the latter of a name with a NUL
            reason = getattr(error, "strerror", None) or error
            raise ValueError(f"{str(directory)!r} cannot be a folder for pools: {reason}") from None

    def load(self, site: str) -> list[PooledPage]:
        """The pages of the pool of a site; none where there is none that can be used."""
        try:
            return self._load(site) if (self.directory / KEPT).exists() else []
        except SideFileError as error:
            self._fail("read", error)
            return []

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages, together with those that are there."""
        given = list(pages)
        try:
            with self._file.transaction():
                merged = sorted((*self._load(site), *given), key=attrgetter("taken"))
                _write(self._file, site, Pool(merged, most=max(self._most, len(given))))
        except SideFileError as error:
            self.faults += 1
            self._fail("written", error)

    def _load(self, site: str) -> list[PooledPage]:
        return [*filter(_is_whole, _read(self._file, site))]

    def _fail(self, what: str, error: SideFileError) -> None:
        level = logging.DEBUG if self._has_failed else logging.WARNING
        self._has_failed = True
        logger.log(level, "The pools in %s cannot be %s: %s", self.directory, what, error)


def _is_whole(page: PooledPage) -> bool:
    """Whether a page is what its digest says: anything may have happened to a file."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(page.packed, LARGEST)
    except zlib.error:
        return False
    return blake2b(text, digest_size=16).digest() == page.digest and len(text) == page.size


@dataclass(slots=True)
class SitePool:
    """The pool of a site, and what is known of it beside."""

    pool: Pool
    seen: int = 0  # pages of the site
    changed: bool = False  # since it was loaded or saved
    size: int = 0  # bytes in memory, when it was last looked at


class PoolCache:
    """The pools of all sites, of *most* pages each.

    They take *megabytes* of memory. Those of sites that were not met lately are in a temporary
    file, and come back when they are; beyond *file_megabytes* the one that was not met for longest
    is dropped (or kept by *store*). Where there cannot be a file, pools take WITHOUT_FILE times as
    much memory, and what does not fit is dropped.
    """

    def __init__(
        self, *, most: int, megabytes: float, file_megabytes: float, store: PoolStore | None
    ) -> None:
        self.most = most
        self._most_bytes = megabytes * 1_000_000
        self._most_in_file = file_megabytes * 1_000_000
        self._bytes = 0
        self._store = store
        self._sites: OrderedDict[str, SitePool] = OrderedDict()  # in memory, the last met last
        self._file = SideFile(_PAGES, *_SITES)
        self._has_file = True  # or can have one
        self._put_count = 0

    def __len__(self) -> int:
        """How many are in memory."""
        return len(self._sites)

    def add(self, site: str, page: PooledPage) -> SitePool:
        """Add a page of a site; what is known of the site by then."""
        known = self._known(site)
        if known is None:
            known = SitePool(Pool(self._store.load(site) if self._store else (), most=self.most))
        self._sites[site] = known
        self._sites.move_to_end(site)
        known.seen += 1
        known.changed |= known.pool.add(page)
        before, known.size = known.size, _SITE + _PAGE * len(known.pool) + known.pool.size
        self._bytes += known.size - before
        return known

    def pages(self, site: str) -> tuple[PooledPage, ...]:
        """The pages of the pool of a site, which stays where it is."""
        known = self._known(site)
        return known.pool.pages if known else ()

    def make_room(self) -> Iterator[str]:
        """Keep to the bounds. Of sites whose pools are about to go, the names are given."""
        while self._bytes > self._most_bytes and len(self._sites) > 1:
            site, known = next(iter(self._sites.items()))
            if self._has_file and self._put(site, known):
                self._forget(site)
            elif not self._has_file:
                yield site
                self._save(site, known)
                self._forget(site)
        while (other := self._one_too_many()) is not None:
            if other not in self._sites:  # else what is in the file is older
                yield other
                if found := self._known(other):
                    self._save(other, found)
            self._rows("DELETE FROM pages WHERE site = ?", _bytes(other))
            self._rows("DELETE FROM sites WHERE site = ?", _bytes(other))

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        if not self._store:
            return
        for site, known in self._sites.items():
            self._save(site, known)
        for (name,) in self._rows("SELECT site FROM sites WHERE changed"):
            if found := self._known(_text(name)):
                self._save(_text(name), found)
        self._rows("UPDATE sites SET changed = 0")

    def _known(self, site: str) -> SitePool | None:
        if (known := self._sites.get(site)) is not None:
            return known
        found = self._rows("SELECT seen, changed FROM sites WHERE site = ?", _bytes(site))
        if not found:
            return None
        try:
            pool = Pool(_read(self._file, site), most=self.most)
        except SideFileError as error:
            self._fail(error)
            return None
        return SitePool(pool, *found[0])

    def _put(self, site: str, known: SitePool) -> bool:
        """Put a pool into the file; whether that could be done."""
        self._put_count += 1
        row = _bytes(site), self._put_count, known.seen, known.changed
        try:
            with self._file.transaction():
                self._file.run("INSERT OR REPLACE INTO sites VALUES (?, ?, ?, ?)", *row)
                _write(self._file, site, known.pool)
        except SideFileError as error:
            self._fail(error)
            return False
        return True

    def _one_too_many(self) -> str | None:
        """If the file is too large, the site whose pool was put there longest ago."""
        used = self._rows(
            "SELECT (page_count - freelist_count) * page_size"
            " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
        )
        if not self._has_file or not used or used[0][0] <= self._most_in_file:
            return None
        found = self._rows("SELECT site FROM sites ORDER BY met LIMIT 1")
        return _text(found[0][0]) if found else None

    def _forget(self, site: str) -> None:
        self._bytes -= self._sites.pop(site).size

    def _save(self, site: str, known: SitePool) -> None:
        if self._store and known.changed:
            self._store.save(site, known.pool.pages)
            known.changed = False

    def _rows(self, query: str, *values: object) -> list[Any]:
        try:
            return self._file.run(query, *values) if self._file.is_open else []
        except SideFileError as error:
            self._fail(error)
            return []

    def _fail(self, error: SideFileError) -> None:
        if self._has_file:
            self._has_file = False
            self._most_bytes *= WITHOUT_FILE
            logger.warning("Pools stay in memory, a temporary file cannot be used: %s", error)
