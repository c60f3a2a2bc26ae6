"""When the requests of a crawl are sent, by its own clock: one line for each in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import signals

from tplspider.crawl.scrapy_private import lead_downloads_through

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


@dataclass(frozen=True)
class Sent:
    """A request that was sent; *at* is a time of ``time.monotonic``, the same in every process."""

    at: float
    pid: int
    host: str
    path: str


class SendLog:
    """The extension that writes to the file SEND_LOG, which many processes may share.

    It is asked for the download before our middlewares are, so that it is the last to see a request
    before the handler.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._file = os.open(crawler.settings["SEND_LOG"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self) -> None:
        lead_downloads_through(self._crawler, self._download)

    async def _download(
        self, request: Request, start_download: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        parts = urlsplit(request.url)
        line = f"{monotonic()} {os.getpid()} {parts.hostname} {parts.path}\n"
        os.write(self._file, line.encode())
        return await start_download(request)


def sent_requests(file: Path) -> list[Sent]:
    """What was sent so far, in order."""
    if not file.exists():
        return []
    rows = (line.split(" ", 3) for line in file.read_text("utf-8").splitlines())
    return [Sent(float(at), int(pid), host, path) for at, pid, host, path in rows]
