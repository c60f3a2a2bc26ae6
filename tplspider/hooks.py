"""The two methods of Scrapy that are used in a way that its documentation does not describe.

Both were seen in Scrapy 2.14 to 2.19. A Scrapy without them cannot end a crawl early with what was
found so far: :func:`check_hooks` says so before anything is requested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.engine import ExecutionEngine
from scrapy.core.scraper import Scraper
from scrapy.exceptions import DontCloseSpider

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response


def check_hooks() -> None:
    """Raise RuntimeError if this Scrapy does not have the methods."""
    for owner, name in ((ExecutionEngine, "close_spider_async"), (Scraper, "start_itemproc_async")):
        if not hasattr(owner, name):
            raise RuntimeError(f"this version of Scrapy has no {owner.__name__}.{name}")


def before_closing(crawler: Crawler, give_results: Callable[[str], Awaitable[None]]) -> None:
    """Await *give_results*, with the reason, before the spider closes.

    No signal comes early enough: when Scrapy signals that a spider closes, the pipelines are closed
    already. Everything that ends a crawl calls this method of the engine. The first caller's reason
    counts, as in Scrapy. With DontCloseSpider, *give_results* keeps the spider open.
    """
    engine = crawler.engine
    close_spider_async = engine.close_spider_async
    reasons: list[str] = []

    async def close(*, reason: str = "cancelled") -> None:
        reasons.append(reason)
        try:
            await give_results(reason)
        except DontCloseSpider:
            reasons.remove(reason)
            return
        await close_spider_async(reason=reasons[0])

    engine.close_spider_async = close  # type: ignore[method-assign]


async def process_item(crawler: Crawler, item: object, response: Response | None = None) -> None:
    """Send an item through the pipelines to the feeds when no callback can give it any more."""
    await crawler.engine.scraper.start_itemproc_async(item, response=response)
