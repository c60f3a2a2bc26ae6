"""The spider middleware that gives items the texts of their pages, without the site's template."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, NotConfigured
from scrapy.http import HtmlResponse
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread

from tplspider.old.crawl.fields.account import FieldsAccount
from tplspider.old.crawl.fields.delivery import Delivery
from tplspider.old.crawl.fields.field_settings import FieldSettings
from tplspider.old.crawl.fields.held_items import HeldItems
from tplspider.old.crawl.fields.item_fields import undeclared_fields
from tplspider.old.crawl.fields.page_shelf import PageShelf
from tplspider.old.crawl.scrapy_private import lead_close_through
from tplspider.old.extraction.strip_workers import StripWorkers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.old.crawl.fields.delivery import ItemPage
    from tplspider.pools.store import PoolStore

logger = logging.getLogger(__name__)

REFUSED = "tplspider_fields"  # the reason why a crawl with wrong settings is closed


class FieldsMiddleware:
    """Takes items out of what callbacks give, and gives them to the pipelines later, with more.

    It must not wait where it takes them: once 5 MB of responses wait, Scrapy stops, and no limit or
    signal ends that. So whoever closes the spider waits here until all items are out, and from then
    on callbacks wait for their items.
    """

    def __init__(self, crawler: Crawler, settings: FieldSettings) -> None:
        self.crawler = crawler
        self._settings = settings
        self._account = FieldsAccount(crawler)
        self._undeclared: dict[type, list[str]] = {}
        self._shelf = PageShelf(settings.held_mb)
        self._workers = StripWorkers(
            workers=settings.extract_workers,
            wanted=frozenset(settings.fields.values()),
            seconds=settings.extract_seconds,
            megabytes=settings.extract_mb,
        )
        self._delivery = Delivery(
            crawler,
            settings.fields,
            self._workers,
            self._shelf,
            self._account,
            ahead=settings.extract_workers,
        )
        self._held = HeldItems(
            settings, self._delivery, self._shelf, self._account, _store(settings.pool_dir)
        )
        # Callbacks give no more as long as more items than that are on their way.
        self._room = max(1, crawler.settings.getint("CONCURRENT_ITEMS"))
        self._end: asyncio.Task[None] | None = None
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self | Refusal:
        """The middleware; with settings that will not do, one that ends the crawl."""
        try:
            settings = FieldSettings.of(crawler.settings)
            if not settings.fields:
                raise NotConfigured
            return cls(crawler, settings)
        except ValueError as error:
            return Refusal(crawler, str(error))

    def spider_opened(self) -> None:
        if not is_asyncio_available():
            logger.error("TPLSPIDER_FIELDS needs an asyncio reactor, Scrapy's default")
            raise CloseSpider(REFUSED)
        self.crawler.signals.connect(self.spider_idle, signal=signals.spider_idle)
        self.crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        lead_close_through(self.crawler, self._finish)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        page: ItemPage | None = None
        try:
            async for each in result:
                if each is None or isinstance(each, Request):
                    yield each
                    continue
                taken = self._take(each, page, response)
                if taken is None:
                    yield each
                    continue
                page = taken
                await self._delivery.under_way.at_most(self._room)
            if page is None:
                self._learn(response)
        finally:
            if page is not None and self._end is not None:
                # The flush may be over: nobody else waits for these items.
                await page.pending.at_most(0)

    def spider_idle(self) -> None:
        """There is nothing to do but to give out what is held back; the spider stays open."""
        self._held.flush()
        if self._delivery.under_way:
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        self._held.close()
        self._shelf.close()
        await self._workers.close()
        self._account.sum_up(self._held.sites)
        await run_in_thread(self._held.save)

    def _take(self, item: Any, page: ItemPage | None, response: Response) -> ItemPage | None:
        """Take an item out; the page that it is of, or None of an item that passes."""
        if not isinstance(response, HtmlResponse) or not ItemAdapter.is_item(item):
            self._account.count("passed_by")
            return None
        kind = type(item)
        if kind not in self._undeclared:
            self._undeclared[kind] = undeclared_fields(kind, self._settings.fields)
        if self._undeclared[kind]:
            self._account.undeclared(kind, self._undeclared[kind])
            return None
        if page is not None:
            self._held.take_more(item, page)
            return page
        self._workers.start()
        try:
            return self._held.take(item, response)
        except Exception as error:  # noqa: BLE001 - of a page that cannot be read, or worse
            self._account.failed(response.url, error)
            return None

    def _learn(self, response: Response) -> None:
        if isinstance(response, HtmlResponse) and response.status == 200:
            try:
                self._held.learn(response)
            except Exception as error:  # noqa: BLE001 - as above, and no item is the worse for it
                logger.debug("%s cannot be read: %s", response.url, error)

    async def _finish(self, _: str) -> None:
        """Give out all items before the spider is closed. Whoever wants to close it waits."""
        if self._end is None:
            self._end = asyncio.get_running_loop().create_task(self._give_out_all())
        await asyncio.shield(self._end)

    async def _give_out_all(self) -> None:
        try:
            # What is under way goes on, but nothing is begun: else there would be items for ever.
            self.crawler.engine.pause()
            self._held.over = True
            self._held.flush()
            await self._delivery.hurry(self._settings.extract_seconds)
            await self._delivery.under_way.at_most(0)
        except Exception:
            logger.exception("Items that were held back cannot be given out")


class Refusal:
    """Ends a crawl before its first request, with one line that says why."""

    def __init__(self, crawler: Crawler, why: str) -> None:
        self._why = why
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    def spider_opened(self) -> None:
        logger.error("%s", self._why)
        raise CloseSpider(REFUSED)


def _store(folder: str) -> PoolStore | None:
    """Where pools are kept; ValueError, in one line, where they cannot be."""
    if not folder:
        return None
    # Here and not above: most crawls keep none, and do not pay for it.
    from tplspider.pools.store import PoolFolder

    return PoolFolder(folder)
