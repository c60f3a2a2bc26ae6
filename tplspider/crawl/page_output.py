"""What is made of the pages themselves when a search is over: their template, and files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread

from tplspider.crawl.config import Config
from tplspider.crawl.outputs.feeds import is_asked_for
from tplspider.crawl.outputs.lost import count_lost
from tplspider.crawl.outputs.save_html import save_html
from tplspider.crawl.wording import counted
from tplspider.extraction.workers import (
    ExtractionError,
    ExtractionWorkers,
    ExtractorFailedError,
)
from tplspider.items import PageTemplate
from tplspider.sources.kept_pages import KeptPage, KeptPages
from tplspider.template.extract import PageSource

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import HtmlResponse

    from tplspider.crawl.arguments import Arguments
    from tplspider.search.window import SubdigraphSearch
    from tplspider.web.page import Page

logger = logging.getLogger(__name__)

HURRIED_SECONDS = 5


class PageResults:
    """Keeps pages as they come, if their template or their files are asked for.

    Nothing that goes wrong here stops the crawl: its candidates and its summary come all the same.
    """

    def __init__(self, crawler: Crawler, *, template: bool, folder: str) -> None:
        self.crawler = crawler
        self._template = template
        self._folder = folder
        self._kept = KeptPages()
        self._lost: OSError | None = None  # why a page that is wanted was not kept
        self._workers: ExtractionWorkers | None = None
        crawler.signals.connect(self.open, signal=signals.spider_opened)
        crawler.signals.connect(self.close, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler, arguments: Arguments) -> Self:
        """Find out what is asked for, when the feeds of the crawl are known."""
        asked = Config.from_crawler(crawler).template or bool(arguments.template)
        return cls(
            crawler,
            template=asked or is_asked_for(PageTemplate, crawler.settings),
            folder=arguments.save_html,
        )

    def open(self) -> None:
        """Start what extracts templates, so that it is ready when the search is over."""
        if not self._template:
            return
        config = Config.from_crawler(self.crawler)
        self._workers = ExtractionWorkers(
            config.extractor,
            # Without asyncio nothing can wait for a worker: the work is done here.
            workers=config.extract_workers if is_asyncio_available() else 0,
            seconds=config.extract_seconds,
            megabytes=config.extract_mb,
        )
        self._workers.start()

    def keep(self, page: Page, response: HtmlResponse) -> None:
        """Keep what *page* was read from, if it may be wanted when the search is over."""
        if self._template or self._folder:
            self._kept.keep(page, response)

    async def items(
        self, key_url: str, search: SubdigraphSearch | None, *, hurried: bool = False
    ) -> list[PageTemplate]:
        """Write the files and give the template; *search* is None where there was no key page.

        A crawl that is ended early cannot wait for long: *hurried*, there is a limit of time.
        """
        if not self._template and not self._folder:
            return []
        try:
            pages = await self._pages(search) if search else []
            if self._folder:
                self._save(pages)
            seconds = HURRIED_SECONDS if hurried else None
            found = await self._extract(key_url, pages, seconds) if self._workers else None
        except ExtractionError as error:
            self.crawler.stats.set_value("tplspider/template_fault", str(error))
            defect = isinstance(error, ExtractorFailedError)
            level = logging.ERROR if defect else logging.WARNING
            logger.log(level, "No template for %s: %s", key_url, error, exc_info=defect)
            count_lost(self.crawler)
            return []
        except Exception:
            logger.exception("The template of %s cannot be extracted", key_url)
            count_lost(self.crawler)
            return []
        finally:
            self._kept.close()
        if found is None:
            return []
        self.crawler.stats.set_value("tplspider/template_share", found.template_share)
        return [found]

    def hurry(self) -> None:
        """Somebody ends the crawl: what is under way is not waited for much longer."""
        if self._workers:
            self._workers.hurry(HURRIED_SECONDS)

    async def close(self) -> None:
        """Let go of the pages and of the workers."""
        self._kept.close()
        if self._workers:
            await self._workers.close()

    async def _pages(self, search: SubdigraphSearch) -> list[KeptPage]:
        """The key page and the members of the best CS, by rank."""
        wanted = [(search.key_page, "")]
        wanted += [(visit.page, visit.link.url) for visit in search.members if visit.page]
        # The page that ended the search has kept the event loop long enough.
        kept = await run_in_thread(lambda: [self._kept.get(page, link) for page, link in wanted])
        if self._kept.fault and None in kept:
            self._lost = self._kept.fault
            if not self._folder:
                logger.error("The template of %s lacks pages: %s", search.key_page.url, self._lost)
                count_lost(self.crawler)
        return [page for page in kept if page]

    def _save(self, pages: list[KeptPage]) -> None:
        try:
            if self._lost:
                raise self._lost
            save_html(self._folder, pages)
        except OSError as error:
            why = error.strerror or error
            logger.error("The pages cannot be saved in %s: %s", self._folder, why)  # noqa: TRY400
            count_lost(self.crawler)
        else:
            logger.info("%s saved in %s", counted(len(pages), "page"), self._folder)

    async def _extract(
        self, key_url: str, pages: list[KeptPage], seconds: float | None
    ) -> PageTemplate | None:
        if len(pages) < 2 or pages[0].link:
            logger.info("No template for %s: there is no page to compare it with", key_url)
            return None
        logger.info("Comparing the key page with %s", counted(len(pages) - 1, "page"))
        assert self._workers
        key, *members = await run_in_thread(
            lambda: [PageSource(page.url, page.html) for page in pages]
        )
        found = await self._workers.extract(key, members, seconds=seconds)
        if found:
            logger.info("The template is %.0f%% of the key page", 100 * found.template_share)
        return found
