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
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, NotConfigured
from scrapy.http import HtmlResponse
from scrapy.utils.asyncio import is_asyncio_available

from tplspider.arguments import Config
from tplspider.extraction import Extraction, ExtractionError
from tplspider.hooks import before_closing, check_hooks, process_item
from tplspider.pools.pool import PooledPage, page_site
from tplspider.pools.site_templates import Released, SitePools
from tplspider.pools.store import PoolFolder
from tplspider.pools.strip_job import STRIP, StripJob
from tplspider.web.page import WebPage, known_encoding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.items import PageTemplate

logger = logging.getLogger(__name__)

REFUSED = "tplspider_fields"  # the reason for closing a crawl with invalid settings
HELD_MEGABYTES = 64  # of packed pages that wait for the pools of their sites
# A crawl that is faster than its workers and pipelines is paused. It goes on at three quarters of
# these: an engine that is not paused any more looks for requests every five seconds.
MOST_ITEMS = 4000
MOST_MEGABYTES = 32  # of packed pages that wait for a worker
STEP = 1.0  # seconds: how often items are looked for that have waited long enough, at least

# Those that are not 0 are named at the end, in these words.
_COUNTED = {
    "without_evidence": "pages that have nothing in common with others of their sites",
    "given_out_early": "pages given out before their pools were ready",
    "failed": "pages that could not be compared",
    "undeclared": "items that do not declare the fields",
    "refused": "items that did not take the values",
    "passed_by": "items that are not of HTML pages",
}


