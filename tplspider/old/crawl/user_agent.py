"""Our name on our requests, and on no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.old.crawl.politeness import agent_of
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler


class UserAgentMiddleware:
    """Gives our requests their user agent, before anybody asks a robots.txt what it may do."""

    def __init__(self, agent: str) -> None:
        self._agent = agent

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(agent_of(crawler.settings))

    def process_request(self, request: Request) -> None:
        if self._agent and ticket_of(request):
            request.headers["User-Agent"] = self._agent


class LastUserAgentMiddleware(UserAgentMiddleware):
    """The same once more, right before the downloader.

    A project may have a middleware that gives requests names of its own. The robots.txt was read
    for ours, so this is the one that is sent.
    """
