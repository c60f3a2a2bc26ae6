"""Archives and folders as storages of Scrapy's HTTP cache (HTTPCACHE_STORAGE).

With HTTPCACHE_IGNORE_MISSING nothing is loaded: what the storage does not have fails, and the
reason is in ``request.meta["not_stored"]``. A request whose meta has a ``stored_page`` gets that.
"""
# ruff: noqa: ARG002 - Scrapy passes the spider

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.http import HtmlResponse, Response

from tplspider.web.page import ERROR, NoPage, Redirect, WebPage

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.settings import BaseSettings

    from tplspider.sources.base import StoredPages

    class Source(StoredPages, Protocol):
        """Pages by address."""

        def load(self, url: str) -> WebPage | Redirect | NoPage: ...
        def is_absent(self, url: str) -> bool: ...


logger = logging.getLogger(__name__)

NOT_STORED, STORED_PAGE = "not_stored", "stored_page"


class PageStorage:
    """A storage whose pages are there already: nothing is added to it."""

    source: Source  # from open_spider to close_spider

    def __init__(self, settings: BaseSettings) -> None:
        self.settings = settings
        self._stats: Any = None

    def open_source(self) -> Source:
        """The pages, from what the settings say."""
        raise NotImplementedError

    def open_spider(self, spider: Spider) -> None:
        self._stats = spider.crawler.stats
        self.source = self.open_source()

    def close_spider(self, spider: Spider) -> None:
        for fault, count in getattr(self.source, "faults", {}).items():
            logger.error("%s (%d times)", fault, count)
            self._stats.inc_value("tplspider/unreadable_records", count)
        self.source.close()

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        try:
            page = request.meta.get(STORED_PAGE)
            found = page.read() if page else self.load(request)
        except Exception:
            # Scrapy would take it for a page that is not stored.
            logger.exception("%s cannot be read", request.url)
            self._stats.inc_value("tplspider/unreadable_records")
            found = NoPage(ERROR)
        if isinstance(found, NoPage):
            request.meta[NOT_STORED] = found
            return None
        if isinstance(found, Redirect):
            found = WebPage(request.url, b"", 301, {"location": found.url})
        return response_of(found, request.url)

    def load(self, request: Request) -> WebPage | Redirect | NoPage:
        """What is stored for a request."""
        return self.source.load(request.url)

    def is_absent(self, url: str) -> bool:
        """Whether nothing is stored of an address: in a search, it costs no load."""
        return self.source.is_absent(url)

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        """Nothing is stored."""


class WarcStorage(PageStorage):
    """The pages of WARC files (TPLSPIDER_ARCHIVES), by their index (TPLSPIDER_ARCHIVE_INDEX)."""

    def open_source(self) -> Source:
        from tplspider.sources.archive import open_archive  # imported lazily: optional

        settings = self.settings
        archive = open_archive(
            settings.getlist("TPLSPIDER_ARCHIVES"), settings.get("TPLSPIDER_ARCHIVE_INDEX")
        )
        return archive.open(settings.getint("DOWNLOAD_MAXSIZE") or 1 << 62)

    def load(self, request: Request) -> WebPage | Redirect | NoPage:
        self.source.search = request.cb_kwargs.get("search_id", "")  # type: ignore[attr-defined]
        return self.source.load(request.url)


class FolderStorage(PageStorage):
    """The files of a folder of saved pages (TPLSPIDER_FOLDER, TPLSPIDER_FOLDER_URL)."""

    def open_source(self) -> Source:
        from tplspider.sources.saved_folder import SavedFolder

        settings = self.settings
        return SavedFolder(
            settings.get("TPLSPIDER_FOLDER"), settings.get("TPLSPIDER_FOLDER_URL") or ""
        )


def response_of(page: WebPage, url: str) -> Response:
    """A stored page as a response of Scrapy's, of the kind and encoding that it was read with."""
    told: dict[str, Any] = {"status": page.status, "body": page.body}
    told["headers"] = {name: value.encode("latin-1") for name, value in page.headers.items()}
    if page.is_html:
        return HtmlResponse(url, encoding=page.encoding, **told)
    return Response(url, **told)