class FieldsMiddleware:
    """Takes items out of what callbacks give; :class:`HeldItems` gives them to the pipelines.

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

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self) -> None:
        if not is_asyncio_available():
            self._fault = "TPLSPIDER_FIELDS needs an asyncio reactor, Scrapy's default"
        try:
            check_hooks()
            self._held = None if self._fault else HeldItems(self._crawler, self._config)
        except (RuntimeError, ValueError) as error:
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
                    while page.released and page.pending > held.at_a_time:
                        await held.moved()
            if held and not page and isinstance(response, HtmlResponse) and response.status == 200:
                held.learn(response)
        finally:
            # Pipelines stay open for as long as a callback runs.
            while held and held.over and page and page.pending:
                await held.moved()


@dataclass(eq=False, slots=True)
class _Page:
    """A page with items. *response* is that of the page without its body."""

    site: str
    url: str
    response: Response | None
    source: PooledPage | None = None  # until it was compared
    size: int = 0  # bytes, packed
    pool: Sequence[PooledPage] = ()  # from when it was released
    released: bool = False  # it no longer waits for the pool of its site
    compared: bool = False
    wanted: bool = False  # some item declares the fields
    pending: int = 0  # items that have not passed the pipelines
    found: PageTemplate | None = None


@dataclass(eq=False, slots=True)
class _Entry:
    """An item, and whether it declares the fields."""

    item: Any
    page: _Page
    wanted: bool


class HeldItems:
    """The items that were taken, each until it has passed the pipelines.

    They wait for the pool of their site until it is ready, the spider is idle, or a limit is
    reached (TPLSPIDER_HELD_ITEMS, TPLSPIDER_HELD_SECONDS). Then they wait for a worker to compare
    their page, and for their turn.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self.over = False  # the spider is about to close: items pass at once
        self.at_a_time = max(1, crawler.settings.getint("CONCURRENT_ITEMS"))
        self._crawler = crawler
        self._stats = crawler.stats
        self._fields = dict(config.fields)
        self._config = config
        self._pools: SitePools[_Page | None] = SitePools(
            held=sys.maxsize,  # bounded by items and bytes, below
            store=PoolFolder(config.pool_dir) if config.pool_dir else None,
        )
        wanted = frozenset(self._fields.values())
        self._workers = [
            _Worker(config, wanted, self._compared) for _ in range(config.extract_workers)
        ]
        self._pending = 0  # items that have not passed the pipelines
        self._held = self._held_bytes = 0  # items, and their pages, that wait for a pool
        self._queued_bytes = 0  # of pages that wait for a worker
        self._lanes: dict[str, deque[_Entry]] = {}  # by site, in order of arrival
        self._ready: deque[_Entry] = deque()  # it is their turn
        self._in_pipelines = 0
        self._paused = False
        self._sites: set[int] = set()
        self._undeclared: dict[type, bool] = {}
        self._reported: set[type] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Future[None]] = []
        crawler.signals.connect(self.flush, signal=signals.spider_idle)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        before_closing(crawler, self._give_out_all)

    def take(self, item: Any, page: _Page | None, response: Response) -> _Page:
        """Take an item, and its page if it is the first one of it."""
        page = page or self._new_page(response)
        wanted = not self._is_undeclared(type(item))
        page.wanted |= wanted
        page.pending += 1
        self._pending += 1
        self._lanes.setdefault(page.site, deque()).append(_Entry(item, page, wanted))
        if page.released:
            self._compare(page)
            self._advance(page.site)
        else:
            self._held += 1
        if self.over or not self._config.held_seconds:
            self.flush()
        most, most_bytes = self._config.held_items, HELD_MEGABYTES * 1_000_000
        while (self._held > most or self._held_bytes > most_bytes) and (
            oldest := self._pools.give_out_oldest()
        ):
            self._release(oldest, early=True)
        self._stats.max_value("tplspider/fields/held_max", self._held)
        if self._held and self._watch is None:
            self._watch = asyncio.create_task(self._give_out_in_time())
        self._pause()
        return page

    def learn(self, response: Response) -> None:
        """Take a page without items, which tells about others of its site."""
        try:
            source = _read(response)
            self._release(self._add(source, None), page_site(source.url))
        except Exception as error:  # noqa: BLE001 - no item is the worse for it
            logger.debug("%s cannot be read: %r", response.url, error)

    def flush(self) -> None:
        """Release all that waits for a pool."""
        self._release(self._pools.flush())

    async def moved(self) -> None:
        """Wait until another item has passed the pipelines."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def count(self, name: str, number: int = 1) -> None:
        if number:
            self._stats.inc_value(f"tplspider/fields/{name}", number)

    def _new_page(self, response: Response) -> _Page:
        page = _Page(page_site(response.url), response.url, _without_body(response))
        try:
            source = _read(response)
            page.source, page.url, page.size = source, source.url, len(source.packed)
            released = self._add(source, page)
            self._held_bytes += page.size
        except Exception as error:  # noqa: BLE001 - its items are worth more than their texts
            page.source, page.released, page.compared = None, True, True
            self._failed(page, error)
            released = self._pools.give_out(page.site)  # its items do not pass earlier ones
        self._release(released, page.site)
        return page

    def _add(self, source: PooledPage, page: _Page | None) -> list[Released[_Page | None]]:
        self._sites.add(hash(page_site(source.url)))
        return self._pools.add(source, page)

    def _release(
        self, released: Iterable[Released[_Page | None]], site: str = "", *, early: bool = False
    ) -> None:
        """Pages no longer wait for their pool; other sites than *site* make room for it."""
        sites = set()
        for each in released:
            sites.add(each.site)
            if (page := each.entry) and not page.released:
                page.released, page.pool = True, each.pool
                self._held -= page.pending
                self._held_bytes -= page.size
                self.count("given_out_early", int(early or site not in ("", each.site)))
                self._compare(page)
        for name in sites:
            self._advance(name)

    def _compare(self, page: _Page) -> None:
        """Have a page compared, once, if there is anything to be filled."""
        if page.source and page.wanted:
            self._queued_bytes += page.size
            worker = self._workers[crc32(page.site.encode("utf-8", "replace")) % len(self._workers)]
            worker.put(page, page.source)
            page.source = None

    def _compared(self, page: _Page, found: PageTemplate | Exception) -> None:
        self._queued_bytes -= page.size
        page.compared, page.pool = True, ()
        if isinstance(found, Exception):
            self._failed(page, found)
        else:
            page.found = found
            self.count("pages")
            self.count("without_evidence", int(not found.evidence))
        self._advance(page.site)
        self._pause()

    def _failed(self, page: _Page, error: Exception) -> None:
        self.count("failed")
        logger.warning("%s cannot be compared, its items go without: %s", page.url, error)

    def _advance(self, site: str) -> None:
        """Items of a site whose turn has come go to the pipelines."""
        lane = self._lanes.get(site)
        while lane and lane[0].page.released and (lane[0].page.compared or not lane[0].wanted):
            self._ready.append(lane.popleft())
        if not lane:
            self._lanes.pop(site, None)
        while self._ready and self._in_pipelines < self.at_a_time:
            self._in_pipelines += 1
            self._start(self._process(self._ready.popleft()))

    async def _process(self, entry: _Entry) -> None:
        item, page = entry.item, entry.page
        try:
            if entry.wanted and page.found:
                item = self._filled(item, page.found)
            await process_item(self._crawler, item, page.response)
        except Exception as error:  # noqa: BLE001 - of a third-party signal handler, say
            logger.error("An item of %s is lost: %r", page.url, error)  # noqa: TRY400
        finally:
            self._in_pipelines -= 1
            self._pending -= 1
            page.pending -= 1
            self._advance(page.site)
            self._pause()
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():  # it may have been cancelled
                    future.set_result(None)

    def _filled(self, item: Any, found: PageTemplate) -> Any:
        # Items of one page do not share lists, which a pipeline may change.
        values = {name: copy(getattr(found, content)) for name, content in self._fields.items()}
        try:
            item = filled(item, values)
        except Exception as error:  # noqa: BLE001 - whatever the class of the item raises
            self.count("refused")
            if type(item) not in self._reported:
                self._reported.add(type(item))
                why, name = " ".join(str(error).split()), type(item).__qualname__
                logger.error("%s does not take the fields, it stays as it is: %s", name, why)  # noqa: TRY400
        else:
            self.count("items")
        return item

    def _is_undeclared(self, kind: type) -> bool:
        if kind not in self._undeclared:
            missing = undeclared_fields(kind, self._fields)
            self._undeclared[kind] = bool(missing)
            if missing:
                name, names = kind.__qualname__, ", ".join(missing)
                logger.error("%s does not declare %s: such items get no fields", name, names)
        self.count("undeclared", int(self._undeclared[kind]))
        return self._undeclared[kind]

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

    async def _give_out_in_time(self) -> None:
        longest = self._config.held_seconds
        step = min(STEP, longest / 4)
        while self._held:
            await asyncio.sleep(step)
            # One that is older before the next look would wait too long.
            self._release(self._pools.give_out_older(longest - step), early=True)
        self._watch = None

    async def _give_out_all(self, reason: str) -> None:
        """Give out all items before the spider closes."""
        engine, is_idle = self._crawler.engine, reason == "finished"
        if not is_idle:
            self.over = True
            engine.pause()  # or pages would come for ever
            for worker in self._workers:
                worker.hurry(self._config.extract_seconds)
        try:
            while self._pending:
                self.flush()
                await self.moved()
        except Exception:
            logger.exception("Items that were held back cannot be given out")
        # Pipelines may have made requests of these items, as in any crawl.
        if is_idle and not self.over and not engine.spider_is_idle():
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        if self._watch:
            self._watch.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers))
        self._stats.set_value("tplspider/fields/sites", len(self._sites))
        value = {
            name: self._stats.get_value(f"tplspider/fields/{name}", 0)
            for name in ("items", "pages", "held_max", *_COUNTED)
        }
        logger.info(
            "Fields of items: %d items of %d pages have them, %d were held back at most%s",
            *(value[name] for name in ("items", "pages", "held_max")),
            "".join(f"; {words}: {value[name]}" for name, words in _COUNTED.items() if value[name]),
        )
        await asyncio.to_thread(self._pools.save)  # another process may have the lock

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the loop itself holds no task alive
        task.add_done_callback(self._tasks.discard)


class _Worker:
    """A process that compares the pages of some sites, one after the other."""

    def __init__(
        self,
        config: Config,
        wanted: frozenset[str],
        done: Callable[[_Page, PageTemplate | Exception], None],
    ) -> None:
        self._extraction = Extraction(
            STRIP, workers=1, seconds=config.extract_seconds, megabytes=config.extract_mb
        )
        self._done = done
        self._wanted = wanted
        self._queue: deque[tuple[_Page, PooledPage]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._end: float | None = None  # when no page is compared any more

    def put(self, page: _Page, source: PooledPage) -> None:
        self._queue.append((page, source))
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def hurry(self, seconds: float) -> None:
        """Give up on the pages that are not compared in so many seconds from now."""
        if self._end is None:
            self._end = asyncio.get_running_loop().time() + seconds
            self._extraction.hurry(seconds)

    async def close(self) -> None:
        await self._extraction.close()

    async def _run(self) -> None:
        while self._queue:
            page, source = self._queue.popleft()
            found: PageTemplate | Exception
            try:
                found = await self._compare(page, source)
            except Exception as error:  # noqa: BLE001 - whatever it is, it costs one page
                found = error
            self._done(page, found)
        self._task = None

    async def _compare(self, page: _Page, source: PooledPage) -> PageTemplate:
        seconds = None
        if self._end is not None:
            seconds = self._end - asyncio.get_running_loop().time()
            if seconds <= 0:
                raise ExtractionError("timed out: no time is left for it")
        job: Any = StripJob(source, page.site, self._wanted)
        found = await self._extraction.extract(job, cast("Any", page.pool), seconds=seconds)
        assert found is not None
        return found


def _read(response: Response) -> PooledPage:
    """The page of a response; ValueError or LookupError if it cannot be read."""
    assert isinstance(response, HtmlResponse)
    encoding = known_encoding(response.encoding)
    page = WebPage(response.url, response.body, given_encoding=encoding, given_html=True)
    source = PooledPage.of(response.url, page.text)
    if source.is_too_large:
        raise ValueError("it has more elements or attributes than can be read")
    return source


def _without_body(response: Response) -> Response | None:
    """The response for handlers of ``item_scraped``: a body is too much to be held."""
    try:
        return response.replace(body=b"")
    except Exception:  # noqa: BLE001 - of a class with a constructor of its own
        return None


def undeclared_fields(item_class: type, names: Iterable[str]) -> list[str]:
    """Those of the fields that items of a class cannot have: a dict can have any."""
    declared = ItemAdapter.get_field_names_from_class(item_class)
    return [] if declared is None else [name for name in names if name not in declared]


def filled(item: Any, values: Mapping[str, object]) -> Any:
    """The item with these values: the same one, or a changed copy of one that is frozen.

    If the item does not take them it is as it was, and its exception is raised.
    """
    adapter = ItemAdapter(item)
    before = {name: adapter[name] for name in values if name in adapter}
    try:
        for name, value in values.items():
            adapter[name] = value
    except Exception as error:
        for name in values:
            with suppress(Exception):  # what could not be set cannot be set back
                if name in before:
                    adapter[name] = before[name]
                else:
                    del adapter[name]
        if _is_frozen(error):
            return _changed_copy(item, values)
        raise
    return item


def _is_frozen(error: Any) -> bool:
    """Whether an exception of dataclasses, attrs or pydantic says that an item is frozen."""
    kinds = [type(error).__name__.lower()]
    if hasattr(error, "errors"):
        kinds += [each["type"] for each in error.errors()]
    return any(kind.startswith("frozen") for kind in kinds)


def _changed_copy(item: Any, values: Mapping[str, object]) -> Any:
    """A copy that differs in these values alone: its constructor would convert others again."""
    if hasattr(item, "model_copy"):  # of pydantic
        return item.model_copy(update=dict(values))
    changed = copy(item)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed
