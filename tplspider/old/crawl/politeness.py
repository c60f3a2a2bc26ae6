"""Doing as a site asks: Retry-After, Crawl-delay, and telling who we are."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.settings import SETTINGS_PRIORITIES

from tplspider import __version__
from tplspider.old.crawl.config import Config
from tplspider.old.crawl.pace import Paces
from tplspider.old.crawl.scrapy_private import slot_key
from tplspider.old.crawl.ticket import ticket_of
from tplspider.profiles import is_own_project

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_ASKS_TO_WAIT = frozenset({429, 503})
_YEAR = 366 * 24 * 60 * 60


def user_agent(contact: str) -> str:
    """The name we go by, with an address where site owners can reach who runs the crawl."""
    return f"tplspider/{__version__}" + (f" (+{contact})" if contact else "")


def agent_of(settings: BaseSettings) -> str:
    """The user agent of our requests: USER_AGENT, if it is meant for us, else our own."""
    if _is_for_us(settings, "USER_AGENT"):
        return settings.get("USER_AGENT") or ""
    return user_agent(Config.of(settings).contact)


def robots_agent_of(settings: BaseSettings) -> str:
    """The user agent for which our requests read a robots.txt."""
    if _is_for_us(settings, "ROBOTSTXT_USER_AGENT") and settings.get("ROBOTSTXT_USER_AGENT"):
        return str(settings.get("ROBOTSTXT_USER_AGENT"))
    return agent_of(settings)


def _is_for_us(settings: BaseSettings, name: str) -> bool:
    """Whether a setting was made for our crawls: by our own project, a spider or a command line.

    What another project says of itself is said of its own spiders.
    """
    least = "project" if is_own_project(settings) else "spider"
    return (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES[least]


def retry_after(value: str, now: datetime | None = None) -> float | None:
    """The seconds that a Retry-After header (a number or a date) asks for; None for nonsense.

    Nobody means more than a year.

    >>> retry_after("120")
    120.0
    """
    value = value.strip()
    try:
        if value.isascii() and value.isdecimal():
            seconds = float(value)
        else:
            date = parsedate_to_datetime(value)
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            seconds = (date - (now or datetime.now(UTC))).total_seconds()
    except (ValueError, OverflowError):  # neither, or a date beyond those that Python knows
        return None
    return max(0.0, seconds) if seconds <= _YEAR else None


class RetryAfterMiddleware(RetryMiddleware):
    """Scrapy's own, but it waits as long as a site asks for before it tries again.

    A wait longer than TPLSPIDER_RETRY_AFTER_MAX is not worth it: the request fails at once.
    """

    longest: float

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        middleware.longest = Config.from_crawler(crawler).retry_after_max
        return middleware

    async def process_response(  # type: ignore[override]  # Scrapy takes either kind
        self, request: Request, response: Response
    ) -> Request | Response:
        header = response.headers.get("Retry-After")
        if header and ticket_of(request) and response.status in _ASKS_TO_WAIT:
            seconds = retry_after(header.decode("latin-1"))
            if seconds is not None and seconds > self.longest:
                logger.info("%s asks for %.0f s: not waited for", request.url, seconds)
                return response
            result = super().process_response(request, response)
            if seconds and result is not response:
                logger.info("%s asks for %.0f s: waiting", request.url, seconds)
                await asyncio.sleep(seconds)
            return result
        return super().process_response(request, response)


class CrawlDelay:
    """The extension that keeps to the Crawl-delay of a robots.txt, and asks for a contact."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.config = Config.from_crawler(crawler)
        self.paces = Paces(crawler)
        crawler.signals.connect(self.robots_parsed, signal=signals.robots_parsed)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self) -> None:
        self.paces.start()
        if not self.config.contact:
            logger.info("Set TPLSPIDER_CONTACT, so that site owners can reach you")

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        if ticket_of(request) is None:
            return
        asked = robotparser.crawl_delay(robots_agent_of(self.crawler.settings))
        if not asked:
            return
        delay = min(asked, self.config.retry_after_max)
        if delay < asked:
            logger.warning(
                "robots.txt of %s asks for %.0f s between requests: %.0f s are kept",
                request.url,
                asked,
                delay,
            )
        if self.paces.ask_for(slot_key(self.crawler, request), delay):
            logger.info("%.1f s between requests to %s, as robots.txt asks", delay, request.url)
