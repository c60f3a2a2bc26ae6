"""Pages shared between the searches of a list, in memory: an HTTPCACHE_STORAGE for DummyPolicy."""
# ruff: noqa: ARG002 - Scrapy passes the settings and the spider

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

MOST_BYTES = 8 * 1024 * 1024  # what the searches of the moment share
OLDEST = 600.0  # seconds
_STATUSES = frozenset({200, 301, 302, 303, 307, 308})  # a stored 503 would answer its own retry


class MemoryCacheStorage:
    """Keeps the latest MOST_BYTES of responses, for requests with the same URL and cookies."""

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
