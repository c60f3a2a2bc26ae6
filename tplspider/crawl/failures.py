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
from scrapy.utils.python import binary_is_text
from twisted.web.client import ResponseFailed, ResponseNeverReceived

from tplspider.crawl.private_network.address_guard import PrivateAddressError
from tplspider.crawl.redirects import OffsiteRedirectError, RedirectLoopError
from tplspider.web.tag_cost import is_too_dear

if TYPE_CHECKING:
    from scrapy.http import Response

PRIVATE_ADDRESS = "private-address"

_REASONS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((PrivateAddressError,), PRIVATE_ADDRESS),
    ((OffsiteRedirectError,), "offsite-redirect"),
    ((RedirectLoopError,), "bad-response"),
    ((DownloadTimeoutError, TimeoutError), "timeout"),
    ((CannotResolveHostError,), "dns"),
    ((DownloadConnectionRefusedError,), "connection"),
    ((DownloadCancelledError,), "too-large"),
    (
        (ResponseDataLossError, UnsupportedURLSchemeError, BadGzipFile, EOFError, zlib.error),
        "bad-response",
    ),
    ((UnicodeDecodeError,), "bad-response"),  # of a header: Scrapy expects some to be UTF-8
)
# Scrapy's middlewares refuse a request with the same exception, and tell why in its message.
_IGNORED = {
    "robots.txt": "robots",
    "max redirections": "bad-response",
    "DOWNLOAD_MAXSIZE": "too-large",
}
_UNPACKERS = frozenset({"_brotli", "brotli", "backports", "compression", "zstandard"})
# More elements than a page of a person has: their tree would take hundreds of megabytes.
_MAX_TAGS = 500_000
# Successes that carry no page, or (never asked for) a part of one.
_NO_PAGE = frozenset({204, 205, 206})


def response_reason(response: Response) -> str:
    """Why *response* is no page; '' for a page."""
    if response.status in _NO_PAGE or not 200 <= response.status < 300:
        return _status_reason(response)
    if not response.body:
        return "bad-response"
    if not isinstance(response, HtmlResponse) or _is_other_file(response):
        return "not-html"
    if response.body.count(b"<") + response.body.count(b"=") > _MAX_TAGS:
        return "too-large"
    if is_too_dear(response.body):
        return "too-large"
    try:
        response.text  # noqa: B018 - decodes the body
    except (LookupError, UnicodeError):
        return "bad-response"
    if response.headers.get("Content-Encoding") and not binary_is_text(response.body[:5000]):
        return "bad-response"  # packed in a way that nobody here can unpack
    return ""


def failure_reason(exception: BaseException | None) -> str:
    """Why a request that ended with *exception* gave no page."""
    if isinstance(exception, HttpError):
        return _status_reason(exception.response)
    if isinstance(exception, DownloadFailedError):
        # Either nothing came before the connection was gone, or something that is no HTTP.
        broken = isinstance(exception.__cause__, ResponseFailed)
        nothing = isinstance(exception.__cause__, ResponseNeverReceived)
        return "bad-response" if broken and not nothing else "connection"
    for kinds, reason in _REASONS:
        if isinstance(exception, kinds):
            return reason
    if isinstance(exception, IgnoreRequest):
        message = str(exception)
        return next((reason for words, reason in _IGNORED.items() if words in message), "error")
    package = type(exception).__module__.partition(".")[0]
    return "bad-response" if package in _UNPACKERS else "error"


def _status_reason(response: Response) -> str:
    return f"http-{response.status}" if 100 <= response.status <= 999 else "bad-response"


def _is_other_file(response: Response) -> bool:
    """Whether it says that it is no HTML, and looks so: Scrapy also goes by an address's ending."""
    kind = (response.headers.get("Content-Type") or b"").partition(b";")[0].strip().lower()
    return bool(kind) and b"html" not in kind and not binary_is_text(response.body[:5000])
