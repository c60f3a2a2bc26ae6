"""The process that makes the searches of ``scrapy ui``: one crawl, told what to do line by line.

Standard input has an object of JSON a line: ``{"run": ID, "url": ..., "n": ..., "strategy": ...}``
is a search that is wanted, ``{"cancel": ID}`` one that is not wanted any more. When it ends, the
crawl is ended, with what was found by then. Standard output has what happens, in the same way.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess

from tplspider import signals
from tplspider.old.crawl.batch.inputs import Inputs
from tplspider.old.crawl.harmless_log import guard_log
from tplspider.old.crawl.scrapy_private import close_spider
from tplspider.old.crawl.tracker import CliqueTracker
from tplspider.old.crawl.ui.event_rows import link_row, started_row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import BinaryIO

    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from tplspider.old.crawl.batch.answers import SearchAnswer
    from tplspider.old.crawl.batch.list_line import ListLine
    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.search.session import SearchSession
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)

_LONGEST_LINE = 1 << 20
_LARGEST_TEMPLATE = 32 << 20  # characters of a template that is handed on


def run_worker(settings: Settings, spider_class: type[TemplateCandidatesSpider]) -> None:
    """Crawl until standard input ends."""
    guard_log()
    # Whatever else writes to standard output must not get in between.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider_class)
    worker = _Worker(crawler, out)
    process.crawl(crawler, _inputs=worker.inputs, _take_answer=worker.take_answer)
    process.start()
    with suppress(OSError):
        out.close()


class _Worker:
    """Hands searches to the crawl, and tells what happens in them."""

    def __init__(self, crawler: Crawler, out: BinaryIO) -> None:
        self.inputs = Inputs(self._wanted(), anew=True)
        self.inputs.is_unwanted = self._is_unwanted
        self._crawler = crawler
        self._out = out
        self._lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._sessions: dict[str, SearchSession] = {}  # open searches, by their runs
        self._runs: dict[SearchSession, str] = {}
        self._waiting: set[str] = set()
        self._unwanted: set[str] = set()  # cancelled before they were opened
        self._reader: asyncio.Task[None] | None = None
        for handler, signal in (
            (self.search_opened, signals.search_opened),
            (self.search_started, signals.search_started),
            (self.link_settled, signals.link_settled),
            (self.search_settled, signals.search_settled),
        ):
            crawler.signals.connect(handler, signal=signal)

    async def _wanted(self) -> AsyncIterator[dict[str, Any]]:
        """The searches that are wanted, as they come."""
        self._reader = asyncio.create_task(self._read())
        while line := await self._lines.get():
            yield line

    async def _read(self) -> None:
        reader = asyncio.StreamReader(limit=_LONGEST_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        try:
            while line := await reader.readline():
                told = json.loads(line)
                if run := told.get("cancel"):
                    self._cancel(run)
                else:
                    self._waiting.add(told["run"])
                    self._lines.put_nowait(told)
        finally:
            self._lines.put_nowait(None)
            close_spider(self._crawler, "shutdown")

    def _cancel(self, run: str) -> None:
        session = self._sessions.get(run)
        if session is None:
            if run in self._waiting:
                self._unwanted.add(run)
        elif session.phase != "over":
            tracker = self._crawler.get_extension(CliqueTracker)
            assert tracker is not None  # it belongs to the spider
            tracker.cancel_search(self._crawler.spider, session)  # type: ignore[arg-type]  # ours

    def _is_unwanted(self, line: ListLine) -> bool:
        run = str((line.input or {}).get("run", ""))
        if run not in self._unwanted:
            return False
        self._unwanted.discard(run)
        self._waiting.discard(run)
        self.inputs.own(line.number)
        return True

    def search_opened(self, session: SearchSession, spider: TemplateCandidatesSpider) -> None:
        run = str((spider.searches.key_page(session).input or {}).get("run", ""))
        self._sessions[run], self._runs[session] = session, run
        self._waiting.discard(run)
        self._tell(run, {"event": "opened"})

    def search_started(self, session: SearchSession, links: int, unparsable: int) -> None:
        self._tell(self._runs[session], started_row(session, links, unparsable))

    def link_settled(self, session: SearchSession, search: SubdigraphSearch, visit: Visit) -> None:
        self._tell(self._runs[session], link_row(search, visit))

    def search_settled(self, session: SearchSession) -> None:
        """Its items are out, and the answer was taken, unless something is lost."""
        run = self._runs.pop(session, "")
        self._sessions.pop(run, None)
        self._tell(run, {"event": "settled"})

    def take_answer(self, answer: SearchAnswer) -> None:
        """Hand on all that a search gave."""
        summary = asdict(answer.summary)
        run = str((self.inputs.own(answer.summary.line) or {}).get("run", ""))
        summary |= {"input": None, "line": None}  # they are ours, not the user's
        template = asdict(answer.template) if answer.template else None
        if template and sum(map(len, map(str, template.values()))) > _LARGEST_TEMPLATE:
            logger.warning("The template of %s is too large for a report", summary["key_url"])
            template = None
        row = {
            "event": "answer",
            "summary": summary,
            "candidates": [asdict(candidate) for candidate in answer.candidates],
            "template": template,
        }
        self._waiting.discard(run)
        self._tell(run, row)

    def _tell(self, run: str, row: dict[str, Any]) -> None:
        line = json.dumps({"run": run, **row}, separators=(",", ":"))
        with suppress(OSError, ValueError):  # nobody listens any more: standard input has ended too
            self._out.write(line.encode() + b"\n")
            self._out.flush()
