"""What is checked and worked out before a crawl: whatever is wrong is said in one line, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.crawl.arguments import check_arguments
from tplspider.crawl.browser.middleware import MIDDLEWARE, check_settings
from tplspider.crawl.config import Config, check_names
from tplspider.crawl.outputs.feeds import plan_outputs
from tplspider.profiles import apply_profile
from tplspider.search.options import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider
    from scrapy.settings import BaseSettings


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
    plan_outputs(in_force, arguments, spider, printed=printed)


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
