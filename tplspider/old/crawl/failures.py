"""Why a request that failed gave no page, in one word: the exceptions of Scrapy and of ours."""

from __future__ import annotations

import zlib
from gzip import BadGzipFile
from typing import TYPE_CHECKING

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.web.client import ResponseFailed, ResponseNeverReceived

from tplspider.old.crawl.private_network.address_guard import PrivateAddressError
from tplspider.old.crawl.redirects import KnownAddressError, OffsiteRedirectError, RedirectLoopError
from tplspider.search.answer import private_address_hint
from tplspider.web.page import (
    BAD_RESPONSE,
    CONNECTION,
    DNS,
    ERROR,
    OFFSITE_REDIRECT,
    PRIVATE_ADDRESS,
    ROBOTS,
    TIMEOUT,
    TOO_LARGE,
    NoPage,
    Redirect,
    status_reason,
)

if TYPE_CHECKING:
    from tplspider.old.crawl.ticket import Ticket

_REASONS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((PrivateAddressError,), PRIVATE_ADDRESS),
    ((OffsiteRedirectError,), OFFSITE_REDIRECT),
    ((RedirectLoopError,), BAD_RESPONSE),
    ((DownloadTimeoutError, TimeoutError), TIMEOUT),
    ((CannotResolveHostError,), DNS),
    ((DownloadConnectionRefusedError,), CONNECTION),
    ((DownloadCancelledError,), TOO_LARGE),
    (
        (ResponseDataLossError, UnsupportedURLSchemeError, BadGzipFile, EOFError, zlib.error),
        BAD_RESPONSE,
    ),
    ((UnicodeDecodeError,), BAD_RESPONSE),  # of a header: Scrapy expects some to be UTF-8
)
# Scrapy's middlewares refuse a request with the same exception, and tell why in its message.
_IGNORED = {
    "robots.txt": ROBOTS,
    "max redirections": BAD_RESPONSE,
    "DOWNLOAD_MAXSIZE": TOO_LARGE,
}
_UNPACKERS = frozenset({"_brotli", "brotli", "backports", "compression", "zstandard"})


def answer_of(
    exception: BaseException | None, ticket: Ticket, *, allow_private: bool
) -> NoPage | Redirect:
    """What a request with that *ticket* gave, when it ended with *exception*."""
    if isinstance(exception, KnownAddressError):
        return exception.redirect
    reason = _reason(exception)
    if reason != PRIVATE_ADDRESS:
        return NoPage(reason)
    of_link = ticket.rank is not None
    return NoPage(reason, private_address_hint(of_link=of_link, allowed=allow_private))


def _reason(exception: BaseException | None) -> str:
    if isinstance(exception, HttpError):
        return status_reason(exception.response.status)
    if isinstance(exception, DownloadFailedError):
        # Either nothing came before the connection was gone, or something that is not HTTP.
        broken = isinstance(exception.__cause__, ResponseFailed)
        nothing = isinstance(exception.__cause__, ResponseNeverReceived)
        return BAD_RESPONSE if broken and not nothing else CONNECTION
    for kinds, reason in _REASONS:
        if isinstance(exception, kinds):
            return reason
    if isinstance(exception, IgnoreRequest):
        message = str(exception)
        return next((reason for words, reason in _IGNORED.items() if words in message), ERROR)
    package = type(exception).__module__.partition(".")[0]
    return BAD_RESPONSE if package in _UNPACKERS else ERROR
