"""The spider: loads a key page, then its links one after the other until an n-CS is found."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from tplspider.crawl.arguments import check_arguments
from tplspider.crawl.config import Config, adapt_settings
from tplspider.crawl.credentials import without_credentials
from tplspider.crawl.failures import answer_of
from tplspider.crawl.outputs.feeds import add_feeds, plan_outputs
from tplspider.crawl.outputs.lost import OutputWatch
from tplspider.crawl.page_output import PageOutput
from tplspider.crawl.preflight import search_limits
from tplspider.crawl.requests import empty_request, key_page_request, link_request
from tplspider.crawl.responses import web_page
from tplspider.crawl.tally import tally_of
from tplspider.crawl.ticket import expected_ticket
from tplspider.crawl.vanished import TicketOffice
from tplspider.search.session import SearchSession
from tplspider.signals import signal_of
from tplspider.web.answers import TOO_LONG, NoPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from tplspider.crawl.page_output import Item
    from tplspider.search.events import Event

    Outputs = AsyncIterator[Request | Item]

logger = logging.getLogger(__name__)


class TemplateCandidatesSpider(Spider):
    """Finds pages that share the web template of a key page.

    A session says which links are to be loaded, and the spider asks for no more. Requests pass by
    the duplicate filter, and hosts are checked by the session: Scrapy drops requests silently.
    """

    name = "template_candidates"
    config: Config
    output_watch: OutputWatch
    page_output: PageOutput
    tickets: TicketOffice

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        self.arguments = check_arguments(kwargs)
        self.requested_url = kwargs["url"] = without_credentials(str(kwargs["url"]))
        # As attributes they name feeds (%(n)s). Those with an underscore are not ours.
        given = {k: v for k, v in kwargs.items() if not k.startswith("_")}
        checked = {k: v for k, v in asdict(self.arguments).items() if k != "credentials"}
        super().__init__(name, **{**checked, **given})
        self.job = str(kwargs.get("_job", ""))  # what scrapyd calls this crawl
        self.sessions: dict[str, SearchSession] = {}  # those whose results are not out yet

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.config = Config.from_crawler(crawler)
        plan = plan_outputs(crawler.settings, spider.arguments, spider)
        add_feeds(crawler.settings, plan)
        spider.output_watch = OutputWatch(crawler)
        spider.arguments = replace(spider.arguments, save_html=plan.pages)
        spider.page_output = PageOutput.from_crawler(crawler, spider.arguments)
        spider.tickets = TicketOffice(crawler, spider.account_for)
        arguments, for_template = spider.arguments, spider.page_output.wants_template
        limits = search_limits(crawler.settings, for_template=for_template)
        session = SearchSession(arguments.url, arguments.options, limits, listener=spider.announce)
        session.requested_url = spider.requested_url
        spider.sessions[session.search_id] = session
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put a profile in force, and turn Scrapy's settings to what the search needs."""
        super().update_settings(settings)
        adapt_settings(settings)

    async def start(self) -> AsyncIterator[Any]:
        if self.arguments.url != self.requested_url:
            logger.info("The key page %s is taken for %s", self.requested_url, self.arguments.url)
        for session in list(self.sessions.values()):
            if 0 < session.limits.longest_url < len(session.url):
                answer = NoPage(TOO_LONG)
                yield empty_request(self.account_for, session=session, rank=None, answer=answer)
            else:
                ticket = self.tickets.ticket(session, None, self.arguments.credentials)
                yield key_page_request(ticket, self.parse_page, self.request_failed)

    async def parse_page(self, response: Response) -> Outputs:
        """Give a session what its key page, or a link, gave."""
        ticket = expected_ticket(response.request)
        if ticket:
            session, source = ticket.session, web_page(response)
            page = session.take_in(ticket.rank, source)
            if page:
                self.page_output.keep(session, page, source)
            async for output in self.go_on(session):
                yield output

    async def request_failed(self, failure: Failure) -> Outputs:
        """Tell the session why a link, or the key page, gave no page."""
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        ticket = expected_ticket(request)
        if ticket:
            answer = answer_of(failure.value, ticket, allow_private=self.config.allow_private)
            ticket.session.tell(ticket.rank, answer, request.url)
            async for output in self.go_on(ticket.session):
                yield output

    async def account_for(
        self, _: Response | Failure, session: SearchSession, rank: int | None, answer: NoPage
    ) -> Outputs:
        """Tell the session of a request that was not made, or has vanished."""
        if rank in session.awaited:
            session.tell(rank, answer)
            async for output in self.go_on(session):
                yield output

    async def go_on(self, session: SearchSession) -> Outputs:
        """Ask for what a session wants next; when it is over, give its items."""
        referer = self.settings.getbool("REFERER_ENABLED")
        while visits := session.take():
            for visit in visits:
                ticket = self.tickets.ticket(session, visit.rank, self.arguments.credentials)
                yield link_request(
                    ticket, visit, self.parse_page, self.request_failed, with_referer=referer
                )
        if session.phase == "over":
            async for item in self.page_output.results(session):
                yield item

    def announce(self, event: Event) -> None:
        """Let extensions know what happens in a search."""
        tally_of(self.crawler).take(event)
        signal, arguments = signal_of(event)
        self.crawler.signals.send_catch_log(signal, spider=self, **arguments)
