"""The spider: loads the key page, then its links one after the other until an n-CS is found."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import HtmlResponse

from tplspider import signals
from tplspider.crawl.arguments import Arguments, check_arguments
from tplspider.crawl.browser.middleware import MIDDLEWARE, check_settings
from tplspider.crawl.config import Config, adapt_settings, check_names
from tplspider.crawl.credentials import without_credentials
from tplspider.crawl.failures import PRIVATE_ADDRESS, failure_reason, response_reason
from tplspider.crawl.outputs.feeds import add_feeds, plan_outputs
from tplspider.crawl.outputs.lost import OutputWatch
from tplspider.crawl.page_output import PageResults
from tplspider.crawl.redirects import KnownAddressError
from tplspider.crawl.requests import empty_request, is_too_long, key_page_request, link_request
from tplspider.profiles import apply_profile
from tplspider.search.answer import candidates, summary, unusable
from tplspider.search.hints import joined, private_address_hint
from tplspider.search.strategies import STRATEGIES
from tplspider.search.window import SubdigraphSearch
from tplspider.web.addresses import Address, identity
from tplspider.web.html import parse_html
from tplspider.web.links import LinkCount, get_links
from tplspider.web.no_links import no_links_hint
from tplspider.web.page import read_page
from tplspider.web.script_menu import hint
from tplspider.web.site import Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
    from tplspider.web.page import Page

    Output = AsyncIterator[Request | TemplateCandidate | PageTemplate | CandidateSearch]

logger = logging.getLogger(__name__)


class TemplateCandidatesSpider(Spider):
    """Finds pages that share the web template of a key page.

    The search says which link is next and the spider asks for no more than that, so nothing is
    loaded in vain. Requests pass by the duplicate filter and their hosts are checked here, because
    Scrapy drops duplicates and off-site requests without telling who asked for them.
    """

    name = "template_candidates"
    config: Config
    output_watch: OutputWatch
    page_results: PageResults
    site: Site | None = None
    search: SubdigraphSearch | None = None

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        self.arguments = self.check_arguments(kwargs)
        kwargs["url"] = without_credentials(str(kwargs["url"]))
        # As attributes they name feeds (%(n)s). Those with an underscore are not ours.
        given = {k: v for k, v in kwargs.items() if not k.startswith("_")}
        checked = {k: v for k, v in asdict(self.arguments).items() if k != "credentials"}
        super().__init__(name, **{**checked, **given})
        self.job = str(kwargs.get("_job", ""))  # what scrapyd calls this crawl
        self._links = 0
        self._hint = ""
        self._announced = 0
        self._resumed_at = -1
        self._ended = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.config = Config.from_crawler(crawler)
        plan = plan_outputs(crawler.settings, spider.arguments, spider)
        add_feeds(crawler.settings, plan)
        spider.output_watch = OutputWatch(crawler)
        spider.arguments = replace(spider.arguments, save_html=plan.pages)
        spider.page_results = PageResults.from_crawler(crawler, spider.arguments)
        crawler.signals.connect(spider.resume, signal=scrapy_signals.spider_idle)
        return spider

    @property
    def is_over(self) -> bool:
        """Whether the search has given its answer."""
        return self._ended

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put a profile in force, and turn Scrapy's settings to what the search needs."""
        super().update_settings(settings)
        adapt_settings(settings)

    @classmethod
    def check_arguments(
        cls,
        given: Mapping[str, object],
        settings: BaseSettings | None = None,
        *,
        printed: str = "",
    ) -> Arguments:
        """Raise ValueError, in one line, when the arguments will not do (in these settings).

        *printed* is what a command itself writes to standard output.
        """
        arguments = check_arguments(given)
        if settings is not None:
            check_names(settings)
            Config.of(settings)
            check_settings(settings)
            in_force = settings.copy()
            super().update_settings(in_force)
            apply_profile(in_force)
            spider = cls(**dict[str, Any](given))
            spider.settings = in_force
            plan_outputs(in_force, arguments, spider, printed=printed)
        return arguments

    async def start(self) -> AsyncIterator[Any]:
        url = self.arguments.url
        given = getattr(self, "url", url)
        if url != given:
            logger.info("The key page %s is taken for %s", given, url)
        if is_too_long(url, self.settings):
            yield empty_request(self.parse_nothing)
        else:
            yield key_page_request(url, self.parse_key_page, self.key_page_failed)

    async def parse_key_page(self, response: Response) -> Output:
        """Start the search from the links of the key page."""
        if self._ended:
            return
        reason = response_reason(response)
        if reason:
            async for output in self._give_up(response.url, reason):
                yield output
            return
        try:
            self._start_search(response)
        except Exception:
            logger.exception("The key page %s cannot be read", response.url)
            async for output in self._give_up(response.url, "error"):
                yield output
            return
        if self._links:
            async for output in self._advance():
                yield output
        else:
            async for output in self._give_up(response.url, "no-links"):
                yield output

    async def key_page_failed(self, failure: Failure) -> Output:
        """End the search: the key page could not be loaded."""
        if not self._ended:
            request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
            async for output in self._give_up(request.url, failure_reason(failure.value)):
                yield output

    async def parse_link(self, response: Response, rank: int) -> Output:
        """Tell the search what the link of that rank gave."""
        if self.search and not self.search.reason:
            self.search.tell(rank, self._page_or_reason(response))
            async for output in self._advance():
                yield output

    async def link_failed(self, failure: Failure) -> Output:
        """Tell the search why a link gave no page."""
        if self.search and not self.search.reason:
            request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
            answer: Address | str
            if isinstance(failure.value, KnownAddressError):
                answer = Address(failure.value.url, identity(failure.value.url))
            else:
                answer = failure_reason(failure.value)
            self.search.tell(request.cb_kwargs["rank"], answer)
            async for output in self._advance():
                yield output

    def resume(self) -> None:
        """Nothing is under way: if the search is not over, requests have vanished. Go on."""
        progress = len(self.search.visits) if self.search else 0
        if self._ended or progress == self._resumed_at:
            return  # it is over, or there was no use in going on: the crawl ends
        self._resumed_at = progress
        self.crawler.engine.crawl(empty_request(self.parse_nothing))
        raise DontCloseSpider

    async def parse_nothing(self, _: Response | Failure) -> Output:
        """Account for requests that ended without a callback or an errback, or never started."""
        if self._ended:
            return
        if self.search is None:
            url = self.arguments.url
            too_long = is_too_long(url, self.settings)
            async for output in self._give_up(url, "too-long" if too_long else "error"):
                yield output
            return
        for visit in self.search.pending:
            logger.warning("No answer came for %s: was it dropped by a middleware?", visit.link.url)
            self.search.tell(visit.rank, "error")
        async for output in self._advance():
            yield output

    async def finish_early(self, reason: str) -> Output:
        """The results so far, when somebody else ends the crawl for that reason."""
        if self._ended:
            return
        if self.search is None:
            url = self.arguments.url
            async for output in self._end(
                unusable(url, self.arguments.n, "not-loaded", reason=reason), iter(())
            ):
                yield output
        else:
            self.search.stop(reason)
            self._announce(self.search)
            async for output in self._end(*self._results(self.search), hurried=True):
                yield output

    def _start_search(self, response: Response) -> None:
        assert isinstance(response, HtmlResponse)
        root, url = parse_html(response.text), response.url
        key_identity = identity(url)
        self.site = Site(key_identity, self.arguments.scope)
        count = LinkCount()
        longest = self.settings.getint("URLLENGTH_LIMIT")
        links = get_links(root, url, self.site, response.encoding, count, longest=longest)
        self._links = len(links)
        rendered = MIDDLEWARE in self.settings.getdict("DOWNLOADER_MIDDLEWARES")
        self._hint = joined(
            ""
            if links
            else no_links_hint(root, url, self.site, response.encoding, longest=longest),
            "" if rendered else hint(root, self._links),
        )
        self.search = SubdigraphSearch(
            read_page(root, url, self.site, response.encoding, longest=longest),
            links,
            strategy=STRATEGIES[self.arguments.strategy],
            size=self.arguments.n,
            max_loads=self.arguments.max_loads,
            in_flight=self.config.in_flight,
            max_redirects=self.settings.getint("REDIRECT_MAX_TIMES"),
            max_nodes=self.config.max_search_nodes,
        )
        self.page_results.keep(self.search.key_page, response)
        self._send(
            signals.search_started,
            search=self.search,
            links=self._links,
            unparsable=count.unparsable,
        )

    async def _advance(self) -> Output:
        """Ask for what the search wants next; when it is over, give the items."""
        search = self.search
        assert search
        while visits := search.take():
            self._announce(search)
            for visit in visits:
                if is_too_long(visit.link.url, self.settings):
                    search.tell(visit.rank, "too-long")
                else:
                    key_url, settings = search.key_page.url, self.settings
                    yield link_request(visit, key_url, settings, self.parse_link, self.link_failed)
        self._announce(search)
        if search.reason and not self._ended:
            async for output in self._end(*self._results(search)):
                yield output

    def _results(
        self, search: SubdigraphSearch
    ) -> tuple[CandidateSearch, Iterator[TemplateCandidate]]:
        return summary(search, self._links, self._hint), candidates(search)

    def _announce(self, search: SubdigraphSearch) -> None:
        """Let the extensions know of links that were taken into account."""
        for visit in search.visits[self._announced :]:
            self._announced += 1
            self._send(signals.link_settled, search=search, visit=visit)

    def _page_or_reason(self, response: Response) -> Page | str:
        assert self.site
        if identity(response.url) not in self.site:
            return "offsite-redirect"
        reason = response_reason(response)
        if reason:
            return reason
        try:
            return self._read(response)
        except Exception:
            logger.exception("The page %s cannot be read", response.url)
            return "error"

    def _read(self, response: Response) -> Page:
        assert isinstance(response, HtmlResponse)
        assert self.site
        # Not response.selector, whose tree would live as long as the response.
        root, longest = parse_html(response.text), self.settings.getint("URLLENGTH_LIMIT")
        page = read_page(root, response.url, self.site, response.encoding, longest=longest)
        self.page_results.keep(page, response)
        return page

    async def _give_up(self, url: str, outcome: str) -> Output:
        if outcome == PRIVATE_ADDRESS:
            allowed = self.config.allow_private
            self._hint = private_address_hint(of_link=False, allowed=allowed)
        last = unusable(url, self.arguments.n, outcome, self._hint)
        async for output in self._end(last, iter(())):
            yield output

    async def _end(
        self,
        last: CandidateSearch,
        found: Iterator[TemplateCandidate],
        *,
        hurried: bool = False,
    ) -> Output:
        self._ended = True
        self._send(signals.search_ended, summary=last)
        # Nothing is awaited from the first item to the last: it would break their order.
        made = await self.page_results.items(last.key_url, self.search, hurried=hurried)
        items: Iterable[TemplateCandidate | PageTemplate | CandidateSearch] = (*found, *made, last)
        for item in items:
            yield item

    def _send(self, signal: object, **kwargs: Any) -> None:
        self.crawler.signals.send_catch_log(signal, spider=self, **kwargs)
