"""Which pages of a crawl have to wait until their site's pool can tell something about them."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from tplspider.pools.pool import POOL, Pool, page_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tplspider.pools.pool import PooledPage

READY = 15  # pages in a pool: with fewer, those seen first are index pages of another kind
# Copies do not fill a pool. After so many pages for each that is wanted there, there is no use in
# waiting for more.
ENOUGH = 4
LEAST = 5  # pages that a pool has at the least, where there are very many sites
STALE = 4  # times as many pages as there are sites: one that was met before these is not in use
MEGABYTES = 64  # of packed pages in all pools together
HELD = 1000  # pages that wait, of all sites
_SITE, _PAGE = 1700, 400  # bytes that a site, and a page in its pool, take beside packed HTML

Entry = TypeVar("Entry")


@runtime_checkable
class PoolStore(Protocol):
    """Where pools are kept from one crawl to the next."""

    def load(self, site: str) -> Iterable[PooledPage]:
        """The pages of a pool; none where there is none that can be used."""

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages."""


@dataclass(frozen=True, slots=True)
class Released(Generic[Entry]):
    """A page that waits no more: what stands for it, its site, and what to compare it with."""

    entry: Entry
    site: str
    pool: tuple[PooledPage, ...]


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Entry]):
    since: float
    size: int  # bytes of the packed page
    entry: Entry


@dataclass(slots=True)
class _SiteState(Generic[Entry]):
    pool: Pool
    waiting: deque[_Waiting[Entry]] = field(default_factory=deque)
    seen: int = 0
    met: int = 0  # how many pages of all sites had been added when its last one was
    changed: bool = False  # since it was loaded or saved

    @property
    def size(self) -> int:
        """About how many bytes it takes, the pages that wait left out."""
        return _SITE + _PAGE * len(self.pool) + self.pool.size


class SitePools(Generic[Entry]):
    """The pools of all sites, and the pages that wait for them, in order of arrival.

    A page is let go when the pool of its site has *ready* pages: it and all that wait before it.
    What is given out for want of time or room is compared with what is there.

    The pools take *megabytes* at most. Where that is not enough, a site that was not met for long
    goes: what waits is given out, and the pool is let go (or kept by *store*). Where all are in
    use, pools become smaller, down to a few pages, before one goes. A page so large that a pool of
    such pages would take more by itself is in none. At most *held* pages wait, and packed they
    take *held_megabytes* at most; one more, and the site with the oldest is given out.
    """

    def __init__(
        self,
        *,
        pool: int = POOL,
        ready: int = READY,
        megabytes: float = MEGABYTES,
        held: int = HELD,
        held_megabytes: float = inf,
        store: PoolStore | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        _check(pool=pool, ready=ready, held=held)
        _check_megabytes(megabytes=megabytes, held_megabytes=held_megabytes)
        self.most = pool
        self.ready = min(ready, pool)
        self.held_at_most = held
        self.held = 0  # pages that wait
        self._bytes_at_most = megabytes * 1_000_000
        self._largest = self._bytes_at_most / pool  # bytes of a packed page
        self._added = 0  # pages so far
        self._bytes = 0
        self._held_bytes_at_most = held_megabytes * 1_000_000
        self._held_bytes = 0
        self._store = store
        self._clock = clock
        self._sites: OrderedDict[str, _SiteState[Entry]] = OrderedDict()  # the last met comes last
        self._late: dict[str, None] = {}  # sites of which pages wait, the oldest page first

    def __len__(self) -> int:
        return len(self._sites)

    def add(self, page: PooledPage, entry: Entry) -> list[Released[Entry]]:
        """Take in a page, *entry* standing for it; give what waits no more, in order of arrival."""
        site = page_site(page.url)
        state = self._state(site)
        self._added += 1
        state.met = self._added
        if len(page.packed) <= self._largest:
            before = state.size
            state.changed |= state.pool.add(page)
            self._bytes += state.size - before
        state.seen += 1
        state.waiting.append(_Waiting(self._clock(), len(page.packed), entry))
        self._late.setdefault(site)
        self.held += 1
        self._held_bytes += len(page.packed)
        found: list[Released[Entry]] = []
        if len(state.pool) >= self.ready or state.seen >= ENOUGH * self.ready:
            found += self._give_out(site)
        while self.held > self.held_at_most or self._held_bytes > self._held_bytes_at_most:
            found += self._give_out(next(iter(self._late)))
        while self._bytes > self._bytes_at_most and len(self._sites) > 1:
            oldest = next(iter(self._sites))
            is_stale = self._added - self._sites[oldest].met > STALE * len(self._sites)
            if is_stale or not self._shrink():
                found += self._let_go(oldest)
        return found

    def give_out_older(self, seconds: float) -> list[Released[Entry]]:
        """Give out the sites of which a page waits for longer than so many seconds."""
        end = self._clock() - seconds
        sites = takewhile(lambda site: self._sites[site].waiting[0].since <= end, list(self._late))
        return [released for site in sites for released in self._give_out(site)]

    def flush(self) -> list[Released[Entry]]:
        """Give out all that waits, site by site. Pages that are added may wait again."""
        return [released for site in list(self._late) for released in self._give_out(site)]

    def give_out_oldest(self) -> list[Released[Entry]]:
        """Give out the site with the page that has waited longest."""
        return self._give_out(next(iter(self._late))) if self._late else []

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        for site, state in self._sites.items():
            self._save(site, state)

    def _state(self, site: str) -> _SiteState[Entry]:
        state = self._sites.get(site)
        if state is None:
            state = self._sites[site] = _SiteState(Pool(most=self.most))
            for page in self._store.load(site) if self._store else ():
                state.pool.add(page)
            self._bytes += state.size
        self._sites.move_to_end(site)
        return state

    def _shrink(self) -> bool:
        """Make all pools smaller by a quarter; whether they could be."""
        if self.most <= LEAST:
            return False
        self.most = max(LEAST, 3 * self.most // 4)
        self.ready = min(self.ready, self.most)
        self._bytes = 0
        for state in self._sites.values():
            state.pool.shrink(self.most)
            self._bytes += state.size
        return True

    def _give_out(self, site: str) -> list[Released[Entry]]:
        state = self._sites[site]
        pool = state.pool.pages
        found = [Released(each.entry, site, pool) for each in state.waiting]
        self.held -= len(found)
        self._held_bytes -= sum(each.size for each in state.waiting)
        state.waiting.clear()
        self._late.pop(site, None)
        return found

    def _let_go(self, site: str) -> list[Released[Entry]]:
        found = self._give_out(site)
        state = self._sites.pop(site)
        self._bytes -= state.size
        self._save(site, state)
        return found

    def _save(self, site: str, state: _SiteState[Entry]) -> None:
        if self._store and state.changed:
            self._store.save(site, state.pool.pages)
            state.changed = False


def _check(**counts: int) -> None:
    for name, value in counts.items():
        least = 0 if name == "held" else 1
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r}: expected a whole number, {least} or more")


def _check_megabytes(**sizes: float) -> None:
    for name, value in sizes.items():
        if not (isinstance(value, int | float) and value > 0):  # nor is it if it is not a number
            raise ValueError(f"{name}={value!r}: expected a number of megabytes above 0")
