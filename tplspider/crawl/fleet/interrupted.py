"""Ctrl-C in a command that waits for something: it ends, whatever that is."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from typing import Any

T = TypeVar("T")

_AGAIN = 0.2  # seconds


def run_until_interrupted(
    work: Coroutine[Any, Any, T], signals: Iterable[signal.Signals] = (signal.SIGINT,)
) -> T:
    """What *work* gives; KeyboardInterrupt if Ctrl-C ended it, or another of these *signals*.

    A task that is cancelled once may not notice: in Python 3.11 the end of a timeout can swallow
    it. So it is told until it listens.
    """

    async def run() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def stop() -> None:
            if not task.done():
                task.cancel()
                loop.call_later(_AGAIN, stop)

        with suppress(NotImplementedError):  # Windows: then asyncio's own way has to do
            for each in signals:
                loop.add_signal_handler(each, stop)
        return await task

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
