"""The spider: loads key pages, and the links of each until an n-CS is found."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from tplspider import signals
from tplspider.old.crawl.arguments import check_arguments
from tplspider.old.crawl.batch.inputs import Inputs
from tplspider.old.crawl.batch.job import open_job
from tplspider.old.crawl.batch.searches import Searches
from tplspider.old.crawl.config import Config, adapt_settings
from tplspider.old.crawl.credentials import without_credentials
from tplspider.old.crawl.failures import answer_of
from tplspider.old.crawl.outputs.lost import OutputWatch
from tplspider.old.crawl.page_output import PageOutput
from tplspider.old.crawl.requests import empty_request, key_page_request, link_request
from tplspider.old.crawl.responses import web_page
from tplspider.old.crawl.ticket import Ticket, expected_ticket, is_expected
from tplspider.old.crawl.vanished import TicketOffice
from tplspider.old.crawl.warc.recorder import tell
from tplspider.web.page import TOO_LONG, NoPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from tplspider.old.crawl.batch.results import Item
    from tplspider.search.session import Event, SearchSession

    Outputs = AsyncIterator[Request | Item]


class TemplateCandidatesSpider(Spider):
    """Finds pages that share the web template of a key page, for one key page or for many.

    A session says which links are to be loaded, and the spider asks for no more. Requests pass by
    the duplicate filter, and hosts are checked by the session: Scrapy drops requests silently.
    """

    name = "template_candidates"
    config: Config
    output_watch: OutputWatch
    page_output: PageOutput
    searches: Searches
    tickets: TicketOffice

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        self.arguments = check_arguments(kwargs)
        if "url" in kwargs:
            kwargs["url"] = without_credentials(str(kwargs["url"]))
        self.requested_url = str(kwargs.get("url") or "")
        # As attributes they name feeds (%(n)s). Those with an underscore are not ours.
        given = {k: v for k, v in kwargs.items() if not k.startswith("_")}
        checked = {k: v for k, v in asdict(self.arguments).items() if k != "credentials"}
        super().__init__(name, **{**checked, **given})
        self.job = str(kwargs.get("_job", ""))  # what scrapyd calls this crawl
        inputs, take = kwargs.get("_inputs"), kwargs.get("_take_answer")  # of a program's own
        self.inputs = inputs if isinstance(inputs, Inputs) else None
        self.take_answer = take if callable(take) else None
        self.sessions: dict[str, SearchSession] = {}  # those whose results are not out yet

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.config = Config.from_crawler(crawler)
        job = open_job(crawler, spider, spider.arguments)
        spider.output_watch = OutputWatch(crawler, job.feed_files)
        spider.arguments = replace(spider.arguments, save_html=job.plan.pages)
        pools = kwargs.get("_pools")  # of a command
        spider.page_output = PageOutput.from_crawler(crawler, spider.arguments, pools)
        spider.tickets = TicketOffice(crawler, spider.account_for)
        spider.searches = Searches.from_crawler(crawler, spider, job)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put a profile in force, and turn Scrapy's settings to what the search needs."""
        super().update_settings(settings)
        adapt_settings(settings)

    async def start(self) -> AsyncIterator[Any]:
        async for session in self.searches.opened():
            self.crawler.signals.send_catch_log(signals.search_opened, spider=self, session=session)
            if 0 < session.limits.longest_url < len(session.url):
                ticket = Ticket(session)
                yield empty_request(self.account_for, ticket=ticket, answer=NoPage(TOO_LONG))
            else:
                yield key_page_request(self.ticket(session), self.parse_page, self.request_failed)

    def ticket(self, session: SearchSession, rank: int | None = None) -> Ticket:
        """The ticket for a request of a search."""
        return self.tickets.ticket(session, rank, self.searches.key_page(session).credentials)

    async def parse_page(self, response: Response) -> Outputs:
        """Give a session what its key page, or a link, gave."""
        ticket = expected_ticket(response.request, self.sessions)
        if ticket:
            session, source = ticket.session, web_page(response)
            page = session.take_in(ticket.rank, source)
            if page:
                self.page_output.keep(session, page, source)
            if page and ticket.rank is None and not await self.page_output.by_pool(session, source):
                return
            async for output in self.go_on(ticket):
                yield output

    async def request_failed(self, failure: Failure) -> Outputs:
        """Tell the session why a link, or the key page, gave no page."""
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        if ticket := expected_ticket(request, self.sessions):
            answer = answer_of(failure.value, ticket, allow_private=self.config.allow_private)
            tell(self.crawler, ticket, answer, request.url, failure.value)
            async for output in self.go_on(ticket):
                yield output

    async def account_for(self, _: Response | Failure, ticket: Ticket, answer: NoPage) -> Outputs:
        """Tell the session of a request that was not made, or has vanished."""
        if is_expected(ticket, self.sessions):
            tell(self.crawler, ticket, answer)
            async for output in self.go_on(ticket):
                yield output

    async def go_on(self, ticket: Ticket) -> Outputs:
        """Ask for what a session wants next; when it is over, give its items."""
        session, referer = ticket.session, self.settings.getbool("REFERER_ENABLED")
        while visits := session.take():
            for visit in visits:
                mark = self.ticket(session, visit.rank)
                yield link_request(
                    mark, visit, self.parse_page, self.request_failed, with_referer=referer
                )
        if session.phase == "over":
            async for item in self.searches.results(session, ticket):
                yield item

    def announce(self, event: Event) -> None:
        """Let extensions know what happens in a search."""
        signal, arguments = signals.signal_of(event)
        self.crawler.signals.send_catch_log(signal, spider=self, **arguments)
