"""Requests that end without a callback or an errback: their sessions are told.

Whoever drops a request tells nobody: the duplicate filter, the offsite middleware, a middleware of
a project. But then nobody holds on to its ticket any more.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, finalize

from scrapy.utils.asyncio import is_asyncio_available

from tplspider.old.crawl.requests import empty_request
from tplspider.old.crawl.scrapy_private import is_open
from tplspider.old.crawl.ticket import Ticket
from tplspider.web.page import ERROR, NoPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from tplspider.old.crawl.credentials import Credentials
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)


class TicketOffice:
    """Makes tickets, and notices when one is gone before its session has an answer for it.

    Then *account_for* is called back, with what the ticket was for and the answer to take for it,
    by a request that loads nothing.
    """

    def __init__(self, crawler: Crawler, account_for: Callable[..., object]) -> None:
        self._crawler = crawler
        self._account_for = account_for
        self._noticed: WeakKeyDictionary[SearchSession, set[int | None]] = WeakKeyDictionary()

    def ticket(
        self, session: SearchSession, rank: int | None, credentials: Credentials | None = None
    ) -> Ticket:
        """A ticket for one request, and for what it becomes by redirects and retries."""
        ticket = Ticket(session, rank, credentials)
        finalize(ticket, _call_soon(), self.lost, session, rank).atexit = False
        return ticket

    def lost(self, session: SearchSession, rank: int | None) -> bool:
        """A request has vanished: whether its session waits for it, and can go on without it."""
        noticed = self._noticed.setdefault(session, set())
        if rank not in session.awaited or rank in noticed or not is_open(self._crawler):
            return False
        open_sessions = vars(self._crawler.spider).get("sessions", {})
        if open_sessions.get(session.search_id) is not session:
            return False  # it is left to another day
        noticed.add(rank)
        what = "the key page" if rank is None else f"link #{rank}"
        logger.warning(
            "No answer came for %s of %s: was it dropped by a middleware?", what, session.key_url
        )
        self._crawler.engine.crawl(
            empty_request(self._account_for, ticket=Ticket(session, rank), answer=NoPage(ERROR))
        )
        return True


def _call_soon() -> Callable[..., object]:
    """What calls a function in the loop that runs now, and may itself be called in any thread."""
    if is_asyncio_available():
        loop, thread = asyncio.get_running_loop(), get_ident()

        def call_soon(function: Callable[..., object], *arguments: object) -> None:
            # Almost always the thread is that of the loop, which need not be woken then.
            here = get_ident() == thread
            with suppress(RuntimeError):  # the loop is closed
                (loop.call_soon if here else loop.call_soon_threadsafe)(function, *arguments)

        return call_soon
    from twisted.internet import reactor  # it installs one: when, Scrapy decides

    return reactor.callFromThread  # type: ignore[no-any-return]  # Twisted's
