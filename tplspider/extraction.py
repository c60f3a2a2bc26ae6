"""Texts of key pages, extracted in worker processes: a hang or a crash costs one text."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import pickle
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module
from importlib.machinery import ModuleSpec
from logging.handlers import QueueHandler
from multiprocessing import context
from pathlib import Path
from threading import Lock, Thread
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tplspider.items import PageTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

    from tplspider.template.extract import PageSource

    Extractor = Callable[[PageSource, Sequence[PageSource]], PageTemplate | None]

EXTRACTOR = "tplspider.template.extract.extract_template"
SECONDS = 120  # ten times what four pages of 10 MB take, the largest that are loaded by default
MEGABYTES = 2000  # the same pages need 1000 to 1700
_START_SECONDS = 60  # for a worker to import what it needs, on a slow machine
_KINDS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "list[str]": list}


class ExtractionError(Exception):
    """There is no text; the message is one line for the user, and *outcome* is a word for it."""

    def __init__(self, message: str, outcome: str = "error") -> None:
        super().__init__(message)
        self.outcome = outcome


def extractor_name(given: str | Extractor) -> str:
    """The import path of an extractor. Raises ValueError if a worker could not import it."""
    if isinstance(given, str):
        load_extractor(given)
        return given
    name = f"{getattr(given, '__module__', '?')}.{getattr(given, '__qualname__', given)}"
    if load_extractor(name) is not given:
        raise ValueError(f"extractor {name!r}: there is another object of that name")
    return name


def load_extractor(name: str) -> Extractor:
    """The function at an import path, ``package.module.function``. Raises ValueError if none is."""
    module, dot, attribute = name.rpartition(".")
    if not dot or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"extractor {name!r}: expected an import path, package.module.function")
    if module == "__main__":
        raise ValueError(f"extractor {name!r}: a worker cannot import it, put it into a module")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # importing runs whatever the module has in it
        raise ValueError(f"extractor {name!r}: {_one_line(error)}") from error
    if not callable(found):
        raise ValueError(f"extractor {name!r}: {type(found).__name__} is not a function")  # noqa: TRY004 - of a setting
    return cast("Extractor", found)


def run_extractor(
    extractor: Extractor,
    key: PageSource,
    pages: Sequence[PageSource],
    *,
    seconds: float | None = None,
    most: int | None = None,
    for_report: bool = False,
    markdown: bool = False,
) -> PageTemplate | None:
    """What an extractor returns, checked. Raises TypeError if it is not a PageTemplate.

    *seconds* and *most* go to an extractor that takes them; any other gets the first *most* pages.
    *for_report* adds the cleaned key page, *markdown* adds the texts as Markdown.
    """
    try:
        takes = inspect.signature(extractor).parameters
    except ValueError:  # written in C, say
        takes = MappingProxyType({})
    given = {"seconds": seconds, "most": most}
    options: Any = {k: v for k, v in given.items() if k in takes and v is not None}
    found: object = extractor(key, pages if "most" in options else pages[:most], **options)
    if found is None:
        return None
    if not isinstance(found, PageTemplate):
        raise TypeError(f"the extractor gave a {type(found).__name__}, not a PageTemplate")
    for each in fields(PageTemplate):
        value, kind = getattr(found, each.name), str(each.type)
        items = value if kind == "list[str]" and isinstance(value, list) else []
        if not isinstance(value, _KINDS[kind]) or not all(isinstance(item, str) for item in items):
            raise TypeError(f"the extractor gave a PageTemplate with an invalid {each.name}")
    found.key_url = key.url
    if for_report:
        from tplspider.report.clean_page import clean_page

        found.key_html = clean_page(key.html, key.url, not_template=found.not_template)
    if markdown:
        from tplspider.template.markdown import add_markdown

        add_markdown(found, key.html)
    return found


def with_evidence(found: PageTemplate) -> PageTemplate:
    """Fill in the fields that only our own extractor sets."""
    if not found.candidates or found.evidence:
        return found
    return replace(
        found,
        evidence=len(found.candidates),
        main_text=found.content_text,
        main_html=found.content_html,
        main_markdown=found.content_markdown,
    )


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


class Extraction:
    """Extracts texts in up to *workers* processes, which start when there is work for them.

    Each process is a pool of one: texts queue here, where every time limit reaches them, and a pool
    whose worker did not answer is replaced with its pipes and locks.
    """

    def __init__(
        self,
        extractor: str | Extractor,
        *,
        workers: int,
        seconds: float,
        megabytes: float,
        for_report: bool = False,
        markdown: bool = False,
    ) -> None:
        self._extractor = extractor_name(extractor)
        self._workers, self._seconds, self._megabytes = workers, seconds, megabytes
        self._options = {"for_report": for_report, "markdown": markdown}
        self._turns = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._limits: set[asyncio.Timeout] = set()
        self._closed = False

    async def extract(
        self,
        key: PageSource,
        pages: Sequence[PageSource],
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> PageTemplate | None:
        """What the extractor makes of the pages, the best ones first; raises ExtractionError.

        The seconds of the constructor count from when a worker begins, *seconds* from now.
        """
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limits.add(limit)
                try:
                    async with self._turns:
                        answer = await self._ask(key, tuple(pages), {**self._options, "most": most})
                finally:
                    self._limits.discard(limit)
        except TimeoutError:
            raise ExtractionError("timed out: no time is left for it", "timeout") from None
        if answer.out_of_memory:
            raise ExtractionError(f"needs more than {self._megabytes:g} MB", "out-of-memory")
        try:
            if not answer.fault:
                return cast("PageTemplate | None", pickle.loads(answer.found))  # noqa: S301 - ours
        except Exception as error:  # noqa: BLE001 - of a class of the extractor's own
            answer = _Answer(fault=_one_line(error))
        failure = ExtractionError(f"the extractor failed with {answer.fault}")
        failure.add_note(answer.traceback)
        raise failure

    def hurry(self, seconds: float) -> None:
        """Give up on what is queued or running now and not done in so many seconds."""
        end = asyncio.get_running_loop().time() + seconds
        for limit in self._limits:
            if not limit.expired() and end < (limit.when() or float("inf")):
                limit.reschedule(end)

    async def close(self) -> None:
        """End all workers, and what they are at; later texts fail."""
        self._closed = True
        self.hurry(0)
        for _ in range(self._workers):
            await self._turns.acquire()
        for _ in range(self._workers):
            self._turns.release()
        while self._idle:
            self._end(self._idle.pop())
        await asyncio.gather(*self._ending)

    async def _ask(self, *job: object) -> _Answer:
        from pebble import ProcessExpired  # imported lazily: few crawls need it

        fault = "the workers were ended"
        for _ in range(0 if self._closed else self._workers + 1):
            worker = self._idle.pop() if self._idle else _Worker(self._extractor, self._megabytes)
            answer: _Answer | None = None
            try:
                future = worker.schedule(job, self._seconds)
                # A worker that never begins has no time limit of its own.
                async with asyncio.timeout(_START_SECONDS + self._seconds):
                    answer = await asyncio.wrap_future(future)
            except TimeoutError:
                raise ExtractionError(f"timed out after {self._seconds:g} s", "timeout") from None
            except ProcessExpired as error:
                why = f"the worker was killed (status {error.exitcode})"
                raise ExtractionError(why, "crashed") from None
            except (RuntimeError, OSError) as error:  # BrokenProcessPool is a RuntimeError
                # The worker ended before it began with this text: another one may live.
                fault = f"no worker can be started: {_one_line(error.__cause__ or error)}"
            else:
                return answer
            finally:
                if answer and not answer.grown and not self._closed:
                    self._idle.append(worker)
                else:
                    self._end(worker)
        raise ExtractionError(fault)

    def _end(self, worker: _Worker) -> None:
        task = asyncio.create_task(asyncio.to_thread(worker.end))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


_STARTING = Lock()


class _Process(context.SpawnProcess):
    """Starts Python anew: a fork of a process with threads may hang."""

    def start(self) -> None:
        main = sys.modules["__main__"]
        with _STARTING:
            spec, safe_path = main.__spec__, os.environ.get("PYTHONSAFEPATH")
            # multiprocessing would run the main module in the worker, unless it has such a name: a
            # script without "if __name__ ..." would crawl again, and "scrapy" import all of Scrapy.
            main.__spec__ = ModuleSpec("tplspider.__main__", None)
            os.environ["PYTHONSAFEPATH"] = "1"  # no modules of the current folder
            try:
                super().start()
            finally:
                main.__spec__ = spec
                if safe_path is None:
                    del os.environ["PYTHONSAFEPATH"]
                else:
                    os.environ["PYTHONSAFEPATH"] = safe_path


class _Context(context.SpawnContext):
    Process = _Process


class _Worker:
    """A pool of one process, and the pipe through which it logs."""

    def __init__(self, extractor: str, megabytes: float) -> None:
        from pebble import ProcessPool

        root, mp = logging.getLogger(), _Context()
        records, self._log = mp.Pipe(duplex=False)
        Thread(target=_pass_on, args=(records,), daemon=True).start()
        level = min((handler.level for handler in root.handlers), default=logging.WARNING)
        given = (extractor, megabytes, max(level, root.level), self._log)
        self._pool = ProcessPool(1, initializer=_begin, initargs=given, context=mp)

    def schedule(self, job: tuple[object, ...], seconds: float) -> Future[_Answer]:
        try:
            return self._pool.schedule(_work, job, timeout=seconds)
        finally:
            # The process has its own end of the pipe. Without one here the pool starts no second
            # process, which could find a lock taken by one that was killed.
            self._log.close()

    def end(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


def _pass_on(records: Connection) -> None:
    """Put what a worker logs into the log of this process."""
    with suppress(EOFError, OSError):
        while record := records.recv():
            logger = logging.getLogger(record.name)
            if logger.isEnabledFor(record.levelno):
                logger.handle(record)


# The rest runs in the worker.


class _Answer(NamedTuple):
    """What came of a text, with the result pickled: the pool dies of what it cannot unpickle."""

    found: bytes = b""
    fault: str = ""
    traceback: str = ""
    out_of_memory: bool = False
    grown: bool = False  # the next text is to have all of the memory


_state = SimpleNamespace(extractor=None, start=0, room=0)


def _begin(extractor: str, megabytes: float, level: int, log: Connection) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the pool's, also while code in C hangs
    os.dup2(2, 1)  # standard output is the crawl's
    sys.stdout = sys.stderr  # not buffered until the worker is killed
    logging.getLogger().addHandler(QueueHandler(cast("Any", SimpleNamespace(put_nowait=log.send))))
    logging.getLogger().setLevel(level)
    if sys.platform != "win32":
        os.setsid()  # Ctrl-C and timeout(1) signal a whole group: that is for the crawl
        os.nice(10)  # the crawl comes first
    _state.extractor = load_extractor(extractor)
    if sys.platform == "linux":
        import ctypes
        import resource

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: when the crawl is killed
        _state.start, _state.room = _peak(), int(megabytes * 1_000_000)
        with suppress(OverflowError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (_state.start + _state.room,) * 2)


def _work(key: PageSource, pages: tuple[PageSource, ...], options: dict[str, Any]) -> _Answer:
    try:
        found = pickle.dumps(run_extractor(_state.extractor, key, pages, **options))
        return _Answer(found, grown=_peak() > _state.start + _state.room * 0.5)
    except BaseException as error:  # noqa: BLE001 - SystemExit too
        # A parser that is refused memory may blame the page for it.
        if isinstance(error, MemoryError) or _peak() > _state.start + _state.room * 0.9:
            return _Answer(out_of_memory=True, grown=True)
        return _Answer(fault=_one_line(error), traceback=traceback.format_exc())


def _peak() -> int:
    """The most address space that this process has had, in bytes; 0 where there is no limit."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if sys.platform == "linux" else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmPeak:"))
