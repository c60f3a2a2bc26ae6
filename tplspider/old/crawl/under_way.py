"""The requests of searches that are under way, so that they end when their search ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from tplspider.old.crawl.scrapy_private import drop_waiting_requests
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from typing import Any, Self

    from scrapy import Request
    from scrapy.crawler import Crawler

    from tplspider.search.session import SearchSession


class SearchOverError(IgnoreRequest):
    """A request was made when its search was over already."""


class RequestsUnderWay:
    """The downloader middleware that knows the tasks in which our requests are loaded.

    Scrapy waits for what is under way before it closes a spider: for a server that hangs, for as
    long as DOWNLOAD_TIMEOUT says, and that twice. Every download has a task of its own, and ending
    it ends whatever the request waits for: the answer, a Retry-After, its robots.txt, a browser.
    It belongs before RobotsTxtMiddleware, which asks for a robots.txt on behalf of a request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._tasks: dict[asyncio.Task[Any], SearchSession] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        self.enter(request)

    def enter(self, request: Request) -> None:
        """Take note of the task that loads a request of ours; refuse it if nobody waits for it."""
        ticket = ticket_of(request)
        if ticket is None:
            return
        if ticket.rank not in ticket.session.awaited or self._is_dropped(ticket.session):
            raise SearchOverError("the search is over")
        try:
            task = asyncio.current_task()
        except RuntimeError:  # a reactor without asyncio: downloads end by themselves
            return
        if task is not None:
            self._tasks[task] = ticket.session
            task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def _is_dropped(self, session: SearchSession) -> bool:
        """Whether a search that is not over was left to another day, or to somebody else."""
        open_sessions = vars(self._crawler.spider).get("sessions")
        return open_sessions is not None and open_sessions.get(session.search_id) is not session

    def cancel(self, session: SearchSession) -> None:
        """End all that is under way for a search that is over."""
        for task in [task for task, its_session in self._tasks.items() if its_session is session]:
            task.cancel()

        def is_dropped(request: Request) -> bool:
            ticket = ticket_of(request)
            return ticket is not None and ticket.session is session

        drop_waiting_requests(self._crawler, is_dropped)
