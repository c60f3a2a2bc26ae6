"""What a site asks for (Crawl-delay, Retry-After), and the time that a search has left.

In DOWNLOADER_MIDDLEWARES, it comes after RetryMiddleware.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.datatypes import LocalCache

from tplspider import __version__
from tplspider.signals import Component

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

LONGEST_WAIT = 30.0  # seconds that a site may ask for
_MOST_HOSTS = 10_000  # whose delays are remembered
_STEP = 0.25  # seconds after which a waiting request checks whether its search is still open


def user_agent(contact: str) -> str:
    """Our user agent, with an address where site owners can reach the operator of the crawl."""
    return f"tplspider/{__version__}" + (f" (+{contact})" if contact else "")


def retry_after(value: str, now: datetime | None = None) -> float | None:
    """The seconds of a Retry-After header (a number or a date); None if it is malformed."""
    value = value.strip()
    try:
        if value.isascii() and value.isdecimal():
            seconds = float(value)
        else:
            date = parsedate_to_datetime(value)
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            seconds = (date - (now or datetime.now(UTC))).total_seconds()
    except (ValueError, OverflowError):  # neither, or a date that Python cannot represent
        return None
    return max(0.0, seconds) if seconds <= 366 * 86400 else None


def time_left(spider: Any, request: Request) -> float:
    """The seconds that a request may take: inf without a limit, 0 if its search is not open.

    A robots.txt (no search id) has the most time that any search has left, and at least a second:
    if it were refused, Scrapy would take the whole site as allowed for the rest of the crawl.
    """
    if not request.url.startswith("http"):  # data: requests carry results, also after the end
        return inf
    only = request.cb_kwargs.get("search_id")
    limits = [s.seconds_left() for key, s in spider.searches.items() if only in (None, key)]
    if None in limits or not (only or limits):
        return inf
    return float(max([0.0 if only else 1.0, *limits]))


class Politeness(Component):
    """Keeps the Crawl-delay of a robots.txt, and waits for a host that sent Retry-After.

    Each attempt of a request is limited to the time that its search has left.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT") or inf
        # By slot key. Scrapy drops the slot of an idle host, and its delay, after a minute.
        self._delays: LocalCache[str, float] = LocalCache(_MOST_HOSTS)
        self._until: LocalCache[str, float] = LocalCache(_MOST_HOSTS)
        connect = crawler.signals.connect
        connect(self.set_delay, signal=signals.request_reached_downloader)
        if parsed := getattr(signals, "robots_parsed", None):  # Scrapy 2.18
            connect(self.robots_parsed, signal=parsed)

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        get = self._crawler.settings.get
        asked = robotparser.crawl_delay(get("ROBOTSTXT_USER_AGENT") or get("USER_AGENT")) or 0
        if asked > LONGEST_WAIT:
            logger.warning("Crawl-delay of %.0f s cut to %.0f s: %s", asked, LONGEST_WAIT, request)
        if asked > 0:
            self._delays[self._slot_key(request)] = min(asked, LONGEST_WAIT)
            self._hold(request, min(asked, LONGEST_WAIT))

    def set_delay(self, request: Request) -> None:
        if delay := self._delays.get(key := self._slot_key(request)):
            slot = self._crawler.engine.downloader.slots[key]
            slot.delay = max(slot.delay, delay)
            self._hold(request, delay)  # unlike the wait in a slot, this one ends with the search

    async def process_request(self, request: Request) -> None:
        spider, key = self._crawler.spider, self._slot_key(request)
        left = time_left(spider, request)
        while left and (wait := self._until.get(key, 0) - monotonic()) > 0:
            await asyncio.sleep(min(wait, _STEP))
            left = time_left(spider, request)
        if not left:  # as a time-out, 0 would mean the default
            raise IgnoreRequest("no time left")
        if left < inf:
            request.meta["download_timeout"] = min(self._timeout, left)
            if "search_id" not in request.cb_kwargs:
                request.meta["dont_retry"] = True

    def process_response(self, request: Request, response: Response) -> Response:
        header = response.headers.get("Retry-After")
        if not header or response.status not in (429, 503) or "cached" in response.flags:
            return response
        seconds = retry_after(header.decode("latin-1")) or 0
        if seconds > LONGEST_WAIT:
            logger.info("Not retried, Retry-After is %.0f s: %s", seconds, request)
            request.meta["dont_retry"] = True  # for RetryMiddleware, which comes next
        elif seconds:
            logger.info("Waiting for Retry-After, %.0f s: %s", seconds, request)
            self._hold(request, seconds)
        return response

    def _hold(self, request: Request, seconds: float) -> None:
        key = self._slot_key(request)
        self._until[key] = max(self._until.get(key, 0), monotonic() + seconds)

    def _slot_key(self, request: Request) -> str:
        return str(self._crawler.engine.downloader.get_slot_key(request))
