"""Gives the items of any spider the texts of their pages (``TPLSPIDER_FIELDS``).

A spider middleware takes the items out of what callbacks give. They wait until the pool of their
site has enough pages to compare with. A worker process takes the template off their page, and they
go to the pipelines, in order within a site.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, NotConfigured
from scrapy.http import HtmlResponse
from scrapy.utils.asyncio import create_looping_call, is_asyncio_available

from tplspider.arguments import Config
from tplspider.extraction import SECONDS, Extraction, ExtractionError
from tplspider.hooks import before_closing, process_item
from tplspider.pools.pool import PooledPage, page_site
from tplspider.pools.site_templates import STRIP, Released, SitePools, StripJob
from tplspider.pools.store import PoolFolder
from tplspider.signals import Component
from tplspider.web.page import WebPage, known_encoding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.items import PageTemplate

logger = logging.getLogger(__name__)

REFUSED = "tplspider_fields"  # the reason for closing a crawl with invalid settings
HELD_SECONDS = 60.0  # that an item may wait for its site
HELD_MEGABYTES = 64  # of packed pages that wait for the pools of their sites
# A crawl that is faster than its workers and pipelines is paused. It goes on at three quarters of
# these: an engine that is not paused any more looks for requests every five seconds.
MOST_ITEMS = 4000
MOST_MEGABYTES = 32  # of packed pages that wait for a worker
STEP = 1.0  # seconds: how often items are looked for that have waited long enough, at least


class FieldsMiddleware(Component):
    """Takes items from callbacks; :class:`HeldItems` sends them to the pipelines.

    A callback that waits costs a task for each of CONCURRENT_ITEMS, so pages do not wait here: if
    items come too fast, the engine is paused. Only pages with very many items wait, and those that
    come when the spider is about to close.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._fault = ""
        self._held: HeldItems | None = None
        try:
            self._config = Config.of(crawler.settings)
        except ValueError as error:
            self._fault = str(error)
        else:
            if not self._config.fields:
                raise NotConfigured
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    def spider_opened(self) -> None:
        if not is_asyncio_available():
            self._fault = "TPLSPIDER_FIELDS needs an asyncio reactor, Scrapy's default"
        try:
            self._held = None if self._fault else HeldItems(self._crawler, self._config)
        except ValueError as error:
            self._fault = str(error)
        if self._fault:
            logger.error("%s", self._fault)
            raise CloseSpider(REFUSED)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        held, page = self._held, None
        try:
            async for each in result:
                if held is None or each is None or isinstance(each, Request):
                    yield each
                elif not isinstance(response, HtmlResponse) or not ItemAdapter.is_item(each):
                    held.count("passed_by")
                    yield each
                else:
                    page = held.take(each, page, response)
                    await held.catch_up(page)
            if held and not page and isinstance(response, HtmlResponse) and response.status == 200:
                held.learn(response)
        finally:
            # Pipelines stay open for as long as a callback runs.
            while held and held.over and page and page.pending:
                await held.moved.wait()


@dataclass(eq=False, slots=True)
class _Page:
    """A page with items. *response* is that of the page without its body."""

    site: str
    response: Response
    source: PooledPage | None = None  # until a worker has it
    size: int = 0  # bytes, packed
    pool: Sequence[PooledPage] = ()  # from when it was released
    released: bool = False  # it no longer waits for the pool of its site
    compared: bool = False
    wanted: bool = False  # some item declares the fields
    pending: int = 0  # items that have not passed the pipelines
    found: PageTemplate | None = None


