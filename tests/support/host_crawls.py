"""A crawl of many key pages, each on a host of its own, whose memory and files are watched.

Run as a program: ``python -m tests.support.host_crawls JSON``, see :class:`Plan`. A line of JSON
for each moment that *looks* names, counted in sites that are done, goes to standard output.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request
from scrapy.crawler import CrawlerProcess

from tests.support.crawls import SETTINGS
from tplspider import signals
from tplspider.old.crawl import host_memory
from tplspider.old.crawl.cookie_jars import cookies_of
from tplspider.old.crawl.host_memory import HostMemory
from tplspider.old.crawl.politeness import CrawlDelay
from tplspider.old.crawl.private_network.address_guard import PrivateAddressMiddleware
from tplspider.old.crawl.robots import TicketRobotsTxtMiddleware
from tplspider.old.crawl.tally import tally_of
from tplspider.profiles import profile_settings
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.search.session import SearchSession


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
    """A crawl of a list that is looked at on its way."""

    plan: Plan
    done = 0
    other_pages: asyncio.Semaphore

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.search_settled, signal=signals.search_settled)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.other_pages = asyncio.Semaphore(0)
        for url in self.plan.others:
            yield Request(url, self.parse_other, dont_filter=True)
        for _ in self.plan.others:
            await self.other_pages.acquire()
        number = 0
        async for request in super().start():
            if self.plan.drops_slots:
                self.crawler.engine.downloader._slot_gc(age=-60)
            if number in self.plan.looks:
                self.look()
            number += 1
            yield request
        await asyncio.sleep(self.plan.pause)
        self.look()

    def parse_other(self, response: Response) -> None:
        self.other_pages.release()

    def search_settled(self, session: SearchSession) -> None:
        self.done += 1

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
            "unusable": tally_of(crawler).unusable.total(),
        }
        print(json.dumps(found), flush=True)


def main() -> None:
    plan = Plan(**json.loads(sys.argv[1]))
    host_memory.RESTING = plan.resting
    if plan.open_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (plan.open_files, plan.open_files))
    defaults = {"LOG_LEVEL": "ERROR", "TPLSPIDER_SEARCHES": plan.at_once}
    process = CrawlerProcess(
        {**profile_settings("default", whole=True), **SETTINGS, **defaults, **plan.settings}
    )
    spider = type("ManySites", (ManySites,), {"plan": plan})
    with NamedTemporaryFile("w", suffix=".txt") as urls:
        urls.writelines(plan.url.replace("*", str(number)) + "\n" for number in range(plan.sites))
        urls.flush()
        process.crawl(spider, urls=urls.name, **plan.arguments)
        process.start()


if __name__ == "__main__":
    main()
