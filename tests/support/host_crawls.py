"""A crawl of many key pages, each on a host of its own, whose memory and files are watched.

Run as a program: ``python -m tests.support.host_crawls JSON``, see :class:`Plan`. A line of JSON for
each moment that *looks* names, counted in sites that are done, goes to standard output.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy.utils.asyncio import call_later

from tests.support.crawls import SETTINGS
from tplspider import signals
from tplspider.crawl import host_memory
from tplspider.crawl.cookie_jars import cookies_of
from tplspider.crawl.host_memory import HostMemory
from tplspider.crawl.politeness import CrawlDelay
from tplspider.crawl.private_network.address_guard import PrivateAddressMiddleware
from tplspider.crawl.requests import key_page_request
from tplspider.crawl.robots import TicketRobotsTxtMiddleware
from tplspider.crawl.tally import tally_of
from tplspider.profiles import profile_settings
from tplspider.search.session import SearchSession
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

_NOBODY = "nobody"  # a session that is never over, since the crawl would be


@dataclass
class Plan:
    """What to crawl: *url* has a ``*`` in the place of a number."""

    url: str
    sites: int
    at_once: int = 1
    open_files: int = 0
    pause: float = 0  # after the last, before the last look
    resting: int = host_memory.RESTING
    drops_slots: bool = False  # as Scrapy does after a minute, but before each search
    others: list[str] = field(default_factory=list)  # loaded first, without a ticket
    looks: list[int] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=lambda: {"n": 2})
    settings: dict[str, Any] = field(default_factory=dict)


class ManySites(TemplateCandidatesSpider):
    """Opens a session for each site as places become free."""

    plan: Plan
    done = 0
    places: asyncio.Semaphore
    other_pages: asyncio.Semaphore

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.sessions.clear()
        crawler.signals.connect(spider.search_ended, signal=signals.search_ended)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.places = asyncio.Semaphore(self.plan.at_once)
        self.other_pages = asyncio.Semaphore(0)
        nobody = SimpleNamespace(awaited=[], summary=None)
        self.sessions[_NOBODY] = cast("SearchSession", nobody)
        for url in self.plan.others:
            yield Request(url, self.parse_other, dont_filter=True)
        for _ in self.plan.others:
            await self.other_pages.acquire()
        for number in range(self.plan.sites):
            await self.places.acquire()
            if self.plan.drops_slots:
                self.crawler.engine.downloader._slot_gc(age=-60)
            if number in self.plan.looks:
                self.look()
            url = self.plan.url.replace("*", str(number))
            session = SearchSession(url, self.arguments.options, listener=self.announce)
            self.sessions[session.search_id] = session
            ticket = self.tickets.ticket(session, None)
            yield key_page_request(ticket, self.parse_page, self.request_failed)
        for _ in range(self.plan.at_once):  # all places are free: the last search has ended
            await self.places.acquire()
        await asyncio.sleep(self.plan.pause)
        self.look()
        del self.sessions[_NOBODY]

    def parse_other(self, response: Response) -> None:
        self.other_pages.release()

    def search_ended(self, session: SearchSession) -> None:
        self.done += 1
        call_later(0, self.places.release)

    def look(self) -> None:
        """Print what is kept."""
        gc.collect()
        crawler, downloader = self.crawler, self.crawler.engine.downloader
        robots = crawler.get_downloader_middleware(TicketRobotsTxtMiddleware)
        memory = crawler.get_downloader_middleware(HostMemory)
        guard = crawler.get_downloader_middleware(PrivateAddressMiddleware)
        delay, cookies = crawler.get_extension(CrawlDelay), cookies_of(crawler)
        assert robots
        assert guard
        assert delay
        assert cookies
        handlers = cast("list[Any]", downloader.handlers._handlers.values())
        pools = [handler._pool for handler in handlers if hasattr(handler, "_pool")]
        found = {
            "done": self.done,
            "rss": int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096,
            "files": len(list(Path("/proc/self/fd").iterdir())),
            "robots": len(robots._found),
            "hosts": len(memory._hosts) if memory else 0,
            "names": len(guard._hosts.public | guard._hosts.private),
            "slots": list(downloader.slots),
            "paces": len(delay.paces._slots) + len(delay.paces._least),
            "jars": len(cookies.jars),
            "pool": [key[1].decode() for pool in pools for key in pool._connections],
            "timeouts": sum(len(pool._timeouts) for pool in pools),
            "sessions": len(self.sessions),
            "errors": crawler.stats.get_value("log_count/ERROR", 0),
            "unusable": tally_of(crawler).unusable,
        }
        print(json.dumps(found), flush=True)


def main() -> None:
    plan = Plan(**json.loads(sys.argv[1]))
    host_memory.RESTING = plan.resting
    if plan.open_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (plan.open_files, plan.open_files))
    defaults = {"LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": plan.at_once}
    process = CrawlerProcess(
        {**profile_settings("default", whole=True), **SETTINGS, **defaults, **plan.settings}
    )
    spider = type("ManySites", (ManySites,), {"plan": plan})
    process.crawl(spider, url=plan.url.replace("*", "0"), **plan.arguments)
    process.start()


if __name__ == "__main__":
    main()
