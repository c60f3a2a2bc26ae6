"""The spider: loads key pages, and the links of each until an n-CS is found."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.http import HtmlResponse, Response  # for scrapy-poet, which reads type hints
from scrapy.utils.misc import load_object
from scrapy.utils.url import strip_url

from tplspider import signals
from tplspider.admission import Admission, open_list
from tplspider.archiver import Archiver
from tplspider.arguments import Arguments, Config, origin
from tplspider.failures import reason_of
from tplspider.feeds import PRIORITY, plan_outputs
from tplspider.items import PageTemplate
from tplspider.keylist import KeyLine, KeyPage, key_page
from tplspider.profiles import apply_profile
from tplspider.results import Results
from tplspider.resume import Journal
from tplspider.saved_pages import KeptPages
from tplspider.search.answer import private_address_hint
from tplspider.search.session import (
    LinkSettled,
    SearchEnded,
    SearchLimits,
    SearchSession,
    SearchStarted,
)
from tplspider.storages import NOT_STORED, WarcStorage
from tplspider.texts import PageTexts, table_columns
from tplspider.tracker import CliqueTracker, Counts, count_lost
from tplspider.web.addresses import host_of
from tplspider.web.page import (
    BAD_RESPONSE,
    OFFSITE_REDIRECT,
    PRIVATE_ADDRESS,
    TOO_LONG,
    NoPage,
    WebPage,
    known_encoding,
)
from tplspider.web.redirects import is_loop, redirect_target

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from tplspider.feeds import Outputs as PlannedOutputs
    from tplspider.report.writer import ReportWriter
    from tplspider.search.session import Event
    from tplspider.web.page import Answer

logger = logging.getLogger(__name__)

BROWSER = "tplspider.browser.BrowserMiddleware"
Outputs = AsyncIterator[Any]
TEXT_ROW = "tplspider.items.TextRow"
_SIGNALS = {
    SearchStarted: signals.search_started,
    LinkSettled: signals.link_settled,
    SearchEnded: signals.search_ended,
}
_HEADERS = ("Content-Encoding", "Content-Type", "Location")


@dataclass(eq=False, slots=True)
class OpenSearch:
    """A search whose results are not out yet."""

    session: SearchSession
    key: KeyPage
    pages: KeptPages = field(default_factory=KeptPages)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    opened: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    hosts: dict[str, set[str]] = field(default_factory=dict)  # with those that led to them
    shared: int = 0  # answers that another search had asked for
    gives_results: bool = False
    giving: AsyncGenerator[Any, None] | None = None  # by a callback

    def seconds_left(self) -> float | None:
        """The time that the search has left; None if it has no limit."""
        limit = self.session.options.max_seconds
        return self.opened + limit - asyncio.get_running_loop().time() if limit else None


class TemplateCandidatesSpider(Spider):
    """Finds pages that share the web template of a key page, for one key page or for many.

    A session says which links to load, and the spider requests no others. Redirects are followed
    by the callback, which asks the session about each. Requests bypass the duplicate filter.
    """

    name = "template_candidates"

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        self.arguments = Arguments.of(kwargs)
        self.given_url = str(kwargs.get("url") or "").strip()
        super().__init__(name, **asdict(self.arguments))  # as attributes they name feeds (%(n)s)
        self.job = str(kwargs.get("_job", ""))  # what scrapyd calls this crawl
        self.keys: AsyncIterator[KeyLine] | None = kwargs.get("_keys")  # of a program
        self.pools = kwargs.get("_pools")
        self.table_text = str(kwargs.get("_table", ""))  # the text in a row for each line
        self.shows_progress = bool(kwargs.get("_progress"))
        self.is_quiet = bool(kwargs.get("_quiet"))  # a command prints hints itself
        self.is_list = not self.given_url
        self.line_count: int | None = None
        self.can_go_on = False  # whether a later run can do what is not done now
        self.counts = Counts()
        self.searches: dict[str, OpenSearch] = {}
        self.admission = Admission(self)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.prepare(crawler)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put the profile and the add-on in force, for this spider alone."""
        super().update_settings(settings)
        apply_profile(settings)
        addon = load_object("tplspider.addon.Addon")
        settings.setdefault_in_component_priority_dict("ADDONS", addon, 500)
        # A process updates the settings of a crawler that it is given with its own.
        settings.set("ADDONS", settings.getdict("ADDONS"), priority=PRIORITY)

    @classmethod
    def check(cls, given: dict[str, Any], settings: BaseSettings) -> None:
        """Raise ValueError if a crawl with these arguments cannot begin; nothing is requested."""
        settings = settings.copy()
        settings.setdict(cls.custom_settings or {}, priority="spider")
        apply_profile(settings)
        arguments, config = Arguments.of(given), Config.of(settings)
        outputs = plan_outputs(settings, arguments, config, str(given.get("_job", "")))
        if config.markdown:
            from tplspider.template.markdown import check_markdown  # imported lazily: optional

            check_markdown()
        if settings.getdict("DOWNLOADER_MIDDLEWARES").get(BROWSER) is not None:
            from tplspider.browser import check_installed  # likewise

            check_installed()
        if arguments.urls:
            open_list(arguments, config).close()
        text = str(given.get("_table", ""))
        open_journal(settings.get("JOBDIR"), arguments, outputs, text).close()

    def prepare(self, crawler: Crawler) -> None:
        """Work out outputs and limits, and set what Scrapy needs to know of them."""
        settings, arguments = crawler.settings, self.arguments
        self.config = config = Config.of(settings)
        self.outputs = outputs = plan_outputs(settings, arguments, config, self.job)
        folder = settings.get("JOBDIR")
        self.journal = open_journal(folder, arguments, outputs, self.table_text)
        if folder:
            # The journal alone says what is left to do: Scrapy would keep requests in files.
            settings.set("JOBDIR", None, priority=PRIORITY)
            self.can_go_on = self.is_list = True
            self.counts.earlier = self.journal.outcomes()
        self.results = Results(self)
        if arguments.urls:
            with closing(open_list(arguments, config)) as lines:
                self.results.columns = lines.columns
            columns = table_columns(lines.columns, self.table_text)
            for feed in outputs.feeds.values():
                if feed["format"] == "csv" and feed.get("item_classes") == [TEXT_ROW]:
                    feed["fields"] = columns  # the same in every start, whichever line is first
        settings.set("FEEDS", outputs.feeds, priority=PRIORITY)
        requests = config.in_flight * (config.searches if self.is_list else 1)
        for name in ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN"):
            least = config.in_flight if name.endswith("DOMAIN") else requests
            if settings.getint(name) < least:
                settings.set(name, least, priority=PRIORITY)
        if self.is_list:
            # Scrapy starts as many tasks for each response; searches give their items in turn.
            settings.set("CONCURRENT_ITEMS", 8, priority="default")
            if not settings.getbool("HTTPCACHE_ENABLED"):
                settings.set("HTTPCACHE_ENABLED", value=True, priority=PRIORITY)
                storage = "tplspider.storages.MemoryCacheStorage"
                settings.set("HTTPCACHE_STORAGE", storage, priority=PRIORITY)
        wants_texts = config.texts or bool(arguments.texts or self.table_text)
        wants_texts = wants_texts or outputs.wants(PageTemplate)
        self.texts = PageTexts(crawler, config, outputs, wanted=wants_texts, many=self.is_list)
        self.texts.pools = self.pools
        self.reports: ReportWriter | None = None
        if outputs.report:
            from tplspider.report.writer import ReportWriter  # imported lazily: few crawls need it

            self.reports = ReportWriter(arguments.report, outputs.report)
        self._limits = SearchLimits(
            in_flight=config.in_flight,
            max_redirects=settings.getint("REDIRECT_MAX_TIMES"),
            longest_url=settings.getint("URLLENGTH_LIMIT"),
            runs_scripts=settings.getdict("DOWNLOADER_MIDDLEWARES").get(BROWSER) is not None,
            for_template=wants_texts,
            is_absent=self._is_absent if settings.getbool("HTTPCACHE_IGNORE_MISSING") else None,
        )

    @cached_property
    def storage(self) -> WarcStorage | None:
        """What pages are read from in place of a network: nothing is loaded then."""
        cache = self.crawler.get_downloader_middleware(HttpCacheMiddleware)
        storage = cache.storage if cache else None
        return storage if isinstance(storage, WarcStorage) else None

    def _is_absent(self, url: str) -> bool:
        longest = self._limits.longest_url or len(url)
        storage = self.storage
        return storage is not None and len(url) <= longest and storage.source.is_absent(url)

    @property
    def tracker(self) -> CliqueTracker:
        found = self.crawler.get_extension(CliqueTracker)
        assert found is not None  # the add-on puts it in force
        return found

    # Key pages, as there are places for them.

    async def start(self) -> AsyncIterator[Any]:
        if not self.is_list:
            for request in self.open(key_page(self.given_url, self.arguments.options)):
                yield request
            return
        try:
            async for key in self.admission.key_pages():
                for request in self.open(key):
                    yield request
        except (ValueError, OSError, EOFError, zlib.error) as error:  # the list, or the journal
            logger.error("%s", error)  # noqa: TRY400 - the message is complete
            count_lost(self.crawler)
            return
        self.counts.is_finished = not self.counts.lost_of

    def open(self, key: KeyPage) -> list[Request]:
        """Begin the search from a key page; gives the request for it, if it can be made."""
        session = SearchSession(
            key.url,
            key.options,
            self._limits,
            requested_url=key.requested_url,
            listener=self._announce,
        )
        self.searches[key.search_id] = search = OpenSearch(session, key)
        self.send(signals.search_opened, session=session)
        if 0 < self._limits.longest_url < len(key.url):
            session.tell(None, NoPage(TOO_LONG))
            self.tracker.give(search)
            return []
        return [self._request(search, key.url)]

    def next_requests(self, search: OpenSearch) -> Iterator[Request]:
        """The requests for the links that a session wants to be loaded now."""
        while visits := search.session.take():
            for visit in visits:
                yield self._request(search, visit.link.url, visit.rank)

    # Requests and what they give.

    def _request(
        self, search: OpenSearch, url: str, rank: int | None = None, hops: tuple[str, ...] = ()
    ) -> Request:
        session, credentials = search.session, search.key.credentials
        search.hosts.setdefault(host_of(url), set()).update(map(host_of, (session.key_url, *hops)))
        headers: dict[str, Any] = {}
        if credentials and credentials.origin == origin(url):
            headers["Authorization"] = credentials.header
        if rank is not None and self.settings.getbool("REFERER_ENABLED"):
            # Whatever page it is requested after, the link is one of the key page.
            headers["Referer"] = strip_url(session.key_url)
        return Request(
            url,
            self.parse,
            errback=self.request_failed,
            headers=headers,
            cb_kwargs={"search_id": session.search_id, "rank": rank, "hops": (*hops, url)},
            meta={
                "dont_redirect": True,
                "handle_httpstatus_all": True,
                "cookiejar": session.search_id,
                "depth_reset": True,
                # A cache would keep the password; a storage keeps nothing, and has to answer.
                "dont_cache": "Authorization" in headers and not self.storage,
            },
            priority=-(rank or 0),
            dont_filter=True,
        )

    def _expecting(self, search_id: str, rank: int | None) -> OpenSearch | None:
        search = self.searches.get(search_id)
        return search if search and rank in search.session.awaited else None

    async def parse(
        self, response: Response, search_id: str, rank: int | None, hops: tuple[str, ...]
    ) -> Outputs:
        """Pass a session what its key page, or a link, gave; follow redirects."""
        search = self._expecting(search_id, rank)
        if search is None:
            return
        search.shared += "cached" in response.flags and self.is_list and not self.storage
        page = web_page(response)
        answer: Answer | None = None
        try:
            target = redirect_target(page)
        except ValueError:  # to nowhere
            target, answer = None, NoPage(OFFSITE_REDIRECT)
        if target:
            answer = self._judge(search, rank, target, hops, response)
            if answer is None:
                yield self._request(search, target, rank, hops)
                return
        if answer:
            self._tell(search, rank, answer, response.url)
        elif read := search.session.take_in(rank, page):
            if self.texts.keeps_pages:
                search.pages.keep(read, page)
            if rank is None:
                await self.texts.by_pool(search, page)
        async for output in self._go_on(search):
            yield output

    def _judge(
        self,
        search: OpenSearch,
        rank: int | None,
        target: str,
        hops: tuple[str, ...],
        response: Response,
    ) -> Answer | None:
        """What a redirect to *target* gives; None if it is to be followed."""
        session = search.session
        sets_cookie = "Set-Cookie" in response.headers
        if len(hops) > self._limits.max_redirects or is_loop(target, hops, sets_cookie=sets_cookie):
            return NoPage(BAD_RESPONSE)
        if rank is not None and (found := session.judge(rank, target)):
            return found
        if 0 < self._limits.longest_url < len(target):
            return NoPage(TOO_LONG)  # Scrapy would drop it silently
        if rank is not None:
            session.follow(rank, target)
        return None

    async def request_failed(self, failure: Failure) -> Outputs:
        """Report to a session why a link, or the key page, gave no page."""
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        rank = request.cb_kwargs.get("rank")
        search = self._expecting(request.cb_kwargs.get("search_id", ""), rank)
        if search is None:
            return
        reason, hint = reason_of(failure.value), ""
        if stored := request.meta.get(NOT_STORED):
            reason, hint = stored.reason, stored.detail
        if reason == PRIVATE_ADDRESS:
            allowed = self.config.allow_private
            hint = private_address_hint(of_link=rank is not None, allowed=allowed)
        self._tell(search, rank, NoPage(reason, hint), request.url)
        async for output in self._go_on(search):
            yield output

    def _tell(self, search: OpenSearch, rank: int | None, answer: Answer, url: str) -> None:
        archiver = self.crawler.get_downloader_middleware(Archiver)
        if archiver and isinstance(answer, NoPage):
            archiver.outcome(search.session.search_id, url, answer)
        search.session.tell(rank, answer, url)

    async def _go_on(self, search: OpenSearch) -> Outputs:
        """Request the next links of a session; when it has ended, yield its items."""
        for request in self.next_requests(search):
            yield request
        if search.session.phase == "over" and not search.gives_results:
            search.giving = self.results.of(search)
            async for item in search.giving:
                yield item

    # The end of a search.

    def settle(self, search: OpenSearch) -> None:
        """Release a search: there is a free slot for another one."""
        search.pages.close()
        del self.searches[search.session.search_id]
        from scrapy.downloadermiddlewares.cookies import CookiesMiddleware  # late: see addon.py

        if cookies := self.crawler.get_downloader_middleware(CookiesMiddleware):
            cookies.jars.pop(search.session.search_id, None)
        if not self.is_list:
            self.counts.is_finished = True
        search.settled.set()
        self.admission.changed.set()
        self.send(signals.search_settled, session=search.session)

    # Signals.

    async def closed(self, reason: str) -> None:
        await self.texts.close()
        if self.reports:
            try:
                await self.reports.close()
                logger.info("Report: %s", self.reports.page)
            except OSError as error:
                logger.error("The report cannot be written: %s", error)  # noqa: TRY400
                count_lost(self.crawler)
        self.journal.close()

    def _announce(self, event: Event) -> None:
        details = {each.name: getattr(event, each.name) for each in fields(event)}
        self.send(_SIGNALS[type(event)], search=event.session.search, **details)

    def send(self, signal: object, **arguments: Any) -> None:
        self.crawler.signals.send_catch_log(signal, spider=self, **arguments)


def web_page(response: Response) -> WebPage:
    """A response as the search reads it: of the kind and encoding that Scrapy takes it for."""
    headers = {
        name.lower(): value.decode("latin-1")
        for name in _HEADERS
        if (value := response.headers.get(name)) is not None
    }
    is_html = isinstance(response, HtmlResponse)
    encoding = known_encoding(response.encoding) if isinstance(response, HtmlResponse) else ""
    return WebPage(
        response.url, response.body, response.status, headers, encoding, given_html=is_html
    )


def open_journal(
    folder: str | None, arguments: Arguments, outputs: PlannedOutputs, text: str
) -> Journal:
    """The journal of a crawl; ValueError if the one in *folder* is that of another crawl.

    *text* is the text in a row of its table, if it makes one.
    """
    journal = Journal(Path(folder) if folder else None)
    if folder:
        same = {k: repr(v) for k, v in asdict(arguments).items() if v}
        journal.bind({**same, "feeds": repr(sorted(outputs.feeds)), "text": text})
        journal.start_feeds(outputs.local_files())
    return journal
