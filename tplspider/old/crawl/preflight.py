"""What is checked and worked out before a crawl: whatever is wrong is said in one line, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.key_list import open_list
from tplspider.old.crawl.config import Config
from tplspider.search.session import SearchLimits

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.arguments import Arguments
    from tplspider.old.crawl.batch.key_list import KeyList


def open_list_of(arguments: Arguments, config: Config) -> KeyList:
    """The list of key pages that a crawl is given."""
    return open_list(
        arguments.urls, arguments.column, confine=config.confine, folder=config.feeds_dir
    )


def search_limits(settings: BaseSettings, *, for_template: bool) -> SearchLimits:
    """What the searches of a crawl may use."""
    config = Config.of(settings)
    return SearchLimits(
        in_flight=config.in_flight,
        max_redirects=settings.getint("REDIRECT_MAX_TIMES"),
        max_nodes=config.max_search_nodes,
        longest_url=settings.getint("URLLENGTH_LIMIT"),
        for_template=for_template,
    )
