"""Progress of a crawl: a bar on a terminal, log lines elsewhere, and a table after a list."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from tqdm import tqdm

from tplspider import signals
from tplspider.log_sanitizer import printable
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tplspider.search.cliques import SubdigraphSearch
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider
    from tplspider.spiders.template_strip import TemplateStripSpider

logger = logging.getLogger(__name__)

REDRAW_SECONDS = 0.5


class _Bar(tqdm):  # type: ignore[type-arg]  # it is not iterated over
    monitor_interval = 0  # no thread: the event loop redraws it


_Bar.set_lock(RLock())  # tqdm's default would fix the start method of multiprocessing


class _AboveBar:
    """The stream of log handlers: they write whole lines, above the bar if there is one."""

    def write(self, text: str) -> None:
        _Bar.write(text, file=sys.stderr, end="")

    def flush(self) -> None:
        sys.stderr.flush()


class Progress(signals.Component):
    """Extension for lists (``spider.is_list``) and commands (``spider.shows_progress``)."""

    unit, done_word = " lines", "answered"

    def __init__(self, crawler: Crawler) -> None:
        self._spider = cast("TemplateCandidatesSpider", crawler.spider)
        is_dumb = os.environ.get("TERM", "dumb") == "dumb"
        self._has_bar = sys.stderr is not None and sys.stderr.isatty() and not is_dumb
        if not self._spider.is_list and not (self._has_bar and self._spider.shows_progress):
            raise NotConfigured
        self._bar: Any = None
        self._text = "Loading the page"
        self._started = monotonic()
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._call = create_looping_call(self._redraw if self._has_bar else self._log)
        signals.follow(self, crawler, signals, "link_settled")
        names = ("spider_opened", "spider_closed", "engine_stopped")
        signals.follow(self, crawler, scrapy_signals, *names)

    def spider_opened(self) -> None:
        if self._has_bar:
            shown = None if self._spider.is_list else "{desc} ..."  # None is tqdm's usual line
            given: dict[str, Any] = {"bar_format": shown, "unit": self.unit, "initial": self._done}
            self._bar = _Bar(leave=False, dynamic_ncols=True, **given)
            self._call.start(REDRAW_SECONDS)
        elif self._interval:
            self._call.start(self._interval, now=False)

    def link_settled(self, search: SubdigraphSearch) -> None:
        found = f"{len(search.found)} of {search.size} pages with the same template"
        self._text = f"{found}, {counted(search.loads, 'load')}"

    def spider_closed(self) -> None:
        if self._call.running:
            self._call.stop()
        if self._bar is not None:
            self._bar.close()

    def engine_stopped(self) -> None:
        """Print the table after everything that Scrapy logs."""
        if not self._spider.is_list:
            return
        counts, seconds = self._spider.counts, tqdm.format_interval(monotonic() - self._started)
        head = f"{counted(counts.answered, 'line')} answered in {seconds}"
        rows = {"complete": counts.complete, "partial": counts.partial}
        rows |= {f"unusable: {outcome}": number for outcome, number in counts.unusable.items()}
        rows["answered before"] = counts.earlier.total()
        lines = [f"{number:>6}  {what}" for what, number in rows.items() if number]
        table = "\n".join([f"{head} with {counted(counts.loads, 'load')}", *lines])
        if self._has_bar:
            _Bar.write(table, file=sys.stderr)
        else:
            logger.info(table)

    @property
    def _done(self) -> int:
        return self._spider.counts.answered + self._spider.counts.earlier.total()

    def _figures(self) -> str:
        counts, searches = self._spider.counts, f"{len(self._spider.searches)} in progress"
        outcomes = f"{counts.complete} complete, {counts.partial} partial"
        return f"{searches}, {outcomes}, {counts.unusable.total()} unusable"

    def _print(self, line: str) -> None:
        logger.info("%s", line)

    def _log(self) -> None:
        total = "" if self._spider.line_count is None else f" of {self._spider.line_count}"
        self._print(f"{self._done}{total}{self.unit} {self.done_word}, {self._figures()}")

    def _redraw(self) -> None:
        for handler in logging.root.handlers:  # again: each crawl installs a new one
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                handler.setStream(_AboveBar())
        with suppress(OSError, ValueError):  # the terminal is gone
            if self._spider.is_list:
                self._bar.n, self._bar.total = self._done, self._spider.line_count
                self._bar.set_postfix_str(self._figures())
            else:
                self._bar.set_description_str(self._text)


class PageProgress(Progress):
    """Extension for a spider that goes through files: its lines are printed, not logged."""

    unit, done_word = " files", "done"
    _spider: TemplateStripSpider  # type: ignore[assignment]

    def engine_stopped(self) -> None:
        self._print(self._spider.summary())

    @property
    def _done(self) -> int:
        return self._spider.done

    def _figures(self) -> str:
        return self._spider.phase

    def _print(self, line: str) -> None:
        with suppress(OSError):
            print(printable(line), file=sys.stderr, flush=True)
