"""Reports, written as searches end: from their items as these came out of the pipelines."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.utils.asyncio import run_in_thread

from tplspider import signals
from tplspider.items import CandidateSearch, PageTemplate
from tplspider.old.crawl.outputs.lost import count_lost
from tplspider.report.files import ReportFolder, write_report
from tplspider.search.answer import counted
from tplspider.web.page import BAD_INPUT, CRASHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from tplspider.old.crawl.batch.journal import Journal
    from tplspider.old.crawl.outputs.report_place import ReportPlace
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

# The index of a long list takes its time: it is made anew when it is that old, in seconds, and that
# many times as old as the making took.
_AGE, _SHARE = 5.0, 20


class Reports:
    """Writes the report of each search before the search counts as done.

    Scrapy waits for what listens to its items, and the results of a search are out only then. So a
    crawl that is killed and goes on has a report for each search that is done.
    """

    def __init__(self, crawler: Crawler, place: ReportPlace, journal: Journal) -> None:
        self._crawler = crawler
        self._place = place
        self._folder: ReportFolder | None = None
        self._turn = asyncio.Lock()
        self._ended: set[str] = set()  # searches whose summaries are on their way
        # Of the search whose items are coming out: whatever of them is there.
        self._summary: CandidateSearch | None = None
        self._template: PageTemplate | None = None
        self._index_again = 0.0  # a time
        self._faults = 0
        self._journal = journal
        connect = crawler.signals.connect
        if place.is_folder:
            connect(self.begin, signal=scrapy_signals.spider_opened)
        connect(self.search_ended, signal=signals.search_ended)
        connect(self.item_scraped, signal=scrapy_signals.item_scraped)
        connect(self.search_settled, signal=signals.search_settled)
        connect(self.close, signal=scrapy_signals.spider_closed)

    def begin(self) -> None:
        """Go on with the index that is there; a journal (JOBDIR) has what is missing in it."""
        try:
            mend = self._journal.is_kept
            self._folder = folder = ReportFolder(self._place.path, mend=mend)
            for search_id in self._journal.search_ids():
                # Somebody has taken it away, or the power was lost.
                if search_id not in folder and (summary := self._journal.summary(search_id)):
                    folder.add(summary, replace=False)
            folder.write_index()
        except (OSError, ValueError) as error:
            self._lose(error)

    def search_ended(self, summary: CandidateSearch) -> None:
        self._ended.add(summary.search_id)

    async def item_scraped(self, item: object) -> None:
        """Write a report when the summary is out, and once more if the template comes later."""
        if isinstance(item, PageTemplate):
            self._template = item
            if self._summary and self._summary.search_id == item.search_id:
                await self._report(self._summary, item)
        elif isinstance(item, CandidateSearch) and self._is_first(item):
            self._ended.discard(item.search_id)
            self._summary = item
            template = self._template
            is_its_own = template and template.search_id == item.search_id
            written = await self._report(item, template if is_its_own else None)
            if written and item.search_id:
                self._crawler.stats.inc_value("tplspider/reports")

    def _is_first(self, summary: CandidateSearch) -> bool:
        """Whether it is not one more answer by a search that was made for another line."""
        return summary.search_id in self._ended or summary.key_outcome in (BAD_INPUT, CRASHED)

    async def _report(self, summary: CandidateSearch, template: PageTemplate | None) -> bool:
        async with self._turn:
            return await self._try(self._write, summary, template, search_id=summary.search_id)

    def search_settled(self, session: SearchSession) -> None:
        if session.search_id in self._ended:
            self._ended.discard(session.search_id)
            logger.warning("No report on %s: its summary was dropped", session.url)
        # One that was dropped leaves while the items of another come out.
        if self._summary and self._summary.search_id == session.search_id:
            self._summary = None
        if self._template and self._template.search_id == session.search_id:
            self._template = None

    async def close(self) -> None:
        """Make the index for the last time, and say where it all is."""
        if self._folder:
            async with self._turn:
                await self._try(self._folder.write_index)
                self._folder.close()
        if self._faults > 1:
            logger.error("%s cannot be written", counted(self._faults, "report"))
        elif not self._faults:
            logger.info("Report: %s", self._place.page)

    def _write(self, summary: CandidateSearch, template: PageTemplate | None) -> None:
        """In a thread: drawing hundreds of pages takes more time than an event loop has."""
        if not self._place.is_folder:
            self._place.path.parent.mkdir(parents=True, exist_ok=True)
            write_report(self._place.path, summary, template)
            return
        self._folder = self._folder or ReportFolder(self._place.path)
        self._folder.add(summary, template)
        begun = time.monotonic()
        if begun >= self._index_again:
            self._folder.write_index()
            ended = time.monotonic()
            self._index_again = ended + max(_AGE, _SHARE * (ended - begun))

    async def _try(
        self, write: Callable[..., None], *arguments: object, search_id: str = ""
    ) -> bool:
        try:
            await run_in_thread(write, *arguments)
        except Exception as error:  # noqa: BLE001 - the search has its items, whatever becomes of this
            self._lose(error, search_id)
            return False
        return True

    def _lose(self, error: Exception, search_id: str = "") -> None:
        """One line is enough, however many follow. With a JOBDIR the search is made again."""
        self._faults += 1
        is_ours = not isinstance(error, OSError)  # a defect would be there again
        count_lost(self._crawler, "" if is_ours else search_id)
        if self._faults > 1:
            return
        why = getattr(error, "strerror", None) or error or type(error).__name__
        logger.error("%s cannot be written: %s", self._place.label, why, exc_info=is_ours)
