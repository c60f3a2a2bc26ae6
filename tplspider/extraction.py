"""Texts of key pages, extracted in worker processes: a hang or a crash costs one text."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tplspider.items import PageTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tplspider.template.extract import PageSource

    Extractor = Callable[[PageSource, Sequence[PageSource]], PageTemplate | None]

EXTRACTOR = "tplspider.template.extract.extract_template"
SECONDS = 120  # ten times what four pages of 10 MB take, the largest that are loaded by default
MEGABYTES = 2000  # the same pages need 1000 to 1700
_START_SECONDS = 60  # for a worker to import what it needs, on a slow machine
_END_SECONDS = 5


class ExtractionError(Exception):
    """There is no text; the message is one line for the user, and *outcome* is a word for it."""

    def __init__(self, message: str, outcome: str = "error") -> None:
        super().__init__(message)
        self.outcome = outcome


def load_extractor(name: str) -> Extractor:
    """The function at an import path, ``package.module.function``. Raises ValueError if none is."""
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # importing runs the module
        raise ValueError(f"extractor {name!r}: {_one_line(error)}") from error
    if not callable(found):
        raise ValueError(f"extractor {name!r}: {type(found).__name__} is not a function")  # noqa: TRY004 - of a setting
    return cast("Extractor", found)


def run_extractor(
    extractor: Extractor,
    key: PageSource,
    pages: Sequence[PageSource],
    *,
    most: int | None = None,
    for_report: bool = False,
    markdown: bool = False,
) -> PageTemplate | None:
    """The result of an extractor. Raises TypeError if it is not a PageTemplate.

    Fields that only our own extractor sets are filled in. *most* goes to an extractor that takes
    it; any other gets the first *most* pages. *for_report* adds the cleaned key page, *markdown*
    adds the texts as Markdown.
    """
    takes_most = most is not None and "most" in inspect.signature(extractor).parameters
    options: Any = {"most": most} if takes_most else {}
    found: object = extractor(key, pages if takes_most else pages[:most], **options)
    if found is None:
        return None
    if not isinstance(found, PageTemplate):
        raise TypeError(f"the extractor gave a {type(found).__name__}, not a PageTemplate")
    found.key_url = key.url
    if found.candidates and not found.evidence:
        found.evidence = len(found.candidates)
        found.main_text, found.main_html = found.content_text, found.content_html
    if for_report:
        from tplspider.report.clean_page import clean_page

        found.key_html = clean_page(key.html, key.url, not_template=found.not_template)
    if markdown:
        from tplspider.template.markdown import add_markdown

        add_markdown(found, key.html)
    return found


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


class Extraction:
    """Extracts texts in up to *workers* processes, which start when there is work for them.

    Texts queue here, where every time limit reaches them. A worker that did not answer is replaced.
    """

    def __init__(
        self,
        extractor: str,
        *,
        workers: int,
        megabytes: float,
        seconds: float = SECONDS,
        **options: bool,  # of run_extractor
    ) -> None:
        self._extractor, self._options = extractor, options
        self._workers, self._seconds, self._megabytes = workers, seconds, megabytes
        self._turns = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []
        self._limits: set[asyncio.Timeout] = set()
        self._closed = False

    async def extract(
        self,
        key: Any,
        pages: Sequence[Any],
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> PageTemplate | None:
        """What the extractor makes of the pages, the best ones first; raises ExtractionError.

        The seconds of the constructor count from when a worker begins, *seconds* from now.
        """
        if self._closed:
            raise ExtractionError("the workers were stopped")
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limits.add(limit)
                try:
                    async with self._turns:
                        answer = await self._ask(key, tuple(pages), {**self._options, "most": most})
                finally:
                    self._limits.discard(limit)
        except TimeoutError:
            raise ExtractionError("timed out: no time was left", "timeout") from None
        if answer.out_of_memory:
            raise ExtractionError(f"needs more than {self._megabytes:g} MB", "out-of-memory")
        if answer.fault:
            raise ExtractionError(f"the extractor failed with {answer.fault}")
        return answer.found

    def hurry(self, seconds: float) -> None:
        """Give up on texts that are queued or running now and not done in so many seconds."""
        end = asyncio.get_running_loop().time() + seconds
        for limit in self._limits:
            if not limit.expired() and end < (limit.when() or float("inf")):
                limit.reschedule(end)

    async def close(self) -> None:
        """Stop all workers; texts in progress and later ones fail."""
        self._closed = True
        self.hurry(0)
        for _ in range(self._workers):
            await self._turns.acquire()
        for _ in range(self._workers):
            self._turns.release()
        while self._idle:
            await asyncio.to_thread(self._idle.pop().end)

    async def _ask(self, *job: object) -> _Answer:
        worker, answer = self._worker(), None
        try:
            if not worker.is_ready:
                await worker.ask((self._extractor, self._megabytes), _START_SECONDS)
            answer = await worker.ask(job, self._seconds)
        except TimeoutError:
            raise ExtractionError(f"timed out after {self._seconds:g} s", "timeout") from None
        finally:
            # After a text that took much memory, a new worker starts with all of it.
            if answer and not answer.grown and not self._closed:
                self._idle.append(worker)
            else:
                worker.kill()
        return answer

    def _worker(self) -> _Worker:
        while self._idle:
            if (worker := self._idle.pop()).is_alive:
                return worker
            worker.kill()
        return _Worker()


class _Worker:
    """A process that answers by its standard output what comes by its standard input.

    It is no multiprocessing.Process: that would fork a process with threads, or run the main module
    again, and a script without ``if __name__ == "__main__"`` would crawl once more.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            start_new_session=True,  # Ctrl-C signals a whole group: that is for the crawl
        )
        self._stdin, self._stdout = cast("Any", (self._process.stdin, self._process.stdout))
        self.is_ready = False

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def ask(self, job: object, seconds: float) -> _Answer:
        """The answer to a job, the first of which names the extractor and bounds its memory."""
        future: Future[_Answer] = Future()
        # Not by asyncio.to_thread: the interpreter waits for such threads before it exits.
        Thread(target=self._exchange, args=(job, future), daemon=True).start()
        async with asyncio.timeout(seconds):
            answer = await asyncio.wrap_future(future)
        self.is_ready = True
        return answer

    def _exchange(self, job: object, future: Future[_Answer]) -> None:
        future.set_running_or_notify_cancel()
        try:
            pickle.dump(job, self._stdin)
            self._stdin.flush()
            future.set_result(pickle.load(self._stdout))  # noqa: S301 - ours
        except (OSError, EOFError, pickle.UnpicklingError):
            why = f"the worker was killed (status {self.end()})"
            future.set_exception(ExtractionError(why, "crashed"))
        except Exception as error:  # noqa: BLE001 - an answer of a class of the extractor's own
            future.set_exception(ExtractionError(_one_line(error)))

    def kill(self) -> None:
        self._process.kill()
        self.end()

    def end(self) -> int:
        """Wait until the process has ended, as it does without further jobs; its exit status."""
        with suppress(OSError):
            self._stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._process.kill()
        self._stdout.close()
        return self._process.wait()


