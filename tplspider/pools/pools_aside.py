"""The pools of sites that were not met lately: in a temporary file, not in memory."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tplspider.pools.pool import Pool, PooledPage
from tplspider.pools.side_file import SideFile, SideFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

FILE_MEGABYTES = 1000  # the pools of some thousand sites
_TABLES = (
    """CREATE TABLE sites (number INTEGER PRIMARY KEY, site BLOB NOT NULL UNIQUE,
       met INTEGER NOT NULL, seen INTEGER NOT NULL, changed INTEGER NOT NULL,
       size INTEGER NOT NULL)""",
    "CREATE INDEX by_met ON sites (met)",
    """CREATE TABLE pages (site INTEGER NOT NULL, place BLOB NOT NULL, digest BLOB NOT NULL,
       look BLOB, url BLOB NOT NULL, identity BLOB, taken REAL NOT NULL, size INTEGER NOT NULL,
       packed BLOB NOT NULL, PRIMARY KEY (site, place)) WITHOUT ROWID""",
)
_PLACE = 8  # bytes
_SITE, _PAGE = 200, 300  # bytes that a site, and a page in its pool, take beside packed HTML


@dataclass(slots=True)
class SitePool:
    """The pool of a site, and what is known of it beside."""

    pool: Pool
    seen: int = 0  # pages of the site
    met: int = 0  # how many pages of all sites had been added when its last one was
    changed: bool = False  # since it was loaded or saved


class PoolsAside:
    """Keeps pools in a file, of at most so many *megabytes*.

    Nothing is raised. What goes wrong with the file, or its disk, is told in one line for all; from
    then on no pool is taken, and one that cannot be read counts as none.
    """

    def __init__(self, megabytes: float = FILE_MEGABYTES) -> None:
        self._most = megabytes * 1_000_000
        self._size = 0  # bytes
        self._file = SideFile(*_TABLES)
        self._failed = False
        self._puts = 0

    def put(self, site: str, state: SitePool) -> bool:
        """Take the pool of a site, or what has changed of it; whether that could be done."""
        if self._failed:
            return False
        try:
            self._put(_bytes(site), state)
        except SideFileError as error:
            self._fail("Pools stay in memory, smaller where there are many", error)
            return False
        return True

    def get(self, site: str, most: int) -> SitePool | None:
        """The pool of a site as it was put, less what is more than *most* pages."""
        found = self._rows("SELECT number, seen, changed FROM sites WHERE site = ?", _bytes(site))
        if not found:
            return None
        ((number, seen, changed),) = found
        pages = self._rows(
            "SELECT place, digest, look, url, identity, taken, size, packed FROM pages"
            " WHERE site = ? ORDER BY place",
            number,
        )
        pool = Pool.restored(((_page(row), row[2]) for row in pages), most)
        return SitePool(pool, seen=seen, changed=bool(changed))

    def one_too_many(self) -> str | None:
        """If there is more than there may be, the site whose pool was put here longest ago."""
        if self._size <= self._most:
            return None
        found = self._rows("SELECT site FROM sites ORDER BY met LIMIT 1")
        return _text(found[0][0]) if found else None

    def drop(self, site: str) -> None:
        """Let go of the pool of a site."""
        name = _bytes(site)
        for number, size in self._rows("SELECT number, size FROM sites WHERE site = ?", name):
            self._change(
                ("DELETE FROM pages WHERE site = ?", [(number,)]),
                ("DELETE FROM sites WHERE number = ?", [(number,)]),
            )
            self._size -= size

    def changed(self) -> Iterator[str]:
        """The sites whose pools have changed, until that is said to be settled."""
        number, query = 0, "SELECT number, site FROM sites WHERE changed AND number > ? LIMIT 1"
        while found := self._rows(query, number):
            ((number, name),) = found
            yield _text(name)

    def settle(self, site: str) -> None:
        """The pool of a site was saved as it is."""
        self._change(("UPDATE sites SET changed = 0 WHERE site = ?", [(_bytes(site),)]))

    def _put(self, name: bytes, state: SitePool) -> None:
        run = self._file.run
        self._puts += 1
        found = run("SELECT number, size FROM sites WHERE site = ?", name)
        number, before = found[0] if found else (self._puts, 0)
        size = _SITE + _PAGE * len(state.pool) + state.pool.size
        known = {*run("SELECT place, digest, look FROM pages WHERE site = ?", number)}
        rows = {(_place(page), page.digest, look): page for page, look in state.pool.with_looks()}
        self._file.change(
            (
                "DELETE FROM pages WHERE site = ? AND place = ?",
                [(number, row[0]) for row in known - rows.keys()],
            ),
            (
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(number, *row, *_rest(rows[row])) for row in rows.keys() - known],
            ),
            (
                "INSERT OR REPLACE INTO sites VALUES (?, ?, ?, ?, ?, ?)",
                [(number, name, self._puts, state.seen, state.changed, size)],
            ),
        )
        self._size += size - before

    def _rows(self, query: str, *values: object) -> list[Any]:
        try:
            return self._file.run(query, *values) if self._file.is_open else []
        except SideFileError as error:
            self._fail("The pools of many sites are lost", error)
            self._file.close()
            self._size = 0
            return []

    def _change(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        try:
            self._file.change(*statements)
        except SideFileError as error:
            self._fail("Pools stay in the file as they are", error)

    def _fail(self, what: str, error: SideFileError) -> None:
        level = logging.DEBUG if self._failed else logging.WARNING
        logger.log(level, "%s: a temporary file cannot be used (%s)", what, error)
        self._failed = True


def _place(page: PooledPage) -> bytes:
    return page.place.to_bytes(_PLACE)


def _rest(page: PooledPage) -> tuple[object, ...]:
    identity = None if page.identity == page.url else _bytes(page.identity)
    return _bytes(page.url), identity, page.taken, page.size, page.packed


def _page(row: tuple[Any, ...]) -> PooledPage:
    place, digest, _, url, identity, taken, size, packed = row
    address = _text(url)
    name = address if identity is None else _text(identity)
    return PooledPage(address, name, int.from_bytes(place), digest, packed, taken, size)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # what stands for no letter is in addresses, too


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
