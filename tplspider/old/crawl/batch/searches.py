"""The searches of a crawl: opened as there is room for them, settled when their results are out."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals

from tplspider import signals
from tplspider.old.crawl.batch.admission import Admission
from tplspider.old.crawl.batch.answers import AnswerMaker
from tplspider.old.crawl.batch.background import in_background, is_stream
from tplspider.old.crawl.batch.batch import LOOK_AHEAD, Batch, Unsearched
from tplspider.old.crawl.batch.journal_file import JOURNAL_FAULT, JournalError
from tplspider.old.crawl.batch.list_line import ListLine
from tplspider.old.crawl.batch.results import ResultDesk
from tplspider.old.crawl.batch.same_list import check_same_list
from tplspider.old.crawl.config import PRIORITY, Config
from tplspider.old.crawl.key_page import key_page_of
from tplspider.old.crawl.outputs.lost import count_lost
from tplspider.old.crawl.preflight import open_list_of, search_limits
from tplspider.old.crawl.scrapy_private import close_spider
from tplspider.old.crawl.tally import tally_of
from tplspider.old.crawl.under_way import RequestsUnderWay
from tplspider.profiles import is_own_project
from tplspider.search.session import SearchSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.arguments import Arguments
    from tplspider.old.crawl.batch.job import Job
    from tplspider.old.crawl.batch.results import Item
    from tplspider.old.crawl.key_page import KeyPage
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)

_ITEMS_AT_ONCE = 4


class Searches:
    """Knows each search from the request for its key page until its results are out.

    A crawl has one key page (then its search is open from the beginning), or a *batch* of them.
    """

    def __init__(
        self, spider: TemplateCandidatesSpider, job: Job, batch: Batch | None = None
    ) -> None:
        self.batch = batch
        self.is_unwanted = False  # nobody is there any more to take answers
        self.is_stuck = False  # the same command would fail as well
        self.job = job
        self.sessions = spider.sessions
        self._spider = spider
        self._pages: dict[str, KeyPage] = {}
        settings = spider.crawler.settings
        self._limits = search_limits(settings, for_template=spider.page_output.wants_template)
        self._desk = ResultDesk(spider.crawler, spider.page_output, job.journal, self.settle)
        if take := spider.take_answer:
            AnswerMaker(spider.crawler, self._desk, take)
        if job.plan.report:
            # Here and not above: the engine that writes it is not imported for those who want none.
            from tplspider.old.crawl.reports import Reports

            self._reports = Reports(spider.crawler, job.plan.report, job.journal)
        tally_of(spider.crawler).earlier = job.journal.outcomes()
        if batch is None:
            self.open(key_page_of(spider.arguments, spider.requested_url))
        spider.crawler.signals.connect(self._desk.open, signal=scrapy_signals.spider_opened)
        spider.crawler.signals.connect(self.close, signal=scrapy_signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler, spider: TemplateCandidatesSpider, job: Job) -> Self:
        """Open the list of the crawl, or the search from its one key page."""
        arguments, config = spider.arguments, Config.from_crawler(crawler)
        if arguments.url and not job.can_go_on:
            return cls(spider, job)
        admission, look_ahead = Admission(config.searches), LOOK_AHEAD
        lines: Iterable[ListLine] | AsyncIterable[ListLine | Unsearched]
        if inputs := spider.inputs:
            lines = inputs
            admission = Admission(config.searches, untaken=inputs.untaken)
            inputs.taken = admission.wake
            look_ahead = LOOK_AHEAD if inputs.anew else config.searches  # as there is use for it
        elif arguments.url:
            lines = [_one_line(arguments, spider.requested_url)]
        else:
            if is_stream(arguments.urls):
                lines = in_background(partial(open_list_of, arguments, config))
            else:
                lines = listed = open_list_of(arguments, config)
                closed = scrapy_signals.spider_closed
                crawler.signals.connect(listed.close, signal=closed, weak=False)
            plan = job.plan
            is_kept = plan.feeds or plan.pages or plan.report or spider.take_answer
            if not is_kept and is_own_project(crawler.settings):
                logger.warning("Nothing is kept: give -O FILE for candidates, or -a summary=FILE")
        _make_room(crawler.settings, config.searches * config.in_flight)
        batch = Batch(lines, arguments.options, job.journal, admission, look_ahead=look_ahead)
        return cls(spider, job, batch)

    @property
    def can_go_on(self) -> bool:
        """Whether what is not done when the crawl is ended can be done another time."""
        return self.job.can_go_on or self.is_unwanted

    @property
    def is_busy(self) -> bool:
        """Whether results are on their way."""
        return self._desk.is_busy

    def open(self, page: KeyPage) -> SearchSession:
        """Begin the search from a key page."""
        session = SearchSession(
            page.url,
            page.options,
            self._limits,
            requested_url=page.requested_url,
            listener=self._spider.announce,
        )
        self.sessions[session.search_id] = session
        self._pages[session.search_id] = page
        return session

    def key_page(self, session: SearchSession) -> KeyPage:
        """What was asked for."""
        return self._pages[session.search_id]

    async def opened(self) -> AsyncIterator[SearchSession]:
        """The searches whose key pages are to be requested now; of a list, as there is room."""
        crawler = self._spider.crawler
        if self.batch is None:
            for session in list(self.sessions.values()):
                yield session
            return
        pages = self.batch.key_pages(self._desk.answer_again, self._desk.answer_unsearched)
        try:
            await self._check_list()
            tally_of(crawler).has_begun = False
            async for page in pages:
                tally_of(crawler).has_begun = True
                yield self.open(page)
        except (JournalError, ValueError) as error:  # in a line for the user
            self.is_stuck = isinstance(error, ValueError)
            logger.error("%s", error)  # noqa: TRY400 - it says it all
            count_lost(crawler)
            close_spider(crawler, JOURNAL_FAULT)
            return
        tally_of(crawler).is_finished = not self._desk.undone
        if not self.batch.has_lines and self._spider.arguments.urls:
            logger.error("urls=%r: no address in it", self._spider.arguments.urls)
            count_lost(crawler)

    async def _check_list(self) -> None:
        arguments = self._spider.arguments
        if self.job.can_go_on and arguments.urls:
            with open_list_of(arguments, self._spider.config) as lines:
                await check_same_list(lines, self.job.journal)

    def results(
        self, session: SearchSession, giver: object, *, hurried: bool = False
    ) -> AsyncIterator[Item]:
        """The items of a search that is over; :meth:`given` is to be called when they are out."""
        return self._desk.items(session, self.key_page(session), giver, hurried=hurried)

    def given(self, session: SearchSession, giver: object) -> None:
        """The items of a search are out, although no callback gave them."""
        self._desk.given(session, giver)

    def settle(self, session: SearchSession) -> None:
        """A search is done with: there is room for another one."""
        if self.sessions.get(session.search_id) is not session:
            return
        del self.sessions[session.search_id]
        del self._pages[session.search_id]
        if self.batch:
            self.batch.left(session.search_id)
        else:
            tally_of(self._spider.crawler).is_finished = True
        self._spider.crawler.signals.send_catch_log(
            signals.search_settled, spider=self._spider, session=session
        )

    def drop(self, session: SearchSession) -> None:
        """Let go of a search that is not over: it is made another time, or by somebody else."""
        if session.phase == "over":
            return
        if under_way := self._spider.crawler.get_downloader_middleware(RequestsUnderWay):
            under_way.cancel(session)
        self._spider.page_output.drop(session)
        self.settle(session)

    async def close(self) -> None:
        """Nobody is to blame for this end; another crawl may have the journal."""
        self._desk.close()
        if self.batch:
            self.batch.close()
        with suppress(JournalError):
            self.job.journal.forget_begun()
        self.job.journal.close()


def _one_line(arguments: Arguments, requested_url: str) -> ListLine:
    """The one key page of a crawl as a list of one."""
    return ListLine(1, {"url": requested_url}, None, mark=arguments.url.encode())


def _make_room(settings: BaseSettings, requests: int) -> None:
    """Let every search have its requests at once: one that waits for its host's turn counts too."""
    if settings.frozen:  # the crawl is over
        return
    if settings.getint("CONCURRENT_REQUESTS") < requests:
        settings.set("CONCURRENT_REQUESTS", requests, priority=PRIORITY)
    # Scrapy starts as many tasks for each response. The searches give their items in turn anyway.
    settings.set("CONCURRENT_ITEMS", _ITEMS_AT_ONCE, priority="default")
