"""Worker processes that see to one job each at a time, within bounds of time and memory."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any

from tplspider.old.extraction.errors import (
    ExtractionError,
    ExtractionMemoryError,
    ExtractionTimeoutError,
    ExtractorFailedError,
    WorkerDiedError,
)
from tplspider.old.extraction.messages import (
    OUT_OF_MEMORY,
    Done,
    Failed,
    LogLine,
    Options,
    Started,
)
from tplspider.old.extraction.process import WorkerProcess, can_start, describe_end

if TYPE_CHECKING:
    from tplspider.old.extraction.messages import Job, Work

logger = logging.getLogger(__name__)

_ALARM = getattr(signal, "SIGALRM", 0)
START_SECONDS = 60  # for a worker to import what it needs, on the slowest machine


class WorkerPool:
    """Does jobs in *workers* processes, each within so many *megabytes*.

    Whatever happens to a process, or is done to it here, costs the job that it was at: what waits
    is done by the next one. Without workers there is nobody to do it. They give way to this
    process, unless it has nothing to do but wait for them.
    """

    def __init__(
        self, work: Work, *, workers: int, megabytes: float, gives_way: bool = True
    ) -> None:
        self.workers = workers if can_start() else 0
        self._work = work
        self._gives_way = gives_way
        self._megabytes = megabytes
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
        while len(self.pids) < self.workers and not self._closed:
            try:
                self._idle.append(self._new_worker())
            except OSError:
                return  # whoever needs it is told

    async def do(self, job: Job, seconds: float | None = None) -> Any:
        """What comes of a job; raises ExtractionError if nothing does.

        A job has its own seconds from the moment a worker is at it. *seconds* count from now, with
        the time until it has its turn. Cancelling ends the work on it.
        """
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limits.add(limit)
                try:
                    async with self._turns:
                        return await self._do(job)
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
        """End all workers, and what they are at; no job is done any more."""
        self._closed = True
        for worker in self._busy:
            worker.kill()
        ending, self._idle = [*self._idle, *self._busy], []
        if ending:
            await asyncio.gather(*(worker.end() for worker in ending))

    async def _do(self, job: Job) -> Any:
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
            # One that has been at work before has all that it needs.
            start_seconds = min(START_SECONDS, job.seconds) if worker.was_ready else START_SECONDS
            async with asyncio.timeout(start_seconds) as limit:
                while True:
                    message = await messages.get()
                    if isinstance(message, Started):
                        started = worker.was_ready = True
                        limit.reschedule(loop.time() + job.seconds)
                    elif isinstance(message, LogLine):
                        _log(message)
                    elif isinstance(message, Done | Failed):
                        return message
                    else:
                        raise self._why_ended(message.status, job)
        except TimeoutError:
            if not started:
                raise WorkerDiedError(f"the worker was not ready in {start_seconds:g} s") from None
            raise ExtractionTimeoutError(f"it takes more than {job.seconds:g} s") from None

    def _why_ended(self, status: int, job: Job) -> ExtractionError:
        if self._closed:
            return WorkerDiedError("the workers were ended")
        if status == OUT_OF_MEMORY:
            return ExtractionMemoryError(f"it needs more than {self._megabytes:g} MB")
        if status == -_ALARM:
            return ExtractionTimeoutError(f"it takes more than {job.seconds:g} s")
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
        worker = WorkerProcess(
            Options(self._work, self._megabytes, _log_level()), gives_way=self._gives_way
        )
        logger.debug("Extraction worker %d is started", worker.pid)
        return worker


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
