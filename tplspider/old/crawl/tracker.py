"""The extension that follows searches, sees to their time, and ends the crawl."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tplspider import signals
from tplspider.old.crawl.account import Account
from tplspider.old.crawl.outputs.feeds import OURS
from tplspider.old.crawl.outputs.lost import count_lost
from tplspider.old.crawl.scrapy_private import (
    close_spider,
    is_at_rest,
    lead_close_through,
    process_item,
)
from tplspider.old.crawl.search_clock import SearchClocks
from tplspider.old.crawl.ticket import ticket_of
from tplspider.old.crawl.under_way import RequestsUnderWay
from tplspider.search.cliques import CANCELLED, MAX_SECONDS, Visit
from tplspider.web.page import ERROR

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from tplspider.items import CandidateSearch
    from tplspider.search.session import SearchSession
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)

_LOOKED_AFTER = 2.0  # seconds


class CliqueTracker:
    """Keeps the account of searches, and closes the spider once the results of all are out.

    When the items of the one search have passed the pipelines (or were dropped there), the spider
    is closed with the reason why the search ended. The crawl of a list ends with the list.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._finished: Deferred[None] | None = None  # of the crawl: fires when all is out
        self._early: dict[str, Deferred[None]] = {}  # the same, of searches that are ended early
        self.clocks = SearchClocks()
        self._look: CallLaterResult | None = None
        self._account = Account(crawler, many=False)
        for handler, signal in (
            (self.search_opened, signals.search_opened),
            (self.search_started, signals.search_started),
            (self.link_settled, signals.link_settled),
            (self.search_ended, signals.search_ended),
            (self.search_settled, signals.search_settled),
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
        self._account = Account(self.crawler, many=spider.searches.batch is not None)
        if spider.searches.batch:
            self._look_after(spider)

    def search_opened(self, session: SearchSession, spider: TemplateCandidatesSpider) -> None:
        if session.url != session.requested_url:
            level = logging.DEBUG if spider.searches.batch else logging.INFO
            logger.log(level, "The key page %s is taken for %s", session.requested_url, session.url)
        if seconds := session.options.max_seconds:
            alarm = partial(self._out_of_time, spider, session)
            self.clocks.start(session.search_id, seconds, alarm)

    def _look_after(self, spider: TemplateCandidatesSpider, *, rested: bool = False) -> None:
        """Notice from time to time what has vanished of a list: it is never idle before its end.

        Whoever fails on a request may hold on to its ticket.
        """
        rests = is_at_rest(self.crawler)
        if rested and rests:
            self._account_for_lost(spider)
        self._look = call_later(_LOOKED_AFTER, lambda: self._look_after(spider, rested=rests))

    def spider_closed(self) -> None:
        self.clocks.end_all()
        if self._look:
            self._look.cancel()

    def search_started(self, session: SearchSession, links: int, unparsable: int) -> None:
        self._account.started(session, links, unparsable)

    def link_settled(self, session: SearchSession, visit: Visit) -> None:
        self._account.link_settled(session, visit)

    def search_ended(self, session: SearchSession, summary: CandidateSearch) -> None:
        self._cancel(session)
        self._account.ended(session, summary)

    def search_settled(self, session: SearchSession, spider: TemplateCandidatesSpider) -> None:
        """The items of a search are out: if it was the only one, the crawl is over."""
        self.clocks.end(session.search_id)
        if spider.searches.batch is None and self._finished is None and session.summary:
            close_spider(self.crawler, session.summary.reason)

    def item_failed(self, item: object) -> None:
        """Somebody's pipeline has failed on an item: Scrapy logs why."""
        if isinstance(item, OURS):
            count_lost(self.crawler, item.search_id)

    def spider_error(self, response: Response | None, spider: TemplateCandidatesSpider) -> None:
        """A callback of ours has failed, or somebody's middleware around it."""
        # There is no response where start() has failed.
        if response and response.request and (ticket := ticket_of(response.request)):
            session = ticket.session
            if session.phase == "over" and session.search_id in spider.sessions:
                count_lost(self.crawler, session.search_id)  # it was giving its results
            if not spider.tickets.lost(session, ticket.rank) and ticket.rank in session.awaited:
                # It fails on whatever comes, so nothing is going to come.
                self._start_early_end(spider, session, ERROR)

    def spider_idle(self, spider: TemplateCandidatesSpider) -> None:
        """Nothing is under way: a search that is not over waits for what has vanished."""
        lost = self._account_for_lost(spider)
        # Whoever ends the crawl, or a search, closes the spider when the results are out.
        if lost or self._early or self._finished or spider.searches.is_busy:
            raise DontCloseSpider

    def _account_for_lost(self, spider: TemplateCandidatesSpider) -> bool:
        """Tell searches of what they wait for in vain; whether there is any."""
        lost = [
            spider.tickets.lost(session, rank)
            for session in list(spider.sessions.values())
            for rank in session.awaited
        ]
        return any(lost)

    def cancel_search(self, spider: TemplateCandidatesSpider, session: SearchSession) -> None:
        """Somebody wants no more of a search than what it has found so far."""
        self._start_early_end(spider, session, CANCELLED)

    def _out_of_time(self, spider: TemplateCandidatesSpider, session: SearchSession) -> None:
        if session.phase == "over":
            spider.page_output.hurry()
        self._start_early_end(spider, session, MAX_SECONDS)

    async def _finish(self, spider: TemplateCandidatesSpider, reason: str) -> None:
        """End every search that is still open, for the reason why the crawl ends.

        Where the crawl can go on another time, they are left to that time.
        """
        spider.page_output.hurry()
        for session in list(spider.sessions.values()):
            if spider.searches.can_go_on and session.phase != "over":
                spider.searches.drop(session)
            else:
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
        giver = object()
        try:
            async for item in spider.searches.results(session, giver, hurried=True):
                await process_item(self.crawler, item)
        except Exception:
            logger.exception("The results so far cannot be given")
            count_lost(self.crawler, session.search_id)
        finally:
            spider.searches.given(session, giver)
            self._early.pop(session.search_id, None)

    def _cancel(self, session: SearchSession) -> None:
        if under_way := self.crawler.get_downloader_middleware(RequestsUnderWay):
            under_way.cancel(session)


async def _end_of(results: Deferred[None]) -> None:
    """Wait for what others may wait for as well."""
    out: Deferred[None] = Deferred()
    results.addBoth(lambda _: out.callback(None))
    await maybe_deferred_to_future(out)
