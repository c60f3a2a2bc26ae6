"""``SiteTemplates``: the template off every page of a crawl, without one extra load."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Generic, TypeVar

from tplspider.items import PageTemplate
from tplspider.pools.pool import POOL, PooledPage
from tplspider.pools.site_pools import HELD, MEGABYTES, READY, SitePools
from tplspider.pools.stripper import COMPANIONS, Stripper

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.pools.site_pools import PoolStore, Released

Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class StrippedPage(Generic[Token]):
    """A page without its template, and what it was added with."""

    template: PageTemplate
    token: Token


class SiteTemplates(Generic[Token]):
    """Takes the pages of a crawl, of one site or of many, and gives them without their templates.

    Each page is compared with the few nearest of the pool of its site. The first pages of a site
    are held back until its pool is ready; pages of one site are given out in the order in which
    they were added. ``flush`` gives out the rest.

    The pool is the same in whatever order pages come (see
    :class:`~tplspider.pools.pool.Pool`). What a page is compared with depends on which pages of its
    site were added before it was given out, and on nothing else: not on other sites, as long as
    there is room for all pools, and not on time.

    It may be used by one thread at a time. Processes that share the work on one site do not share
    its pool: give all pages of a site to one of them.
    """

    def __init__(
        self,
        *,
        pool: int = POOL,
        ready: int = READY,
        companions: int = COMPANIONS,
        megabytes: float = MEGABYTES,
        held: int = HELD,
        wanted: Iterable[str] | None = None,
        store: PoolStore | None = None,
    ) -> None:
        self._wanted = None if wanted is None else frozenset(wanted)
        unknown = (self._wanted or frozenset()) - {each.name for each in fields(PageTemplate)}
        if unknown:
            raise ValueError(f"a PageTemplate has no {', '.join(sorted(unknown))}")
        self._pools: SitePools[tuple[PooledPage, Token]] = SitePools(
            pool=pool, ready=ready, megabytes=megabytes, held=held, store=store
        )
        self._stripper = Stripper(companions=companions)

    @property
    def held(self) -> int:
        """How many pages are held back."""
        return self._pools.held

    def add(self, url: str, html: str, token: Token) -> list[StrippedPage[Token]]:
        """Add a page; the pages that are given out by that, the oldest first."""
        page = PooledPage.of(url, html)
        return [*self._strip(self._pools.add(page, (page, token)))]

    def flush(self) -> Iterator[StrippedPage[Token]]:
        """Give out all pages that are held back, with what evidence there is; save the pools."""
        yield from self._strip(self._pools.flush())
        self._pools.save()

    def _strip(
        self, released: Iterable[Released[tuple[PooledPage, Token]]]
    ) -> Iterator[StrippedPage[Token]]:
        for each in released:
            page, token = each.entry
            found = self._stripper.strip(each.site, page, each.pool, wanted=self._wanted)
            yield StrippedPage(found, token)