# The rest runs in the worker.


class _Answer(NamedTuple):
    found: PageTemplate | None = None
    fault: str = ""
    out_of_memory: bool = False
    grown: bool = False  # the next text is to have all of the memory


_state = SimpleNamespace(extractor=None, start=0, room=0)


def main() -> None:
    """Answer jobs until standard input ends."""
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the extractor may read and print
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # not buffered until the worker is killed
    with jobs, answers, suppress(EOFError):
        _begin(*pickle.load(jobs))  # noqa: S301 - ours
        answer = pickle.dumps(_Answer())
        while True:
            answers.write(answer)
            answers.flush()
            answer = _work(*pickle.load(jobs))  # noqa: S301 - ours


def _begin(extractor: str, megabytes: float) -> None:
    if sys.platform != "win32":
        os.nice(10)  # the crawl comes first
    _state.extractor = load_extractor(extractor)
    if sys.platform == "linux":
        import ctypes
        import resource

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: when the crawl is killed
        _state.start, _state.room = _peak(), int(megabytes * 1_000_000)
        with suppress(OverflowError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (_state.start + _state.room,) * 2)


def _work(key: PageSource, pages: tuple[PageSource, ...], options: dict[str, Any]) -> bytes:
    try:
        found = run_extractor(_state.extractor, key, pages, **options)
        return pickle.dumps(_Answer(found, grown=_peak() > _state.start + _state.room * 0.5))
    except BaseException as error:  # noqa: BLE001 - SystemExit too
        # A parser that is refused memory may blame the page for it.
        if isinstance(error, MemoryError) or _peak() > _state.start + _state.room * 0.9:
            return pickle.dumps(_Answer(out_of_memory=True, grown=True))
        return pickle.dumps(_Answer(fault=_one_line(error)))


def _peak() -> int:
    """The most address space that this process has had, in bytes; 0 where there is no limit."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if sys.platform == "linux" else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmPeak:"))
