"""When the requests of a worker are on the wire, by its own clock: one line for each in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import signals

from tplspider.crawl.fleet.gate import FleetGate

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler


@dataclass(frozen=True)
class Sent:
    """A request that was sent; *at* is a time of ``time.monotonic``, the same in every process."""

    at: float
    pid: int
    host: str


class SendLog:
    """The extension that writes to the file SEND_LOG, which many processes may share.

    The gate is told of each request that is on the wire, also of what a connection has sent once
    more by itself; this listens to it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._file = os.open(crawler.settings["SEND_LOG"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self) -> None:
        gate = self._crawler.get_downloader_middleware(FleetGate)
        assert gate
        tell = gate.sent

        def sent(host: str) -> None:
            os.write(self._file, f"{monotonic()} {os.getpid()} {host}\n".encode())
            tell(host)

        gate.sent = sent  # type: ignore[method-assign]  # there is no signal


def sent_requests(file: Path) -> list[Sent]:
    """What was sent so far, in order."""
    if not file.exists():
        return []
    rows = (line.split(" ", 2) for line in file.read_text("utf-8").splitlines())
    return [Sent(float(at), int(pid), host) for at, pid, host in rows]
