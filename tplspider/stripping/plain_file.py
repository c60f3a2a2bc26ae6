"""Reading a file that may have become anything meanwhile: never a hang, never more than is wanted.

What is not a plain file is not read: opening a pipe would wait for somebody to write to it.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from tplspider.stripping.outcomes import LINK, SPECIAL, UNREADABLE
from tplspider.web.page import TOO_LARGE

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_PART = 65536  # bytes to read at least: for more than there seem to be
_REASONS = {errno.ELOOP: LINK, errno.ENXIO: SPECIAL}  # of what has taken the place of a file


class PlainFileError(Exception):
    """The file is not read; *outcome* is what to call it."""

    def __init__(self, outcome: str, why: str = "") -> None:
        super().__init__(why or outcome)
        self.outcome = outcome


def file_of(folder: Path, path: bytes) -> str:
    """The file at a path in a folder: without pathlib, which keeps a table of all names it met."""
    return f"{folder}{os.sep}{os.fsdecode(path)}"


def read_plain_file(path: str, largest: int) -> bytes:
    """What a plain file of at most *largest* bytes holds; PlainFileError for any other."""
    try:
        opened = os.open(path, _FLAGS)
        try:
            return _read(opened, largest)
        finally:
            os.close(opened)
    except OSError as error:
        outcome = _REASONS.get(error.errno or 0, UNREADABLE)
        raise PlainFileError(outcome, error.strerror or str(error)) from None


def _read(opened: int, largest: int) -> bytes:
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):
        raise PlainFileError(SPECIAL)
    if found.st_size > largest:
        raise PlainFileError(TOO_LARGE)
    parts, size = [], 0
    while part := os.read(opened, max(found.st_size + 1 - size, _PART)):
        parts.append(part)
        size += len(part)
        if size > largest:  # it has grown meanwhile
            raise PlainFileError(TOO_LARGE)
    return b"".join(parts)
