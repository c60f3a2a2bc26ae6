"""Pages without their templates from worker processes, each of which knows some sites."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from tplspider.old.extraction import MEGABYTES, SECONDS
from tplspider.old.extraction.errors import (
    ExtractionTimeoutError,
    ExtractorFailedError,
    WorkerDiedError,
)
from tplspider.old.extraction.extractors import one_line
from tplspider.old.extraction.strip_job import PageId, PoolForgotten, StripJob, StripWork, id_of
from tplspider.old.extraction.worker_pool import WorkerPool
from tplspider.pools.site_templates import COMPANIONS, Stripper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

_SITES = 1000  # that a worker is remembered for ...
_POOLS = 64  # ... and of which it may still have the pool


@dataclass(slots=True)
class _Lane:
    """One worker: how much it has to do, and what it was sent of the pool of each site."""

    worker: WorkerPool
    waiting: int = 0
    sent: OrderedDict[str, frozenset[PageId]] = field(default_factory=OrderedDict)


class StripWorkers:
    """Strips pages in *workers* processes; with 0, here and now.

    The pages of a site go to one of them, which keeps its pool ready; with *spread*, to whichever
    has least to do. Jobs of one worker are done in the order in which they are given. Whatever
    happens to a process costs the page that it was at.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        companions: int = COMPANIONS,
        wanted: frozenset[str] | None = None,
        seconds: float = SECONDS,
        megabytes: float = MEGABYTES,
        spread: bool = False,
    ) -> None:
        work = StripWork(companions, wanted)
        lanes = [WorkerPool(work, workers=1, megabytes=megabytes) for _ in range(workers)]
        self._lanes = [_Lane(worker) for worker in lanes if worker.workers]
        self._of_site: OrderedDict[str, _Lane] = OrderedDict()
        self._seconds = seconds
        self._spread = spread
        self._wanted = wanted
        self._here = Stripper(companions=companions)

    @property
    def pids(self) -> list[int]:
        """The processes that there are."""
        return [pid for lane in self._lanes for pid in lane.worker.pids]

    def start(self) -> None:
        """Start the workers, without waiting until they are ready."""
        for lane in self._lanes:
            lane.worker.start()

    async def strip(self, site: str, page: PooledPage, pool: Sequence[PooledPage]) -> PageTemplate:
        """The page without its template; raises ExtractionError if there is none."""
        if not self._lanes:
            return self._strip_here(site, page, pool)
        lane = self._lane(site)
        lane.waiting += 1
        try:
            found = await lane.worker.do(self._job(lane, site, page, pool))
            if isinstance(found, PoolForgotten):
                lane.sent.pop(site, None)
                found = await lane.worker.do(self._job(lane, site, page, pool))
        finally:
            lane.waiting -= 1
        if isinstance(found, PoolForgotten):
            raise WorkerDiedError("the worker forgot the pool of its site twice")
        return cast("PageTemplate", found)

    def hurry(self, seconds: float) -> None:
        """Give up on whatever is not done in so many seconds from now."""
        for lane in self._lanes:
            lane.worker.hurry(seconds)

    async def close(self) -> None:
        """End all workers, and what they are at."""
        await asyncio.gather(*(lane.worker.close() for lane in self._lanes))

    def _lane(self, site: str) -> _Lane:
        least = min(self._lanes, key=lambda lane: lane.waiting)
        if self._spread:
            return least
        lane = self._of_site.setdefault(site, least)
        self._of_site.move_to_end(site)
        while len(self._of_site) > _SITES:
            self._of_site.popitem(last=False)
        return lane

    def _job(
        self, lane: _Lane, site: str, page: PooledPage, pool: Sequence[PooledPage]
    ) -> StripJob:
        sent = lane.sent.get(site, frozenset())
        ids = tuple(map(id_of, pool))
        lane.sent[site] = frozenset(ids)
        lane.sent.move_to_end(site)
        while len(lane.sent) > _POOLS:  # of others the worker is sent all again
            lane.sent.popitem(last=False)
        added = tuple(each for each, name in zip(pool, ids, strict=True) if name not in sent)
        return StripJob(site, page, ids, added, self._seconds)

    def _strip_here(self, site: str, page: PooledPage, pool: Sequence[PooledPage]) -> PageTemplate:
        try:
            return self._here.strip(site, page, pool, wanted=self._wanted, seconds=self._seconds)
        except TimeoutError as error:
            raise ExtractionTimeoutError(str(error)) from error
        except Exception as error:
            raise ExtractorFailedError(one_line(error)) from error
