"""How much memory this process holds, and may hold."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]  # told from the module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MB = 1_000_000
_STATUS = Path("/proc/self/statm")
_PAUSE = 0.05  # seconds between two looks


def resident() -> float:
    """The memory held in MB, 0 where it cannot be told: on Windows.

    On macOS it is the most so far. On Linux that figure is no good: where a process was started by
    ``vfork``, it begins with that of its parent.
    """
    if resource is None:
        return 0
    try:
        pages = _STATUS.read_text("ascii").split()[1]
    except OSError:
        # In bytes there; where the unit is kB (the BSDs) the bound is wide, and nothing worse.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MB
    return int(pages) * resource.getpagesize() / MB


def set_hard_limit(megabytes: float) -> None:
    """Let Linux refuse this process more memory; macOS takes such limits and does not heed them.

    A look at the memory now and then cannot see to it alone: a single call of a function written in
    C may take gigabytes before Python code has its turn again.
    """
    if resource is None or not sys.platform.startswith("linux"):
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(megabytes * MB)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    with suppress(OSError, OverflowError, ValueError):  # what is not allowed is bounded anyway
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def offer_to_the_system() -> None:
    """Be the one that Linux ends when the machine is out of memory, before whoever started us."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")


@contextmanager
def watched(megabytes: float, exceeded: Callable[[], object]) -> Iterator[None]:
    """Call *exceeded*, in another thread, when more than so much memory is held meanwhile.

    Watching comes before a limit of the system: a parser that is refused memory may take it for a
    fault of the page, and say so.
    """
    over = Event()

    def watch() -> None:
        while not over.wait(_PAUSE):
            if resident() > megabytes:
                exceeded()
                return

    Thread(target=watch, name="memory", daemon=True).start()
    try:
        yield
    finally:
        over.set()
