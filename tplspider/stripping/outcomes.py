"""What became of a file: a page, or why not, in the words of answers where there are any."""

from __future__ import annotations

from tplspider.old.extraction.errors import (
    ExtractionError,
    ExtractionMemoryError,
    ExtractionTimeoutError,
    WorkerDiedError,
)
from tplspider.web.page import CRASHED, ERROR, TIMEOUT

PAGE = "page"  # as of explored links
EMPTY = "empty"
LINK = "link"  # a symbolic link, which is not followed
SPECIAL = "special"  # a pipe, a socket, a device: not opened
UNREADABLE = "unreadable"  # the system refuses it, it is gone, or cannot be decoded
OUT_OF_MEMORY = "out-of-memory"

# Somebody wanted these: that they are not there is told by the exit status.
LOST = frozenset({UNREADABLE, TIMEOUT, OUT_OF_MEMORY, CRASHED, ERROR})


def outcome_of(error: ExtractionError) -> str:
    """The outcome of a page that a worker gave nothing for."""
    if isinstance(error, ExtractionTimeoutError):
        return TIMEOUT
    if isinstance(error, ExtractionMemoryError):
        return OUT_OF_MEMORY
    return CRASHED if isinstance(error, WorkerDiedError) else ERROR
