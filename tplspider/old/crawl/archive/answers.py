"""Key pages answered in worker processes, each in its turn: the order is that of the lines."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tplspider.old.crawl.credentials import masked
from tplspider.old.crawl.key_page import KeyPage, key_page_of_line
from tplspider.old.extraction.archive_search import ArchiveAnswer, ArchiveJob, ArchiveWork
from tplspider.old.extraction.errors import ExtractionError
from tplspider.old.extraction.worker_pool import WorkerPool
from tplspider.search.answer import unanswered
from tplspider.web.page import BAD_INPUT, CRASHED

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable

    from tplspider.items import CandidateSearch
    from tplspider.old.crawl.batch.list_line import ListLine
    from tplspider.search.session import SearchOptions

_AHEAD = 4  # key pages under way for each worker: rows wait until it is their turn
_SEARCH_SECONDS = 60  # that a search may take beside its template; it takes some hundredths
_LOAD_SECONDS = 0.1  # for each load on top
_ALL_LOADS = 100_000  # where there is no limit


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """The answer to a line; without one where another line asked for the same search before."""

    line: ListLine
    page: KeyPage | None  # None for a line that is out of form
    answer: ArchiveAnswer | None
    is_lost: bool = False  # something is missing that another try would not bring


class ArchiveSearches:
    """Answers lines by *workers* processes; with 0, here and now.

    *is_known* tells of searches that were made before.
    """

    def __init__(
        self,
        work: ArchiveWork,
        options: SearchOptions,
        *,
        workers: int,
        megabytes: float,
        is_known: Callable[[str], bool],
    ) -> None:
        self._work = work
        self._options = options
        self._is_known = is_known
        self._seconds = _SEARCH_SECONDS + 2 * work.seconds
        self._most = _AHEAD * max(workers, 1)
        self._pool = WorkerPool(work, workers=workers, megabytes=megabytes)
        self._here = None if self._pool.workers else work.open()
        self._open: set[str] = set()  # searches that are under way

    async def answers(self, lines: AsyncIterable[ListLine]) -> AsyncIterator[LineAnswer]:
        """The answers, in the order of the lines."""
        waiting: deque[asyncio.Task[LineAnswer]] = deque()
        self._pool.start()
        try:
            async for line in lines:
                waiting.append(asyncio.ensure_future(self._begin(line)))
                await asyncio.sleep(0)  # it begins, and others have their turn: a signal, say
                while waiting and (waiting[0].done() or len(waiting) >= self._most):
                    yield await self._taken(waiting)
            while waiting:
                yield await self._taken(waiting)
        finally:
            for task in waiting:
                task.cancel()
            await self._pool.close()
            if self._here:
                self._here.close()

    async def _taken(self, waiting: deque[asyncio.Task[LineAnswer]]) -> LineAnswer:
        # Not awaited itself: whoever is cancelled here would cancel it, and hear only of that.
        await asyncio.wait([waiting[0]])
        found = waiting.popleft().result()
        if found.page and found.answer:
            self._open.discard(found.page.search_id)
        return found

    async def _begin(self, line: ListLine) -> LineAnswer:
        try:
            page = key_page_of_line(line, self._options)
        except ValueError as error:
            return LineAnswer(
                line, None, ArchiveAnswer(unsearched(line, BAD_INPUT, str(error)), [])
            )
        if page.search_id in self._open or self._is_known(page.search_id):
            return LineAnswer(line, page, None)
        self._open.add(page.search_id)
        job = ArchiveJob(page.url, page.requested_url, page.options, self._seconds_for(page))
        fault = ""
        for attempt in (job, replace(job, template=False)):
            try:
                found: ArchiveAnswer = (
                    self._here.do(attempt) if self._here else await self._pool.do(attempt)
                )
            except ExtractionError as error:
                fault = fault or str(error)
                continue
            if fault:
                found = replace(found, fault=fault)
            return LineAnswer(line, page, found, is_lost=bool(found.fault))
        gone = unsearched(line, CRASHED, fault, page)
        return LineAnswer(line, page, ArchiveAnswer(gone, [], fault=fault), is_lost=True)

    def _seconds_for(self, page: KeyPage) -> float:
        """How long a search may take at most, by what was asked for."""
        options = page.options
        loads = options.max_loads or _ALL_LOADS
        return self._seconds + options.max_seconds + loads * _LOAD_SECONDS


def unsearched(
    line: ListLine, outcome: str, why: str, page: KeyPage | None = None
) -> CandidateSearch:
    """The summary of a line without a search."""
    asked = masked(str(line.values.get("url") or line.text))
    return unanswered(asked, outcome, why, page.search_id if page else "")
