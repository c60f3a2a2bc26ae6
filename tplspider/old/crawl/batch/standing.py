"""How far a crawl of a list is: its figures, its pace, and words for both."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds over which lines are counted to tell the time left: a few slow hosts shall not make it
# jump, and a network that is slow since an hour shall be told of.
_LONG = 600.0
_ENOUGH = 3  # lines, before anybody can tell
_APART = 1.0  # seconds between two samples
_BAR, _LONGEST_BAR = 5, 30  # columns
_WIDE = 60  # columns, from which on there is a bar whatever has to go for it
# What goes first where the line is too narrow.
_DISPENSABLE = ("pages", "before", "in work", "partial", "failed", "complete", "left")


@dataclass(frozen=True, slots=True)
class Standing:
    """The figures of a crawl at one moment; lines of a list are done when they are answered."""

    done: int
    total: int | None
    in_work: int
    complete: int
    partial: int
    failed: int
    pages_a_second: float
    seconds_left: float | None
    before: int = 0  # lines of an earlier crawl, among those that are done

    def line(self) -> str:
        """For a log."""
        of = "" if self.total is None else f" of {self.total}"
        before = f" ({self.before} before)" if self.before else ""
        pages = f"{self.pages_a_second * 60:.0f} pages a minute"
        left = "" if self.seconds_left is None else f", {duration(self.seconds_left)} left"
        return (
            f"{self.done}{of} done{before}, {self.in_work} in work, {self.complete} complete,"
            f" {self.partial} partial, {self.failed} failed, {pages}{left}"
        )

    def bar(self, columns: int) -> str:
        """For a terminal of so many columns, the last of which stays free.

        A field ``{bar:12}`` stands for the bar, so many columns wide; braces are nowhere else.
        """
        head = f"{self.done} done" if self.total is None else f"{self.done}/{self.total}"
        details = self._details()
        least = _BAR + 2 if self.total and columns >= _WIDE else 0
        for name in _DISPENSABLE:
            text = ", ".join(details.values())
            room = columns - 1 - len(f"{head}, {text}")
            if room >= least:
                break
            details.pop(name, None)
        else:
            return head[: max(columns - 1, 0)]
        bar = min(room - 2, _LONGEST_BAR)  # two more columns around it
        between = f" |{{bar:{bar}}}| " if self.total and bar >= _BAR else ", "
        return f"{head}{between}{text}"

    def _details(self) -> dict[str, str]:
        details = {"in work": f"{self.in_work} in work", "complete": f"{self.complete} complete"}
        if self.partial:
            details["partial"] = f"{self.partial} partial"
        if self.failed:
            details["failed"] = f"{self.failed} failed"
        if self.before:
            details["before"] = f"{self.before} before"
        digits = 1 if self.pages_a_second < 10 else 0
        details["pages"] = f"{self.pages_a_second:.{digits}f} pages/s"
        if self.seconds_left is not None:
            details["left"] = f"{duration(self.seconds_left)} left"
        return details


class _Sample(NamedTuple):
    at: float
    done: int
    pages: int


class Pace:
    """How quickly lines are done and pages come, of late."""

    def __init__(self, done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.started = clock()
        self._samples = deque([_Sample(self.started, done, 0)])

    @property
    def elapsed(self) -> float:
        """Seconds from the beginning."""
        return self._clock() - self.started

    def note(self, done: int, pages: int) -> None:
        """Remember how far it is now."""
        now = self._clock()
        if now - self._samples[-1].at >= _APART:
            self._samples.append(_Sample(now, done, pages))
        while len(self._samples) > 1 and self._samples[1].at <= now - _LONG:
            self._samples.popleft()

    def pages_a_second(self, pages: int, over: float) -> float:
        """Pages in the last seconds, *over* of them at least as far as there are so many."""
        now = self._clock()
        old = (each for each in reversed(self._samples) if each.at <= now - over)
        since = next(old, self._samples[0])
        return (pages - since.pages) / (now - since.at) if now > since.at else 0.0

    def seconds_left(self, done: int, total: int | None) -> float | None:
        """How long the rest will take if it goes on like this; None if nobody can tell."""
        if total is None:
            return None
        since = self._samples[0]
        if done - since.done < _ENOUGH:
            return None
        return (total - done) * (self._clock() - since.at) / (done - since.done)


def duration(seconds: float) -> str:
    """A time in hours, minutes and seconds.

    >>> duration(41.6), duration(3723)
    ('0:42', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
