"""The gate that the requests of a worker pass: each host at one pace, whichever worker asks it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.error import ConnectionLost

from tplspider.crawl.fleet.keys import leased_host
from tplspider.crawl.fleet.leases import LeaseLostError
from tplspider.crawl.fleet.link import QueueError
from tplspider.crawl.politeness import CrawlDelay
from tplspider.crawl.robots import TicketRobotsTxtMiddleware
from tplspider.crawl.scrapy_private import lead_downloads_through, slot_key
from tplspider.crawl.ticket import PART_KEY, ticket_of
from tplspider.crawl.tracker import CliqueTracker
from tplspider.crawl.under_way import RequestsUnderWay

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.crawl.fleet.worker import FleetWorker
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)


class FleetGate:
    """The downloader middleware that lets no request out whose host another worker asks.

    A request waits here for the lease of its host, and not for longer than TPLSPIDER_LEASE_WAIT
    after it was wanted, since its search has the lease of another host in hand. It waits before it
    gets to the slot of the host, where it would be in the way of others, and behind all that may
    answer it without asking anybody: it belongs next to the downloader. Its turn, after the delay
    in force, it takes at the last moment before it is sent. So does whatever asks a host for a
    search: its robots.txt, its pages, what they redirect to, and other tries.

    What the scripts of a page ask for in a browser belongs to the load of the page. It passes, on
    whichever host it is: there is no pause within a page, and the fleet would otherwise stand in a
    line before each of the hosts from which many sites have their scripts.

    No request fails by what happens here: where its host or the queue is not to be had, its search
    is dropped, and another worker gets to answer the key page.
    """

    def __init__(self, crawler: Crawler, worker: FleetWorker) -> None:
        self._crawler = crawler
        self._worker = worker
        # Since when searches have wanted hosts that they did not have.
        self._wanted: WeakKeyDictionary[SearchSession, dict[str, float]] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        searches = getattr(crawler.spider, "searches", None)
        worker = getattr(searches, "fleet", None)
        if worker is None:
            raise NotConfigured
        gate = cls(crawler, worker)
        connect = crawler.signals.connect
        connect(gate.spider_opened, signal=scrapy_signals.spider_opened)
        connect(gate.request_scheduled, signal=scrapy_signals.request_scheduled)
        connect(gate.robots_parsed, signal=scrapy_signals.robots_parsed)
        if crawl_delay := crawler.get_extension(CrawlDelay):
            crawl_delay.paces.only_grow = True
        return gate

    def spider_opened(self) -> None:
        lead_downloads_through(self._crawler, self._download)

    def request_scheduled(self, request: Request) -> None:
        """From now on a search waits, be it at first for others that wait for the same host."""
        found = self._leased(request)
        if found and found[1] not in self._worker.leases:
            self._wants(*found)

    def robots_parsed(self, request: Request) -> None:
        """Whoever has the host next keeps to what its robots.txt asks for, without having read it.

        The delay in force is known when all have heard of the robots.txt.
        """
        if found := self._leased(request):
            host, leases = found[1], self._worker.leases
            loop = asyncio.get_running_loop()
            start = self._worker.tasks.start
            loop.call_soon(lambda: start(leases.slow_down(host, self._delay(request, host))))

    async def process_request(self, request: Request) -> None:
        """Have the lease of the host."""
        if (found := self._leased(request)) is None:
            return
        session, host = found
        leases = self._worker.leases
        self._worker.use(session, host)
        if host not in leases:
            until = self._wants(session, host) + self._worker.config.lease_wait
            try:
                with self._stopped_clock(session):
                    has_lease = await leases.wait_for(host, max(0, until - monotonic()))
            except QueueError as error:
                await self._fail(error)
            if not has_lease:
                await self._park(session, host, f"{host} is asked by another worker")
        self._wanted.get(session, {}).pop(leased_host(host), None)

    async def _download(
        self, request: Request, start_download: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Send a request when its turn has come."""
        if found := self._leased(request):
            session, host = found
            # The task that it waits in ends with its search.
            if under_way := self._crawler.get_downloader_middleware(RequestsUnderWay):
                under_way.enter(request)
            inherits = not self._knows_pace(request, host)
            try:
                delay = self._delay(request, host)
                await self._worker.leases.turn(host, delay, inherits=inherits)
            except LeaseLostError as error:
                await self._park(session, host, str(error))
            except QueueError as error:
                await self._fail(error)
        return await start_download(request)

    def sent(self, host: str) -> None:
        """A request to a host is on the wire; that it took a while to connect shortens no gap."""
        self._worker.leases.sent(host)

    async def turn_of_another_try(self, host: str) -> None:
        """Wait until a request may be sent again that found its connection closed.

        Without a lease it is not: then the connection is lost, and the next try waits for one.
        """
        name = leased_host(host)
        delay = max(self._gap(name), self._gap(f"www.{name}"))
        try:
            await self._worker.leases.turn(host, delay, inherits=True)
        except (LeaseLostError, QueueError) as error:
            raise ConnectionLost(str(error)) from None

    def _leased(self, request: Request) -> tuple[SearchSession, str] | None:
        """For whom a request asks which host; None for what needs no lease."""
        ticket, host = ticket_of(request), urlparse_cached(request).hostname
        if ticket is None or not host or request.meta.get(PART_KEY):
            return None
        return ticket.session, host

    def _wants(self, session: SearchSession, host: str) -> float:
        name = leased_host(host)
        return self._wanted.setdefault(session, {}).setdefault(name, monotonic())

    def _delay(self, request: Request, host: str) -> float:
        """The seconds between two requests: the longer ones, where ``www.`` has its own."""
        name = leased_host(host)
        keys = {slot_key(self._crawler, request), name, f"www.{name}"}
        return max(self._gap(key) for key in keys)

    def _gap(self, key: str) -> float:
        crawl_delay = self._crawler.get_extension(CrawlDelay)
        if crawl_delay is None:
            slot = self._crawler.engine.downloader.slots.get(key)
            return slot.delay if slot else 0
        return crawl_delay.paces.gap(key)

    def _knows_pace(self, request: Request, host: str) -> bool:
        """Whether this worker knows better than the last holder of the lease."""
        robots = self._crawler.get_downloader_middleware(TicketRobotsTxtMiddleware)
        return robots.has_read(request) if robots else self._worker.leases.has_asked(host)

    def _stopped_clock(self, session: SearchSession) -> AbstractContextManager[None]:
        """What other workers do is not the search's own time."""
        tracker = self._crawler.get_extension(CliqueTracker)
        return tracker.clocks.stopped(session.search_id) if tracker else nullcontext()

    async def _park(self, session: SearchSession, host: str, why: str) -> None:
        logger.info("%s is left to another moment: %s", session.requested_url, why)
        self._worker.park_search(session, host)
        await _be_cancelled()

    async def _fail(self, error: QueueError) -> None:
        self._worker.fail(error)
        await _be_cancelled()


async def _be_cancelled() -> None:
    """Wait for the end, which all requests of a search come to that is dropped.

    If it failed, its search would learn something that is not so: that there is no robots.txt, say.
    """
    await asyncio.get_running_loop().create_future()
