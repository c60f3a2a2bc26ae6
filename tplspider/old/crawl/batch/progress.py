"""The extension that tells how far the crawl of a list is, and in the end what became of it."""

from __future__ import annotations

import logging
import os
import sys
from threading import Thread
from typing import TYPE_CHECKING
from weakref import finalize

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from tplspider.old.crawl.batch.end_table import End, WrittenFeeds
from tplspider.old.crawl.batch.standing import Pace, Standing
from tplspider.old.crawl.harmless_log import harmless
from tplspider.old.crawl.tally import tally_of
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TextIO

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from tplspider.old.crawl.batch.bar import TerminalBar
    from tplspider.old.crawl.batch.batch import Batch
    from tplspider.old.crawl.batch.searches import Searches
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)

_DRAWN_EVERY = 0.25  # seconds; lines of the log, however many, take the bar away until then
_OF_LATE = 10.0  # seconds over which pages a second are counted


class BatchProgress:
    """A bar on a terminal, else a line in the log each LOGSTATS_INTERVAL; at the end a table.

    Nothing of it for a crawl of one key page.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: TemplateCandidatesSpider) -> None:
        batch = spider.searches.batch
        if batch is None or not spider.arguments.urls:
            return
        crawler, report = self.crawler, _Report(self.crawler, spider, batch)
        for handler, signal in (
            (report.response_received, signals.response_received),
            (report.feed_slot_closed, signals.feed_slot_closed),
            (report.spider_closed, signals.spider_closed),
            (report.engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(handler, signal=signal, weak=False)


class _Report:
    """What is told of one crawl."""

    def __init__(self, crawler: Crawler, spider: TemplateCandidatesSpider, batch: Batch) -> None:
        self._spider = spider
        self._tally = tally_of(crawler)
        self._total: int | None = None
        self._before = batch.done_before()
        self._pages = 0
        self._feeds = WrittenFeeds()
        self._pace = Pace(self._before)
        self._calls: list[AsyncioLoopingCall | LoopingCall] = []
        self._terminal = _terminal()
        self._bar = _bar(self._terminal, crawler)
        # Then the log is not on the terminal: whoever reads it sees nothing of what is there.
        self._has_log_file = bool(crawler.settings.get("LOG_FILE"))
        # A long list takes a while; a daemon, so that nobody waits for it who ends the crawl.
        Thread(target=self._count, args=(batch,), daemon=True, name="count the list").start()
        if self._bar:
            finalize(crawler, self._bar.close)  # also of a crawl that is not ended but killed off
            self._call(self._draw, _DRAWN_EVERY)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if (self._bar is None or self._has_log_file) and self._interval > 0:
            self._call(self._log, self._interval)

    def response_received(self, request: Request) -> None:
        if ticket_of(request):
            self._pages += 1

    def feed_slot_closed(self, slot: FeedSlot) -> None:
        self._feeds.add(slot)

    def spider_closed(self) -> None:
        for call in self._calls:
            if call.running:
                call.stop()
        if self._bar:
            self._bar.close()

    def engine_stopped(self) -> None:
        """Tell what became of the list, after all that Scrapy has to say."""
        places = [*self._feeds.rows()]
        if folder := self._spider.arguments.save_html:
            places.append(("pages", folder))
        if report := self._spider.searches.job.plan.report:
            places.append(("reports", str(report.page)))
        if archive := self._spider.searches.job.plan.archive:
            places.append(("archive", str(archive.path)))
        end = End(
            self._tally,
            self._pace.elapsed,
            self._before,
            self._total,
            _way_on(self._spider.searches),
            places,
        )
        table = harmless(end.table())
        if self._terminal:
            self._print(f"{table}\n", self._terminal)
        if self._has_log_file or not self._terminal:
            logger.info(table)

    def _print(self, text: str, terminal: TextIO) -> None:
        if self._bar:  # those of other crawls may still be there
            from tplspider.old.crawl.batch.bar import AboveTheBar

            AboveTheBar(terminal).write(text)
        else:
            terminal.write(text)
        terminal.flush()

    def _count(self, batch: Batch) -> None:
        self._total = batch.count()

    def _call(self, function: Callable[[], None], seconds: float) -> None:
        call = create_looping_call(function)
        call.start(seconds, now=False)
        self._calls.append(call)

    def _draw(self) -> None:
        if self._bar:
            self._bar.draw(self._standing(_OF_LATE))

    def _log(self) -> None:
        # Since the last line.
        logger.info("%s", self._standing(self._interval / 2).line())

    def _standing(self, over: float) -> Standing:
        tally, done = self._tally, self._before + self._tally.answered
        # A list may grow while it is read.
        total = None if self._total is None else max(self._total, done)
        standing = Standing(
            done,
            total,
            len(self._spider.sessions),
            tally.complete,
            tally.partial,
            tally.unusable.total(),
            self._pace.pages_a_second(self._pages, over),
            self._pace.seconds_left(done, total),
            self._before,
        )
        self._pace.note(done, self._pages)
        return standing


def _terminal() -> TextIO | None:
    """Standard error, where it is a terminal."""
    try:
        return sys.stderr if sys.stderr and sys.stderr.isatty() else None
    except ValueError:  # it is closed
        return None


def _bar(terminal: TextIO | None, crawler: Crawler) -> TerminalBar | None:
    """A bar for the terminal, if it is one that can have one, and has room for it."""
    if terminal is None or os.environ.get("TERM", "dumb") == "dumb":
        return None
    feeds = crawler.settings.getdict("FEEDS")
    if any(uri.startswith("stdout:") for uri in feeds) and sys.stdout and sys.stdout.isatty():
        return None  # the rows are written there
    from tplspider.old.crawl.batch.bar import TerminalBar  # a library for those who see

    bar = TerminalBar(terminal)
    return bar if bar.is_open else None


def _way_on(searches: Searches) -> str:
    """What to tell somebody who wants the rest of a list."""
    if searches.is_stuck:
        return ""
    if searches.can_go_on:
        return "the same command goes on there"
    return "with -s JOBDIR=FOLDER from the start, the same command could go on there"
