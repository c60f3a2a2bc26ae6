"""What a worker takes from the queue: as many entries as it has places, of hosts it may ask."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from tplspider.crawl.batch.admission import OF_ONE_HOST
from tplspider.crawl.batch.batch import Unsearched
from tplspider.crawl.fleet.entry import QueueEntry
from tplspider.crawl.fleet.keys import GROUP, LEASE, WISH, leased_host
from tplspider.crawl.fleet.link import QueueError, QueueFullError
from tplspider.crawl.key_page import key_page_of_line
from tplspider.search.answer import counted
from tplspider.web.page import CRASHED

if TYPE_CHECKING:
    from tplspider.crawl.batch.list_line import ListLine
    from tplspider.crawl.fleet.worker import FleetWorker

logger = logging.getLogger(__name__)

_POLL = 0.5  # seconds until the next look, where nothing came
_AFTER_PARKING = 0.05  # seconds, where all that came has to wait for its hosts
_MEMORY_PAUSE = 5.0  # seconds until the next try, where Redis has no memory left
_OTHERS_RETURN = 3.0  # seconds in which every worker notices that Redis is back


class Intake:
    """Gives the lines of entries as there are places for their searches.

    It asks Redis in a task of its own, which nobody cancels: what was taken is not lost on the way,
    but searched, put aside for others (parked), or given back.
    """

    def __init__(self, worker: FleetWorker) -> None:
        self._worker = worker
        self._ready: deque[tuple[str, ListLine | Unsearched]] = deque()  # with ids of entries
        self._undecided: deque[QueueEntry] = deque()
        self._led_to: dict[str, str] = {}  # hosts that undecided entries have waited for
        self.loose: set[str] = set()  # ids of entries that nothing is decided about
        self._in_vain: set[str] = set()  # hosts of which only searches wait that are open already
        self._changed, self._came = asyncio.Event(), asyncio.Event()
        self._is_over = False
        self._is_full = False  # the memory of Redis
        # A worker that somebody kills again and again is not to take what others died of, or it
        # would look as if that were the cause. It takes it once it has answered something, or if
        # there is nothing else.
        self._is_proven = False

    def wake(self) -> None:
        """Look again: a search has left, or the end has come."""
        self._changed.set()

    def answered(self) -> None:
        """An answer of this worker is in the queue."""
        self._is_proven = True
        self.wake()

    def left(self, host: str) -> None:
        """A search of a host is over, as the name of its lease has it."""
        self._in_vain.discard(host)
        self.wake()

    def clear(self) -> set[str]:
        """Let go of all that nobody has begun to search; the ids of these entries."""
        ids = {entry_id for entry_id, _ in self._ready} | self.loose
        self._ready.clear()
        self._undecided.clear()
        self.loose.clear()
        return ids

    def forget(self, entry_id: str) -> None:
        """An entry is not this worker's any more."""
        self._ready = deque(each for each in self._ready if each[0] != entry_id)

    async def next(self) -> ListLine | Unsearched:
        """The next line; StopAsyncIteration when the worker is to end."""
        while not self._ready:
            if self._is_over:
                raise StopAsyncIteration
            self._came.clear()
            await self._came.wait()
        return self._ready.popleft()[1]

    async def run(self) -> bool:
        """Take until the worker ends; whether there is nothing left in the queue."""
        try:
            while not self._worker.is_ending:
                self._changed.clear()
                try:
                    pause = await self._round()
                except QueueFullError as error:
                    self._tell_full(error)
                    pause = _MEMORY_PAUSE
                if pause is None:
                    return True
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)
            return False
        finally:
            self._is_over = True
            self._came.set()

    async def _round(self) -> float | None:
        """Take what there is a place for; the seconds to wait then, None at the end."""
        worker = self._worker
        await self._after_an_absence()
        free = worker.config.searches - len(worker.ids)
        if 0 < worker.in_hand.deaths >= worker.config.claim_tries - 1:
            free = 0  # its last try: nothing else is to die with it
        count = await self._take(free) if free > 0 else 0
        before = len(worker.in_hand)
        while self._undecided and not worker.is_ending:
            entry = self._undecided[0]
            await self._decide(entry)
            self.loose.discard(entry.id)
            if self._undecided and self._undecided[0] is entry:  # unless all was given back
                self._undecided.popleft()
        self._came.set()
        await worker.release_unused()
        if self._is_full and free > 0:
            self._is_full = False
            logger.info("The queue has memory again")
        if not self._is_proven and not (count or worker.ids):
            self._is_proven = True
            logger.warning("Queue %r has nothing for this worker yet", worker.keys.name)
        if count:
            return 0 if len(worker.in_hand) > before else _AFTER_PARKING
        if free > 0 and not worker.forever and not worker.ids and await self._is_empty():
            return None
        return _POLL

    async def _after_an_absence(self) -> None:
        """Let the others tell that they live, too: after a while without Redis all look dead."""
        worker = self._worker
        if monotonic() - worker.kept > 2 / 3 * worker.config.claim_seconds:
            await worker.keep()
            await asyncio.sleep(min(_OTHERS_RETURN, worker.config.claim_seconds))

    async def _take(self, free: int) -> int:
        """Have entries that waited for hosts, then others; how many came."""
        worker, keys = self._worker, self._worker.keys
        suspects = int(self._is_proven and not worker.in_hand.deaths)
        last = worker.config.claim_tries, int(not worker.ids)
        hosts = [
            host
            for host in worker.leases.hosts
            if host not in self._in_vain and self._has_room(host)
        ]
        ms = math.ceil(1000 * worker.config.claim_seconds)
        me = GROUP, worker.name, worker.beat()
        names = [keys.name, keys.workers]
        picked = await worker.run(
            *("pick", [*names, keys.waiting], *me, ms, free, suspects, LEASE, WISH), *last, *hosts
        )
        for *_, host in picked:
            await worker.leases.take(host.decode())  # it has it, and gets to know its pace
        if any(deaths for _, _, deaths, _ in picked):
            suspects = 0
        last = worker.config.claim_tries, int(not worker.ids and not picked)
        taken = []
        if len(picked) < free and not worker.is_ending:
            taken = await worker.run("take", names, *me, free - len(picked), ms, suspects, *last)
        self._receive([*picked, *taken])
        return len(picked) + len(taken)

    def _receive(self, found: list[list[Any]]) -> None:
        known = {*self._worker.ids}
        fresh = [each for each in found if each[0].decode() not in known]
        self._worker.count("taken", len(fresh))
        self.loose.update(each[0].decode() for each in fresh)
        self._led_to |= {each[0].decode(): each[3].decode() for each in fresh if len(each) > 3}
        # An entry that is not for us to understand ends the worker, and all are given back.
        self._undecided += [QueueEntry.read(each[0], each[1], each[2]) for each in fresh]

    async def _decide(self, entry: QueueEntry) -> None:
        """Search from an entry, answer it without a search, or put it aside."""
        worker, line = self._worker, entry.line_in_queue
        led_to = self._led_to.pop(entry.id, "")
        try:
            page = key_page_of_line(line, worker.options)
        except ValueError:  # whoever reads the line finds it, and answers
            worker.count("out_of_form")
            self._give(entry, line)
            return
        if entry.deaths >= worker.config.claim_tries:
            why = f"{counted(entry.deaths, 'worker')} died while it was searched"
            worker.count("given_up")
            self._give(entry, Unsearched(line, CRASHED, why, page.search_id))
            return
        host = leased_host(page.host)
        if worker.in_hand.entry_of(page.search_id):
            self._in_vain.add(host)
        elif self._has_room(host) and await worker.leases.take(host):
            self._give(entry, line, page.search_id, host)
            if led_to:  # its key page redirects there: the search is not to wait for it again
                worker.in_hand.use(page.search_id, led_to)
            return
        await worker.leaving.park(entry.id, host)

    def _has_room(self, host: str) -> bool:
        """Whether a search of a host may begin: its share is not taken, nobody waits for it."""
        worker = self._worker
        return worker.in_hand.of_host(host) < OF_ONE_HOST and not worker.leases.is_wished(host)

    def _give(
        self, entry: QueueEntry, line: ListLine | Unsearched, search_id: str = "", host: str = ""
    ) -> None:
        self._worker.in_hand.add(entry, search_id, host)
        self._ready.append((entry.id, line))

    async def _is_empty(self) -> bool:
        worker = self._worker
        return bool(await worker.run("is_over", [worker.keys.name], GROUP))

    def _tell_full(self, error: QueueError) -> None:
        if not self._is_full:
            self._is_full = True
            logger.error("%s: no key page is taken until there is some", error)
