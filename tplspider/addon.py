"""The add-on that makes a Scrapy project ready for our spider, and changes nothing for others.

With TPLSPIDER_FIELDS, the items of other spiders get the texts of their pages.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

SPIDER = "tplspider.spiders.template_candidates.TemplateCandidatesSpider"
STRIP_SPIDER = "tplspider.spiders.template_strip.TemplateStripSpider"
# By name, so that a project pays for them only when our spider runs.
_COMPONENTS = {
    "EXTENSIONS": {
        "tplspider.log_sanitizer.LogSanitizer": -1,  # before others log anything
        "tplspider.tracker.CliqueTracker": 500,
        "tplspider.progress.Progress": 500,
    },
    "ITEM_PIPELINES": {
        "tplspider.pipelines.ValidationPipeline": 10,
    },
    "DOWNLOADER_MIDDLEWARES": {
        "tplspider.politeness.Politeness": 560,
        "tplspider.archiver.Archiver": 757,
        "tplspider.private_addresses.PrivateAddressMiddleware": 760,  # after the proxy's
    },
}
_FIELDS = "tplspider.fields.FieldsMiddleware"


class Addon:
    """Puts our components in force, unless the settings say otherwise."""

    def __init__(self, *, ours: bool = True) -> None:
        self._ours = ours

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        ours = is_ours(crawler.spidercls)
        if not ours and not crawler.settings.get("TPLSPIDER_FIELDS"):
            raise NotConfigured  # without a message, so that nothing is logged
        return cls(ours=ours)

    def update_settings(self, settings: BaseSettings) -> None:
        if not self._ours:
            settings.setdefault_in_component_priority_dict(
                "SPIDER_MIDDLEWARES", load_object(_FIELDS), 10
            )
            return
        # The cookies middleware would fetch the Public Suffix List at its first cookie. It reads
        # this when it is imported; the copy inside tldextract is enough.
        os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
        from tplspider.feeds import FEED_SETTINGS
        from tplspider.politeness import user_agent
        from tplspider.profiles import is_own_project

        for table, components in _COMPONENTS.items():
            for path, place in components.items():
                settings.setdefault_in_component_priority_dict(table, load_object(path), place)
        for name, classes in FEED_SETTINGS.items():
            _set(settings, name, {**classes, **settings.getdict(name)})
        # BOT_NAME and USER_AGENT of another project describe its own spiders.
        least = SETTINGS_PRIORITIES["project" if is_own_project(settings) else "spider"]
        name = user_agent(settings.get("TPLSPIDER_CONTACT") or "")
        for setting, value in (("USER_AGENT", name), ("ROBOTSTXT_USER_AGENT", None)):
            if (settings.getpriority(setting) or 0) < least:
                _set(settings, setting, value)
        # A delay is a minimum.
        known = "DOWNLOAD_DELAY_JITTER" in settings  # since Scrapy 2.19
        _set(settings, "DOWNLOAD_DELAY_JITTER" if known else "RANDOMIZE_DOWNLOAD_DELAY", 0)


def is_ours(spider_class: type, *, any_of_them: bool = False) -> bool:
    """Whether a spider is ours, or derived from it; ours is not imported for that.

    It is the one that searches, or *any_of_them*.
    """
    ours = (SPIDER, STRIP_SPIDER) if any_of_them else (SPIDER,)
    return any(f"{each.__module__}.{each.__qualname__}" in ours for each in spider_class.__mro__)


def _set(settings: BaseSettings, name: str, value: object) -> None:
    """Set what our spider needs, above the settings for other spiders."""
    priority = max(SETTINGS_PRIORITIES["addon"], settings.getpriority(name) or 0)
    settings.set(name, value, priority)
