"""Crawls of a spider that asks for given addresses, as if they were links of searches."""

import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response

from tests.support.crawls import DNS_RESOLVER, run_command
from tests.support.internet import MadeUpInternet
from tplspider.failures import reason_of
from tplspider.private_addresses import CheckedResolver

SETTINGS = {
    "DOWNLOADER_MIDDLEWARES": {
        "tplspider.politeness.Politeness": 752,
        "tplspider.private_addresses.PrivateAddressMiddleware": 760,
    },
    DNS_RESOLVER: "tests.support.stub_crawls.CheckedInternet",
    "DOWNLOAD_DELAY_JITTER": 0,
    "CONCURRENT_REQUESTS": 1,
    "RETRY_TIMES": 1,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}


class CheckedInternet(CheckedResolver):
    """The resolver under test, on the made-up internet."""

    def __init__(self, reactor: Any, cache_size: int) -> None:
        super().__init__(reactor, 0)
        self.original_resolver: Any = MadeUpInternet(reactor)

    def install_on_reactor(self) -> None:
        self.original_resolver.install_on_reactor()
        super().install_on_reactor()


class StubSpider(Spider):
    """Has a search for each key page, whose id is its address, and asks for *links*."""

    name = "stub"

    def __init__(self, keys: dict[str, float | None], links: list[tuple[str, str]]) -> None:
        super().__init__()
        self.searches = {key: _search(key, seconds) for key, seconds in keys.items()}
        self.links = links
        self.rows: list[dict[str, Any]] = []

    async def start(self) -> AsyncIterator[Request]:
        for number, (key, link) in enumerate(self.links):
            meta = {"dont_redirect": True, "handle_httpstatus_all": True, "cookiejar": key}
            named: Any = {"cb_kwargs": {"search_id": key}, "errback": self.failed, "meta": meta}
            yield Request(link, self.parse, priority=-number, dont_filter=True, **named)

    def parse(self, response: Response, search_id: str) -> None:
        timeout = response.meta.get("download_timeout")
        row = {"end": str(response.status), "timeout": timeout, "flags": response.flags}
        self.rows.append({"url": response.url, **row})

    def failed(self, failure: Any) -> None:
        self.rows.append({"url": failure.request.url, "end": reason_of(failure.value)})


def _search(key: str, seconds: float | None) -> object:
    begun: list[float] = []  # when it is asked for the first time, however slow the start was

    def left() -> float | None:
        begun.append(time.monotonic())
        return None if seconds is None else begun[0] + seconds - begun[-1]

    return SimpleNamespace(hosts={urlsplit(key).hostname: set()}, seconds_left=left)


@dataclass
class StubCrawl:
    """A crawl that has ended: its rows, its log and the seconds that it took once started."""

    rows: list[dict[str, Any]]
    log: str
    seconds: float

    @property
    def ends(self) -> list[str]:
        return [row["end"] for row in self.rows]


def stub_crawl(
    links: Sequence[str | tuple[str, str]],
    keys: dict[str, float | None] | None = None,
    **settings: object,
) -> StubCrawl:
    """Ask for *links*, each with its key, or with the first of *keys* (their times by address)."""
    keys = keys or {str(links[0]): None}
    pairs = [(next(iter(keys)), link) if isinstance(link, str) else link for link in links]
    order = json.dumps([keys, pairs, {**SETTINGS, **settings}])
    done = run_command(sys.executable, "-m", __name__, order)
    assert done.code == 0, done.log
    rows, seconds = json.loads(done.stdout)
    return StubCrawl(rows, done.log, seconds)


def main() -> None:
    keys, links, settings = json.loads(sys.argv[1])
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(StubSpider)
    process.crawl(crawler, keys, links)
    started = time.monotonic()
    process.start()
    assert isinstance(crawler.spider, StubSpider)
    sys.stdout.write(json.dumps([crawler.spider.rows, time.monotonic() - started]))


if __name__ == "__main__":
    main()
