"""The add-on that makes a Scrapy project ready for our spider, and changes nothing for others.

Unless they ask for it: with TPLSPIDER_FIELDS their items get the texts of their pages.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from tplspider.old.crawl.own_spider import is_ours

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

# By name, so that a project pays for them only when our spider runs.
_COMPONENTS = {
    "EXTENSIONS": {
        "tplspider.old.crawl.harmless_log.HarmlessLog": -1,  # before others log anything
        "tplspider.old.crawl.tracker.CliqueTracker": 500,
        "tplspider.old.crawl.batch.progress.BatchProgress": 500,
        "tplspider.old.crawl.politeness.CrawlDelay": 500,
    },
    "ITEM_PIPELINES": {
        "tplspider.old.crawl.pipelines.CleanTextPipeline": 10,
        "tplspider.old.crawl.pipelines.ValidationPipeline": 20,
    },
    # All of them act only on requests with a ticket (ticket.py); the other requests of our crawls
    # belong to somebody else.
    "DOWNLOADER_MIDDLEWARES": {
        "tplspider.old.crawl.user_agent.UserAgentMiddleware": 10,
        "tplspider.old.crawl.under_way.RequestsUnderWay": 50,  # before that of robots.txt
        "tplspider.old.crawl.host_memory.HostMemory": 55,  # behind what refuses, before robots.txt
        "tplspider.old.crawl.cookie_jars.SearchCookieJars": 60,  # before the cookies
        "tplspider.old.crawl.user_agent.LastUserAgentMiddleware": 755,
        # Behind what unpacks bodies (590), before what answers in the place of a server.
        "tplspider.old.crawl.warc.recorder.CrawlArchive": 757,
        # After the middleware of the proxy.
        "tplspider.old.crawl.private_network.address_guard.PrivateAddressMiddleware": 760,
        "tplspider.old.crawl.batch.shared_answers.SharedAnswers": 940,  # behind the cache
        "tplspider.old.crawl.credentials.CredentialsMiddleware": 950,  # likewise
    },
}
# In the places of those of Scrapy that they extend.
_IN_PLACE_OF = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": (
        "tplspider.old.crawl.robots.TicketRobotsTxtMiddleware"
    ),
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": (
        "tplspider.old.crawl.politeness.RetryAfterMiddleware"
    ),
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": (
        "tplspider.old.crawl.redirects.SiteMetaRefreshMiddleware"
    ),
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": (
        "tplspider.old.crawl.redirects.SiteRedirectMiddleware"
    ),
}


# For spiders of others. So near to the engine that it sees what all other middlewares let pass.
_FIELDS = "tplspider.old.crawl.fields.middleware.FieldsMiddleware"
_FIELDS_PLACE = 10


class Addon:
    """Turns on our components, unless the settings say otherwise."""

    def __init__(self, *, ours: bool = True) -> None:
        self._ours = ours

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        ours, has_fields = is_ours(crawler.spidercls), crawler.settings.get("TPLSPIDER_FIELDS")
        if not ours and not has_fields:
            raise NotConfigured  # without a message, so that nothing is logged
        if ours and has_fields:
            logger.info("TPLSPIDER_FIELDS is for other spiders: this one gives templates itself")
        return cls(ours=ours)

    def update_settings(self, settings: BaseSettings) -> None:
        if not self._ours:
            settings.setdefault_in_component_priority_dict(
                "SPIDER_MIDDLEWARES", load_object(_FIELDS), _FIELDS_PLACE
            )
            return
        for table, components in _COMPONENTS.items():
            for path, place in components.items():
                settings.setdefault_in_component_priority_dict(table, load_object(path), place)
        for theirs, ours in _IN_PLACE_OF.items():
            _replace_middleware(settings, load_object(theirs), load_object(ours))
        _add_handlers(settings)
        _leave_out_remote_control(settings)
        exporters = settings.getdict("FEED_EXPORTERS")
        exporters.setdefault("csv", "tplspider.old.crawl.outputs.feeds.CandidateCsvItemExporter")
        exporters.setdefault("xml", "tplspider.old.crawl.outputs.feeds.CandidateXmlItemExporter")
        priority = max(SETTINGS_PRIORITIES["addon"], settings.getpriority("FEED_EXPORTERS") or 0)
        settings.set("FEED_EXPORTERS", exporters, priority)
        # Scrapy's cookies middleware would fetch the Public Suffix List from the web the first time
        # that it meets a cookie with a domain; the copy inside tldextract is enough.
        os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")


def _leave_out_remote_control(settings: BaseSettings) -> None:
    """Where it is off, spare the start of the crawl a tenth: Scrapy imports aiohttp to ask it.

    A place of None is not enough: Scrapy imports what a table names, in force or not.
    """
    name, path = "EXTENSIONS_BASE", "scrapy.extensions.remote_control.RemoteControl"
    extensions = settings.getdict(name)
    if not settings.getbool("REMOTE_CONTROL_ENABLED") and path in extensions:
        del extensions[path]
        priority = max(SETTINGS_PRIORITIES["addon"], settings.getpriority(name) or 0)
        settings.set(name, extensions, priority)


def is_on(settings: BaseSettings) -> bool:
    """Whether the add-on, or one that is derived from it, is among those of the settings."""
    places = settings.getdict("ADDONS").items()
    return any(place is not None and _is_addon(each) for each, place in places)


def _is_addon(given: str | type) -> bool:
    try:
        found = load_object(given)
    except Exception:  # noqa: BLE001 - of somebody else: Scrapy meets it again
        return False
    return isinstance(found, type) and issubclass(found, Addon)


def _replace_middleware(settings: BaseSettings, theirs: type, ours: type) -> None:
    """Put *ours* in the place that the settings give to *theirs*, unless one of the two is off."""
    table = "DOWNLOADER_MIDDLEWARES"
    places = {load_object(path): place for path, place in settings.getdict(f"{table}_BASE").items()}
    places |= {load_object(path): place for path, place in settings.getdict(table).items()}
    if places.get(theirs) is not None and places.get(ours, 0) is not None:
        settings.setdefault_in_component_priority_dict(table, ours, places[theirs])
        settings.set_in_component_priority_dict(table, theirs, None)


def _add_handlers(settings: BaseSettings) -> None:
    """Put our download handler in force for http and https, where the settings have none."""
    name, lowest = "DOWNLOAD_HANDLERS", "addon"
    path = "tplspider.old.crawl.download_handler.BoundedDownloadHandler"
    if not settings.getbool("TWISTED_REACTOR_ENABLED"):
        # Then Scrapy puts its own into DOWNLOAD_HANDLERS_BASE, with the priority of a project's.
        path, lowest = "tplspider.old.crawl.asyncio_handler.AsyncioDownloadHandler", "project"
    priority = max(SETTINGS_PRIORITIES[lowest], settings.getpriority(name) or 0)
    settings.set(name, {"http": path, "https": path, **settings.getdict(name)}, priority)
