"""Strips pages in a worker process: what is sent to it, and what it keeps of the pools of sites.

It stands in the place of an extractor (see :mod:`tplspider.extraction`): the job is the key page,
and the pages are those of its pool that the worker does not have.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.pools.site_templates import Stripper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

STRIP = f"{__name__}.strip"
POOLS = 64  # sites of which a worker is taken to have the pool ...
POOLS_BYTES = 20_000_000  # ... and what it keeps of their pages
_PAGE = 700  # bytes that a page takes beside its packed HTML
PageId = tuple[str, bytes]  # the address of a page, and the digest of its HTML


@dataclass(frozen=True, slots=True)
class StripJob:
    """Strip a page by a pool, and fill the fields that are wanted."""

    page: PooledPage
    site: str
    pool: tuple[PageId, ...]
    wanted: frozenset[str]

    @property
    def url(self) -> str:
        return self.page.url


class SentPools:
    """What a worker was sent of the pools of the sites that it met last."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._sent: OrderedDict[str, frozenset[PageId]] = OrderedDict()

    def job(
        self, site: str, page: PooledPage, pool: Sequence[PooledPage]
    ) -> tuple[StripJob, list[PooledPage]]:
        """The job for a page, and the pages that are to be sent with it."""
        sent = self._sent.get(site, frozenset())
        ids = tuple(map(_id_of, pool))
        self._sent[site] = frozenset(ids)
        self._sent.move_to_end(site)
        if len(self._sent) > POOLS:
            self._sent.popitem(last=False)
        missing = [each for each, name in zip(pool, ids, strict=True) if name not in sent]
        return StripJob(page, site, ids, self._wanted), missing

    def forget(self, site: str) -> None:
        """The worker does not have the pool of a site."""
        self._sent.pop(site, None)


class _Kept:
    """A stripper, and the pages of pools that were needed last."""

    def __init__(self) -> None:
        self.stripper = Stripper()
        self._pages: OrderedDict[PageId, PooledPage] = OrderedDict()
        self._size = 0  # bytes

    def pool(self, job: StripJob, added: Sequence[PooledPage]) -> list[PooledPage] | None:
        """The pages of a pool; None if some of them are not here."""
        for page in added:
            if _id_of(page) not in self._pages:
                self._pages[_id_of(page)] = page
                self._size += len(page.packed) + _PAGE
        if any(each not in self._pages for each in job.pool):
            return None
        for each in job.pool:
            self._pages.move_to_end(each)
        while self._size > POOLS_BYTES and len(self._pages) > len(job.pool):
            _, page = self._pages.popitem(last=False)
            self._size -= len(page.packed) + _PAGE
        return [self._pages[each] for each in job.pool]


_kept: list[_Kept] = []  # one in each worker


def strip(key: StripJob, pages: Sequence[PooledPage]) -> PageTemplate | None:
    """The page without its template; None if this worker does not have all of the pool.

    It does not if it is a new one, or has had other pools since.
    """
    if not _kept:
        _kept.append(_Kept())
    pool = _kept[0].pool(key, pages)
    if pool is None:
        return None
    return _kept[0].stripper.strip(key.site, key.page, pool, wanted=key.wanted)


def _id_of(page: PooledPage) -> PageId:
    return page.url, page.digest
