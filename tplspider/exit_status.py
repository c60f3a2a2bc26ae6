"""The exit status of a command that ran our spider."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

LOST = 1  # something that was asked for is not there


def exit_status(crawler: Crawler) -> int:
    """0 if the crawl has given its answer and written all of it, LOST if not."""
    spider = crawler.spider
    if spider is None or not getattr(spider, "is_over", False):
        logger.error("Ended before the search had begun: nothing was requested or written")
        return LOST
    watch = getattr(spider, "output_watch", None)
    return LOST if watch and watch.any_lost else 0
