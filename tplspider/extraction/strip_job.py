"""What workers do for whole crawls: pages without their templates, by the pools of their sites."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.pools.stripper import SITES, Stripper

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

PageId = tuple[str, bytes]  # the address of a page, and the digest of its HTML


def id_of(page: PooledPage) -> PageId:
    """What tells a page of a pool from others."""
    return page.url, page.digest


@dataclass(frozen=True, slots=True)
class StripJob:
    """Strip this page by a pool; *added* are the pages of it that the worker does not know yet."""

    site: str
    page: PooledPage
    pool: tuple[PageId, ...]
    added: tuple[PooledPage, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class PoolForgotten:
    """The worker does not know all pages of the pool: it is a new one, or has had others since."""


@dataclass(frozen=True, slots=True)
class StripWork:
    """Strips pages by so many companions, and fills these fields."""

    companions: int
    wanted: frozenset[str] | None = None

    def start(self) -> Callable[[StripJob], PageTemplate | PoolForgotten]:
        """Make what strips pages, and remembers those of the pools."""
        return _Strip(self).do


class _Strip:
    """A stripper, and the pools that it was sent: those of the sites that were met last."""

    def __init__(self, work: StripWork) -> None:
        self._wanted = work.wanted
        self._stripper = Stripper(companions=work.companions)
        self._pools: OrderedDict[str, dict[PageId, PooledPage]] = OrderedDict()

    def do(self, job: StripJob) -> PageTemplate | PoolForgotten:
        known = self._pools.get(job.site, {}) | {id_of(page): page for page in job.added}
        if any(each not in known for each in job.pool):
            return PoolForgotten()
        pool = self._pools[job.site] = {each: known[each] for each in job.pool}
        self._pools.move_to_end(job.site)
        while len(self._pools) > SITES:
            self._pools.popitem(last=False)
        return self._stripper.strip(job.site, job.page, list(pool.values()), wanted=self._wanted)
