"""What became of a request, in one word: why a response or a failure is no page."""

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
from scrapy.http import HtmlResponse
from scrapy.spidermiddlewares.httperror import HttpError

from tplspider.redirects import OffsiteRedirectError, RedirectLoopError

if TYPE_CHECKING:
    from scrapy.http import Response

_REASONS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((OffsiteRedirectError,), "offsite-redirect"),
    ((RedirectLoopError,), "bad-response"),
    ((DownloadTimeoutError, TimeoutError), "timeout"),
    ((CannotResolveHostError,), "dns"),
    ((DownloadConnectionRefusedError, DownloadFailedError), "connection"),
    ((DownloadCancelledError,), "too-large"),
    (
        (ResponseDataLossError, UnsupportedURLSchemeError, BadGzipFile, EOFError, zlib.error),
        "bad-response",
    ),
)
# Scrapy's middlewares refuse a request with the same exception, and tell why in its message.
_IGNORED = {
    "robots.txt": "robots",
    "max redirections": "bad-response",
    "DOWNLOAD_MAXSIZE": "too-large",
}
# Successes that carry no page, or (never asked for) a part of one.
_NO_PAGE = frozenset({204, 205, 206})


def response_reason(response: Response) -> str:
    """Why *response* is no page; '' for a page."""
    if response.status in _NO_PAGE or not 200 <= response.status < 300:
        return f"http-{response.status}"
    if not response.body:
        return "bad-response"
    if not isinstance(response, HtmlResponse):
        return "not-html"
    return ""


def failure_reason(exception: BaseException | None) -> str:
    """Why a request that ended with *exception* gave no page."""
    if isinstance(exception, HttpError):
        return f"http-{exception.response.status}"
    for kinds, reason in _REASONS:
        if isinstance(exception, kinds):
            return reason
    if isinstance(exception, IgnoreRequest):
        message = str(exception)
        return next((reason for words, reason in _IGNORED.items() if words in message), "error")
    return "error"
