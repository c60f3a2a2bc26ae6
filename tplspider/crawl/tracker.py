"""The extension that follows searches: stats, log lines, and the end of the crawl."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tplspider import signals
from tplspider.crawl.outputs.feeds import OURS
from tplspider.crawl.outputs.lost import count_lost
from tplspider.crawl.scrapy_private import close_spider, lead_close_through, process_item
from tplspider.crawl.ticket import ticket_of
from tplspider.crawl.under_way import RequestsUnderWay
from tplspider.items import CandidateSearch
from tplspider.search.ends import KEY_PAGE_UNUSABLE, MAX_SECONDS
from tplspider.search.narration import end_line, link_line, missing_line, witness_line
from tplspider.search.wording import counted

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from tplspider.search.algorithm import Visit
    from tplspider.search.session import SearchSession
    from tplspider.search.window import SubdigraphSearch
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)


class CliqueTracker:
    """Keeps the account of searches, and closes the spider once the results of all are out.

    The end of a search is that of its last item, the summary: when it has passed the pipelines (or
    was dropped there) and no other search is open, the spider is closed with the reason why the
    search ended.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._finished: Deferred[None] | None = None  # of the crawl: fires when all is out
        self._early: dict[str, Deferred[None]] = {}  # the same, of searches that are ended early
        self._timers: dict[str, CallLaterResult] = {}
        for handler, signal in (
            (self.search_started, signals.search_started),
            (self.link_settled, signals.link_settled),
            (self.search_ended, signals.search_ended),
            (self.item_left, scrapy_signals.item_scraped),
            (self.item_left, scrapy_signals.item_dropped),
            (self.item_failed, scrapy_signals.item_error),
            (self.spider_opened, scrapy_signals.spider_opened),
            (self.spider_error, scrapy_signals.spider_error),
            (self.spider_idle, scrapy_signals.spider_idle),
            (self.spider_closed, scrapy_signals.spider_closed),
        ):
            crawler.signals.connect(handler, signal=signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: TemplateCandidatesSpider) -> None:
        """See to it that nothing closes the spider before the results so far are out."""

        async def finish(reason: str) -> None:
            # Whoever wants to close it as well, a second limit or a signal, waits for the results.
            if self._finished is None:
                self._finished = deferred_from_coro(self._finish(spider, reason))
            await _end_of(self._finished)

        lead_close_through(self.crawler, finish)
        for session in spider.sessions.values():
            if seconds := session.options.max_seconds:
                self._timers[session.search_id] = call_later(
                    seconds, self._out_of_time, spider, session
                )

    def spider_closed(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def search_started(self, session: SearchSession, links: int, unparsable: int) -> None:
        logger.info("Key page %s: %s", session.key_url, counted(links, "link"))
        self._set("loads", 1)
        self._set("links", links)
        self._set("cs_size", 0)
        if unparsable:
            self._set("links_unparsable", unparsable)

    def link_settled(self, search: SubdigraphSearch, visit: Visit) -> None:
        logger.info("%s", link_line(search, visit))
        self._set("loads", search.loads)
        self._set("cs_size", len(search.members))
        if visit.no_page:
            self.crawler.stats.inc_value(f"tplspider/skipped/{visit.reason}")
        else:
            self.crawler.stats.inc_value(f"tplspider/{'explored' if visit.page else 'duplicates'}")

    def search_ended(self, session: SearchSession, summary: CandidateSearch) -> None:
        if under_way := self.crawler.get_downloader_middleware(RequestsUnderWay):
            under_way.cancel(session)
        self._set("loads", summary.loads)
        self._set("cs_size", summary.cs_size)
        self._set("key_outcome", summary.key_outcome)
        self._set("wasted", summary.wasted)
        if summary.similarity is not None:
            self._set("similarity", summary.similarity)
        if summary.witness_loads:
            self._set("witness_loads", summary.witness_loads)
        for row in summary.witnesses:
            logger.info("%s", witness_line(row))
        if not summary.complete:
            self.crawler.stats.inc_value("tplspider/incomplete")
        if summary.reason == KEY_PAGE_UNUSABLE:
            logger.warning("%s", end_line(summary))
            return
        logger.info("%s", end_line(summary))
        if line := missing_line(summary):
            logger.info("%s", line)
        if summary.hint:
            logger.warning("A hint: %s", summary.hint)

    def item_left(self, item: object, spider: TemplateCandidatesSpider) -> None:
        """The last item of a search is out: if no other is open, the crawl is over."""
        if isinstance(item, CandidateSearch) and item.search_id in spider.sessions:
            del spider.sessions[item.search_id]
            if timer := self._timers.pop(item.search_id, None):
                timer.cancel()
            if not spider.sessions and self._finished is None:
                # Not at once: the feeds are told of the item at the same time.
                call_later(0, close_spider, self.crawler, item.reason)

    def item_failed(self, item: object, spider: TemplateCandidatesSpider) -> None:
        """Somebody's pipeline has failed on an item: Scrapy logs why."""
        if isinstance(item, OURS):
            count_lost(self.crawler)
        self.item_left(item, spider)

    def spider_error(self, response: Response, spider: TemplateCandidatesSpider) -> None:
        """A callback of ours has failed, or somebody's middleware around it."""
        if response.request and (ticket := ticket_of(response.request)):
            if ticket.session.phase == "over" and ticket.session.search_id in spider.sessions:
                count_lost(self.crawler)  # it was giving its results
            spider.tickets.lost(ticket.session, ticket.rank)

    def spider_idle(self, spider: TemplateCandidatesSpider) -> None:
        """Nothing is under way: a search that is not over waits for what has vanished."""
        lost = [
            spider.tickets.lost(session, rank)
            for session in spider.sessions.values()
            for rank in session.awaited
        ]
        # Whoever ends the crawl, or a search, closes the spider when the results are out.
        if any(lost) or self._early or self._finished or spider.page_output.is_busy:
            raise DontCloseSpider
        for session in spider.sessions.values():
            if session.summary:
                logger.warning(
                    "The summary of %s has not come out: what did a middleware or a pipeline do?",
                    session.key_url,
                )
                raise CloseSpider(session.summary.reason)

    def _out_of_time(self, spider: TemplateCandidatesSpider, session: SearchSession) -> None:
        self._timers.pop(session.search_id, None)
        if session.phase == "over":
            spider.page_output.hurry()
        self._start_early_end(spider, session, MAX_SECONDS)

    async def _finish(self, spider: TemplateCandidatesSpider, reason: str) -> None:
        """End every search that is still open, for the reason why the crawl ends."""
        spider.page_output.hurry()
        for session in list(spider.sessions.values()):
            self._start_early_end(spider, session, reason)
        for results in list(self._early.values()):
            await _end_of(results)

    def _start_early_end(
        self, spider: TemplateCandidatesSpider, session: SearchSession, reason: str
    ) -> None:
        if session.phase != "over":  # else its results are on their way
            session.stop(reason)
            results = deferred_from_coro(self._give_results(spider, session))
            self._early[session.search_id] = results

    async def _give_results(self, spider: TemplateCandidatesSpider, session: SearchSession) -> None:
        try:
            async for item in spider.page_output.results(session, hurried=True):
                await process_item(self.crawler, item)
        except Exception:
            logger.exception("The results so far cannot be given")
        finally:
            self._early.pop(session.search_id, None)

    def _set(self, name: str, value: float | str) -> None:
        self.crawler.stats.set_value(f"tplspider/{name}", value)


async def _end_of(results: Deferred[None]) -> None:
    """Wait for what others may wait for as well."""
    out: Deferred[None] = Deferred()
    results.addBoth(lambda _: out.callback(None))
    await maybe_deferred_to_future(out)
