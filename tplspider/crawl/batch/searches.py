"""The searches of a crawl: opened as there is room for them, settled when their results are out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals

from tplspider import signals
from tplspider.crawl.batch.admission import Admission
from tplspider.crawl.batch.answers import AnswerMaker
from tplspider.crawl.batch.batch import Batch
from tplspider.crawl.batch.journal import Journal
from tplspider.crawl.batch.key_list import open_list
from tplspider.crawl.batch.results import ResultDesk
from tplspider.crawl.config import PRIORITY, Config
from tplspider.crawl.key_page import key_page_of
from tplspider.crawl.preflight import search_limits
from tplspider.crawl.tally import tally_of
from tplspider.search.session import SearchSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

    from tplspider.crawl.batch.results import Item
    from tplspider.crawl.key_page import KeyPage
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider


class Searches:
    """Knows each search from the request for its key page until its results are out.

    A crawl has one key page (then its search is open from the beginning), or a *batch* of them.
    """

    def __init__(
        self, spider: TemplateCandidatesSpider, journal: Journal, batch: Batch | None
    ) -> None:
        self.batch = batch
        self.is_unwanted = False  # nobody is there any more to take answers
        self.sessions: dict[str, SearchSession] = {}
        self.journal = journal
        self._spider = spider
        self._pages: dict[str, KeyPage] = {}
        settings = spider.crawler.settings
        self._limits = search_limits(settings, for_template=spider.page_output.wants_template)
        self._desk = ResultDesk(spider.crawler, spider.page_output, journal, self.settle)
        if spider.take_answer:
            AnswerMaker(spider.crawler, self._desk, spider.take_answer)
        if batch is None:
            self.open(key_page_of(spider.arguments, spider.requested_url))
        spider.crawler.signals.connect(self._desk.open, signal=scrapy_signals.spider_opened)
        spider.crawler.signals.connect(self.close, signal=scrapy_signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler, spider: TemplateCandidatesSpider) -> Self:
        """Open the list of the crawl, or the search from its one key page."""
        arguments, config = spider.arguments, Config.from_crawler(crawler)
        journal = Journal.open(None, sync=config.sync)
        if inputs := spider.inputs:
            admission = Admission(config.searches, untaken=inputs.untaken)
            inputs.taken = admission.wake
            # No more is taken from a program than there is use for.
            batch = Batch(
                inputs, arguments.options, journal, admission, look_ahead=config.searches
            )
        elif arguments.urls:
            lines = open_list(
                arguments.urls, arguments.column, confine=config.confine, folder=config.feeds_dir
            )
            batch = Batch(lines, arguments.options, journal, Admission(config.searches))
        else:
            return cls(spider, journal, None)
        _make_room(crawler, config.searches * config.in_flight)
        return cls(spider, journal, batch)

    @property
    def can_go_on(self) -> bool:
        """Whether what is not done when the crawl is ended can be done another time."""
        return self.is_unwanted

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
        if self.batch is None:
            for session in list(self.sessions.values()):
                yield session
            return
        async for page in self.batch.key_pages(
            self._desk.answer_again, self._desk.answer_unsearched
        ):
            yield self.open(page)
        tally_of(self._spider.crawler).is_finished = True

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
        if self.sessions.pop(session.search_id, None) is None:
            return
        del self._pages[session.search_id]
        if self.batch:
            self.batch.left(session.search_id)
        else:
            tally_of(self._spider.crawler).is_finished = True
        self._spider.crawler.signals.send_catch_log(
            signals.search_settled, spider=self._spider, session=session
        )

    def close(self) -> None:
        self.journal.close()


def _make_room(crawler: Crawler, requests: int) -> None:
    """Let every search have its requests at once: one that waits for its host's turn counts too."""
    settings = crawler.settings
    if not settings.frozen and settings.getint("CONCURRENT_REQUESTS") < requests:
        settings.set("CONCURRENT_REQUESTS", requests, priority=PRIORITY)
