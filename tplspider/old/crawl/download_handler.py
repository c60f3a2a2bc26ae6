"""The download handler for http and https: Scrapy's own, with a bound on a response's headers.

Scrapy bounds the body of a response (DOWNLOAD_MAXSIZE), but neither it nor Twisted bounds the head:
headers are kept for as long as they come. Neither has a setting for it either. The hook is the one
that Scrapy itself uses to put its lenient parser in (seen in Scrapy 2.19 and Twisted 26.10): the
connection pool's ``_factory`` makes the protocol of a connection, and that gives each response a
parser, whose class can be exchanged.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
)
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError, ResponseDataLossError
from twisted.internet.interfaces import ISSLTransport
from twisted.web._newclient import HEADER, STATUS
from twisted.web.client import ResponseFailed
from twisted.web.http import _MalformedChunkedDataError

from tplspider.old.crawl.host_memory import HostMemory
from tplspider.old.crawl.private_network.private_addresses import host_name
from tplspider.old.crawl.under_way import RequestsUnderWay

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IAddress
    from twisted.python.failure import Failure
    from twisted.web._newclient import HTTP11ClientProtocol
    from twisted.web._newclient import Request as TxRequest
    from twisted.web.iweb import IResponse

logger = logging.getLogger(__name__)

# Bytes of status line and headers, those of informational responses (1xx) before it included. It is
# the limit of Chromium; headers of real pages have a few kilobytes.
MAX_HEAD_SIZE = 256 * 1024


class HeadersTooLargeError(DownloadCancelledError):
    """The headers of a response seem to have no end. There is no point in asking again."""


class BoundedDownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler, but a response with too large a head is broken off at once."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # As Scrapy does it, which sets it as well.
        self._pool._factory = _BoundedFactory  # noqa: SLF001 - as said

    async def download_request(self, request: Request) -> Response:
        # Here runs a task of the downloader's own, beside the one that the middlewares run in.
        if under_way := self._crawler.get_downloader_middleware(RequestsUnderWay):
            under_way.enter(request)
        memory = self._crawler.get_downloader_middleware(HostMemory)
        try:
            with memory.loading(request) if memory else nullcontext():
                return await super().download_request(request)
        except (DownloadFailedError, ResponseDataLossError) as error:
            if found := _head_error(error.__cause__):
                logger.warning("Broken off: %s, in the response to %s", found, request)
                raise HeadersTooLargeError(str(found)) from None
            raise

    def close_idle_connections(self, host: str) -> None:
        """Close the connections of the pool that nobody uses to a host, by its name.

        The pool itself can close all of them or none, would close these after four minutes, and
        keeps an entry for each host for ever.
        """
        connections, timeouts = self._pool._connections, self._pool._timeouts  # noqa: SLF001 - as said
        for key in [key for key in connections if host_name(key[1].decode("latin-1")) == host]:
            for connection in connections.pop(key):
                timeouts.pop(connection).cancel()
                transport = connection.transport
                # With TLS, the server would be waited for.
                tls = ISSLTransport.providedBy(transport)
                (transport.abortConnection if tls else transport.loseConnection)()


def _head_error(cause: BaseException | None) -> BaseException | None:
    """What our parser has said, among the reasons why a response failed."""
    reasons: list[Failure] = cause.reasons if isinstance(cause, ResponseFailed) else []
    return next((r.value for r in reasons if isinstance(r.value, HeadersTooLargeError)), None)


class _BoundedParser(_LenientHTTPClientParser):
    """Counts what comes before the body; Twisted and Scrapy count nothing but a single line."""

    _head_size = 0  # an existing parser is given this class, so no __init__ of ours would be called

    def dataReceived(self, data: bytes) -> None:
        if self.state in (STATUS, HEADER):
            self._head_size += len(data)
        super().dataReceived(data)  # type: ignore[no-untyped-call]
        # The data that ends the head may have a part of the body in it: it is let through.
        if self.state in (STATUS, HEADER) and self._head_size > MAX_HEAD_SIZE:
            raise HeadersTooLargeError(f"more than {MAX_HEAD_SIZE} bytes of headers")

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: ARG002 - what Twisted gives
        raise HeadersTooLargeError(f"a header line of more than {self.MAX_LENGTH} bytes")

    def rawDataReceived(self, data: bytes) -> None:
        try:
            super().rawDataReceived(data)  # type: ignore[no-untyped-call]
        except _MalformedChunkedDataError:
            # What may follow the last chunk is read by Twisted's decoder, up to a size.
            if getattr(self.bodyDecoder, "state", "") == "TRAILER":
                raise HeadersTooLargeError("too many headers after the body") from None
            raise


class _BoundedProtocol(_LenientHTTP11ClientProtocol):
    """A connection whose responses are read by our parser."""

    def request(self, request: TxRequest) -> Deferred[IResponse]:
        response = super().request(request)
        assert self._parser is not None  # as in Scrapy's own method, for the same reason
        self._parser.__class__ = _BoundedParser
        return response

    def _giveUp(self, reason: Any) -> None:
        if isinstance(getattr(reason, "value", None), HeadersTooLargeError):
            # Without the farewell of TLS, during which a server could go on.
            self.transport.abortConnection()  # type: ignore[union-attr]
        super()._giveUp(reason)  # type: ignore[no-untyped-call]


class _BoundedFactory(_LenientHTTP11ClientFactory):
    def buildProtocol(self, addr: IAddress | None) -> HTTP11ClientProtocol:  # noqa: ARG002 - likewise
        return _BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]  # likewise
