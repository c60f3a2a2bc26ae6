"""What a worker and the process that started it tell each other, pickled one after the other."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO


class Job(Protocol):
    """To a worker: something to do, within so many seconds."""

    @property
    def seconds(self) -> float: ...


class Work(Protocol):
    """What a worker is for. It is sent to the worker, and makes there what does the jobs."""

    def start(self) -> Callable[[Any], object]:
        """What does one job after the other."""


@dataclass(frozen=True, slots=True)
class Options:
    """To a worker, once: what it is for, and how much memory it may hold."""

    work: Work
    megabytes: float
    log_level: int


@dataclass(frozen=True, slots=True)
class Started:
    """From a worker: it has the pages and goes to work, its time runs."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """From a worker: the attributes of a log record."""

    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """From a worker: what came of the job, and the memory that the worker holds by now."""

    found: Any
    megabytes: float


@dataclass(frozen=True, slots=True)
class Failed:
    """From a worker: the work raised an exception, told in a line and as a traceback."""

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