class HeldItems:
    """The items that were taken, each until it has passed the pipelines.

    They wait for the pool of their site until it is ready, the spider is idle, or a limit is
    reached (TPLSPIDER_HELD_ITEMS, HELD_SECONDS). Then they wait for a worker to compare
    their page, and for their turn.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self.over = False  # the spider is about to close: items pass at once
        self._at_a_time = max(1, crawler.settings.getint("CONCURRENT_ITEMS"))
        self.moved = asyncio.Event()  # set when an item has passed the pipelines
        self._crawler = crawler
        self._stats = crawler.stats
        self._fields = dict(config.fields)
        self._config = config
        self._pools: SitePools[_Page | None] = SitePools(
            held=sys.maxsize,  # bounded by items and bytes, below
            store=PoolFolder(config.pool_dir) if config.pool_dir else None,
        )
        self._wanted = frozenset(self._fields.values())
        self._extraction = Extraction(
            STRIP,
            workers=config.extract_workers,
            megabytes=config.extract_mb,
        )
        self._end: float | None = None  # when no page is compared any more
        self._pending = 0  # items that have not passed the pipelines
        self._held = self._held_bytes = 0  # items, and their pages, that wait for a pool
        self._queued_bytes = 0  # of pages that wait for a worker
        self._lanes: dict[str, deque[tuple[Any, _Page]]] = {}  # by site, in order of arrival
        self._ready: deque[tuple[Any, _Page]] = deque()  # it is their turn
        self._in_pipelines = 0
        self._paused = False
        self._declares: dict[type, bool] = {}
        self._refusing: set[type] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._step = min(STEP, HELD_SECONDS / 4)
        self._watch = create_looping_call(self._give_out_older)
        self._watch.start(self._step, now=False)
        crawler.signals.connect(self.flush, signal=signals.spider_idle)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        before_closing(crawler, self._give_out_all)

    def take(self, item: Any, page: _Page | None, response: HtmlResponse) -> _Page:
        """Take an item, and its page if it is the first one of it."""
        page = page or self._new_page(response)
        page.wanted |= self._declares_fields(type(item))
        page.pending += 1
        self._pending += 1
        self._held += not page.released
        self._lanes.setdefault(page.site, deque()).append((item, page))
        self._compare(page)
        if self.over:
            self.flush()
        most, most_bytes = self._config.held_items, HELD_MEGABYTES * 1_000_000
        while (self._held > most or self._held_bytes > most_bytes) and (
            oldest := self._pools.give_out_oldest()
        ):
            self._release(oldest, early=True)
        self._stats.max_value("tplspider/fields/held_max", self._held)
        self._pause()
        return page

    async def catch_up(self, page: _Page) -> None:
        """Wait until the pipelines have most items of a released page."""
        while page.released and page.pending > self._at_a_time:
            # Its items may stand behind those of a page that waits for the pool.
            self._release(self._pools.give_out(page.site))
            await self.moved.wait()

    def learn(self, response: HtmlResponse) -> None:
        """Take a page without items, to compare others of its site with."""
        try:
            self._release(self._pools.add(_read(response), None))
        except Exception as error:  # noqa: BLE001 - no item is lost
            logger.debug("%s cannot be read: %r", response.url, error)

    def flush(self) -> None:
        """Release all items that wait for a pool."""
        self._release(self._pools.flush())

    def count(self, name: str) -> None:
        self._stats.inc_value(f"tplspider/fields/{name}")

    def _new_page(self, response: HtmlResponse) -> _Page:
        page = _Page(page_site(response.url), response.replace(body=b""))
        try:
            page.source = _read(response)
            page.size = len(page.source.packed)
            self._held_bytes += page.size
            self._release(self._pools.add(page.source, page))
        except Exception as error:  # noqa: BLE001 - the items matter more than their texts
            page.released = page.compared = True
            self._failed(page, error)
        return page

    def _release(self, released: Iterable[Released[_Page | None]], *, early: bool = False) -> None:
        """Pages no longer wait for their pool."""
        for each in released:
            if page := each.entry:
                page.released, page.pool = True, each.pool
                self._held -= page.pending
                self._held_bytes -= page.size
                if early:
                    self.count("given_out_early")
                self._compare(page)

    def _compare(self, page: _Page) -> None:
        """Have a released page compared, once, if there is anything to be filled."""
        if page.released and page.wanted and page.source:
            self._queued_bytes += page.size
            self._start(self._strip(page, page.source))
            page.source = None
        self._advance(page.site)

    async def _strip(self, page: _Page, source: PooledPage) -> None:
        seconds = self._end and self._end - asyncio.get_running_loop().time()
        job = StripJob(source, page.site, self._wanted)
        try:
            page.found = found = await self._extraction.extract(job, page.pool, seconds=seconds)
        except ExtractionError as error:
            self._failed(page, error)
        else:
            self.count("pages")
            if found and not found.evidence:
                self.count("without_evidence")
        finally:
            self._queued_bytes -= page.size
            page.compared, page.pool = True, ()
            self._advance(page.site)
            self._pause()

    def _failed(self, page: _Page, error: Exception) -> None:
        self.count("failed")
        logger.warning("%s cannot be compared, items get no texts: %s", page.response.url, error)

    def _advance(self, site: str) -> None:
        """Items of a site whose turn has come go to the pipelines."""
        lane = self._lanes.get(site)
        while lane and (page := lane[0][1]).released and (page.compared or not page.wanted):
            self._ready.append(lane.popleft())
        if not lane:
            self._lanes.pop(site, None)
        while self._ready and self._in_pipelines < self._at_a_time:
            self._in_pipelines += 1
            self._start(self._process(*self._ready.popleft()))

    async def _process(self, item: Any, page: _Page) -> None:
        try:
            if page.found and self._declares[type(item)]:
                self._fill(item, page.found)
            await process_item(self._crawler, item, page.response)
        except Exception as error:  # noqa: BLE001 - of a third-party signal handler, say
            logger.error("An item of %s is lost: %r", page.response.url, error)  # noqa: TRY400
        finally:
            self._in_pipelines -= 1
            self._pending -= 1
            page.pending -= 1
            self._advance(page.site)
            self._pause()
            self.moved.set()
            self.moved.clear()

    def _fill(self, item: Any, found: PageTemplate) -> None:
        adapter = ItemAdapter(item)
        try:
            for name, content in self._fields.items():
                # Items of one page do not share lists, which a pipeline may change.
                adapter[name] = copy(getattr(found, content))
        except Exception as error:  # noqa: BLE001 - the class of the item may raise anything
            self.count("refused")
            if type(item) not in self._refusing:
                self._refusing.add(type(item))
                why, name = " ".join(str(error).split()), type(item).__qualname__
                logger.error("%s does not accept the fields: %s", name, why)  # noqa: TRY400
        else:
            self.count("items")

    def _declares_fields(self, kind: type) -> bool:
        """Whether items of a class can have the fields: a dict can have any."""
        if kind not in self._declares:
            declared = ItemAdapter.get_field_names_from_class(kind)
            missing = [] if declared is None else sorted(self._fields.keys() - {*declared})
            self._declares[kind] = not missing
            if missing:
                name, names = kind.__qualname__, ", ".join(missing)
                logger.error("%s does not declare %s: such items get no fields", name, names)
        if not self._declares[kind]:
            self.count("undeclared")
        return self._declares[kind]

    def _pause(self) -> None:
        """Pause the engine if there is too much to do, and let it go on later."""
        engine, most = self._crawler.engine, 0.75 if self._paused else 1
        is_much = (
            self._pending - self._held > MOST_ITEMS * most
            or self._queued_bytes > MOST_MEGABYTES * 1_000_000 * most
        )
        if is_much and not engine.paused:
            self._paused = True
            engine.pause()
        elif self._paused and not is_much and not self.over:
            self._paused = False
            engine.unpause()

    def _give_out_older(self) -> None:
        # One that is older before the next look would wait too long.
        self._release(self._pools.give_out_older(HELD_SECONDS - self._step), early=True)

    async def _give_out_all(self, reason: str) -> None:
        """Release all items before the spider closes."""
        engine, is_idle = self._crawler.engine, reason == "finished"
        if not is_idle and self._end is None:
            self.over = True
            engine.pause()  # or pages would never end
            self._end = asyncio.get_running_loop().time() + SECONDS
            self._extraction.hurry(SECONDS)
        while self._pending:
            self.flush()
            await self.moved.wait()
        # Pipelines may have made requests of these items, as in any crawl.
        if is_idle and not self.over and not engine.spider_is_idle():
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        if self._watch.running:
            self._watch.stop()
        await self._extraction.close()
        await asyncio.to_thread(self._pools.save)  # another process may have the lock

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the event loop keeps no reference to a task
        task.add_done_callback(self._tasks.discard)


def _read(response: HtmlResponse) -> PooledPage:
    """The page of a response; ValueError or LookupError if it cannot be read."""
    encoding = known_encoding(response.encoding)
    page = WebPage(response.url, response.body, given_encoding=encoding, given_html=True)
    source = PooledPage.of(response.url, page.text)
    if source.is_too_large:
        raise ValueError("it has more elements or attributes than can be read")
    return source
