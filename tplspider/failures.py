"""Why a request that failed gave no page: from exceptions to the reasons of web/page.py."""

from __future__ import annotations

import zlib
from gzip import BadGzipFile
from typing import Any

import scrapy.exceptions
from scrapy.exceptions import IgnoreRequest, NotSupported
from twisted.internet import error
from twisted.internet.defer import CancelledError
from twisted.web.client import ResponseFailed, ResponseNeverReceived

from tplspider.private_addresses import PrivateAddressError
from tplspider.web.page import (
    BAD_RESPONSE,
    CONNECTION,
    DNS,
    ERROR,
    PRIVATE_ADDRESS,
    ROBOTS,
    TIMEOUT,
    TOO_LARGE,
)


def _scrapy(name: str) -> Any:
    """An exception of Scrapy 2.15 or later; before, Twisted's own arrive."""
    return getattr(scrapy.exceptions, name, PrivateAddressError)


# In this order: some are subclasses of others that follow.
_REASONS: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((PrivateAddressError,), PRIVATE_ADDRESS),
    ((_scrapy("DownloadTimeoutError"), TimeoutError, error.TimeoutError), TIMEOUT),
    ((error.TCPTimedOutError,), TIMEOUT),
    ((_scrapy("CannotResolveHostError"), error.DNSLookupError), DNS),
    ((_scrapy("DownloadCancelledError"), CancelledError), TOO_LARGE),
    ((_scrapy("ResponseDataLossError"), _scrapy("UnsupportedURLSchemeError")), BAD_RESPONSE),
    ((NotSupported, BadGzipFile, EOFError, zlib.error), BAD_RESPONSE),
    ((UnicodeDecodeError,), BAD_RESPONSE),  # of a header: Scrapy expects some to be UTF-8
    ((_scrapy("DownloadConnectionRefusedError"), error.ConnectError), CONNECTION),
    # Nothing came before the connection was closed; otherwise, it was not HTTP.
    ((ResponseNeverReceived, error.ConnectionClosed), CONNECTION),
    ((ResponseFailed,), BAD_RESPONSE),
    ((_scrapy("DownloadFailedError"),), CONNECTION),
)
# Middlewares raise IgnoreRequest with one of these words in its message.
_IGNORED = {"robots.txt": ROBOTS, "DOWNLOAD_MAXSIZE": TOO_LARGE, "no time left": TIMEOUT}
_DECODERS = frozenset({"_brotli", "brotli", "backports", "compression", "zstandard"})


def reason_of(exception: BaseException | None) -> str:
    """The reason for a request that ended with *exception*."""
    if exception and isinstance(exception.__cause__, ResponseFailed):
        exception = exception.__cause__  # more specific than DownloadFailedError
    for kinds, reason in _REASONS:
        if isinstance(exception, kinds):
            return reason
    if isinstance(exception, IgnoreRequest):
        message = str(exception)
        return next((reason for words, reason in _IGNORED.items() if words in message), ERROR)
    is_of_decoder = type(exception).__module__.partition(".")[0] in _DECODERS
    return BAD_RESPONSE if is_of_decoder else ERROR
