"""The download handler for http and https where there is no Twisted reactor.

It is Scrapy's own, by aiohttp, with the same bounds as ours for the reactor (download_handler.py):
private addresses are not connected to, a response's headers have an end, and a request is under
way for as long as its search. Scrapy gives no hook for the session of aiohttp, so the one that it
has made is put away for another (seen in Scrapy 2.19).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

import aiohttp
from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler, _ClientResponse
from scrapy.exceptions import DownloadFailedError, ResponseDataLossError

from tplspider.old.crawl.download_handler import HeadersTooLargeError
from tplspider.old.crawl.private_network.checked_sockets import CheckedAsyncResolver, checked_socket
from tplspider.old.crawl.under_way import RequestsUnderWay

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# Of a line of the head, as with Twisted; and lines of it, the most that real pages have and more.
LONGEST_LINE = 16 * 1024
MOST_HEADERS = 256
# aiohttp has one exception for all that is wrong with a head, and tells what in its message.
_TOO_LARGE = ("Got more than", "Too many headers")


class AsyncioDownloadHandler(AiohttpDownloadHandler):
    """Scrapy's handler, with a connector that connects to nothing but what may be connected to."""

    experimental: ClassVar[bool] = False  # Scrapy would warn of it in every program: the docs do

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._session.detach()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                local_addr=self._bind_address,
                limit=self._pool_size_total,
                limit_per_host=self._pool_size_per_host,
                resolver=CheckedAsyncResolver(),
                # Two searches may be allowed different addresses of one name.
                use_dns_cache=False,
                socket_factory=checked_socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            response_class=_ClientResponse,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
            max_headers=MOST_HEADERS,
        )

    async def download_request(self, request: Request) -> Response:
        # Here runs a task of the downloader's own, beside the one that the middlewares run in.
        if under_way := self.crawler.get_downloader_middleware(RequestsUnderWay):
            under_way.enter(request)
        try:
            return await super().download_request(request)
        except DownloadFailedError as error:
            if isinstance(error.__cause__, aiohttp.ClientResponseError):
                self._tell_fault(error.__cause__, request)
            raise

    def _tell_fault(self, error: aiohttp.ClientResponseError, request: Request) -> None:
        """Tell an answer that cannot be read from none at all."""
        if any(words in str(error) for words in _TOO_LARGE):
            logger.warning("Broken off: too large a head, in the response to %s", request)
            raise HeadersTooLargeError(error.message) from None
        raise ResponseDataLossError(error.message) from error
