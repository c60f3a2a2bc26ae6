"""What workers do for whole crawls: pages without their templates, by the pools of their sites."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.pools.site_templates import Stripper

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

POOLS_BYTES = 20_000_000  # of pages in pools: those of a few dozen sites
_PAGE = 700  # bytes that a page takes beside its packed HTML
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
    """A stripper, and the pages of pools that it was sent: those that were needed last."""

    def __init__(self, work: StripWork) -> None:
        self._wanted = work.wanted
        self._stripper = Stripper(companions=work.companions)
        self._pages: OrderedDict[PageId, PooledPage] = OrderedDict()
        self._size = 0  # bytes

    def do(self, job: StripJob) -> PageTemplate | PoolForgotten:
        for page in job.added:
            if id_of(page) not in self._pages:
                self._pages[id_of(page)] = page
                self._size += len(page.packed) + _PAGE
        pool = [self._pages[each] for each in job.pool if each in self._pages]
        if len(pool) < len(job.pool):
            return PoolForgotten()
        for each in job.pool:
            self._pages.move_to_end(each)
        while self._size > POOLS_BYTES and len(self._pages) > len(job.pool):
            _, page = self._pages.popitem(last=False)
            self._size -= len(page.packed) + _PAGE
        return self._stripper.strip(job.site, job.page, pool, wanted=self._wanted)
