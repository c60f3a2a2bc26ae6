"""Strips pages in a worker process.

It stands in the place of an extractor (see :mod:`tplspider.extraction`): the job is the key page,
and the pages are those of its pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from tplspider.pools.site_templates import Stripper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

STRIP = f"{__name__}.strip"
_KEPT = 2000  # pages of pools: those of some forty sites


@dataclass(frozen=True, slots=True)
class StripJob:
    """Strip a page of a site, and fill the fields that are wanted."""

    page: PooledPage
    site: str
    wanted: frozenset[str]

    @property
    def url(self) -> str:
        return self.page.url


def strip(key: StripJob, pages: Sequence[PooledPage]) -> PageTemplate:
    """The page without its template."""
    pool = [_kept(page) for page in pages]
    return _stripper().strip(key.site, key.page, pool, wanted=key.wanted)


@lru_cache(_KEPT)
def _kept(page: PooledPage) -> PooledPage:
    """The page as it came first: its signs may be known, and take long to find out."""
    return page


@cache
def _stripper() -> Stripper:
    return Stripper()
