"""Strips pages of their templates, given the pools of their sites; what was read stays ready."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from tplspider.pools.nearness import nearest, signs_of
from tplspider.template.extract import PageSource, extract_template
from tplspider.template.page_lines import page_lines
from tplspider.web.flat_page import Vocabulary, flatten
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.items import PageTemplate
    from tplspider.pools.nearness import Signs
    from tplspider.pools.pool import PooledPage

COMPANIONS = 3  # pages to compare with: one more brings nothing that can be measured, and costs
SITES = 8  # whose pages are kept ready


class Stripper:
    """Gives pages without their templates; it may be used by one thread at a time."""

    def __init__(self, *, companions: int = COMPANIONS, sites: int = SITES) -> None:
        self.companions = companions
        self._sites_at_most = sites
        self._signs: OrderedDict[str, dict[PooledPage, Signs]] = OrderedDict()

    def strip(
        self,
        site: str,
        page: PageSource,
        pool: Sequence[PooledPage],
        *,
        wanted: frozenset[str] | None = None,
        seconds: float | None = None,
    ) -> PageTemplate:
        """The page without its template, by the pages of the pool that are nearest to it.

        *wanted* are the fields that are to be filled, all without it. Where the pool tells nothing,
        ``evidence`` is 0 and all of the page is its own. Raises TimeoutError when it takes longer
        than *seconds*.
        """
        signs = _signs(page)
        known = self._signs.setdefault(site, {})
        self._signs.move_to_end(site)
        while len(self._signs) > self._sites_at_most:
            self._signs.popitem(last=False)
        now = {each: known.get(each) or _signs(each.source) for each in pool}
        self._signs[site] = now
        companions = (each.source for each in nearest(signs, now))
        return extract_template(page, companions, seconds=seconds, most=self.companions)


def _signs(page: PageSource) -> Signs:
    flat = flatten(parse_html(page.html), page.url, Vocabulary())
    return signs_of(flat, page_lines(flat), page.url)
