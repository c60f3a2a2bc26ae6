"""The pages of a finished search: the text of its key page, and files of all of them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tplspider.extraction import Extraction, ExtractionError
from tplspider.saved_pages import save_pages
from tplspider.search.answer import counted
from tplspider.search.cliques import POOL
from tplspider.search.witness import KEY, MOST, SPARE, evidence, members
from tplspider.tracker import count_lost
from tplspider.web.page import NoPage, page_fault
from tplspider.web.redirects import redirect_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.crawler import Crawler

    from tplspider.arguments import Config
    from tplspider.feeds import Outputs
    from tplspider.items import CandidateSearch, PageTemplate
    from tplspider.pools.pool import PooledPage
    from tplspider.pools.store import PoolFolder
    from tplspider.saved_pages import KeptPage
    from tplspider.search.witness import WantedPage
    from tplspider.sources.archive import StoredPage
    from tplspider.spiders.template_candidates import OpenSearch
    from tplspider.template.extract import PageSource
    from tplspider.web.page import WebPage

logger = logging.getLogger(__name__)

HURRIED_SECONDS = 5  # for a text when the crawl ends early


class PageTexts:
    """Makes texts and saves pages. What goes wrong costs the text or the files, not the search."""

    def __init__(
        self, crawler: Crawler, config: Config, outputs: Outputs, *, wanted: bool, many: bool
    ) -> None:
        self.wanted = wanted
        self.keeps_pages = wanted or outputs.save_html is not None
        self.pools: PoolFolder | None = None  # saved pools, used in place of a search
        self._crawler = crawler
        self._folder = outputs.save_html
        self._many = many
        self._level = logging.DEBUG if many else logging.INFO
        self._by_pool: dict[str, PageTemplate] = {}
        self._extraction = Extraction(
            config.extractor,
            workers=config.extract_workers,
            megabytes=config.extract_mb,
            for_report=outputs.report is not None,
            markdown=config.markdown,
        )

    async def make(
        self, search: OpenSearch, *, hurried: bool = False
    ) -> tuple[PageTemplate | None, str]:
        """Save the pages of a finished search, and make its text, if requested.

        Where the text is lost, gives the reason.
        """
        session, pages = search.session, search.pages
        key_url = session.summary.key_url if session.summary else session.url
        try:
            if self._folder:
                await self._save(search)
            found = self._by_pool.pop(session.search_id, None)
            if self.wanted and not found:
                kept = await self._read(search, evidence(session.search, session.witness))
                if pages.fault:
                    logger.error("The text of %s lacks pages: %s", key_url, pages.fault)
                    count_lost(self._crawler, session.search_id)
                found = await self._by_archive(search, kept)
                found = found or await self._extract(kept, HURRIED_SECONDS if hurried else None)
        except ExtractionError as error:
            logger.error("No text for %s: %s", key_url, error)  # noqa: TRY400 - the reason is enough
            count_lost(self._crawler, session.search_id)
            return None, str(error)
        finally:
            pages.close()
        if found is None:
            return None, ""
        self._crawler.stats.set_value("tplspider/template_share", found.template_share)
        found = replace(found, search_id=session.search_id, requested_url=session.requested_url)
        return found, ""

    async def by_pool(self, search: OpenSearch, page: WebPage) -> None:
        """Compare a key page with the saved pool of its site; no search follows a text."""
        if not self.pools:
            return
        from tplspider.pools.pool import page_site  # imported lazily: few crawls need it

        found, why = None, "it has nothing in common with the page, or there is none"
        pool = await asyncio.to_thread(self.pools.load, page_site(page.url))
        try:
            found = await self._with_pool(page.url, page.text, pool, search.seconds_left())
        except ExtractionError as error:
            why = str(error)
        if search.session.phase == "over":
            return
        if found:
            self._by_pool[search.session.search_id] = found
            search.session.stop(POOL)
        else:
            logger.warning("The pool of %s cannot be used (%s): searching", page.url, why)

    async def _by_archive(
        self, search: OpenSearch, kept: Sequence[KeptPage]
    ) -> PageTemplate | None:
        """Where an archive is too thin for a search, compare with a pool of its site's pages."""
        storage, summary = self._crawler.spider.storage, search.session.summary  # type: ignore[union-attr]  # ours
        is_thin = summary and not summary.complete and summary.not_archived
        if not storage or not is_thin or not kept or kept[0].role != KEY:
            return None
        from tplspider.pools.pool import draw, page_site  # imported lazily: few crawls need it

        key = kept[0]
        pool = draw(map(pooled, storage.source.pages(page_site(key.url))))
        return await self._with_pool(key.url, key.html, pool.pages)

    async def _with_pool(
        self, url: str, html: str, pool: Sequence[PooledPage], seconds: float | None = None
    ) -> PageTemplate | None:
        """The text of a page by pages of its site; None if they have nothing in common with it."""
        from tplspider.pools.pool import companions  # imported lazily: few crawls need it
        from tplspider.pools.site_templates import COMPANIONS
        from tplspider.template.extract import PageSource

        key = PageSource(url, html)
        near = await asyncio.to_thread(lambda: companions(key, pool)[: COMPANIONS + SPARE])
        if not near:
            return None
        found = await self._compare(key, [each.source for each in near], seconds, COMPANIONS)
        return replace(found, method=POOL) if found and found.evidence else None

    def hurry(self) -> None:
        """The crawl is about to end: texts in progress get a few more seconds."""
        self._extraction.hurry(HURRIED_SECONDS)

    async def close(self) -> None:
        await self._extraction.close()

    async def _save(self, search: OpenSearch) -> None:
        session = search.session
        assert self._folder
        place = self._folder / session.search_id if self._many else self._folder
        kept = await self._read(search, members(session.search, session.witness))
        try:
            if search.pages.fault:
                raise search.pages.fault
            await asyncio.to_thread(save_pages, place, kept)
        except OSError as error:
            logger.error("The pages cannot be saved in %s: %s", place, error.strerror or error)  # noqa: TRY400
            count_lost(self._crawler, session.search_id)
        else:
            logger.log(self._level, "%s saved in %s", counted(len(kept), "page"), place)

    async def _read(self, search: OpenSearch, wanted: Sequence[WantedPage]) -> list[KeptPage]:
        found = await asyncio.to_thread(
            lambda: [search.pages.get(each.page, each.link, each.role) for each in wanted]
        )
        return [page for page in found if page]

    async def _extract(
        self, pages: Sequence[KeptPage], seconds: float | None
    ) -> PageTemplate | None:
        if not pages or pages[0].role != KEY:
            return None
        from tplspider.template.extract import PageSource  # imported lazily: few crawls need it

        key, *others = await asyncio.to_thread(
            lambda: [PageSource(page.url, page.html) for page in pages]
        )
        return await self._compare(key, others, seconds, MOST)

    async def _compare(
        self, key: PageSource, others: list[PageSource], seconds: float | None, most: int
    ) -> PageTemplate | None:
        compared = counted(min(len(others), most), "page")
        logger.log(self._level, "Comparing %s with %s", key.url, compared)
        return await self._extraction.extract(key, others, seconds=seconds, most=most)


