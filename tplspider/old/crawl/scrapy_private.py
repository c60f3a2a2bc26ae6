"""All that we use of Scrapy that is not in its documentation, with the reason.

Everything here was seen in Scrapy 2.19 and may be different in the next version: when a crawl
breaks with a new Scrapy, this is the place to look first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response


def lead_close_through(crawler: Crawler, before: Callable[[str], Awaitable[None]]) -> None:
    """See to it that *before* is awaited, with the reason, whenever the spider is to be closed.

    There is no signal for that moment: when Scrapy tells that a spider closes, the pipelines are
    closed already. Whatever ends a crawl goes through this method of the engine. As in Scrapy, the
    first who wants to close it says why, whoever of them goes on first after *before*.
    """
    engine = crawler.engine
    close_spider_async = engine.close_spider_async
    first: list[str] = []

    async def close(*, reason: str = "cancelled") -> None:
        first.append(reason)
        await before(first[0])
        await close_spider_async(reason=first[0])

    engine.close_spider_async = close  # type: ignore[method-assign]  # no signal


def close_spider(crawler: Crawler, reason: str) -> None:
    """Close the spider, by the way that :func:`lead_close_through` leads.

    Raising CloseSpider does the same, where there is a callback to raise it in.
    """
    deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


def lead_output_through(crawler: Crawler, after: Callable[[Request], object]) -> None:
    """See to it that *after* is called when all that a callback gave has been dealt with.

    By then its items are through the pipelines and in the feeds, whatever middlewares and pipelines
    made of them. There is no signal for that: one for each item may never come.
    """
    scraper = crawler.engine.scraper
    handle_spider_output_async = scraper.handle_spider_output_async

    async def handle(result: Any, request: Request, response: Any) -> None:
        try:
            await handle_spider_output_async(result, request, response)
        finally:
            after(request)

    scraper.handle_spider_output_async = handle  # type: ignore[method-assign]  # no signal


async def process_item(crawler: Crawler, item: object, response: Response | None = None) -> None:
    """Send an item through the pipelines and to the feeds, although no callback gives it.

    When this returns, the item is written. Otherwise only callbacks can give items, and none is
    called any more when a crawl is ended.
    """
    await crawler.engine.scraper.start_itemproc_async(item, response=response)


def look_again(crawler: Crawler) -> None:
    """Have the engine find out soon whether the spider is idle.

    It does so when a request is done, and else every five seconds: nothing tells it that an item
    that no callback gave has been dealt with.
    """
    engine = crawler.engine
    if (slot := engine._slot) is not None and slot.closing is None:  # noqa: SLF001 - as said
        slot.nextcall.schedule()


def is_open(crawler: Crawler) -> bool:
    """Whether requests can be made: not before the spider is open, nor when it is closed."""
    engine = crawler._engine  # noqa: SLF001 - the public property raises where there is none
    return engine is not None and engine.spider is not None


async def let_go(crawler: Crawler) -> None:
    """Let go of all that a crawl holds whose tasks were cancelled, all of them.

    Scrapy cannot close such a crawl: it waits for ever for what these tasks would have done. Those
    who hold something, connections, processes or files, let go of it by these two signals.
    """
    if is_open(crawler):
        engine, spider = crawler.engine, crawler.spider
        engine.running = False
        engine.downloader.close()
        if (slot := engine._slot) is not None:  # noqa: SLF001 - nobody else stops it
            slot.nextcall.cancel()
            if slot.heartbeat.running:
                slot.heartbeat.stop()
        send = crawler.signals.send_catch_log_async
        await send(signal=signals.spider_closed, spider=spider, reason="cancelled")
        await send(signal=signals.engine_stopped)


def is_at_rest(crawler: Crawler) -> bool:
    """Whether Scrapy has nothing to do: no request, no response, no item.

    It tells so by a signal, but not before start() has ended.
    """
    engine = crawler.engine
    slot, scheduler = engine.scraper.slot, engine.scheduler
    busy = engine.downloader.active or (scheduler and scheduler.has_pending_requests())
    return not busy and slot is not None and slot.is_idle()


def drop_waiting_requests(crawler: Crawler, is_dropped: Callable[[Request], bool]) -> None:
    """Take requests out of the queues in which they wait for their turn.

    They would be sent although nobody waits for them any more, and the engine waits for them.
    """
    for slot in crawler.engine.downloader.slots.values():
        slot.queue = deque(entry for entry in slot.queue if not is_dropped(entry[0]))


def lead_slots_through(crawler: Crawler, choose: Callable[[Request, str, Slot], Slot]) -> None:
    """Let *choose* say which slot a request gets, by its key and the slot that Scrapy has for it.

    The delay of a slot is a setting, but how it varies is not, nor how long a slot is kept. When
    there is a signal (request_reached_downloader), the slot is chosen already.
    """
    downloader = crawler.engine.downloader
    get_slot = downloader._get_slot  # noqa: SLF001 - as said

    def lead(request: Request) -> tuple[str, Slot]:
        key, slot = get_slot(request)
        downloader.slots[key] = chosen = choose(request, key, slot)
        return key, chosen

    downloader._get_slot = lead  # type: ignore[assignment]  # noqa: SLF001 - as said


def slot_key(crawler: Crawler, request: Request) -> str:
    """The key of the slot that a request gets: that of its host, unless its meta says otherwise."""
    return crawler.engine.downloader.get_slot_key(request)


def close_idle_connections(crawler: Crawler, host: str) -> bool:
    """Close the connections to a host that are open and that nobody uses, by its name.

    Whether that was all: a handler of somebody else's may have others, of which nothing is known.
    """
    handlers = crawler.engine.downloader.handlers._handlers  # noqa: SLF001 - no other way to them
    web = [handler for scheme, handler in handlers.items() if scheme in {"http", "https"}]
    ours = [handler for handler in web if hasattr(handler, "close_idle_connections")]
    for handler in ours:
        handler.close_idle_connections(host)
    return len(ours) == len(web)


def lead_downloads_through(
    crawler: Crawler,
    download: Callable[[Request, Callable[[Request], Awaitable[Response]]], Awaitable[Response]],
) -> None:
    """Let *download* do each download; it is given the request, and what really downloads it.

    There is no signal at that moment, in the task in which the connection is made: downloader
    middlewares run in another one.
    """
    handlers = crawler.engine.downloader.handlers
    start_download = handlers.download_request_async

    async def lead(request: Request) -> Response:
        return await download(request, start_download)

    handlers.download_request_async = lead  # type: ignore[method-assign]  # no signal


async def download_without_pause(crawler: Crawler, request: Request) -> Request | Response:
    """Load what a page needs, through all middlewares but without the slot of its host.

    What a page consists of is one load: the pauses between requests are for pages.
    """
    downloader = crawler.engine.downloader
    return await downloader.middleware.download_async(
        downloader.handlers.download_request_async, request
    )
