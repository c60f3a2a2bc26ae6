"""Entries that a worker lets go without an answer: they wait for a host, or are for others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.keys import GROUP
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from tplspider.crawl.fleet.guarded_tasks import GuardedTasks
    from tplspider.crawl.fleet.worker import FleetWorker

logger = logging.getLogger(__name__)


class Leaving:
    """They are a worker's until Redis says that they are not, and count for nothing against it."""

    def __init__(self, worker: FleetWorker, tasks: GuardedTasks) -> None:
        self._worker = worker
        self._tasks = tasks
        self.ids: set[str] = set()
        self._returning: set[str] = set()  # those that are given back in a moment

    def start_parking(self, entry_id: str, host: str) -> None:
        self.ids.add(entry_id)
        self._tasks.start(self.park(entry_id, host))

    async def park(self, entry_id: str, host: str) -> None:
        """Let an entry wait for a host, by the name of its lease."""
        worker, keys = self._worker, self._worker.keys
        self.ids.add(entry_id)
        names = [keys.name, keys.waiting, keys.waiting_for(host)]
        await worker.run("park", names, GROUP, worker.name, entry_id, host)
        self.ids.discard(entry_id)
        worker.count("parked")

    def give_back(self, ids: set[str]) -> None:
        """Let others have entries at once; those of one moment go together."""
        if ids and not self._returning:
            self._tasks.start(self._return())
        self._returning |= ids
        self.ids |= ids

    async def _return(self) -> None:
        worker, ids = self._worker, self._returning
        self._returning = set()
        given = await worker.run("give_back", [worker.keys.name], GROUP, worker.name, *ids)
        self.ids -= ids
        worker.count("given_back", given)
        logger.info("Given back to the queue: %s", counted(given, "key page"))
        await worker.release_unused()
