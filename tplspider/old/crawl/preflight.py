"""What is checked and worked out before a crawl: whatever is wrong is said in one line, at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.arguments import check_arguments
from tplspider.old.crawl.batch.background import is_stream
from tplspider.old.crawl.batch.job import check_job
from tplspider.old.crawl.batch.key_list import STANDARD_INPUT, open_list
from tplspider.old.crawl.browser.middleware import MIDDLEWARE, check_settings
from tplspider.old.crawl.config import Config, check_names
from tplspider.profiles import apply_profile
from tplspider.search.session import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.arguments import Arguments
    from tplspider.old.crawl.batch.key_list import KeyList


def check_crawl(
    spider_class: type[Spider],
    given: Mapping[str, object],
    settings: BaseSettings,
    *,
    printed: str = "",
) -> None:
    """Raise ValueError, in one line, when a spider of ours cannot crawl with these arguments.

    *printed* is what a command itself writes to standard output.
    """
    arguments = check_arguments(given)
    check_names(settings)
    Config.of(settings)
    check_settings(settings)
    in_force = settings.copy()
    in_force.setdict(spider_class.custom_settings or {}, priority="spider")
    apply_profile(in_force)
    spider = spider_class(**dict[str, Any](given))
    spider.settings = in_force
    check_job(in_force, spider, arguments, printed=printed)
    config = Config.of(in_force)
    # What can be read only once is left alone, unless it is not to be read at all.
    if arguments.urls and (config.confine or not is_stream(arguments.urls)):
        open_list_of(arguments, config).close()
    elif arguments.urls == STANDARD_INPUT and sys.stdin is None:
        raise ValueError("urls='-': standard input is closed")


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
        runs_scripts=MIDDLEWARE in settings.getdict("DOWNLOADER_MIDDLEWARES"),
        for_template=for_template,
    )
