"""Storages of Scrapy's HTTP cache: archived pages; pages that the searches of a list share."""
# ruff: noqa: ARG002 - Scrapy passes the settings and the spider

from __future__ import annotations

import logging
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse, Response

from tplspider.web.page import ERROR, NoPage, WebPage

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.settings import BaseSettings

    from tplspider.sources.archive import WarcSite

logger = logging.getLogger(__name__)

NOT_STORED = "not_stored"
_MOST = 1 << 30  # bytes of a page: room for so many is asked for, however few there are


class WarcStorage:
    """The pages of WARC files (TPLSPIDER_ARCHIVES), by their index (TPLSPIDER_ARCHIVE_INDEX).

    With HTTPCACHE_IGNORE_MISSING nothing is loaded: what is not archived fails, and the reason is
    in ``request.meta["not_stored"]``. Nothing is added to the files.
    """

    source: WarcSite  # from open_spider to close_spider

    def __init__(self, settings: BaseSettings) -> None:
        self.settings = settings

    def open_spider(self, spider: Spider) -> None:
        from tplspider.sources.archive import open_archive  # imported lazily: optional

        self._stats: Any = spider.crawler.stats
        files = self.settings.getlist("TPLSPIDER_ARCHIVES")
        archive = open_archive(files, self.settings.get("TPLSPIDER_ARCHIVE_INDEX"))
        largest = self.settings.getint("DOWNLOAD_MAXSIZE") or _MOST
        self.source = archive.open(min(largest, _MOST))

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
            if isinstance(found, WebPage):
                return response_of(found, request.url)
        except Exception:
            # Scrapy would take it for a page that is not stored.
            logger.exception("%s cannot be read", request.url)
            self._stats.inc_value("tplspider/unreadable_records")
            found = NoPage(ERROR)
        request.meta[NOT_STORED] = found
        return None

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        """Nothing is stored."""


def response_of(page: WebPage, url: str) -> Response:
    """A stored page as a response of Scrapy's, of the kind and encoding that it was read with."""
    given: dict[str, Any] = {"status": page.status, "body": page.body}
    given["headers"] = {name: value.encode("latin-1") for name, value in page.headers.items()}
    if page.is_html:
        return HtmlResponse(url, encoding=page.encoding, **given)
    return Response(url, **given)


MOST_BYTES = 8 * 1024 * 1024  # what the searches of the moment share
OLDEST = 600.0  # seconds
_STATUSES = frozenset({200, 301, 302, 303, 307, 308})  # a stored 503 would answer its own retry


class MemoryCacheStorage:
    """Keeps the latest MOST_BYTES of responses, for requests with the same URL and cookies.

    It is for DummyPolicy, and for the searches of a list.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._kept: OrderedDict[tuple[str, bytes], tuple[Response, float, int]] = OrderedDict()
        self._bytes = 0

    def open_spider(self, spider: Spider) -> None:
        self._kept.clear()

    close_spider = open_spider

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        response, stored, _ = self._kept.get(_key(request), (None, 0.0, 0))
        is_fresh = response and monotonic() - stored <= OLDEST and _may_share(request, response)
        return response.copy() if response and is_fresh else None

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        size = len(response.body) + len(response.headers.to_string() or b"") + 2048
        if not _may_share(request, response) or size > MOST_BYTES // 4:
            return
        self._bytes += size - self._kept.pop(_key(request), (None, 0.0, 0))[2]
        # A copy: other middlewares change the headers. Without the request, which has the callback.
        self._kept[_key(request)] = (response.replace(request=None), monotonic(), size)
        while self._bytes > MOST_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1][2]


def _key(request: Request) -> tuple[str, bytes]:
    return request.url.partition("#")[0], request.headers.get("Cookie") or b""


def _may_share(request: Request, response: Response) -> bool:
    vary = b",".join(response.headers.getlist("Vary")).lower()
    return (
        request.method == "GET"
        and response.status in _STATUSES
        and "Authorization" not in request.headers
        and "Set-Cookie" not in response.headers
        and not any(word in vary for word in (b"*", b"referer", b"cookie"))
    )
