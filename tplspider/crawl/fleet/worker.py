"""A worker of a fleet: its share of the queue, from taking entries to delivering their answers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from tplspider.crawl.config import Config
from tplspider.crawl.fleet.address import queue_address
from tplspider.crawl.fleet.check import begin_work
from tplspider.crawl.fleet.delivery import Deliveries
from tplspider.crawl.fleet.entry import NewerEntryError
from tplspider.crawl.fleet.guarded_tasks import GuardedTasks
from tplspider.crawl.fleet.in_hand import InHand
from tplspider.crawl.fleet.intake import Intake
from tplspider.crawl.fleet.keys import GROUP, QueueKeys, leased_host
from tplspider.crawl.fleet.leases import HostLeases
from tplspider.crawl.fleet.leaving import Leaving
from tplspider.crawl.fleet.link import Link, QueueError, QueueFullError, QueueLostError
from tplspider.crawl.fleet.sign_of_life import SignOfLife
from tplspider.crawl.outputs.lost import count_lost
from tplspider.crawl.scrapy_private import close_spider

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from tplspider.crawl.arguments import Arguments
    from tplspider.crawl.batch.admission import Admission
    from tplspider.crawl.batch.answers import SearchAnswer
    from tplspider.crawl.batch.batch import Unsearched
    from tplspider.crawl.batch.list_line import ListLine
    from tplspider.crawl.batch.searches import Searches
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

QUEUE_FAULT = "queue_fault"  # why a crawl ends that has lost its queue
_LAST_WAIT = 10.0  # seconds for Redis, where somebody wants the worker to end


class FleetWorker:
    """Gives lines as an iterator, and takes answers; the entries of the queue are its own affair.

    *searches* and *admission* are to be set before the first line is asked for. Whoever wants to
    ask another host than that of the key page says so by :meth:`use`, then takes its lease: leases
    are given back when the last search that uses a host has left.
    """

    searches: Searches
    admission: Admission

    def __init__(self, crawler: Crawler, arguments: Arguments) -> None:
        self._crawler = crawler
        self._arguments = arguments
        self.config = Config.from_crawler(crawler)
        self.options = arguments.options
        self.forever = bool(arguments.forever)
        self.keys = QueueKeys(arguments.queue)
        self._life = SignOfLife()
        self.name = self._life.name
        self.link = Link(queue_address(crawler.settings), self.config.queue_wait)
        self.leases = HostLeases(self.link, self.name, self.config.claim_seconds)
        self.in_hand = InHand()
        self.is_ending = False  # nothing more is taken
        self.is_done = False  # there was nothing left in the queue
        self.kept = monotonic()  # when the queue last had a sign of life
        self._intake = Intake(self)
        self._deliveries = Deliveries(self.link, self.keys, self._delivered, self.fail)
        self.tasks = GuardedTasks(self.fail)
        self.leaving = Leaving(self, self.tasks)
        self._alive: asyncio.Task[None] | None = None
        self._is_faulty = False
        self._is_lost = False  # there is no Redis to say anything to

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ListLine | Unsearched:
        if self._alive is None:
            if self.is_ending:
                raise StopAsyncIteration
            self._alive = self.tasks.start(self._stay_alive())
            self.tasks.start(self._work())
        return await self._intake.next()

    @property
    def ids(self) -> set[str]:
        """The ids of all entries that this worker has, wherever they are."""
        return {*self.in_hand.ids, *self._deliveries.ids, *self.leaving.ids, *self._intake.loose}

    def untaken(self) -> int:
        """How many answers are not in the queue yet: they have the places of searches."""
        return len(self._deliveries)

    def beat(self) -> str:
        """What the queue is told of this worker, as a sign of life."""
        return self._life.beat(len(self.in_hand))

    def count(self, name: str, number: int = 1) -> None:
        """Add to a figure among the stats."""
        if number:
            self._crawler.stats.inc_value(f"tplspider/queue/{name}", number)

    async def run(self, script: str, keys: list[str], *arguments: str | bytes | float) -> Any:
        """What a script gives; where somebody has deleted the queue, there is a new one then."""
        try:
            return await self.link.run(script, keys, *arguments)
        except QueueError as error:
            if not any(words in str(error) for words in ("NOGROUP", "no such key")):
                raise
            logger.warning("Somebody has deleted the queue: what was in work is not any more")
            await begin_work(self.link, self._arguments, self._crawler.settings)
            return await self.link.run(script, keys, *arguments)

    def take_answer(self, answer: SearchAnswer, entry_id: str) -> None:
        """The items of an answer are out: it is delivered."""
        entry = self.in_hand.entry(entry_id)
        if entry is None:
            return  # another worker has it
        if not self.in_hand.search_of(entry_id):
            self.in_hand.pop(entry_id)  # there was no search, of which the end would be told
        self._deliveries.send(entry, answer)

    def use(self, session: SearchSession, host: str) -> None:
        """A search is going to ask another host as well."""
        self.in_hand.use(session.search_id, host)

    def park_search(self, session: SearchSession, host: str) -> None:
        """Drop a search, and let its entry wait until a host is free that another worker asks.

        The requests of the search are cancelled, the one that calls this among them.
        """
        entry_id = self.in_hand.entry_of(session.search_id)
        if entry_id and session.phase != "over":
            self._pop(entry_id)
            self.leaving.start_parking(entry_id, leased_host(host))
            self.searches.drop(session)

    def settled(self, session: SearchSession) -> None:
        """A search has left: answered, or dropped because the crawl ends."""
        entry_id = self.in_hand.entry_of(session.search_id)
        if not entry_id:
            return
        self._pop(entry_id)
        if self.is_ending and entry_id not in self._deliveries:
            self._give_back({entry_id})
        elif entry_id not in self._deliveries:
            # Another worker has it when this one gives no sign of life for it.
            logger.error("%s is left to another worker: it has no answer", session.requested_url)

    async def release_unused(self) -> None:
        """Let others ask the hosts that no search here uses any more."""
        for host in self.leases.hosts:
            if host not in self.in_hand.hosts:
                await self.leases.release(host)

    def end(self) -> None:
        """Take nothing more, and give back at once what is not searched yet."""
        if not self.is_ending:
            self.is_ending = True
            self.is_done = self.forever and not self.ids  # there is nothing that it leaves undone
            self.link.patience = min(self.link.patience, _LAST_WAIT)
            self._intake.wake()
            self._give_back(self._intake.clear())

    async def close(self) -> None:
        """Deliver what is answered, give back the rest, and leave."""
        self.end()
        if self._alive:
            self._alive.cancel()
        await self._deliveries.wait()
        await self.tasks.wait()
        self._give_back(self.ids)
        await self.tasks.wait()
        try:
            if self._alive and not self._is_lost:
                for host in self.leases.hosts:
                    await self.leases.release(host)
                await self.link.run("leave", [self.keys.name, self.keys.workers], GROUP, self.name)
        except QueueError as error:
            logger.warning("Others will take this worker for dead: %s", error)
        finally:
            await self.link.close()

    async def keep(self) -> None:
        """Give a sign of life, and let go of what another worker has taken over meanwhile."""
        names = [self.keys.name, self.keys.workers]
        lost: list[bytes] = []
        with suppress(QueueFullError):
            lost = await self.run("keep", names, GROUP, self.name, self.beat(), *self.ids)
            await self.leases.keep()
        self.kept = monotonic()
        for entry_id in map(bytes.decode, lost):
            if entry_id not in self.in_hand or entry_id in self._deliveries:
                continue
            search_id = self.in_hand.search_of(entry_id)
            self.count("taken_over")
            logger.warning("Entry %s is not this worker's any more", entry_id)
            self._pop(entry_id)
            self._intake.forget(entry_id)
            if session := self.searches.sessions.get(search_id):
                self.searches.drop(session)

    async def _work(self) -> None:
        await begin_work(self.link, self._arguments, self._crawler.settings)
        self._life.started, _ = await self.link.call(self.link.redis.time)
        self.kept = monotonic()
        logger.info("Worker %s of queue %r", self.name, self.keys.name)
        self.is_done = await self._intake.run() or self.is_done
        self._give_back(self._intake.clear())

    async def _stay_alive(self) -> None:
        while True:
            await asyncio.sleep(self.config.claim_seconds / 3)
            await self.keep()

    def _pop(self, entry_id: str) -> None:
        """An entry is not searched here any more."""
        self._intake.left(self.in_hand.host_of(entry_id))
        self.in_hand.pop(entry_id)

    def _delivered(self, is_first: bool) -> None:  # noqa: FBT001 - a callback
        self._life.done += is_first
        self.count("answered" if is_first else "answered_by_others")
        self.admission.wake()
        self._intake.answered()

    def _give_back(self, ids: set[str]) -> None:
        for entry_id in ids:
            self.in_hand.pop(entry_id)
        if not self._is_lost:
            self.leaving.give_back(ids)

    def fail(self, error: Exception) -> None:
        """End the crawl, with one line that says why."""
        self._is_lost = self._is_lost or isinstance(error, QueueLostError)
        if self._is_faulty:
            return
        self._is_faulty = True
        is_ours = not isinstance(error, QueueError | NewerEntryError)
        logger.error("%s", error, exc_info=error if is_ours else None)
        count_lost(self._crawler)
        if not self.is_ending:
            self.end()
            close_spider(self._crawler, QUEUE_FAULT)
