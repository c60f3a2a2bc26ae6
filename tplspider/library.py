"""Searches as a library: key pages in, answers out; and the text of one page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass
from threading import Event, Lock, Thread, main_thread
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import BaseSettings, Settings
from scrapy.utils import reactor as reactors
from twisted.python.threadable import isInIOThread

from tplspider import signals
from tplspider.arguments import OPTIONS, Config
from tplspider.keylist import KeyLine
from tplspider.search.kinds import KINDS
from tplspider.spiders.template_candidates import TemplateCandidatesSpider
from tplspider.template.markdown import base_address, to_markdown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tplspider.results import SearchAnswer

_AHEAD = 2  # inputs that are taken and not answered, for each search at a time
_starting = Lock()
_threads: list[Thread] = []  # that of the reactor, if we have started it


@dataclass(frozen=True)
class PageText:
    """The text of a page; all of its text if *evidence* is 0."""

    url: str  # where redirects ended
    title: str
    main_text: str
    main_html: str
    base_url: str  # of the addresses in main_html
    evidence: int  # pages that it was compared with
    evidence_pages: list[str]
    candidates: list[str]  # none with the strategy kinds
    loads: int
    hint: str  # what may be wrong, '' if nothing is

    @property
    def markdown(self) -> str:
        """The text as Markdown; this needs the extra ``markdown``."""
        return to_markdown(self.main_html, self.base_url)


class NoTextError(Exception):
    """There is no text; *outcome* is a word for the reason, such as ``http-404``."""

    def __init__(self, message: str, outcome: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def get_text(
    url: str,
    *,
    n: int = 3,
    strategy: str = KINDS,
    allow_private: bool = False,
    settings: Mapping[str, Any] | None = None,
    **arguments: object,
) -> PageText:
    """Load a page and some of its site, and return its text: :func:`fetch_text`, but synchronous.

    It may be called from any thread, and while an event loop is running, as in Jupyter.
    """
    if isInIOThread():  # type: ignore[no-untyped-call]
        raise RuntimeError("get_text would block the reactor: use await fetch_text(url)")
    loop = _reactor_loop().result()
    options: Any = {"n": n, "strategy": strategy, "allow_private": allow_private, **arguments}
    text = asyncio.run_coroutine_threadsafe(fetch_text(url, settings=settings, **options), loop)
    try:
        return text.result()
    finally:
        text.cancel()


async def fetch_text(
    url: str,
    *,
    n: int = 3,
    strategy: str = KINDS,
    allow_private: bool = False,
    settings: Mapping[str, Any] | None = None,
    **arguments: object,
) -> PageText:
    """Load a page and some of its site, and return its text.

    *settings* override the default profile, *arguments* are further ones of the spider. Raises
    NoTextError if the page gives no text, and ValueError if an argument is wrong.
    """
    wanted: dict[str, Any] = {"EXTENSIONS": {"tplspider.progress.Progress": None}}
    wanted |= {"TPLSPIDER_ALLOW_PRIVATE": allow_private, **(settings or {})}
    wanted["TPLSPIDER_TEXTS"] = True
    answers = search_many([url], wanted, n=n, strategy=strategy, **arguments)
    async with aclosing(answers):
        (answer,) = [each async for each in answers]
    end, text = answer.summary, answer.template
    if text is None:
        why = ": ".join(filter(None, [answer.fault or end.key_outcome, end.hint]))
        raise NoTextError(f"{end.requested_url}: {why}", end.key_outcome)
    return PageText(
        end.key_url,
        text.title,
        text.main_text,
        text.main_html,
        base_address(text.template_html, end.key_url),
        text.evidence,
        text.candidates,
        end.candidates,
        end.loads + end.witness_loads,
        end.hint,
    )


def search_many(
    inputs: Iterable[str | Mapping[str, Any]] | AsyncIterable[str | Mapping[str, Any]],
    settings: Mapping[str, Any] | None = None,
    **arguments: object,
) -> AsyncGenerator[SearchAnswer]:
    """Search from many key pages, and yield the answer to each as its search ends.

    Leaving the loop ends all searches; ``contextlib.aclosing`` waits until everything is closed.

    *inputs* are addresses, or mappings with a ``url``; they may be endless. *settings*
    override the default profile. *arguments* are those of the spider (``n=5``), for inputs without
    their own. Raises ValueError if settings or arguments are wrong; a wrong input is answered.
    """
    if isinstance(inputs, str | Mapping):
        raise ValueError("inputs: expected an iterable of addresses, or of mappings with a 'url'")  # noqa: TRY004 - as all that is wrong
    for name in {"url", "urls", "column"} & arguments.keys():
        raise ValueError(f"{name}: the key pages are given as inputs")
    merged = Settings()
    merged.setmodule("tplspider.profiles.default", priority="project")
    given = settings if isinstance(settings, BaseSettings) else dict(settings or {})
    merged.update(given, priority="cmdline")
    if merged.get("JOBDIR"):
        raise ValueError("JOBDIR: needs a list that can be read again (scrapy crawl -a urls=FILE)")
    TemplateCandidatesSpider.check({**arguments, "_keys": None}, merged)
    return _Crawl(inputs, merged, arguments).answers()


class _Crawl:
    """A crawl in the event loop of the reactor, which may be in another thread than the program."""

    def __init__(self, inputs: Any, settings: Settings, arguments: Mapping[str, Any]) -> None:
        self._inputs, self._settings, self._arguments = inputs, settings, arguments
        self._places = asyncio.Semaphore(_AHEAD * Config.of(settings).searches)
        self._answers: asyncio.Queue[SearchAnswer | None] = asyncio.Queue()
        self._unanswered = 0
        self.crawler: Any = None
        # Of the reactor's loop.
        self._lines: asyncio.Queue[KeyLine | None] = asyncio.Queue()
        self._began, self._left = asyncio.Event(), asyncio.Event()

    async def answers(self) -> AsyncGenerator[SearchAnswer]:
        """The answers as they come; when this is closed, the crawl is ended."""
        self._program = asyncio.get_running_loop()
        self.loop = await asyncio.wrap_future(_reactor_loop())
        taking = asyncio.ensure_future(self._take_inputs())
        crawl = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._run(), self.loop))
        crawl.add_done_callback(lambda _: self._answers.put_nowait(None))
        try:
            while answer := await self._answers.get():
                self._unanswered -= 1
                self._places.release()
                yield answer
            await crawl
            if self._unanswered:
                reason = self.crawler.stats.get_value("finish_reason")
                raise RuntimeError(f"ended before all inputs were answered ({reason})")
            await taking
        finally:
            taking.cancel()
            self.loop.call_soon_threadsafe(self._left.set)
            await asyncio.wait({crawl, taking})
            for each in (crawl, taking):
                _ = each.cancelled() or each.exception()  # seen

    async def _take_inputs(self) -> None:
        """Give the spider lines to search from, as it needs them."""
        try:
            number = 0
            async for given in _each(self._inputs):
                number += 1
                self._unanswered += 1
                self.loop.call_soon_threadsafe(self._lines.put_nowait, _key_line(number, given))
                await self._places.acquire()
        finally:
            self.loop.call_soon_threadsafe(self._lines.put_nowait, None)

    # In the loop of the reactor.

    async def _run(self) -> None:
        """Crawl until all inputs are answered, or no more answers are wanted."""
        runner = AsyncCrawlerRunner(self._settings)
        self.crawler = crawler = runner.create_crawler(TemplateCandidatesSpider)
        crawler.signals.connect(self._answered, signal=signals.line_answered)
        crawl = runner.crawl(crawler, _keys=self._key_lines(), **self._arguments)
        for event in (self._left, self._began):  # a crawl that has not begun cannot be stopped
            waiting = asyncio.ensure_future(event.wait())
            await asyncio.wait({crawl, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        if not crawl.done():
            self.crawler.spider.can_go_on = True  # so that no results are given
            await crawler.stop_async()
        await crawl

    async def _key_lines(self) -> AsyncIterator[KeyLine]:
        self._began.set()
        while line := await self._lines.get():
            yield line

    def _answered(self, answer: SearchAnswer) -> None:
        self._program.call_soon_threadsafe(self._answers.put_nowait, answer)


async def _each(inputs: Any) -> AsyncGenerator[Any]:
    if isinstance(inputs, AsyncIterable):
        async for given in inputs:
            yield given
    else:
        for given in inputs:
            yield given


def _key_line(number: int, given: Any) -> KeyLine:
    """The line that an input stands for."""
    if isinstance(given, str):
        return KeyLine(number, given)
    if not isinstance(given, Mapping):
        fault = f"neither an address nor a mapping, but {type(given).__name__}"
        return KeyLine(number, fault=fault)
    own = {name: value for name, value in given.items() if name not in ("url", *OPTIONS)}
    options = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    fault = "" if isinstance(given.get("url"), str) else "no 'url' in it"
    return KeyLine(number, str(given.get("url", "")), options, own or None, fault)


def _reactor_loop() -> Future[asyncio.AbstractEventLoop]:
    """The event loop of the reactor; if none is installed, one is started in a thread.

    A process has one reactor, which cannot be started twice: in a thread of its own it outlives
    the event loops of a program.
    """
    with _starting:
        if not reactors.is_reactor_installed():
            started = Event()
            _threads.append(Thread(target=_run_reactor, args=(started,), name="tplspider reactor"))
            _threads[0].start()
            started.wait()
    from twisted.internet import reactor as installed

    reactor: Any = installed
    if not reactors.is_asyncio_reactor_installed() or not reactor.running:
        raise RuntimeError(
            f"the reactor {type(reactor).__name__} is installed: searches need Twisted's asyncio"
            " reactor, running, or none at all"
        )
    if _threads and not _threads[0].is_alive():
        raise RuntimeError("forked after a search: start processes with spawn or forkserver")
    found: Future[asyncio.AbstractEventLoop] = Future()
    reactor.callFromThread(lambda: found.set_result(asyncio.get_running_loop()))
    return found


def _run_reactor(started: Event) -> None:
    """Run a reactor until the main thread ends."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    reactors.install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor as installed

    reactor: Any = installed

    def stop() -> None:
        main_thread().join()
        reactor.callFromThread(reactor.stop)

    Thread(target=stop, daemon=True).start()
    reactor.callWhenRunning(started.set)
    reactor.run(installSignalHandlers=False)
    loop.close()
