"""Lines that may keep us waiting, such as those of a pipe, read while the crawl goes on."""

from __future__ import annotations

import asyncio
import stat
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

T = TypeVar("T")


def is_stream(name: str) -> bool:
    """Whether a list is standard input, a pipe or the like: it can be read once."""
    if name == "-":
        return True
    try:
        mode = Path(name).stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


async def in_background(open_lines: Callable[[], Iterable[T]]) -> AsyncIterator[T]:
    """The lines, opened and each read by a thread when it is asked for.

    The thread is one that Python does not wait for at its end: it may wait for a line for ever.
    """
    loop = asyncio.get_running_loop()
    wanted: SimpleQueue[asyncio.Future[T | None] | None] = SimpleQueue()

    def read() -> None:
        iterator: Iterator[T] | None = None
        while (future := wanted.get()) is not None:
            line: T | Exception | None
            try:
                iterator = iter(open_lines()) if iterator is None else iterator
                line = next(iterator, None)
            except Exception as error:  # noqa: BLE001 - whoever asks for the line is told
                line = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_answer, future, line)

    Thread(target=read, name="list of key pages", daemon=True).start()
    try:
        while True:
            future: asyncio.Future[T | None] = loop.create_future()
            wanted.put(future)
            line = await future
            if line is None:
                return
            yield line
    finally:
        wanted.put(None)


def _answer(future: asyncio.Future[T | None], line: T | Exception | None) -> None:
    if future.done():  # by being cancelled
        return
    if isinstance(line, Exception):
        future.set_exception(line)
    else:
        future.set_result(line)