def pooled(stored: StoredPage) -> PooledPage | None:
    """A page of an archive for a pool; None for what is no page, or redirects."""
    from tplspider.pools.pool import PooledPage  # imported lazily: few need it

    found = stored.read()
    with suppress(ValueError):  # it redirects to nowhere
        if not (isinstance(found, NoPage) or page_fault(found) or redirect_target(found)):
            return PooledPage.of(found.url, found.text)
    return None


def table_columns(own: Iterable[str], text: str) -> list[str]:
    """The columns of a table of texts: the user's, then ours, none of them twice."""
    columns = list(own)
    names = f"final_url outcome hint title {text} evidence evidence_pages loads candidates"
    for name in names.split():
        while name in columns:
            name = f"found_{name}"  # noqa: PLW2901 - until it is free
        columns.append(name)
    return columns


def text_row(summary: CandidateSearch, text: PageTemplate | None, name: str) -> dict[str, Any]:
    """What the table of texts has for a key page, beside the user's columns.

    *name* is the text that is asked for: ``main_text``, ``content_html`` ...
    """
    return {
        "final_url": summary.key_url,
        "outcome": summary.key_outcome,
        "hint": summary.hint,
        "title": text.title if text else summary.key_title,
        name: getattr(text, name) if text else "",
        "evidence": text.evidence if text else 0,
        "evidence_pages": text.candidates if text else [],
        "loads": summary.loads + summary.witness_loads,
        "candidates": summary.candidates,
    }
