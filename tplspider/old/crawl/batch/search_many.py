"""Searches as a library: key pages in, answers out, inside a program of somebody else's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object

from tplspider.old.crawl.batch.inputs import Inputs
from tplspider.old.crawl.batch.running_loop import before_shutdown, uses_reactor
from tplspider.old.crawl.config import PRIORITY, Config
from tplspider.old.crawl.preflight import check_crawl
from tplspider.old.crawl.private_network.address_guard import ASYNCIO_HANDLER
from tplspider.old.crawl.scrapy_private import is_open, let_go
from tplspider.old.crawl.tally import tally_of
from tplspider.old.crawl.tracker import CliqueTracker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType
    from typing import Self

    from scrapy.crawler import Crawler

    from tplspider.old.crawl.batch.answers import SearchAnswer

    Given = str | Mapping[str, Any]

logger = logging.getLogger(__name__)

_SPIDER = "tplspider.spiders.template_candidates.TemplateCandidatesSpider"


def search_many(
    inputs: Iterable[Given] | AsyncIterable[Given],
    settings: Mapping[str, Any] | None = None,
    **arguments: object,
) -> ManySearches:
    """Search from many key pages, and yield the answer to each as its search ends.

    *inputs* are addresses, or mappings with a ``url``; they may come as they please, and without an
    end. *settings*, a mapping or Scrapy's, count more than the default profile. *arguments* are
    those of the spider (``n=5``), for inputs that say nothing else. Raises ValueError, in one line,
    when any of them is wrong. A wrong input is answered, like any other.
    """
    if isinstance(inputs, str | bytes | Mapping) or not isinstance(
        inputs, Iterable | AsyncIterable
    ):
        why = "inputs: expected an iterable of addresses, or of mappings with a 'url'"
        raise ValueError(why)  # noqa: TRY004 - like all that is wrong here
    for name in ("url", "urls", "column"):
        if name in arguments:
            raise ValueError(f"{name}: the key pages are given as inputs")
    crawl = _Crawl(inputs, _settings(settings), arguments)
    return ManySearches(crawl)


class ManySearches(AsyncIterator["SearchAnswer"]):
    """The answers, to be taken by ``async for``. Whoever stops taking them ends the searches.

    That is so for a loop that is left, for a task that is cancelled, and with :meth:`aclose`, which
    returns when everything is over.
    """

    def __init__(self, crawl: _Crawl) -> None:
        self._crawl = crawl
        # A generator, because an event loop closes it when nobody is there any more to go on with
        # it. The crawl does not know of it: so nobody holds on to it but who takes the answers.
        self._answers = crawl.answers()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SearchAnswer:
        return await anext(self._answers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def under_way(self) -> dict[str, str]:
        """The ids of the searches that are open now, with the key pages as they were given."""
        return {name: session.requested_url for name, session in self._crawl.sessions.items()}

    def cancel(self, search_id: str) -> bool:
        """End an open search: its answer has what was found so far. False if it is not open."""
        return self._crawl.cancel(search_id)

    async def aclose(self) -> None:
        """End all searches, and wait until nothing is left of them."""
        await self._answers.aclose()


class _Crawl:
    """A crawl in the event loop of a program: it starts when the first answer is wanted."""

    def __init__(
        self,
        inputs: Iterable[Given] | AsyncIterable[Given],
        settings: Settings,
        arguments: Mapping[str, object],
    ) -> None:
        self._box: asyncio.Queue[SearchAnswer | None] = asyncio.Queue()
        self._inputs = Inputs(inputs, untaken=self._box.qsize)
        self._settings = settings
        self._arguments = {**arguments, "_inputs": self._inputs, "_take_answer": self._take}
        self._is_left = asyncio.Event()
        self._crawler: Crawler | None = None
        self._reason = ""  # why the crawl was closed
        self._is_over = False
        check_crawl(load_object(_SPIDER), self._arguments, settings)

    async def answers(self) -> AsyncGenerator[SearchAnswer]:
        """The answers as they come; when this is closed, the crawl is ended."""
        crawl = asyncio.create_task(self._run(), name="tplspider.search_many")
        try:
            while answer := await self._box.get():
                self._inputs.taken()
                yield answer
            await crawl
        finally:
            self._is_left.set()
            await asyncio.wait({crawl})
            if not crawl.cancelled():
                crawl.exception()  # somebody has seen it

    @property
    def sessions(self) -> Mapping[str, Any]:
        spider = self._crawler.spider if self._crawler else None
        return getattr(spider, "sessions", {})

    def cancel(self, search_id: str) -> bool:
        session = self.sessions.get(search_id)
        if session is None or session.phase == "over" or self._crawler is None:
            return False
        tracker = self._crawler.get_extension(CliqueTracker)
        assert tracker is not None  # it belongs to the spider
        tracker.cancel_search(self._crawler.spider, session)  # type: ignore[arg-type]  # ours
        return True

    def _take(self, answer: SearchAnswer) -> None:
        own = self._inputs.own(answer.summary.line)
        self._box.put_nowait(replace(answer, summary=replace(answer.summary, input=own)))

    async def _run(self) -> None:
        """Crawl, until all inputs are answered, or nobody wants answers any more.

        A program that ends cancels all tasks, those of the crawl too: then all is let go at once.
        """
        left = asyncio.create_task(self._is_left.wait())
        forget = None
        try:
            reactor = uses_reactor()
            if reactor:
                forget = before_shutdown(self._is_left.set, asyncio.current_task())
            self._settings.set("TWISTED_REACTOR_ENABLED", reactor, priority=PRIORITY)
            runner = AsyncCrawlerRunner(self._settings)
            self._crawler = runner.create_crawler(load_object(_SPIDER))
            if not reactor:
                _check_handlers(self._crawler.settings)
            self._crawler.signals.connect(self._closed, signal=signals.spider_closed)
            crawl = runner.crawl(self._crawler, **self._arguments)
            await asyncio.wait({crawl, left}, return_when=asyncio.FIRST_COMPLETED)
            await self._end(self._crawler, crawl)
            crawl.result()
            self._check_end(self._crawler)
        except asyncio.CancelledError:
            if self._crawler and not self._is_over:
                await let_go(self._crawler)
            raise
        finally:
            left.cancel()
            if forget:
                forget()
            self._inputs.close()
            self._box.put_nowait(None)

    async def _end(self, crawler: Crawler, crawl: asyncio.Task[None]) -> None:
        self._inputs.close()
        if is_open(crawler):
            crawler.spider.searches.is_unwanted = True  # type: ignore[union-attr]  # it is ours
            await crawler.engine.close_async()
        await asyncio.wait({crawl})
        self._is_over = True

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _check_end(self, crawler: Crawler) -> None:
        """Raise what has ended the crawl before all inputs were answered."""
        if self._is_left.is_set():
            return
        if self._inputs.fault:
            raise self._inputs.fault
        if not tally_of(crawler).is_finished:
            raise RuntimeError(f"ended before all inputs were answered ({self._reason})")


def _settings(given: Mapping[str, Any] | None) -> Settings:
    """The default profile, and over it what is given."""
    settings = Settings()
    settings.setmodule("tplspider.profiles.default", priority="project")
    if isinstance(given, BaseSettings):
        settings.update(given)
    elif given is not None and not isinstance(given, Mapping):
        why = f"settings: expected a mapping, not {type(given).__name__}"
        raise ValueError(why)
    else:
        settings.setdict(dict(given or {}), priority="cmdline")
    if settings.get("JOBDIR"):
        raise ValueError("JOBDIR: inputs of a program cannot be gone on with; use a list of them")
    return settings


def _check_handlers(settings: BaseSettings) -> None:
    """Raise RuntimeError where nobody would check names, and private addresses are not allowed."""
    handlers = settings.getdict("DOWNLOAD_HANDLERS")
    others = [handlers.get(scheme) or ASYNCIO_HANDLER for scheme in ("http", "https")]
    if set(others) != {ASYNCIO_HANDLER} and not Config.of(settings).allow_private:
        raise RuntimeError(
            "without a Twisted reactor, download handlers of others look up names unchecked: leave"
            " DOWNLOAD_HANDLERS alone, or set TPLSPIDER_ALLOW_PRIVATE"
        )
