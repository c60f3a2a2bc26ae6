"""Commands that work until they are done or ended, and the exit status for it.

Ctrl-C and SIGTERM end them: what was written by then stays, in good form, and the exit status tells
that it is not all.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tplspider.old.crawl.exit_status import LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tplspider.old.crawl.strip.progress import StripProgress

T = TypeVar("T")

_AGAIN = 0.2  # seconds


def run_until_ended(
    work: Callable[[], int],
    progress: StripProgress,
    how_far: Callable[[], str],
    *,
    command: str,
    units: str,
    faults: tuple[type[Exception], ...],
    has_others: bool = False,
) -> int:
    """Do the *work* of a command, and give the exit status; what ends it early is told in a line.

    *faults* are those of its outputs. *how_far* tells what is written by then. *has_others* is
    whether there are outputs beside standard output, which miss rows once nobody reads that.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return work()
    except faults as error:
        progress.tell(f"scrapy {command}: {error}; {how_far()}")
    except BrokenPipeError:
        if not has_others:
            return 0  # whoever reads the rows has enough
        progress.tell(f"scrapy {command}: standard output was closed: {how_far()}")
    except KeyboardInterrupt:
        progress.tell(f"scrapy {command}: ended before all {units} were done: {how_far()}")
    finally:
        signal.signal(signal.SIGTERM, before)
        progress.close()
    return LOST


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """What *work* gives; KeyboardInterrupt if Ctrl-C or SIGTERM ended it.

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
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(each, stop)
        return await task

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
