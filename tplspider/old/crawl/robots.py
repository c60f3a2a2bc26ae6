"""The robots.txt of the sites that we search: loaded as one of our requests, read for our name."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler
from twisted.internet.defer import Deferred

from tplspider.old.crawl import cookie_jars
from tplspider.old.crawl.politeness import agent_of, robots_agent_of
from tplspider.old.crawl.private_network.private_addresses import host_name
from tplspider.old.crawl.ticket import META_KEY, ticket_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)


class TicketRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Scrapy's own, but the robots.txt of a request with a ticket travels on that ticket.

    So our other middlewares treat it like the request that it is loaded for. Requests without a
    ticket are left to Scrapy's own: a robots.txt may differ by who asks for it.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._others = RobotsTxtMiddleware(crawler)
        self._default_useragent = agent_of(crawler.settings)
        self._robotstxt_useragent = robots_agent_of(crawler.settings)
        self._found: dict[str, RobotParser | None] = {}
        self._waiting: dict[str, list[Deferred[None]]] = {}  # for those that are under way

    async def process_request(  # type: ignore[override]  # Scrapy passes no spider any more
        self, request: Request
    ) -> None:
        if ticket_of(request):
            await super().process_request(request)
        else:
            await self._others.process_request(request)

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """What the robots.txt of a request's host says; None when it cannot be had.

        Each is loaded once. When the request for which one is loaded is cancelled, the next of
        those that wait for it takes its place. (With Scrapy's own they would wait forever; and of
        several that wait, all but the first would be told that there is no robots.txt.)
        """
        host = urlparse_cached(request).netloc.rpartition("@")[2]
        while host in self._waiting:
            turn: Deferred[None] = Deferred()
            self._waiting[host].append(turn)
            await maybe_deferred_to_future(turn)
        if host not in self._found:
            self._waiting[host] = []
            try:
                self._found[host] = await self._load(host, request)
            finally:
                for turn in self._waiting.pop(host):
                    if not turn.called:  # by being cancelled
                        turn.callback(None)
        return self._found[host]

    def forget(self, host: str) -> None:
        """Let go of what a host, by its name, has said on all its ports, unless it is under way."""
        for found in [found for found in self._found if found not in self._waiting]:
            if host_name(urlsplit(f"//{found}").hostname or "") == host:
                del self._found[found]

    async def _load(self, host: str, request: Request) -> RobotParser | None:
        robots = Request(
            f"{urlparse_cached(request).scheme}://{host}/robots.txt",
            priority=self.DOWNLOAD_PRIORITY,
            # Its cookies are nobody's: of several searches, only the first would have them.
            meta={
                "dont_obey_robotstxt": True,
                META_KEY: ticket_of(request),
                cookie_jars.META_KEY: (jar := f"robots.txt of {host}"),
            },
            callback=NO_CALLBACK,
        )
        self._stats.inc_value("robotstxt/request_count")
        try:
            return await self._parse(await self.crawler.engine.download_async(robots), request)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # It was the robots.txt that was cancelled, not the request for which it is loaded.
        except IgnoreRequest as error:
            logger.debug("%s is not loaded: %s", robots.url, error)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is as if there were none
            self._stats.inc_value(f"robotstxt/exception_count/{type(error)}")
            why = str(error) or type(error).__name__
            logger.warning("%s cannot be loaded, so nothing is forbidden: %s", robots.url, why)
        finally:
            cookie_jars.drop_jar(self.crawler, jar)
        return None

    async def _parse(self, response: Response, request: Request) -> RobotParser:
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        parser: RobotParser = build_from_crawler(self._parserimpl, self.crawler, response.body)
        await self.crawler.signals.send_catch_log_async(
            signals.robots_parsed, robotparser=parser, request=request
        )
        return parser
