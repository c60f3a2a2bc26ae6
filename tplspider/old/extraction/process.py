"""One worker, as seen by the process that starts it."""

from __future__ import annotations

import asyncio
import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING

from tplspider.old.extraction.extractors import one_line
from tplspider.old.extraction.messages import Done, Ended, Failed, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tplspider.old.extraction.messages import Job, Message, Options

# First of all a worker gives way to the event loop: where there are not processors enough, what it
# imports would keep the first page waiting. Then standard input is moved away before anything can
# read from it. Modules are found where they are found here, also in the egg of a scrapyd job.
_GIVE_WAY = "import os; getattr(os, 'nice', int)(10);"
_BOOTSTRAP = (
    " import os, pickle, sys; pipe = open(os.dup(0), 'rb'); sys.path[:] = pickle.load(pipe);"
    " from tplspider.old.extraction.worker import main; main(pipe)"
)
END_SECONDS = 5  # for a worker that is asked to end


def can_start() -> bool:
    """Whether there is an interpreter to start: not in a program that was frozen with its own."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


class WorkerProcess:
    """A Python process of its own, not a fork: there are threads here, and an event loop.

    Threads with blocking pipes talk to it, because that works with every event loop and whoever
    looks after the end of child processes. They are daemons: a crawl that is stopped by force does
    not wait for them.
    """

    def __init__(self, options: Options, *, gives_way: bool = True) -> None:
        low = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
        code = f"{_GIVE_WAY if gives_way else ''}{_BOOTSTRAP}".strip()
        with _signals_held_back():
            # -P: modules are not looked for in the current folder before sys.path is known.
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                creationflags=low if gives_way else 0,
            )
        assert self._process.stdin
        assert self._process.stdout
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        self.was_ready = False  # whether it has begun with a job
        self._pipes = Lock()  # closed by one thread, they must not be in use by another
        with suppress(OSError):  # it has ended already: talking to it will tell
            self._requests.write(pickle.dumps([str(entry) for entry in sys.path]))
            send(self._requests, options)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """With what the process ended; None while it lives."""
        return self._process.poll()

    def talk(self, job: Job) -> asyncio.Queue[Message]:
        """Hand over a job; what the worker has to say comes by and by, the last thing at last."""
        messages: asyncio.Queue[Message] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def post(message: Message) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                loop.call_soon_threadsafe(messages.put_nowait, message)

        Thread(target=self._talk, args=(job, post), name="extraction", daemon=True).start()
        return messages

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self._process.kill()

    def discard(self) -> None:
        """End it at once; nobody waits until nothing is left of it."""
        self.kill()
        Thread(target=self._end, name="extraction end", daemon=True).start()

    async def end(self) -> None:
        """Let it end in good order, if it does so soon; nothing is left of it afterwards."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def end() -> None:
            self._end()
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        Thread(target=end, name="extraction end", daemon=True).start()
        await ended.wait()

    def _talk(self, job: Job, post: Callable[[Message], None]) -> None:
        with self._pipes:
            try:
                send(self._requests, job)
                while True:
                    message = receive(self._answers)
                    post(message)
                    if isinstance(message, Done | Failed):
                        return
            except (EOFError, OSError):
                self._close()
                post(Ended(self._process.returncode))
            except Exception as error:  # noqa: BLE001 - a template that cannot be unpickled here
                self.kill()
                self._close()
                post(Failed(one_line(error), ""))

    def _end(self) -> None:
        with self._pipes:
            self._close()

    def _close(self) -> None:
        with suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._answers.close()


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Hold Ctrl-C back meanwhile, here and in what is started: it decides what to do with it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def describe_end(status: int) -> str:
    """How a process ended, in words.

    >>> describe_end(-9)
    'it was killed by SIGKILL'
    """
    if status >= 0:
        return f"it ended with exit status {status}"
    try:
        return f"it was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was killed by signal {-status}"
