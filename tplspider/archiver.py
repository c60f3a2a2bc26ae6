"""The archive that a crawl writes (``-a warc=FILE.warc.gz``), by warcio.

It has each response with its request, and for a load without one the reason. Secrets are left out.
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from functools import partial
from http.client import responses
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from tplspider import __version__
from tplspider.feeds import FeedFileStorage
from tplspider.tracker import count_lost

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, HtmlResponse, Response

    from tplspider.feeds import FeedFile
    from tplspider.web.page import NoPage

logger = logging.getLogger(__name__)

_SEARCH = "WARC-Tplspider-Search"  # the search that a record was loaded for
_LEFT_OUT = re.compile(
    rb"(proxy-)?authorization|(set-)?cookie2?|host"  # the host is written anew
    rb"|content-length|transfer-encoding"  # of how it was sent: Scrapy has joined the chunks
)
_USER = re.compile(rb"""((?:https?:|[/\\]{2})[/\\]*)[^/\\?#\s"'<>]*@""", re.IGNORECASE)
_KNOWN_BY = ("WARC-Record-ID", "WARC-Date", "WARC-Payload-Digest")
_LEAST_REPEATED = 1024  # smaller bodies are written again
_MOST_KNOWN = 4096  # records that a later one can refer to


class Archiver:
    """The downloader middleware that records what requests give.

    It comes after HttpCompressionMiddleware, so that bodies are as they came.
    """

    def __init__(self, crawler: Crawler, spider: Any) -> None:
        # Imported lazily: optional.
        from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
        from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

        self._crawler, self._spider = crawler, spider
        self._path = spider.outputs.warc
        self._file: FeedFile | None = None
        self._head_class = StatusAndHeaders
        self._writer = WARCWriter(None, gzip=self._path.suffix == ".gz", warc_version="1.1")
        self._known: LocalCache[tuple[str, ...], tuple[str, str]] = LocalCache(_MOST_KNOWN)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.response_received, signal=signals.response_received)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider
        if spider.outputs.warc is None:
            raise NotConfigured
        return cls(crawler, spider)

    def spider_opened(self) -> None:
        settings = self._crawler.settings
        try:
            storage = FeedFileStorage(str(self._path), feed_options={"overwrite": True})
            self._file = storage.open(self._spider)
        except OSError as error:
            logger.error("%s cannot be written: %s", self._path, error.strerror)  # noqa: TRY400
            count_lost(self._crawler)
            return
        self._file.in_turns = False
        about = {
            "software": f"tplspider/{__version__}",
            "format": "WARC File Format 1.1",
            "robots": "classic" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
            "http-header-user-agent": settings.get("USER_AGENT"),
        }
        self._write(self._writer.create_warcinfo_record(self._path.name, about))

    def spider_closed(self) -> None:
        if self._file is not None:
            self._file.close()

    def process_response(self, request: Request, response: Response) -> Response:
        """Record a response; if it is large and came before, by a reference."""
        url, marks = _plain(request.url), _marks(request)
        parts, body = urlsplit(url), response.body
        if not parts.netloc:  # data: and the like
            return response
        status = f"{response.status} {responses.get(response.status, '')}"
        head = self._head("HTTP/1.1", status, response.headers, len(body))
        if response.ip_address:
            marks["WARC-IP-Address"] = str(response.ip_address)
        record = self._record(url, "response", body, marks, head)
        name, date, digest = map(record.rec_headers.get_header, _KNOWN_BY)
        key = (url, digest, str(head))
        if len(body) >= _LEAST_REPEATED and (same := self._known.get(key)):
            marks["WARC-Refers-To"] = same[0]
            record = self._writer.create_revisit_record(url, digest, url, same[1], head, marks)
        else:
            self._known[key] = (name, date)
        sent = None
        if "cached" not in response.flags:
            line = f"/{url.partition(parts.netloc)[2].removeprefix('/')} HTTP/1.1"
            host = ("Host", parts.netloc)
            head = self._head(request.method, line, request.headers, len(request.body), host)
            sent = self._record(url, "request", request.body, _marks(request), head)
        self._write(record, sent)
        self._crawler.stats.inc_value("tplspider/archived")
        return response

    def response_received(self, request: Request, response: HtmlResponse) -> None:
        """Record a page as its scripts have changed it, beside the one that came."""
        if "rendered" in response.flags:
            marks = {**_marks(request), "WARC-Tplspider-Rendered": "yes"}
            marks["Content-Type"] = f"text/html; charset={response.encoding}"
            self._write(self._record(request.url, "conversion", response.body, marks))

    def outcome(self, search_id: str, url: str, answer: NoPage) -> None:
        """Record why a load gave no page."""
        fields = {"tplspider-outcome": answer.reason, "tplspider-detail": answer.detail}
        lines = [f"{name}: {' '.join(text.split())}\r\n" for name, text in fields.items() if text]
        body = "".join(lines).encode("utf-8", "replace")
        self._write(self._record(url, "metadata", body, {_SEARCH: search_id}))

    def _record(self, url: str, kind: str, body: bytes, marks: Any, head: Any = None) -> Any:
        record = (_plain(url), kind, BytesIO(body), len(body))
        return self._writer.create_warc_record(*record, warc_headers_dict=marks, http_headers=head)

    def _head(self, start: str, line: str, headers: Headers, size: int, *more: Any) -> Any:
        """The head of a request or a response, without what is secret."""
        shown = [
            # What a server has sent may have line ends in odd places.
            (name, re.sub(b"[\r\n]", b" ", _without_user(name, value)))
            for name, values in headers.items()
            if not _LEFT_OUT.fullmatch(name.lower())
            for value in values
        ]
        if size or "Content-Length" in headers:
            shown.append((b"Content-Length", b"%d" % size))
        head = self._head_class(line, [*more, *shown], protocol=start)
        # Byte for byte: warcio would percent-encode what is not ASCII, and so change redirects.
        head.to_ascii_bytes = partial(head.to_bytes, encoding="latin-1")
        return head

    def _write(self, record: Any, request: Any = None) -> None:
        """Write whole records, or nothing."""
        if self._file is None or self._file.fault:
            return
        self._writer.out = packed = BytesIO()
        if request:
            self._writer.write_request_response_pair(request, record)
        else:
            self._writer.write_record(record)
        start = self._file.tell()
        self._file.write(packed.getbuffer())
        if self._file.fault:
            with suppress(OSError):
                self._file.truncate(start)


def _marks(request: Request) -> dict[str, str]:
    """The search that a page is loaded for: a robots.txt, or a part of a page, has none."""
    found = request.cb_kwargs.get("search_id")
    return {_SEARCH: found} if found and request.callback is not NO_CALLBACK else {}


def _plain(url: str) -> str:
    """An address without ``user:password@`` and without its fragment."""
    return _without_user(b"Location", url.encode()).decode().partition("#")[0]


def _without_user(name: bytes, value: bytes) -> bytes:
    """A header without ``user:password@``: that of its address, or those of all addresses in it."""
    if name != b"Location":
        return _USER.sub(rb"\1", value)
    found = _USER.match(value)
    return value[: found.end(1)] + value[found.end() :] if found else value
