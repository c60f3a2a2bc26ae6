"""A lock on a folder: one process, and one thread of it, at a time writes there.

It is the system's own, so it goes with whoever holds it, however that ends.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "pools.lock"
SECONDS = 10.0  # that others are waited for: one of them writes a file
_LONGEST_PAUSE = 0.05
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN |= getattr(os, "O_CLOEXEC", 0)


@contextmanager
def locked(folder: Path, seconds: float = SECONDS, *, name: str = NAME) -> Iterator[None]:
    """Have the folder for oneself. Raises OSError where that cannot be, or takes too long."""
    descriptor = os.open(folder / name, _OPEN, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{name} is not a file")
        _take(descriptor, seconds, name)
        yield
    finally:
        os.close(descriptor)  # which lets the lock go


def _take(descriptor: int, seconds: float, name: str) -> None:
    end, pause = time.monotonic() + seconds, 0.001
    while not _is_taken(descriptor):
        if time.monotonic() > end:
            raise TimeoutError(f"another process has kept {name} for {seconds:g} s")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


if sys.platform == "win32":
    import msvcrt

    def _is_taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _is_taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
