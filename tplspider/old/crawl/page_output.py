"""What is made of the pages themselves when a search is over: their template, and files."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread

from tplspider.items import PageTemplate
from tplspider.old.crawl.config import Config
from tplspider.old.crawl.outputs.feeds import is_asked_for
from tplspider.old.crawl.outputs.lost import count_lost
from tplspider.old.crawl.outputs.save_html import save_html
from tplspider.old.crawl.tally import tally_of
from tplspider.old.extraction.extractors import with_evidence
from tplspider.old.extraction.workers import (
    ExtractionError,
    ExtractionWorkers,
    ExtractorFailedError,
)
from tplspider.pools.site_templates import COMPANIONS
from tplspider.search.answer import counted
from tplspider.search.witness import KEY, MOST, WantedPage, evidence, members
from tplspider.sources.kept_pages import KeptPage, KeptPages
from tplspider.template.extract import PageSource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from scrapy.crawler import Crawler

    from tplspider.old.crawl.arguments import Arguments
    from tplspider.old.crawl.key_pools import KeyPools
    from tplspider.search.session import SearchSession
    from tplspider.web.page import Page, WebPage

logger = logging.getLogger(__name__)

HURRIED_SECONDS = 5


class PageOutput:
    """Keeps pages as they come, if their template or their files are asked for.

    Nothing that goes wrong here stops the crawl: its candidates and its summary come all the same.
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        template: bool,
        folder: str,
        of_many: bool = False,
        for_report: bool = False,
        pools: KeyPools | None = None,
    ) -> None:
        self.crawler = crawler
        self.wants_template = template
        self._folder = folder
        self._of_many = of_many  # then each search has a folder in that folder, named by its id
        self._for_report = for_report
        self._pools = pools
        self._level = logging.DEBUG if of_many else logging.INFO
        self._kept: dict[str, KeptPages] = {}  # of each search that is not over
        self._busy: set[str] = set()  # searches whose pages are being worked on
        self._workers: ExtractionWorkers | None = None
        crawler.signals.connect(self.open, signal=signals.spider_opened)
        crawler.signals.connect(self.close, signal=signals.spider_closed)

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, arguments: Arguments, pools: KeyPools | None = None
    ) -> Self:
        """Find out what is asked for, when the feeds of the crawl are known."""
        asked = Config.from_crawler(crawler).template or bool(arguments.template)
        return cls(
            crawler,
            template=asked or is_asked_for(PageTemplate, crawler.settings),
            folder=arguments.save_html,
            of_many=not arguments.url,
            for_report=bool(arguments.report),
            pools=pools,
        )

    @property
    def is_busy(self) -> bool:
        """Whether results are being made."""
        return bool(self._busy)

    def open(self) -> None:
        """Start what extracts templates, so that it is ready when the search is over."""
        if not self.wants_template:
            return
        config = Config.from_crawler(self.crawler)
        self._workers = ExtractionWorkers(
            config.extractor,
            # Without asyncio nothing can wait for a worker: the work is done here.
            workers=config.extract_workers if is_asyncio_available() else 0,
            seconds=config.extract_seconds,
            megabytes=config.extract_mb,
            for_report=self._for_report,
            markdown=config.markdown,
        )
        self._workers.start()

    def keep(self, session: SearchSession, page: Page, source: WebPage) -> None:
        """Keep what *page* was read from, if it may be wanted when the search is over."""
        if self.wants_template or self._folder:
            self._kept.setdefault(session.search_id, KeptPages()).keep(page, source)

    async def by_pool(self, session: SearchSession, page: WebPage) -> bool:
        """Have the saved pool of its site tell about a key page: see :class:`KeyPools`."""
        if not self._pools or not self._workers:
            return True
        return await self._pools.answer(
            session, page, partial(self._compare, self._workers, most=COMPANIONS)
        )

    def drop(self, session: SearchSession) -> None:
        """Let go of the pages of a search that has no end here."""
        if kept := self._kept.pop(session.search_id, None):
            kept.close()

    async def templates(
        self, session: SearchSession, *, hurried: bool = False
    ) -> list[PageTemplate]:
        """Write the files of a search that is over, and give its template.

        A crawl that is ended early cannot wait for long: *hurried*, there is a limit of time.
        """
        if not self.wants_template and not self._folder:
            return []
        self._busy.add(session.search_id)
        kept = self._kept.pop(session.search_id, None) or KeptPages()
        key_url = session.summary.key_url if session.summary else session.url
        try:
            if self._folder:
                place = Path(self._folder, session.search_id if self._of_many else "")
                pages, fault = await self._read(kept, members(session.search, session.witness))
                if not self._is_saved(place, pages, fault):
                    count_lost(self.crawler, session.search_id)
            found = self._pools.take(session) if self._pools else None
            if self._workers and not found:
                pages, fault = await self._read(kept, evidence(session.search, session.witness))
                if fault and not self._folder:
                    logger.error("The template of %s lacks pages: %s", key_url, fault)
                    self._spoil(session)
                seconds = HURRIED_SECONDS if hurried else None
                found = await self._extract(self._workers, pages, seconds)
        except ExtractionError as error:
            self.crawler.stats.set_value("tplspider/template_fault", str(error))
            defect = isinstance(error, ExtractorFailedError)
            level = logging.ERROR if defect else logging.WARNING
            logger.log(level, "No template for %s: %s", key_url, error, exc_info=defect)
            self._spoil(session)
            return []
        except Exception:
            logger.exception("The template of %s cannot be extracted", key_url)
            self._spoil(session)
            return []
        finally:
            kept.close()
            self._busy.discard(session.search_id)
        if found is None:
            return []
        self.crawler.stats.set_value("tplspider/template_share", found.template_share)
        return [replace(found, search_id=session.search_id, requested_url=session.requested_url)]

    def hurry(self) -> None:
        """Somebody ends the crawl: what is under way is not waited for much longer."""
        if self._workers:
            self._workers.hurry(HURRIED_SECONDS)

    async def close(self) -> None:
        """Let go of the pages and of the workers."""
        for kept in self._kept.values():
            kept.close()
        if self._workers:
            await self._workers.close()

    async def _read(
        self, kept: KeptPages, wanted: Sequence[WantedPage]
    ) -> tuple[list[KeptPage], OSError | None]:
        """Pages as they came, and why some of them are missing."""
        # The page that ended the search has kept the event loop long enough.
        found = await run_in_thread(
            lambda: [kept.get(each.page, each.link, each.role) for each in wanted]
        )
        return [page for page in found if page], kept.fault if None in found else None

    def _is_saved(self, place: Path, pages: list[KeptPage], fault: OSError | None) -> bool:
        try:
            if fault:
                raise fault
            save_html(str(place), pages)
        except OSError as error:
            why = error.strerror or error
            logger.error("The pages cannot be saved in %s: %s", place, why)  # noqa: TRY400 - the reason is enough
            return False
        logger.log(self._level, "%s saved in %s", counted(len(pages), "page"), place)
        return True

    def _spoil(self, session: SearchSession) -> None:
        """Remember that a template is lost, which another try would lose as well."""
        count_lost(self.crawler)
        tally_of(self.crawler).spoilt.add(session.search_id)

    async def _extract(
        self, workers: ExtractionWorkers, pages: list[KeptPage], seconds: float | None
    ) -> PageTemplate | None:
        if not pages or pages[0].role != KEY:
            return None
        key, *others = await run_in_thread(
            lambda: [PageSource(page.url, page.html) for page in pages]
        )
        return await self._compare(workers, key, others, seconds)

    async def _compare(
        self,
        workers: ExtractionWorkers,
        key: PageSource,
        others: list[PageSource],
        seconds: float | None = None,
        most: int = MOST,
    ) -> PageTemplate | None:
        compared = counted(min(len(others), most), "page")
        logger.log(self._level, "Comparing %s with %s", key.url, compared)
        found = await workers.extract(key, others, seconds=seconds, most=most)
        found = found and with_evidence(found)
        if found and found.evidence:
            share = 100 * found.template_share
            logger.log(self._level, "The template is %.0f%% of %s", share, key.url)
        return found
