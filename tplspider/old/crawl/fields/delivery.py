"""The way of items that wait no more: their pages are compared, then they go to the pipelines."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.fields.awaited_count import AwaitedCount
from tplspider.old.crawl.fields.item_fields import filled
from tplspider.old.crawl.scrapy_private import look_again, process_item
from tplspider.old.extraction.extractors import one_line

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.items import PageTemplate
    from tplspider.old.crawl.fields.account import FieldsAccount
    from tplspider.old.crawl.fields.page_shelf import PageShelf, ShelvedPage
    from tplspider.old.extraction.strip_workers import StripWorkers
    from tplspider.pools.pool import PooledPage

logger = logging.getLogger(__name__)

_AHEAD = 8  # pages for each worker that are taken off the shelf before their turn


@dataclass(eq=False, slots=True)
class ItemPage:
    """A page with items. *found* is there once the page waits no more, and is None if it failed.

    *response* stands in for the response of the page: it is the same without its body.
    """

    url: str
    site: str
    response: Response | None
    shelved: ShelvedPage | None = None  # for as long as it is not compared
    found: asyncio.Future[PageTemplate | None] | None = None
    pending: AwaitedCount = field(default_factory=AwaitedCount)  # items that are not out


class Delivery:
    """Has pages compared, and gives items to the pipelines: those of a site in order.

    Items of a site start in the order in which they are given. As in Scrapy, at most
    CONCURRENT_ITEMS are in the pipelines at a time; what becomes of them there is not waited for.
    """

    def __init__(
        self,
        crawler: Crawler,
        fields: Mapping[str, str],
        workers: StripWorkers,
        shelf: PageShelf,
        account: FieldsAccount,
        *,
        ahead: int = 1,
    ) -> None:
        self.under_way = AwaitedCount()  # items that were given and are not out
        self._crawler = crawler
        self._fields = fields
        self._workers = workers
        self._shelf = shelf
        self._account = account
        self._places = asyncio.Semaphore(max(1, crawler.settings.getint("CONCURRENT_ITEMS")))
        self._turns = asyncio.Semaphore(_AHEAD * max(1, ahead))
        self._lanes: dict[str, deque[tuple[Any, ItemPage]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._limits: set[asyncio.Timeout] = set()

    def compare(self, page: ItemPage, pool: Sequence[PooledPage]) -> None:
        """Have a page compared with a pool."""
        page.found = asyncio.get_running_loop().create_future()
        self._start(self._compare(page, page.found, pool))

    def give(self, item: Any, page: ItemPage) -> None:
        """Give an item to the pipelines, once its page and all before it have been compared."""
        self.under_way.add()
        lane = self._lanes.get(page.site)
        if lane is not None:
            lane.append((item, page))
        else:
            lane = self._lanes[page.site] = deque([(item, page)])
            self._start(self._follow(page.site, lane))

    async def hurry(self, seconds: float) -> None:
        """Give up on the pages that are not compared in so many seconds from now."""
        await asyncio.sleep(0)  # those that were given just now start
        end = asyncio.get_running_loop().time() + seconds
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(end)

    async def _compare(
        self,
        page: ItemPage,
        result: asyncio.Future[PageTemplate | None],
        pool: Sequence[PooledPage],
    ) -> None:
        found = None
        try:
            async with asyncio.timeout(None) as limit:
                self._limits.add(limit)
                try:
                    async with self._turns:
                        assert page.shelved is not None
                        source, page.shelved = self._shelf.take(page.shelved), None
                        found = await self._workers.strip(page.site, source, pool)
                finally:
                    self._limits.discard(limit)
            self._account.stripped(found)
        except TimeoutError:
            self._account.failed(page.url, TimeoutError("there was no more time for it"))
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs one page
            self._account.failed(page.url, error)
        finally:
            if not result.done():
                result.set_result(found)

    async def _follow(self, site: str, lane: deque[tuple[Any, ItemPage]]) -> None:
        while lane:
            item, page = lane[0]
            assert page.found is not None
            found = await page.found
            await self._places.acquire()
            lane.popleft()
            self._start(self._process(item, page, found))
        del self._lanes[site]

    async def _process(self, item: Any, page: ItemPage, found: PageTemplate | None) -> None:
        try:
            if found is not None:
                item = self._filled(item, found)
            await process_item(self._crawler, item, page.response)
        except Exception as error:  # noqa: BLE001 - of somebody's signal handler, say: not a reason to stop
            logger.error("An item of %s is lost: %s", page.url, one_line(error))  # noqa: TRY400 - in a line
        finally:
            self._places.release()
            page.pending.remove()
            self.under_way.remove()
            if not self.under_way:
                look_again(self._crawler)  # it may have been idle, but for us

    def _filled(self, item: Any, found: PageTemplate) -> Any:
        # Items of one page do not share lists, which somebody may change.
        values = {name: copy(getattr(found, content)) for name, content in self._fields.items()}
        try:
            item = filled(item, values)
        except Exception as error:  # noqa: BLE001 - whatever the class of somebody's items does
            self._account.refused(item, error)
        else:
            self._account.count("items")
        return item

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself holds no task alive
        task.add_done_callback(self._tasks.discard)
