"""The settings of tplspider, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.complete_subdigraph import MAX_SEARCH_NODES

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


@dataclass(frozen=True)
class Config:
    """Each field is the setting of that name, in capitals and after ``TPLSPIDER_``."""

    feeds_dir: str = ""
    max_search_nodes: int = MAX_SEARCH_NODES

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read and check the settings of a crawl."""
        settings = crawler.settings
        nodes = settings.getint("TPLSPIDER_MAX_SEARCH_NODES", cls.max_search_nodes)
        if nodes < 1:
            raise ValueError(f"TPLSPIDER_MAX_SEARCH_NODES={nodes}: expected 1 or more")
        return cls(
            feeds_dir=settings.get("TPLSPIDER_FEEDS_DIR") or cls.feeds_dir, max_search_nodes=nodes
        )
