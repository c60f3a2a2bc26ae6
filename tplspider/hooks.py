"""The two methods of Scrapy that are used in a way that its documentation does not describe.

Both were seen in Scrapy 2.14 to 2.19. With a Scrapy that has not, a crawl fails as it begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DontCloseSpider

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response


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
