"""What making a template costs a crawl: pauses of its event loop, time and memory.

Crawls of pages of 1 MB, in turns without a template, with one made by a worker, and with one made
in the crawl's own process. ``python -m benchmarks.loop_pauses 15`` takes that many turns.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from scrapy import signals

from benchmarks.extraction import manual, records
from benchmarks.timing import report, side_by_side
from tplspider import Site, identity, parse_html, read_page
from tplspider.demo.server import Handler, SiteServer
from tplspider.items import PageTemplate
from tplspider.signals import search_ended

if TYPE_CHECKING:
    from typing import Any, Self

    from scrapy.crawler import Crawler

PROJECT = Path(__file__).parent.parent
SIZE = 1_000_000  # characters
TICK = 0.001  # seconds
BOUND = 1.2
KINDS = {
    "without a template": {},
    "with a worker": {"TPLSPIDER_TEMPLATE": 1},
    "in the same process": {"TPLSPIDER_TEMPLATE": 1, "TPLSPIDER_EXTRACT_WORKERS": 0},
}


class PauseProbe:
    """An extension that looks how long the event loop keeps others waiting, and at the memory."""

    def __init__(self, crawler: Crawler) -> None:
        self._file = Path(crawler.settings["PAUSES_FILE"])
        self._task: asyncio.Task[None] | None = None
        self._extracting = False
        self._found: dict[str, float] = {"longest": 0, "extracting": 0, "worker": 0}
        for handler, signal in (
            (self.opened, signals.spider_opened),
            (self.ended, search_ended),
            (self.scraped, signals.item_scraped),
            (self.closed, signals.spider_closed),
        ):
            crawler.signals.connect(handler, signal=signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def opened(self) -> None:
        self._task = asyncio.create_task(self._look())

    def ended(self) -> None:
        self._extracting = True

    def scraped(self, item: Any) -> None:
        if isinstance(item, PageTemplate):
            for file in Path("/proc/self/task").glob("*/children"):
                for pid in file.read_text().split():
                    self._found["worker"] = max(self._found["worker"], _most_memory(pid))
        self._extracting = False

    def closed(self) -> None:
        assert self._task
        self._task.cancel()
        self._file.write_text(json.dumps({**self._found, "own": _most_memory("self")}))

    async def _look(self) -> None:
        last = time.perf_counter()
        while True:
            # Reading the page that ends the search does not count.
            kinds = ["longest", "extracting"] if self._extracting else ["longest"]
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            for kind in kinds:
                self._found[kind] = max(self._found[kind], now - last - TICK)
            last = now


def _most_memory(pid: str) -> float:
    """The most memory that a process had, in MB; 0 where it cannot be told."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1000
    return 0


class Manual(SiteServer):
    """A website whose pages are chapters of 1 MB, each with the menu of all."""

    def respond(self, request: Handler) -> None:
        name = request.path.removeprefix("/page").removesuffix(".html")
        if name.isdecimal():
            request.answer(200, chapter(int(name)), Content_Type="text/html; charset=utf-8")
        else:
            request.answer(404)


@cache
def chapter(number: int) -> bytes:
    """A page, the same whenever it is asked for."""
    return manual(Random(number), SIZE).encode()


def crawl(url: str, settings: dict[str, int], folder: Path) -> dict[str, float]:
    """What the probe found, and how many seconds it took, imports included."""
    file = folder / "pauses.json"
    given = {
        "DOWNLOAD_DELAY": 0,
        "HTTPPROXY_ENABLED": False,
        "EXTENSIONS": json.dumps({"benchmarks.loop_pauses.PauseProbe": 0}),
        "PAUSES_FILE": file,
        **settings,
    }
    start = time.perf_counter()
    subprocess.run(  # noqa: S603 - our own command
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", f"-aurl={url}"),
            *(f"-s{name}={value}" for name, value in given.items()),
        ],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    )
    found: dict[str, float] = json.loads(file.read_text())
    return {**found, "seconds": time.perf_counter() - start}


def run(rounds: int = 5) -> bool:
    """Print the figures; whether the pauses are as they are without a template."""
    print(f"Crawls of four pages of 1 MB, in turns, {rounds} each: median (least to most)")
    taken: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with Manual() as server, tempfile.TemporaryDirectory() as folder:
        url = f"{server.url}/page1.html"
        crawl(url, {}, Path(folder))  # files are in the system's cache from now on
        for _ in range(rounds):
            for kind, settings in KINDS.items():
                taken[kind].append(crawl(url, settings, Path(folder)))
    for kind, crawls in taken.items():
        print(f"  {kind}")
        for name, what, unit, factor in (
            ("longest", "longest pause of the event loop", "ms", 1000),
            ("extracting", "longest pause while the template is made", "ms", 1000),
            ("seconds", "whole crawl, imports included", "s", 1),
            ("own", "memory of the crawl", "MB", 1),
            ("worker", "memory of the worker", "MB", 1),
        ):
            figures = sorted(factor * one[name] for one in crawls)
            spread = f"({figures[0]:.2f} to {figures[-1]:.2f})"
            print(f"    {what:<62} {median(figures):8.2f} {unit:<2} {spread}")
    print_reading()
    without, worker, _ = (median(one["longest"] for one in crawls) for crawls in taken.values())
    return report("longest pause with a worker / without a template", worker / without, BOUND)


def print_reading() -> None:
    """What a page with many links costs, whatever is asked for."""
    url = "http://example.org/docs/index.html"
    text = records(Random(1), 3 * SIZE // 85)
    site = Site(identity(url), "host")
    (seconds,) = side_by_side(lambda: read_page(parse_html(text), url, site, "utf-8"))
    links = text.count("<a ")
    print(f"  reading a page of {len(text) // 1000} kB, {links:,} links: {1000 * seconds:.0f} ms")


if __name__ == "__main__":
    raise SystemExit(not run(*map(int, sys.argv[1:])))
