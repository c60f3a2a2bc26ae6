"""The pools of all sites of a crawl: some in memory, the others in a file."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tplspider.pools.pool import Pool
from tplspider.pools.pools_aside import PoolsAside, SitePool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.pools.pool import PooledPage

LEAST = 5  # pages that a pool has at the least, where there are very many sites
STALE = 4  # times as many pages as there are sites: one that was met before these is not in use
MEGABYTES = 8  # of pools in memory: those of a few dozen sites
WITHOUT_FILE = 8  # times as much, where there cannot be a file for the others
LARGEST_PACKED = 1_280_000  # bytes of a packed page: a pool of such pages takes 64 MB
_SITE, _PAGE = 1700, 700  # bytes that a site, and a page in its pool, take beside packed HTML


@runtime_checkable
class PoolStore(Protocol):
    """Where pools are kept from one crawl to the next."""

    def load(self, site: str) -> Iterable[PooledPage]:
        """The pages of a pool; none where there is none that can be used."""

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages."""


class KeptPools:
    """The pools of all sites, of *most* pages each.

    They take *megabytes* of memory. Those of sites that were not met lately are in a temporary
    file, and come back when they are; beyond *file_megabytes* the one that was not met for longest
    is let go (or kept by *store*). Where there cannot be a file, they take WITHOUT_FILE times as
    much memory. Where that is not enough, a site that was not met for long goes; where all are in
    use, pools become smaller, down to a few pages, before one goes. Pages of more than
    LARGEST_PACKED bytes are in no pool.
    """

    def __init__(
        self, *, most: int, megabytes: float, file_megabytes: float, store: PoolStore | None
    ) -> None:
        self.most = most
        self._bytes_at_most = megabytes * 1_000_000
        self._bytes = 0
        self._added = 0  # pages so far
        self._store = store
        self._sites: OrderedDict[str, SitePool] = OrderedDict()  # in memory, the last met last
        self._aside = PoolsAside(file_megabytes)
        self._has_file = True  # or can have one

    def __len__(self) -> int:
        """How many are in memory."""
        return len(self._sites)

    def add(self, site: str, page: PooledPage) -> SitePool:
        """Add a page of a site; what is known of the site by then."""
        known = self._met(site)
        self._added += 1
        known.met = self._added
        known.seen += 1
        if page.size <= LARGEST_PACKED or len(page.packed) <= LARGEST_PACKED:
            before = _size(known)
            known.changed |= known.pool.add(page)
            self._bytes += _size(known) - before
        return known

    def pages(self, site: str) -> tuple[PooledPage, ...]:
        """The pages of the pool of a site, which stays where it is."""
        known = self._known(site)
        return known.pool.pages if known else ()

    def make_room(self) -> Iterator[str]:
        """Keep to the bounds. Of sites whose pools are about to go, the names are given."""
        while self._bytes > self._bytes_at_most and len(self._sites) > 1:
            oldest, known = next(iter(self._sites.items()))
            if self._has_file and self._aside.put(oldest, known):
                self._bytes -= _size(self._sites.pop(oldest))
            elif self._has_file:
                self._has_file = False
                self._bytes_at_most *= WITHOUT_FILE
            elif self._added - known.met > STALE * len(self._sites) or not self._shrink():
                yield oldest
                self._let_go(oldest)
        while (site := self._aside.one_too_many()) is not None:
            if site in self._sites:  # what is in the file is older
                self._aside.drop(site)
            else:
                yield site
                self._let_go(site)

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        if self._store:
            for site, known in self._sites.items():
                self._save(site, known)
            for site in self._aside.changed():
                if found := self._known(site):
                    self._save(site, found)
                self._aside.settle(site)

    def _met(self, site: str) -> SitePool:
        """What is known of a site, in memory from now on."""
        known = self._sites.get(site)
        if known is None:
            known = self._aside.get(site, self.most)
            if known is None:
                pages = self._store.load(site) if self._store else ()
                known = SitePool(Pool(pages, most=self.most))
            self._sites[site] = known
            self._bytes += _size(known)
        self._sites.move_to_end(site)
        return known

    def _known(self, site: str) -> SitePool | None:
        return self._sites.get(site) or self._aside.get(site, self.most)

    def _shrink(self) -> bool:
        """Make all pools smaller by a quarter; whether they could be."""
        if self.most <= LEAST:
            return False
        self.most = max(LEAST, 3 * self.most // 4)
        self._bytes = 0
        for known in self._sites.values():
            known.pool.shrink(self.most)
            self._bytes += _size(known)
        return True

    def _let_go(self, site: str) -> None:
        if known := self._known(site):
            self._save(site, known)
        if site in self._sites:
            self._bytes -= _size(self._sites.pop(site))
        self._aside.drop(site)

    def _save(self, site: str, known: SitePool) -> None:
        if self._store and known.changed:
            self._store.save(site, known.pool.pages)
            known.changed = False


def _size(known: SitePool) -> int:
    """About how many bytes the pool of a site takes."""
    return _SITE + _PAGE * len(known.pool) + known.pool.size
