"""The process that searches for ``scrapy ui``: one crawl, told what to do line by line.

Standard input has an object of JSON a line: ``{"run": ID, "url": ..., "n": ..., "strategy": ...}``
asks for a search, ``{"cancel": ID}`` cancels one. At its end the crawl ends, with what was found
by then. Standard output tells what happens in the same way.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import SETTINGS_PRIORITIES, default_settings

from tplspider import signals
from tplspider.hooks import close_spider
from tplspider.keylist import KeyLine
from tplspider.log_sanitizer import guard_log
from tplspider.report.words import reason_words
from tplspider.search.answer import LONGEST
from tplspider.spiders.template_candidates import TemplateCandidatesSpider
from tplspider.web.html import Link
from tplspider.web.similarity import similarity
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import BinaryIO

    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from tplspider.items import CandidateSearch
    from tplspider.keylist import KeyPage
    from tplspider.results import SearchAnswer
    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.search.session import SearchSession

ALIVE = 5.0  # seconds from one sign of life to the next
_LONGEST_LINE = 1 << 20


def prepare(settings: Settings) -> None:
    """Set what the crawl of the worker needs, in whatever project: it has no end of its own."""
    limits = [name for name in dir(default_settings) if name.startswith("CLOSESPIDER_")]
    for name in (*limits, "LOG_STDOUT", "TWISTED_REACTOR"):
        settings.set(name, getattr(default_settings, name), priority="cmdline")
    # Below what -s says: texts are what most people search for.
    settings.set("TPLSPIDER_TEXTS", value=True, priority=30)
    if find_spec("html_to_markdown"):
        settings.set("TPLSPIDER_MARKDOWN", value=True, priority=30)


def check(settings: Settings) -> None:
    """Raise ValueError if the crawl of the worker could not begin."""
    if settings.get("JOBDIR"):
        raise ValueError("JOBDIR: the searches of scrapy ui are not those of a job")
    TemplateCandidatesSpider.check({"_keys": None}, settings)


def run_worker(settings: Settings, folder: Path) -> None:
    """Crawl until standard input ends; reports go to *folder*."""
    # Whatever else writes to standard output must not get in between.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    process = AsyncCrawlerProcess(settings)
    guard_log()
    if (settings.getpriority("LOG_LEVEL") or 0) < SETTINGS_PRIORITIES["cmdline"]:
        # The page tells what it means that a page failed; Scrapy has a traceback for it.
        logging.getLogger("scrapy").setLevel(logging.CRITICAL)
    crawler = process.create_crawler(TemplateCandidatesSpider)
    process.crawl(crawler, _keys=_Worker(crawler, out, folder).keys(), report=str(folder))
    process.start()
    with suppress(OSError):
        out.close()


class _Worker:
    """Hands searches to the crawl, and tells what happens in them."""

    def __init__(self, crawler: Crawler, out: BinaryIO, folder: Path) -> None:
        self._crawler, self._out, self._folder = crawler, out, folder
        self._lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._searches: dict[str, str] = {}  # ids of open searches, by their runs
        self._runs: dict[SearchSession, str] = {}
        for handler, signal in (
            (self.search_opened, signals.search_opened),
            (self.search_started, signals.search_started),
            (self.link_settled, signals.link_settled),
            (self.search_settled, signals.search_settled),
            (self.line_answered, signals.line_answered),
        ):
            crawler.signals.connect(handler, signal=signal)

    @property
    def _spider(self) -> Any:
        return self._crawler.spider

    async def keys(self) -> AsyncIterator[KeyLine]:
        """The key pages to search from, as they come."""
        self._spider.admission.anew = True  # the same search again is made again
        self._spider.admission.is_wanted = lambda key: _run_of(key) in self._waiting
        tasks = [asyncio.ensure_future(work) for work in (self._read(), self._live())]
        number = 0
        while told := await self._lines.get():
            number += 1
            options = {name: told[name] for name in ("n", "strategy")}
            yield KeyLine(number, str(told["url"]), options, {"run": told["run"]})
        for task in tasks:
            task.cancel()

    async def _read(self) -> None:
        reader = asyncio.StreamReader(limit=_LONGEST_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            told = json.loads(line)
            if run := told.get("cancel"):
                self._waiting.discard(run)
                if search_id := self._searches.get(run):
                    self._spider.tracker.cancel(search_id)
            else:
                self._waiting.add(told["run"])
                self._lines.put_nowait(told)
        await close_spider(self._crawler, "shutdown")
        self._lines.put_nowait(None)

    async def _live(self) -> None:
        while True:
            self._tell("", {"event": "alive"})
            await asyncio.sleep(ALIVE)

    def search_opened(self, session: SearchSession) -> None:
        run = _run_of(self._spider.searches[session.search_id].key)
        self._searches[run], self._runs[session] = session.search_id, run
        self._waiting.discard(run)
        self._tell(run, {"event": "opened"})

    def search_started(self, session: SearchSession, links: int) -> None:
        title = session.search.key_page.title if session.search else ""
        row = {"url": storable(session.key_url), "title": _text(title), "links": links}
        self._tell(self._runs[session], {"event": "started", **row})

    def link_settled(self, session: SearchSession, search: SubdigraphSearch, visit: Visit) -> None:
        """Tell of a link; *members* are the ranks of the best CS so far."""
        link, page = visit.link, visit.page
        row = {
            "event": "link",
            "rank": visit.rank,
            "url": storable(visit.url),
            "outcome": visit.outcome,
            "reason": storable(visit.reason),
            "words": reason_words(storable(visit.reason)) if visit.reason else "",
            "title": _text(page.title) if page else "",
            "anchor_text": _text(link.anchor_text) if isinstance(link, Link) else "",
            "similarity": similarity(search.key_page, page) if page else None,
            "members": [member.rank for member in search.members],
            "loads": search.loads,
        }
        self._tell(self._runs[session], row)

    def search_settled(self, session: SearchSession) -> None:
        """The items are out; if no answer was told before, they are lost."""
        run = self._runs.pop(session, "")
        self._searches.pop(run, None)
        self._tell(run, {"event": "settled"})

    def line_answered(self, answer: SearchAnswer) -> None:
        """Hand on what a search gave, and where the crawl wrote its report."""
        summary = asdict(answer.summary) | {"input": None, "line": None}  # they are ours
        text = asdict(answer.template) | {"key_html": ""} if answer.template else None
        candidates = [asdict(candidate) for candidate in answer.candidates]
        row = {"summary": summary, "candidates": candidates, "text": text, "fault": answer.fault}
        run = _run_of(answer.summary)
        with suppress(OSError):  # the log has the error
            written = self._folder / f"{answer.summary.search_id}.html"
            written.replace(self._folder / f"{run}.html")
        self._waiting.discard(run)
        self._tell(run, {"event": "answer", **row})

    def _tell(self, run: str, row: dict[str, Any]) -> None:
        line = json.dumps({"run": run, **row}, separators=(",", ":"))
        with suppress(OSError, ValueError):  # the server is gone; standard input has ended, too
            self._out.write(line.encode() + b"\n")
            self._out.flush()


def _run_of(found: KeyPage | CandidateSearch) -> str:
    return str((found.input or {}).get("run", ""))


def _text(text: str) -> str:
    return storable(text[:LONGEST])
