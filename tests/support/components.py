"""Scrapy components that the tests put into real crawls."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.resolver import CachingThreadedResolver
from scrapy.spiderloader import SpiderLoader
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from twisted.internet import defer
from twisted.internet.error import DNSLookupError

from tplspider import signals as our_signals
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.old.crawl.scrapy_private import close_spider
from tplspider.search.session import SearchLimits, SearchSession, read_web_page
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

    from tplspider.web.addresses import Site
    from tplspider.web.page import NoPage, Page, WebPage


class LoopbackResolver(CachingThreadedResolver):
    """Every name is on loopback but those with ``dead`` in them; nothing is looked up."""

    def getHostByName(self, name: str, timeout: Any = ()) -> Deferred[str]:
        if "dead" in name:
            return defer.fail(DNSLookupError(f"no such name: {name}"))
        return defer.succeed("127.0.0.1")


class DroppingMiddleware(BaseSpiderMiddleware):
    """Drops requests with ``vanish`` in their address, as a user's middleware might."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        return None if "vanish" in request.url else request


class ItemDroppingMiddleware(BaseSpiderMiddleware):
    """Drops every item."""

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        return None


class CancellingMiddleware:
    """Cancels the first request with the words of the setting CANCELLED in its address."""

    def __init__(self, words: str) -> None:
        self._words = words

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["CANCELLED"])

    def process_request(self, request: Request) -> None:
        task = asyncio.current_task()
        if task and self._words and self._words in request.url:
            self._words = ""
            asyncio.get_running_loop().call_later(0.3, task.cancel)


class StumblingSpider(TemplateCandidatesSpider):
    """Fails on pages with ``stumble`` in their address, as if they had brought out a defect."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        for session in spider.sessions.values():
            session.reader = cls.read
        return spider

    @staticmethod
    def read(page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
        if "stumble" in page.url:
            raise RuntimeError("stumbled")
        return read_web_page(page, site, limits)


class Interrupted:
    """Sends the signal that a person would, at a moment that INTERRUPTED_AT names."""

    def __init__(self, crawler: Crawler) -> None:
        moment = crawler.settings["INTERRUPTED_AT"]
        if moment == "settings":
            self.interrupt()
        else:
            crawler.signals.connect(self.interrupt, signal=getattr(signals, moment))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Interrupted:
        return cls(crawler)

    def interrupt(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


class InterruptedLoader(SpiderLoader):
    """Sends it when the command asks for the spider that it is going to run: the second time."""

    asked = 0

    def load(self, spider_name: str) -> type[Spider]:
        self.asked += 1
        if self.asked == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return super().load(spider_name)


class FailingPipeline:
    """Fails on every summary, as a pipeline of a user's might."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, CandidateSearch):
            raise TypeError("what is this?")
        return item


class SlowPipeline:
    """Takes its time for every item."""

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.2)
        return item


class ClosesThrice:
    """Closes the spider, three times at once, when the eighth response has come."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._responses = 0
        crawler.signals.connect(self.count, signal=signals.response_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def count(self) -> None:
        self._responses += 1
        if self._responses == 8:
            for reason in ("first", "second", "third"):
                close_spider(self._crawler, reason)


class FailingMiddleware(BaseSpiderMiddleware):
    """Fails on every item."""

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        raise RuntimeError("what is this?")


class WrongSizePipeline:
    """Spoils the candidates, as a defect of ours might."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, TemplateCandidate):
            item.cs_size += 1
        return item


class StopsAtFirstEnd:
    """Interrupts the crawl when the first search is over."""

    def __init__(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.interrupt, signal=our_signals.search_settled)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def interrupt(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


class DiesOfOne:
    """Ends the process as the system does, when the key page DIES_OF is searched."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        crawler.signals.connect(self.die, signal=our_signals.search_started)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def die(self, session: SearchSession) -> None:
        if session.url == self.crawler.settings["DIES_OF"]:
            os.kill(os.getpid(), signal.SIGKILL)


class SlowTemplates:
    """A pipeline that keeps templates for a while: what comes after them is out before."""

    async def process_item(self, item: Any) -> Any:
        if isinstance(item, PageTemplate):
            await asyncio.sleep(0.3)
        return item


class NoSummaries:
    """A pipeline that lets no summary out."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, CandidateSearch):
            raise DropItem("not wanted")
        return item
