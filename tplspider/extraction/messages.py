"""What a worker and the process that started it tell each other, pickled one after the other."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import IO

    from tplspider.items import PageTemplate
    from tplspider.template.extract import PageSource


@dataclass(frozen=True, slots=True)
class Options:
    """To a worker, once: which extractor it runs, and within which bounds."""

    extractor: str
    megabytes: float
    log_level: int


@dataclass(frozen=True, slots=True)
class Job:
    """To a worker: extract this, within so many seconds, from so many of the pages at most.

    *for_report*: the key page as a report shows it is wanted as well; *markdown*: that, too.
    """

    key: PageSource
    pages: tuple[PageSource, ...]
    seconds: float
    most: int | None = None
    for_report: bool = False
    markdown: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """From a worker: it has the pages and goes to work, its time runs."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """From a worker: the attributes of a log record."""

    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """From a worker: what the extractor gave, and the memory that the worker holds by now."""

    found: PageTemplate | None
    megabytes: float


@dataclass(frozen=True, slots=True)
class Failed:
    """From a worker: the extractor raised an exception, told in a line and as a traceback."""

    text: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Not sent by a worker but found out: its process ended with that exit status."""

    status: int


Message = Started | LogLine | Done | Failed | Ended

# Of a worker that needs more memory than it may have.
OUT_OF_MEMORY = 86


def send(pipe: IO[bytes], message: object) -> None:
    """Send a message; pickled whole before the first byte is sent, or not sent at all."""
    pipe.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next message. Raises EOFError where the other side is gone, also in mid-sentence."""
    try:
        return pickle.load(pipe)  # noqa: S301 - our own process, of the same user
    except (pickle.UnpicklingError, OSError) as error:
        raise EOFError from error
