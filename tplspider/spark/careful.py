"""Work that has killed its process before: each piece of it is done in a process of its own.

Spark tries a task again when its process dies, four times, and then ends the job. So from the third
try on, what kills a process costs one row, or the pool of one site.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from typing import TYPE_CHECKING, TypeVar

from tplspider.old.extraction import SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")

_TRIES = 2  # without care
_LONGEST = 3 * SECONDS  # for a search with its template
_BLOCK = 1 << 20


def needs_care() -> bool:
    """Whether this task was tried in vain before."""
    from pyspark import TaskContext  # it is there where there are tasks

    context = TaskContext.get()
    return context is not None and int(context.attemptNumber()) >= _TRIES


def in_child(work: Callable[[], Found]) -> Found | None:
    """What some work gives, done by a copy of this process; None if that dies or takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    pieces, end = [], time.monotonic() + _LONGEST
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            piece = pipe.read(_BLOCK)
            if not piece:
                break
            pieces.append(piece)
        else:
            os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        found: Found = pickle.loads(b"".join(pieces))  # noqa: S301 - from ourselves
    except (EOFError, pickle.UnpicklingError):
        return None
    return found
