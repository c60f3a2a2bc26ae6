"""The add-on that makes a Scrapy project ready for the spider."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.settings import SETTINGS_PRIORITIES

from tplspider.address_guard import PrivateAddressMiddleware
from tplspider.extension import CliqueTracker
from tplspider.feeds import CandidateCsvItemExporter, CandidateXmlItemExporter
from tplspider.pipelines import CleanTextPipeline, ValidationPipeline
from tplspider.politeness import CrawlDelay, RetryAfterMiddleware, user_agent
from tplspider.redirects import SiteMetaRefreshMiddleware, SiteRedirectMiddleware
from tplspider.under_way import RequestsUnderWay

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Addon:
    """Turns on the project's components, unless the settings have them otherwise."""

    def update_settings(self, settings: BaseSettings) -> None:
        add = settings.setdefault_in_component_priority_dict
        add("EXTENSIONS", CliqueTracker, 500)
        add("EXTENSIONS", CrawlDelay, 500)
        add("ITEM_PIPELINES", CleanTextPipeline, 10)
        add("ITEM_PIPELINES", ValidationPipeline, 20)
        # In the places of those of Scrapy that they extend.
        for built_in, ours, place in (
            (RetryMiddleware, RetryAfterMiddleware, 550),
            (MetaRefreshMiddleware, SiteMetaRefreshMiddleware, 580),
            (RedirectMiddleware, SiteRedirectMiddleware, 600),
        ):
            add("DOWNLOADER_MIDDLEWARES", built_in, None)
            add("DOWNLOADER_MIDDLEWARES", ours, place)
        add("DOWNLOADER_MIDDLEWARES", RequestsUnderWay, 50)  # before that of robots.txt
        add("DOWNLOADER_MIDDLEWARES", PrivateAddressMiddleware, 760)  # after the proxy's
        exporters = settings.getdict("FEED_EXPORTERS")
        exporters.setdefault("csv", CandidateCsvItemExporter)
        exporters.setdefault("xml", CandidateXmlItemExporter)
        priority = max(SETTINGS_PRIORITIES["addon"], settings.getpriority("FEED_EXPORTERS") or 0)
        settings.set("FEED_EXPORTERS", exporters, priority)
        # Scrapy's cookies middleware would fetch the Public Suffix List from the web the first time
        # that it meets a cookie with a domain; the copy inside tldextract does.
        os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
        agent = user_agent(settings.get("TPLSPIDER_CONTACT") or "")
        settings.set("USER_AGENT", agent, "addon")
