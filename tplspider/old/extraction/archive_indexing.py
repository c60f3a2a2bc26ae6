"""Files of an archive read by worker processes; whoever asked puts them into the index, in order.

What a worker reads goes to a file of its own, in a temporary folder: a file that is done before its
turn has come takes no memory. Sooner or later, each file is handed over as if it were read then.
"""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING

from tplspider.old.extraction import MEGABYTES
from tplspider.old.extraction.errors import ExtractionError, WorkerDiedError
from tplspider.old.extraction.index_job import IndexWork, ReadFile
from tplspider.old.extraction.process import can_start
from tplspider.old.extraction.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from tplspider.old.extraction.index_job import FileRead
    from tplspider.sources.warc_archive import Reading, Readings, Seen, Tell
    from tplspider.sources.warc_index_rows import Added

_AHEAD = 3  # files for each worker that are read, or waiting for their turn
WORTH_IT = 50_000_000  # bytes: less is read in the time that workers take to start


def reading_by(workers: int, megabytes: float = MEGABYTES, least: int = WORTH_IT) -> Reading:
    """How to read files with so many *workers*, each within so many *megabytes*.

    One file, less than *least* bytes, or not two workers: then it is done here and now.
    """

    def read(
        paths: Sequence[Path], index: Path, cdxj: Sequence[Path], tell: Tell, seen: Seen
    ) -> Readings:
        from tplspider.sources.warc_archive import one_by_one

        most = min(workers, len(paths)) if can_start() else 0
        if most < 2 or sum(path.stat().st_size for path in paths) < least:
            return one_by_one(paths, index, cdxj, tell, seen)
        work = IndexWork(index.absolute(), tuple(each.absolute() for each in cdxj))
        pool = WorkerPool(work, workers=most, megabytes=megabytes, gives_way=False)
        return _read_ahead(paths, pool, tell, seen)

    return read


def _read_ahead(paths: Sequence[Path], pool: WorkerPool, tell: Tell, seen: Seen) -> Readings:
    waiting: deque[tuple[ReadFile, Future[FileRead | OSError]]] = deque()
    left = iter(enumerate(paths))
    with TemporaryDirectory() as folder, _loop_of(pool) as loop:
        while True:
            while len(waiting) < _AHEAD * pool.workers and (following := next(left, None)):
                job = ReadFile(following[1], Path(folder) / str(following[0]))
                waiting.append((job, asyncio.run_coroutine_threadsafe(_read(pool, job), loop)))
            if not waiting:
                return
            job, future = waiting.popleft()
            found = future.result()
            if not waiting:  # it was the last: workers end while its rows are written
                asyncio.run_coroutine_threadsafe(pool.close(), loop)
            yield job.path, partial(_put, found, job, tell=tell, seen=partial(seen, job.path))
            job.spool.unlink(missing_ok=True)


async def _read(pool: WorkerPool, job: ReadFile) -> FileRead | OSError:
    """A worker that dies may have been killed for no fault of the file: there is a second try."""
    try:
        try:
            return await pool.do(job)  # type: ignore[no-any-return]  # as the work says
        except WorkerDiedError:
            return await pool.do(job)  # type: ignore[no-any-return]  # as the work says
    except ExtractionError as error:
        return OSError(errno.EIO, f"it cannot be indexed: {error}", str(job.path))


def _put(
    found: FileRead | OSError,
    job: ReadFile,
    added: Added,
    tell: Tell,
    seen: Callable[[int], object],
) -> None:
    # Here and not above: what reads archives is an extra.
    from tplspider.sources.warc_index_spool import take_from

    if isinstance(found, OSError):
        raise found
    for line in found.lines:
        tell(line)
    with job.spool.open("rb") as spool:
        take_from(spool, added, seen)
    added.about = found.about


@contextmanager
def _loop_of(pool: WorkerPool) -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread of its own: workers have their jobs while rows are written here."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="indexing", daemon=True)
    thread.start()
    try:
        pool.start()
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_close(pool), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _close(pool: WorkerPool) -> None:
    """End the workers; whoever waits for one is told so."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await pool.close()
    await asyncio.gather(*others, return_exceptions=True)
