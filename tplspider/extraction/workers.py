"""Templates from worker processes: a queue, bounds of time and memory, and what becomes of both."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING

from tplspider.extraction import EXTRACTOR, MEGABYTES, SECONDS
from tplspider.extraction.extractors import (
    extractor_name,
    load_extractor,
    one_line,
    run_job,
)
from tplspider.extraction.messages import (
    OUT_OF_MEMORY,
    Done,
    Failed,
    Job,
    LogLine,
    Options,
    Started,
)
from tplspider.extraction.process import WorkerProcess, can_start, describe_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.extraction.extractors import Extractor
    from tplspider.items import PageTemplate
    from tplspider.template.extract import PageSource

logger = logging.getLogger(__name__)

_ALARM = getattr(signal, "SIGALRM", 0)
START_SECONDS = 60  # for a worker to import what it needs, on the slowest machine


class ExtractionError(Exception):
    """There is no template; the message says why, in a line."""


class ExtractionTimeoutError(ExtractionError):
    """It took too long."""


class ExtractionMemoryError(ExtractionError):
    """It took too much memory."""


class WorkerDiedError(ExtractionError):
    """The process that was at work ended, or could not be started."""


class ExtractorFailedError(ExtractionError):
    """The extractor raised an exception, whose traceback is a note of this one."""


class ExtractionWorkers:
    """Extracts templates in *workers* processes, which see to one key page each at a time.

    Whatever happens to a process, or is done to it here, costs the template that it was at: what
    waits is done by the next one. With 0 workers the work is done here and now, where an event loop
    waits for it: for reactors without asyncio, and for those who want no process.
    """

    def __init__(
        self,
        extractor: str | Extractor = EXTRACTOR,
        *,
        workers: int = 1,
        seconds: float = SECONDS,
        megabytes: float = MEGABYTES,
        for_report: bool = False,
        markdown: bool = False,
    ) -> None:
        self._extractor = extractor_name(extractor)
        self._workers = workers if can_start() else 0
        self._seconds = seconds
        self._megabytes = megabytes
        self._for_report = for_report
        self._markdown = markdown
        self._turns = asyncio.Semaphore(workers)
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._limits: set[asyncio.Timeout] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """The processes that there are."""
        return [worker.pid for worker in (*self._busy, *self._idle)]

    def start(self) -> None:
        """Start the workers, without waiting until they are ready."""
        while len(self.pids) < self._workers and not self._closed:
            try:
                self._idle.append(self._new_worker())
            except OSError:
                return  # whoever needs it is told

    async def extract(
        self,
        key: PageSource,
        pages: Sequence[PageSource],
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> PageTemplate | None:
        """What the extractor makes of the pages; raises ExtractionError if it cannot.

        Of the pages, those that tell most come first; *most* of them are enough.
        A template has the seconds of the constructor from the moment a worker is at it. *seconds*
        count from now, with the time until it has its turn. Cancelling ends the work on it.
        """
        if not self._workers:
            return self._extract_here(key, pages, seconds, most)
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limits.add(limit)
                try:
                    async with self._turns:
                        return await self._extract(self._job(key, pages, most))
                finally:
                    self._limits.discard(limit)
        except TimeoutError:
            raise ExtractionTimeoutError("there was no more time for it") from None

    def hurry(self, seconds: float) -> None:
        """Give up on whatever is not done in so many seconds from now."""
        for limit in self._limits:
            end = asyncio.get_running_loop().time() + seconds
            if not limit.expired() and end < (limit.when() or float("inf")):
                limit.reschedule(end)

    async def close(self) -> None:
        """End all workers, and what they are at; there is no template any more."""
        self._closed = True
        for worker in self._busy:
            worker.kill()
        ending, self._idle = [*self._idle, *self._busy], []
        if ending:
            await asyncio.gather(*(worker.end() for worker in ending))

    def _job(self, key: PageSource, pages: Sequence[PageSource], most: int | None) -> Job:
        return Job(key, tuple(pages), self._seconds, most, self._for_report, self._markdown)

    async def _extract(self, job: Job) -> PageTemplate | None:
        worker = self._take_worker()
        self._busy.add(worker)
        reusable = False
        try:
            answer = await self._answer(worker, job)
            # One that has grown is not used again: the next page is to have all of the memory.
            held = answer.megabytes if isinstance(answer, Done) else 0
            reusable = held <= self._megabytes / 2 and worker.status is None and not self._closed
        finally:
            self._busy.discard(worker)
            if reusable:
                self._idle.append(worker)
            else:
                worker.discard()
        if isinstance(answer, Done):
            return answer.found
        error = ExtractorFailedError(answer.text)
        error.add_note(answer.traceback)
        raise error

    async def _answer(self, worker: WorkerProcess, job: Job) -> Done | Failed:
        messages = worker.talk(job)
        loop = asyncio.get_running_loop()
        started = False
        try:
            async with asyncio.timeout(START_SECONDS) as limit:
                while True:
                    message = await messages.get()
                    if isinstance(message, Started):
                        started = True
                        limit.reschedule(loop.time() + job.seconds)
                    elif isinstance(message, LogLine):
                        _log(message)
                    elif isinstance(message, Done | Failed):
                        return message
                    else:
                        raise self._why_ended(message.status)
        except TimeoutError:
            if not started:
                raise WorkerDiedError(f"the worker was not ready in {START_SECONDS} s") from None
            raise ExtractionTimeoutError(f"it takes more than {job.seconds:g} s") from None

    def _why_ended(self, status: int) -> ExtractionError:
        if self._closed:
            return WorkerDiedError("the workers were ended")
        if status == OUT_OF_MEMORY:
            return ExtractionMemoryError(f"it needs more than {self._megabytes:g} MB")
        if status == -_ALARM:
            return ExtractionTimeoutError(f"it takes more than {self._seconds:g} s")
        return WorkerDiedError(f"the worker died: {describe_end(status)}")

    def _take_worker(self) -> WorkerProcess:
        if self._closed:
            raise WorkerDiedError("the workers were ended")
        while self._idle:
            worker = self._idle.pop()
            if worker.status is None:
                return worker
            logger.warning("A worker died while it waited: %s", describe_end(worker.status))
            worker.discard()
        try:
            return self._new_worker()
        except OSError as error:
            raise WorkerDiedError(f"no worker can be started: {error}") from error

    def _new_worker(self) -> WorkerProcess:
        worker = WorkerProcess(Options(self._extractor, self._megabytes, _log_level()))
        logger.debug("Extraction worker %d is started", worker.pid)
        return worker

    def _extract_here(
        self,
        key: PageSource,
        pages: Sequence[PageSource],
        seconds: float | None,
        most: int | None,
    ) -> PageTemplate | None:
        limit = self._seconds if seconds is None else min(seconds, self._seconds)
        try:
            extractor = load_extractor(self._extractor)
            return run_job(extractor, self._job(key, pages, most), seconds=limit)
        except TimeoutError as error:
            raise ExtractionTimeoutError(str(error)) from error
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            # A worker that wants to end the process ends its own; here it is that of the crawl.
            raise ExtractorFailedError(one_line(error)) from error


def _log_level() -> int:
    """The lowest level that anybody here wants to read."""
    root = logging.getLogger()
    wanted = min((handler.level for handler in root.handlers), default=logging.WARNING)
    return max(wanted, root.level)


def _log(line: LogLine) -> None:
    record = logging.makeLogRecord(line.record)
    receiver = logging.getLogger(record.name)
    if receiver.isEnabledFor(record.levelno):
        receiver.handle(record)
