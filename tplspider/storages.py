"""Archived pages as a storage of Scrapy's HTTP cache (HTTPCACHE_STORAGE)."""
# ruff: noqa: ARG002 - Scrapy passes the spider

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse, Response

from tplspider.web.page import ERROR, NoPage, WebPage

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.settings import BaseSettings

    from tplspider.sources.archive import WarcSite

logger = logging.getLogger(__name__)

NOT_STORED = "not_stored"


class WarcStorage:
    """The pages of WARC files (TPLSPIDER_ARCHIVES), by their index (TPLSPIDER_ARCHIVE_INDEX).

    With HTTPCACHE_IGNORE_MISSING nothing is loaded: what is not archived fails, and the reason is
    in ``request.meta["not_stored"]``. Nothing is added to the files.
    """

    source: WarcSite  # from open_spider to close_spider

    def __init__(self, settings: BaseSettings) -> None:
        self.settings = settings
        self._stats: Any = None

    def open_spider(self, spider: Spider) -> None:
        from tplspider.sources.archive import open_archive  # imported lazily: optional

        settings, self._stats = self.settings, spider.crawler.stats
        archive = open_archive(
            settings.getlist("TPLSPIDER_ARCHIVES"), settings.get("TPLSPIDER_ARCHIVE_INDEX")
        )
        self.source = archive.open(settings.getint("DOWNLOAD_MAXSIZE") or 1 << 62)

    def close_spider(self, spider: Spider) -> None:
        for fault, count in self.source.faults.items():
            logger.error("%s (%d times)", fault, count)
            self._stats.inc_value("tplspider/unreadable_records", count)
        self.source.close()

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        found: WebPage | NoPage
        try:
            self.source.search = request.cb_kwargs.get("search_id", "")
            found = self.source.load(request.url)
        except Exception:
            # Scrapy would take it for a page that is not stored.
            logger.exception("%s cannot be read", request.url)
            self._stats.inc_value("tplspider/unreadable_records")
            found = NoPage(ERROR)
        if isinstance(found, NoPage):
            request.meta[NOT_STORED] = found
            return None
        return response_of(found, request.url)

    def is_absent(self, url: str) -> bool:
        """Whether nothing is archived of an address: in a search, it costs no load."""
        return self.source.is_absent(url)

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        """Nothing is stored."""


def response_of(page: WebPage, url: str) -> Response:
    """A stored page as a response of Scrapy's, of the kind and encoding that it was read with."""
    given: dict[str, Any] = {"status": page.status, "body": page.body}
    given["headers"] = {name: value.encode("latin-1") for name, value in page.headers.items()}
    if page.is_html:
        return HtmlResponse(url, encoding=page.encoding, **given)
    return Response(url, **given)
