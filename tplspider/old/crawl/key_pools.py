"""Saved pools for key pages: with one of its site, a page needs no search for its template."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from tplspider.items import PageTemplate
from tplspider.old.extraction.workers import ExtractionError
from tplspider.pools.pool import PooledPage, companions, page_site
from tplspider.pools.site_templates import COMPANIONS
from tplspider.search.cliques import POOL
from tplspider.search.witness import SPARE
from tplspider.template.extract import PageSource

if TYPE_CHECKING:
    from tplspider.pools.store import PoolFolder
    from tplspider.search.session import SearchSession
    from tplspider.web.page import WebPage

logger = logging.getLogger(__name__)

Compare = Callable[[PageSource, list[PageSource]], Awaitable[PageTemplate | None]]


class KeyPools:
    """Answers for searches, where the pool of the key page's site tells something about the page.

    Where it does not, a line says so, and the search is made.
    """

    def __init__(self, folder: PoolFolder) -> None:
        self._folder = folder
        self._told: set[str] = set()  # sites without a pool
        self._found: dict[str, PageTemplate] = {}  # of searches that are not made

    async def answer(self, session: SearchSession, page: WebPage, compare: Compare) -> bool:
        """Compare a key page that has come; if that tells something, the search is over.

        False where somebody has ended it meanwhile, and gives its results.
        """
        phase, key = session.phase, PageSource(page.url, page.text)
        found = None
        try:
            if (others := await self._companions(key)) is not None:
                found = await compare(key, others)
                if not found or not found.evidence:
                    self._tell(f"The pool of its site tells nothing about {key.url}")
        except ExtractionError as error:
            self._tell(f"{key.url} cannot be compared with the pool of its site ({error})")
        if session.phase != phase:
            return False
        if found and found.evidence:
            self._found[session.search_id] = replace(found, method=POOL)
            session.stop(POOL)
        return True

    def take(self, session: SearchSession) -> PageTemplate | None:
        """What the pool told about the key page of a search that is over."""
        return self._found.pop(session.search_id, None)

    async def _companions(self, key: PageSource) -> list[PageSource] | None:
        """The pages of the pool of a page's site, the nearest first; None without a pool."""
        site = page_site(key.url)
        # Reading and parsing a pool takes longer than the event loop has.
        pool = await run_in_thread(self._folder.load, site)
        if pool:
            return await run_in_thread(_sources, key, pool)
        if site not in self._told:
            self._told.add(site)
            if self._folder.has(site):  # the folder has told why not
                self._tell(f"The pool of {site} cannot be used")
            else:
                self._tell(f"There is no pool of {site} in {self._folder.directory}")
        return None

    def _tell(self, what: str) -> None:
        logger.warning("%s: a search is made", what)


def _sources(key: PageSource, pool: list[PooledPage]) -> list[PageSource]:
    """The pages that the key page may have to be compared with; some may tell nothing."""
    return [page.source for page in companions(key, pool)[: COMPANIONS + SPARE]]
