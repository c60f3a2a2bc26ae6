"""The requests of a search that are under way, so that they end when the crawl ends."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from tplspider.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from typing import Any, Self

    from scrapy import Request
    from scrapy.crawler import Crawler


class CrawlOverError(IgnoreRequest):
    """A request was made when the crawl was over already."""


class RequestsUnderWay:
    """The downloader middleware that knows the tasks in which our requests are loaded.

    Scrapy waits for what is under way before it closes a spider: for a server that hangs, for as
    long as DOWNLOAD_TIMEOUT says, and that twice. Every download has a task of its own, and ending
    it ends whatever the request waits for: the answer, a Retry-After, its robots.txt, a browser.
    It belongs before RobotsTxtMiddleware, which asks for a robots.txt on behalf of a request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        self.enter(request)

    def enter(self, request: Request) -> None:
        """Take note of the task that loads a request of ours; refuse it when the crawl is over."""
        if ticket_of(request) is None:
            return
        if self._is_over:
            raise CrawlOverError("the crawl is over")
        try:
            task = asyncio.current_task()
        except RuntimeError:  # a reactor without asyncio: downloads end by themselves
            return
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """End all that is under way, and refuse what is asked for from now on."""
        self._is_over = True
        for task in list(self._tasks):
            task.cancel()
        # What waits for its turn would be sent although nobody waits for it any more.
        for slot in self._crawler.engine.downloader.slots.values():
            slot.queue = deque(entry for entry in slot.queue if ticket_of(entry[0]) is None)
