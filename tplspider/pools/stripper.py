"""Strips pages of their templates, given the pools of their sites; what was read stays ready."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from tplspider.pools.known_signs import KnownSigns
from tplspider.pools.nearness import PoolSigns, Signs, read_signs, signs_of
from tplspider.template.extract import Companions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage
    from tplspider.template.flat_page import FlatPage
    from tplspider.template.lines import Line

COMPANIONS = 3  # pages to compare with: one more brings nothing that can be measured, and costs
SITES = 32  # of which pages are kept ready ...
READY_PAGES = 200  # ... so many in all, some 200 kB each
FEW_SITES = 2  # the same, where so many are in turn that none of 32 would be met again
_MADE_OF = {"main_markdown": "main_html", "content_markdown": "content_html"}
MARKDOWN = frozenset(_MADE_OF)


class TooLargeError(ValueError):
    """A page has so many elements or attributes that it is not read."""


class Stripper:
    """Gives pages without their templates; it may be used by one thread at a time."""

    def __init__(self, *, companions: int = COMPANIONS) -> None:
        self.companions = companions
        self._sites: OrderedDict[str, _Site] = OrderedDict()  # the last met comes last
        self._met: OrderedDict[str, None] = OrderedDict()  # the last of all, ready or not
        self._strangers = 0  # pages in a row whose sites were not among these
        self._signs = KnownSigns()

    def strip(
        self,
        site: str,
        page: PooledPage,
        pool: Sequence[PooledPage],
        *,
        wanted: frozenset[str] | None = None,
        seconds: float | None = None,
    ) -> PageTemplate:
        """The page without its template, by the pages of the pool that are nearest to it.

        *wanted* are the fields that are to be filled; without it, all but Markdown. Where the pool
        tells nothing, ``evidence`` is 0 and all of the page is its own. Raises TimeoutError when it
        takes longer than *seconds*, and TooLargeError for a page that is not read at all.
        """
        if page.is_too_large:
            raise TooLargeError("it has more elements or attributes than can be read")
        known = self._site(site)

        def choose(flat: FlatPage, lines: Sequence[Line]) -> list[PooledPage]:
            return known.nearest(page, signs_of(flat, lines, page.identity), pool)

        markdown = MARKDOWN & (wanted or frozenset())
        if wanted is not None:
            wanted |= {_MADE_OF[name] for name in markdown}
        found = known.companions.extract(
            page, choose, wanted=wanted, seconds=seconds, most=self.companions
        )
        if markdown:
            # Here and not above: what makes it is an extra.
            from tplspider.template.markdown import (
                base_address,
                to_markdown,
            )

            base = base_address(page.html, page.url)
            for name in markdown:
                setattr(found, name, to_markdown(getattr(found, _MADE_OF[name]), base))
        return found

    def _site(self, name: str) -> _Site:
        self._strangers = 0 if name in self._met else self._strangers + 1
        self._met[name] = None
        self._met.move_to_end(name)
        if len(self._met) > SITES:
            self._met.popitem(last=False)
        known = self._sites.get(name)
        if known is None:
            known = self._sites[name] = _Site(self._signs)
            most = FEW_SITES if self._strangers > 2 * SITES else SITES
            while len(self._sites) > most:
                self._sites.popitem(last=False)
            for each in self._sites.values():
                each.companions.most = READY_PAGES // len(self._sites)
        self._sites.move_to_end(name)
        return known


class _Site:
    """What is at hand of a site: pages made ready, and the signs of those in its pool."""

    def __init__(self, known: KnownSigns) -> None:
        self.companions = Companions(READY_PAGES)
        self._known = known  # of all sites
        self._signs: dict[PooledPage, Signs] = {}
        self._pool: Sequence[PooledPage] = ()  # whose signs these are
        self._of_pool = PoolSigns({})

    def nearest(
        self, page: PooledPage, signs: Signs, pool: Sequence[PooledPage]
    ) -> list[PooledPage]:
        """The pages of the pool, the nearest to a page first."""
        if any(each.place == page.place for each in pool):
            self._known.put(page, signs)
        if pool != self._pool:
            before = self._signs
            self._signs = {each: before.get(each) or self._read(each) for each in pool}
            self._pool, self._of_pool = pool, PoolSigns(self._signs)
        return self._of_pool.nearest(signs)

    def _read(self, page: PooledPage) -> Signs:
        signs = self._known.get(page)
        if signs is None:
            signs = read_signs(page)
            self._known.put(page, signs)
        return signs
