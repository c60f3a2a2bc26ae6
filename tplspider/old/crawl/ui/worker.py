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
from tplspider.hooks import close_spider
from tplspider.keylist import KeyLine
from tplspider.log_sanitizer import guard_log
from tplspider.old.crawl.ui.event_rows import link_row, started_row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import BinaryIO

    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from tplspider.items import CandidateSearch
    from tplspider.keylist import KeyPage
    from tplspider.results import SearchAnswer
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
    process.crawl(crawler, _keys=worker.wanted())
    process.start()
    with suppress(OSError):
        out.close()


class _Worker:
    """Hands searches to the crawl, and tells what happens in them."""

    def __init__(self, crawler: Crawler, out: BinaryIO) -> None:
        self._crawler = crawler
        self._out = out
        self._lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._searches: dict[str, str] = {}  # ids of open searches, by their runs
        self._runs: dict[SearchSession, str] = {}
        self._waiting: set[str] = set()
        self._reader: asyncio.Task[None] | None = None
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

    async def wanted(self) -> AsyncIterator[KeyLine]:
        """The searches that are wanted, as they come: each is made, also one that was made."""
        admission = self._spider.admission
        admission.is_wanted, admission.anew = self._is_wanted, True
        self._reader = asyncio.create_task(self._read())
        number = 0
        while told := await self._lines.get():
            number += 1
            own = {"run": told.pop("run")}
            yield KeyLine(number, str(told.pop("url")), told, own)

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
            await close_spider(self._crawler, "shutdown")

    def _cancel(self, run: str) -> None:
        self._waiting.discard(run)
        if search_id := self._searches.get(run):
            self._spider.tracker.cancel(search_id)

    def _is_wanted(self, key: KeyPage) -> bool:
        return _run_of(key) in self._waiting

    def search_opened(self, session: SearchSession) -> None:
        run = _run_of(self._spider.searches[session.search_id].key)
        self._searches[run], self._runs[session] = session.search_id, run
        self._waiting.discard(run)
        self._tell(run, {"event": "opened"})

    def search_started(self, session: SearchSession, links: int, unparsable: int) -> None:
        self._tell(self._runs[session], started_row(session, links, unparsable))

    def link_settled(self, session: SearchSession, search: SubdigraphSearch, visit: Visit) -> None:
        self._tell(self._runs[session], link_row(search, visit))

    def search_settled(self, session: SearchSession) -> None:
        """Its items are out, and the answer was taken, unless something is lost."""
        run = self._runs.pop(session, "")
        self._searches.pop(run, None)
        self._tell(run, {"event": "settled"})

    def line_answered(self, answer: SearchAnswer) -> None:
        """Hand on all that a search gave."""
        run = _run_of(answer.summary)
        # They are ours, not the user's.
        summary = asdict(answer.summary) | {"input": None, "line": None}
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


def _run_of(found: KeyPage | CandidateSearch) -> str:
    return str((found.input or {}).get("run", ""))
