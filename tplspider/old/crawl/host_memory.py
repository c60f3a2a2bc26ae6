"""What is kept for a host is let go when no search uses it, so a long list costs no memory."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.httpobj import urlparse_cached

from tplspider import signals
from tplspider.old.crawl.garbage import GarbageCollection
from tplspider.old.crawl.open_files import too_few_files
from tplspider.old.crawl.politeness import CrawlDelay
from tplspider.old.crawl.private_network.address_guard import PrivateAddressMiddleware
from tplspider.old.crawl.private_network.private_addresses import host_name
from tplspider.old.crawl.robots import TicketRobotsTxtMiddleware
from tplspider.old.crawl.scrapy_private import close_idle_connections, slot_key
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult

    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

# Hosts that are remembered although no search uses them, those that came to rest last: the next
# key page of a list is often on the same host, and would ask for its robots.txt again.
RESTING = 32


@dataclass(slots=True)
class _Host:
    users: set[SearchSession] = field(default_factory=set)
    slots: set[str] = field(default_factory=set)  # by which Scrapy keeps its pace
    loads: int = 0  # that are under way

    @property
    def rests(self) -> bool:
        return not self.users and not self.loads


class HostMemory:
    """The downloader middleware that knows which hosts the open searches use.

    When the last search that used a host has ended, its connections are closed. What its robots.txt
    says, its pace and what is known of its address are let go when :data:`RESTING` other hosts
    have come to rest after it, and the pace not before its delay is over; then garbage is
    collected, if that is cheap. Requests without a ticket end at a time that nobody tells:
    connections and paces of their hosts are left to Scrapy.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._hosts: dict[str, _Host] = {}  # those at rest in the order in which they came to it
        self._of_others: set[str] = set()  # hosts and slots
        self._timers: dict[str, CallLaterResult] = {}  # of slots that have to wait
        self._garbage = GarbageCollection()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        memory = cls(crawler)
        connect = crawler.signals.connect
        connect(memory.process_request, signal=scrapy_signals.request_reached_downloader)
        for signal in (signals.search_ended, signals.search_settled):  # one may be dropped
            connect(memory.search_ended, signal=signal)
        connect(memory.spider_opened, signal=scrapy_signals.spider_opened)
        connect(memory.spider_closed, signal=scrapy_signals.spider_closed)
        return memory

    def spider_opened(self) -> None:
        if warning := too_few_files(self._crawler.settings.getint("CONCURRENT_REQUESTS")):
            logger.warning("%s", warning)

    def process_request(self, request: Request) -> None:
        """Take note of the host that a request leads to, and of its slot, which may yet change."""
        name, ticket = _host_of(request), ticket_of(request)
        if not name:  # data: and the like
            return
        slot = slot_key(self._crawler, request)
        if ticket is None:
            self._of_others |= {name, slot}
        elif ticket.session.phase != "over":
            host = self._hosts.setdefault(name, _Host())
            host.users.add(ticket.session)
            host.slots.add(slot)

    @contextmanager
    def loading(self, request: Request) -> Iterator[None]:
        """While a request is loaded, a connection is open that will be idle afterwards."""
        name = _host_of(request)
        if not name or ticket_of(request) is None:
            yield
            return
        host = self._hosts.setdefault(name, _Host())
        host.loads += 1
        try:
            yield
        finally:
            host.loads -= 1
            self._let_rest(name)

    def search_ended(self, session: SearchSession) -> None:
        for name, host in list(self._hosts.items()):
            if session in host.users:
                host.users.remove(session)
                self._let_rest(name)

    def spider_closed(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def _let_rest(self, name: str) -> None:
        """Close the connections of a host, if it is at rest, and forget those that rest longer."""
        if not self._hosts[name].rests:
            return
        self._hosts[name] = self._hosts.pop(name)
        self._close_connections(name)
        resting = [name for name, host in self._hosts.items() if host.rests]
        for oldest in resting[: max(0, len(resting) - RESTING)]:
            self._forget(oldest)

    def _forget(self, name: str) -> None:
        slots = self._hosts.pop(name).slots
        if robots := self._crawler.get_downloader_middleware(TicketRobotsTxtMiddleware):
            robots.forget(name)
        guard = self._crawler.get_downloader_middleware(PrivateAddressMiddleware)
        if self._close_connections(name) and guard:
            guard.forget(name)
        for slot in slots:
            if slot not in self._timers:
                self._let_go_of_pace(slot)
        self._garbage.collect()

    def _close_connections(self, name: str) -> bool:
        """Whether no connection to a host can be open any more."""
        return name not in self._of_others and close_idle_connections(self._crawler, name)

    def _let_go_of_pace(self, slot: str) -> None:
        self._timers.pop(slot, None)
        is_in_use = any(slot in host.slots for host in self._hosts.values())
        crawl_delay = self._crawler.get_extension(CrawlDelay)
        if is_in_use or crawl_delay is None:
            return
        seconds = crawl_delay.paces.let_go(slot, is_shared=slot in self._of_others)
        if seconds:
            self._timers[slot] = call_later(seconds, self._let_go_of_pace, slot)


def _host_of(request: Request) -> str:
    return host_name(urlparse_cached(request).hostname or "")
