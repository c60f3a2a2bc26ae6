"""The worker: a process that extracts templates for the one that started it, one at a time.

Whoever started it holds the other ends of its pipes. Standard input brings pages and standard
output takes templates; when input ends, the worker ends, in the middle of a page as well.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import pickle
import signal
import sys
import time
import traceback
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from tplspider.old.extraction.extractors import one_line
from tplspider.old.extraction.memory import offer_to_the_system, resident, set_hard_limit, watched
from tplspider.old.extraction.messages import (
    OUT_OF_MEMORY,
    Done,
    Failed,
    Job,
    LogLine,
    Options,
    Started,
    receive,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

_LONGEST = 10_000_000  # seconds that every system can count
GRACE = 1.0  # seconds to end in good order, before the end is forced

_RECORD = (
    "name levelno levelname pathname filename module lineno funcName created msecs process"
    " processName thread threadName"
).split()


def main(requests: IO[bytes]) -> None:
    """Do what *requests*, which was standard input, asks for until it ends."""
    _leave_signals_to_the_parent()
    offer_to_the_system()
    answers = _take_standard_output()
    # A crash in a parser leaves at least the line of Python that called it.
    with suppress(OSError, ValueError):
        faulthandler.enable()
    options: Options = receive(requests)
    set_hard_limit(2 * options.megabytes)
    lock = Lock()

    def tell(message: object) -> None:
        with lock:
            send(answers, message)

    logging.getLogger().addHandler(_LinesToParent(tell))
    logging.getLogger().setLevel(options.log_level)
    jobs: SimpleQueue[Job | None] = SimpleQueue()
    Thread(target=_read, args=(requests, jobs), name="requests", daemon=True).start()
    try:
        # Now, while nobody waits: what it imports takes its time.
        do = options.work.start()
        while job := jobs.get():
            tell(Started())
            tell(_answer(job, do, options.megabytes))
    except BrokenPipeError:
        os._exit(0)  # nobody is there any more


def _answer(job: Job, do: Callable[[Any], object], megabytes: float) -> Done | Failed:
    try:
        with watched(megabytes, _out_of_memory), _alarm(job.seconds + GRACE):
            found = do(job)
            pickle.dumps(found)  # now, while a fault can be told
        return Done(found, resident())
    except MemoryError:
        _out_of_memory()
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit too: it is told, and life goes on
        return Failed(one_line(error), "".join(traceback.format_exception(error)))


def _out_of_memory() -> None:
    os._exit(OUT_OF_MEMORY)


def _read(requests: IO[bytes], jobs: SimpleQueue[Job | None]) -> None:
    """Hand over jobs, and end the process once there can be none any more."""
    try:
        with suppress(EOFError):
            while True:
                jobs.put(receive(requests))
    finally:
        jobs.put(None)
        time.sleep(GRACE)
        os._exit(0)  # it is at work, and nobody waits for that


def _leave_signals_to_the_parent() -> None:
    """Ignore what ends a crawl in good order: Ctrl-C and the like, which go to the whole group.

    The crawl may want a template yet, of what was found so far.
    """
    ours = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGBREAK")]
    for number in filter(None, ours):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # until now they were held back
        signal.pthread_sigmask(signal.SIG_UNBLOCK, filter(None, ours))


def _take_standard_output() -> IO[bytes]:
    """The pipe for answers; what extractors print goes to standard error and confuses nobody."""
    answers = os.fdopen(os.dup(1), "wb")
    try:
        os.dup2(2, 1)
    except OSError:  # there is none
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return answers


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Let the system end this process after that time, where it can.

    The parent does so as soon as time is up. If it is gone, and a call of a function written in C
    keeps the thread from running that would notice, this is what is left.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class _LinesToParent(logging.Handler):
    """Sends log records to the parent, whose log they belong to."""

    def __init__(self, tell: Callable[[object], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        try:
            attributes = {name: getattr(record, name) for name in _RECORD}
            self._tell(LogLine({**attributes, "msg": self.format(record), "args": None}))
        except BrokenPipeError:
            pass
        except Exception:  # noqa: BLE001 - as every handler does
            self.handleError(record)
