"""The extension that follows searches: their time, log and stats, and the end."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider

from tplspider import signals
from tplspider.hooks import before_closing, process_item
from tplspider.search.answer import counted, end_line, link_line, missing_line, witness_line
from tplspider.search.cliques import CANCELLED, KEY_PAGE_UNUSABLE, MAX_SECONDS, POOL
from tplspider.web.page import ERROR, NoPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.items import CandidateSearch
    from tplspider.search.cliques import Visit
    from tplspider.search.session import SearchSession
    from tplspider.spiders.template_candidates import OpenSearch, TemplateCandidatesSpider

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Counts:
    """How the key pages of a crawl were answered: for the exit status."""

    answered: int = 0
    complete: int = 0
    unusable: Counter[str] = field(default_factory=Counter)  # by key_outcome
    loads: int = 0
    lost: int = 0  # outputs not written, items refused
    lost_of: set[str] = field(default_factory=set)  # open searches that have lost an output
    earlier: Counter[str] = field(default_factory=Counter)  # outcomes before a restart
    is_finished: bool = False  # every key page is answered

    @property
    def partial(self) -> int:
        return self.answered - self.complete - self.unusable.total()

    def add(self, summary: CandidateSearch, *, repeated: bool = False) -> None:
        self.answered += 1
        self.complete += summary.complete or summary.reason == POOL
        self.loads += 0 if repeated else summary.loads + summary.witness_loads
        if summary.key_outcome != "ok":
            self.unusable[summary.key_outcome] += 1


def count_lost(crawler: Crawler, search_id: str = "") -> None:
    """Remember that an output is lost: the exit status is 1 then.

    With a JOBDIR, the search of that id is made again at the next start.
    """
    crawler.stats.inc_value("tplspider/lost_outputs")
    counts: Counts = crawler.spider.counts  # type: ignore[union-attr]  # it is ours
    counts.lost += 1
    if search_id:
        counts.lost_of.add(search_id)


class CliqueTracker(signals.Component):
    """Closes the spider once the n-CS of its key page is found and the items are out.

    The crawl of a list ends with the list. Whatever ends a crawl early, the results so far are
    given first.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False
        names = "spider_opened spider_idle scheduler_empty spider_error"
        signals.follow(self, crawler, scrapy_signals, *names.split())
        names = "search_opened search_started link_settled search_ended search_settled"
        signals.follow(self, crawler, signals, *names.split())

    @property
    def spider(self) -> TemplateCandidatesSpider:
        return self.crawler.spider  # type: ignore[return-value]  # the add-on is for it alone

    # Time and the end.

    def spider_opened(self) -> None:
        before_closing(self.crawler, self._give_all)

    def search_opened(self, session: SearchSession) -> None:
        if limit := session.options.max_seconds:
            loop = asyncio.get_running_loop()
            late = partial(self._out_of_time, session.search_id)
            self._timers[session.search_id] = loop.call_later(limit, late)

    def search_settled(self, session: SearchSession) -> None:
        if timer := self._timers.pop(session.search_id, None):
            timer.cancel()
        if not self.spider.is_list and session.summary and not self._is_closing:
            self._start(self.crawler.engine.close_spider_async(reason=session.summary.reason))

    def cancel(self, search_id: str) -> None:
        """End an open search with what was found so far."""
        if search := self.spider.searches.get(search_id):
            self._end_early(search, CANCELLED)

    def _out_of_time(self, search_id: str) -> None:
        if search := self.spider.searches.get(search_id):
            if search.gives_results:
                self.spider.texts.hurry()
            self._end_early(search, MAX_SECONDS)

    def _end_early(self, search: OpenSearch, reason: str) -> None:
        search.session.stop(reason)
        self.give(search)

    def give(self, search: OpenSearch) -> None:
        """Yield the results of a finished search, if no callback does."""
        self._start(self._give(search))

    async def _give(self, search: OpenSearch) -> None:
        async for item in self.spider.results.of(search, hurried=True):
            await process_item(self.crawler, item)

    async def _give_all(self, reason: str) -> None:
        """End every open search before the spider closes.

        If the crawl can be resumed, unfinished searches are left to the next run.
        """
        self._is_closing = True
        open_searches = list(self.spider.searches.values())
        self.spider.texts.hurry()
        for search in open_searches:
            if search.session.phase != "over" and self.spider.can_go_on:
                self.spider.settle(search)  # the next run makes it
            else:
                self._end_early(search, reason)
        for search in open_searches:
            await search.settled.wait()

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def spider_error(self, response: Response) -> None:
        """If a middleware has failed on an item, the other items of that search are lost."""
        request = response.request
        search_id = request.cb_kwargs.get("search_id", "") if request else ""
        search = self.spider.searches.get(search_id)
        if search:
            self._lose(search)

    def _lose(self, search: OpenSearch) -> bool:
        """Give up the results that a search is giving; whether there are any."""
        giving, search.giving = search.giving, None
        if giving:
            logger.error("The results of %s are lost", search.session.key_url)
            count_lost(self.crawler, search.session.search_id)
            self._start(giving.aclose())
        return giving is not None

    # Searches that are stuck.

    def spider_idle(self) -> None:
        self._go_on_with_all()
        if self.spider.searches:
            raise DontCloseSpider

    def scheduler_empty(self) -> None:
        # While start() waits for a place for the next line of a list, the spider is never idle.
        engine = self.crawler.engine
        slot = engine.scraper.slot
        if self.spider.searches and not engine.downloader.active and slot and slot.is_idle():
            self._go_on_with_all()

    def _go_on_with_all(self) -> None:
        """Nothing is in progress: a middleware has dropped requests, or a callback has failed."""
        for search in list(self.spider.searches.values()):
            session = search.session
            if self._lose(search):  # a middleware has failed on its items
                continue
            for rank in session.awaited:
                what = "the key page" if rank is None else f"link #{rank}"
                logger.warning("No answer for %s of %s", what, session.key_url)
                session.tell(rank, NoPage(ERROR))
            try:
                requests = list(self.spider.next_requests(search))
            except Exception:
                logger.exception("The search from %s failed", session.key_url)
                requests = []
            for request in requests:
                self.crawler.engine.crawl(request)
            if not requests and session.phase != "over":
                session.stop(ERROR)
                count_lost(self.crawler, session.search_id)
            if session.phase == "over":
                self.give(search)

    # Log and stats.

    def search_started(self, session: SearchSession, links: int) -> None:
        self._tell(session, lambda: f"Key page {session.key_url}: {counted(links, 'link')}")

    def link_settled(self, session: SearchSession, visit: Visit) -> None:
        search = session.search
        if search:
            self._tell(session, lambda: link_line(search, visit))
        if visit.no_page:
            self.crawler.stats.inc_value(f"tplspider/skipped/{visit.reason}")
        else:
            kind = "explored" if visit.page else "duplicates"
            self.crawler.stats.inc_value(f"tplspider/{kind}")

    def search_ended(self, session: SearchSession, summary: CandidateSearch) -> None:
        inc, many = self.crawler.stats.inc_value, self.spider.is_list
        warning = logging.INFO if many or self.spider.is_quiet else logging.WARNING
        inc("tplspider/loads", summary.loads + summary.witness_loads)
        inc(f"tplspider/key_outcome/{summary.key_outcome}")
        if summary.reason == POOL:
            inc("tplspider/by_pool")
        elif not summary.complete:
            inc("tplspider/incomplete")
        for row in summary.witnesses:
            self._tell(session, partial(witness_line, row))
        unusable = summary.reason == KEY_PAGE_UNUSABLE
        level = warning if unusable else logging.INFO
        start = f"{summary.key_url}: " if many and not unusable else ""
        logger.log(level, "%s%s", start, end_line(summary))
        if many or unusable:
            return
        if line := missing_line(summary):
            logger.info("%s", line)
        if summary.hint:
            logger.log(warning, "Hint: %s", summary.hint)

    def _tell(self, session: SearchSession, line: Callable[[], str]) -> None:
        """Log a line: as INFO for a single search, as DEBUG for a list."""
        if not self.spider.is_list:
            logger.info("%s", line())
        elif logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s: %s", session.key_url, line())
