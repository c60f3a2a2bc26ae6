"""Which pages of a crawl have to wait until their site's pool can tell something about them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from tplspider.pools.kept_pools import MEGABYTES, KeptPools
from tplspider.pools.pool import POOL, page_site
from tplspider.pools.pools_aside import FILE_MEGABYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.pools.kept_pools import PoolStore
    from tplspider.pools.pool import PooledPage

READY = 15  # pages in a pool: with fewer, those seen first are index pages of another kind
# Copies do not fill a pool. After so many pages for each that is wanted there, there is no use in
# waiting for more.
ENOUGH = 4
HELD = 1000  # pages that wait, of all sites

Entry = TypeVar("Entry")


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


class SitePools(Generic[Entry]):
    """The pools of all sites, and the pages that wait for them, in order of arrival.

    A page is let go when the pool of its site has *ready* pages: it and all that wait before it.
    What is given out for want of time or room is compared with what is there.

    The pools are kept in *megabytes* of memory and *file_megabytes* of a temporary file, as
    :class:`KeptPools` says. When the pool of a site has to go, what waits of it is given out. At
    most *held* pages wait, and packed they take *held_megabytes* at most; one more, and the site
    with the oldest is given out.
    """

    def __init__(
        self,
        *,
        pool: int = POOL,
        ready: int = READY,
        megabytes: float = MEGABYTES,
        file_megabytes: float = FILE_MEGABYTES,
        held: int = HELD,
        held_megabytes: float = inf,
        store: PoolStore | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        _check(pool=pool, ready=ready, held=held)
        _check_megabytes(
            megabytes=megabytes, file_megabytes=file_megabytes, held_megabytes=held_megabytes
        )
        self.held = 0  # pages that wait
        self._held_at_most = held
        self._held_bytes_at_most = held_megabytes * 1_000_000
        self._held_bytes = 0
        self._ready = ready
        self._clock = clock
        self._pools = KeptPools(
            most=pool, megabytes=megabytes, file_megabytes=file_megabytes, store=store
        )
        # By site, in order of arrival; the site with the oldest page comes first.
        self._waiting: dict[str, list[_Waiting[Entry]]] = {}

    def __len__(self) -> int:
        """How many pools are in memory."""
        return len(self._pools)

    @property
    def waiting(self) -> list[str]:
        """The sites of which pages wait, that with the oldest first."""
        return [*self._waiting]

    def add(self, page: PooledPage, entry: Entry) -> list[Released[Entry]]:
        """Take in a page, *entry* standing for it; give what waits no more, in order of arrival."""
        site = page_site(page.url)
        known = self._pools.add(site, page)
        found: list[Released[Entry]] = []
        ready = min(self._ready, self._pools.most)
        if len(known.pool) >= ready or known.seen >= ENOUGH * ready:
            found = [*self.give_out(site), Released(entry, site, known.pool.pages)]
        else:
            waiting = _Waiting(self._clock(), len(page.packed), entry)
            self._waiting.setdefault(site, []).append(waiting)
            self.held += 1
            self._held_bytes += waiting.size
        while self.held > self._held_at_most or self._held_bytes > self._held_bytes_at_most:
            found += self.give_out_oldest()
        for other in self._pools.make_room():
            found += self.give_out(other)
        return found

    def give_out(self, site: str) -> list[Released[Entry]]:
        """Give out all that waits of a site."""
        if site not in self._waiting:
            return []
        pool = self._pools.pages(site)
        waiting = self._waiting.pop(site)
        self.held -= len(waiting)
        self._held_bytes -= sum(each.size for each in waiting)
        return [Released(each.entry, site, pool) for each in waiting]

    def give_out_older(self, seconds: float) -> list[Released[Entry]]:
        """Give out the sites of which a page waits for longer than so many seconds."""
        end, waiting = self._clock() - seconds, self._waiting
        sites = [*takewhile(lambda site: waiting[site][0].since <= end, waiting)]
        return [released for site in sites for released in self.give_out(site)]

    def give_out_oldest(self) -> list[Released[Entry]]:
        """Give out the site with the page that has waited longest."""
        return self.give_out(next(iter(self._waiting))) if self._waiting else []

    def flush(self) -> list[Released[Entry]]:
        """Give out all that waits, site by site. Pages that are added may wait again."""
        return [released for site in self.waiting for released in self.give_out(site)]

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        self._pools.save()


def _check(**counts: int) -> None:
    for name, value in counts.items():
        least = 0 if name == "held" else 1
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r}: expected a whole number, {least} or more")


def _check_megabytes(**sizes: float) -> None:
    for name, value in sizes.items():
        if not (isinstance(value, int | float) and value > 0):  # nor is it if it is not a number
            raise ValueError(f"{name}={value!r}: expected a number of megabytes above 0")
