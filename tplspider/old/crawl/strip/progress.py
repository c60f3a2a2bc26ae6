"""How far a command is: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.standing import Pace, duration
from tplspider.old.crawl.harmless_log import harmless
from tplspider.old.crawl.printing import print_error

if TYPE_CHECKING:
    from typing import TextIO

    from tplspider.old.crawl.batch.bar import TerminalBar

_DRAWN_EVERY = 0.25  # seconds
_OF_LATE = 10.0  # seconds over which files a second are counted
_BAR = 20  # columns


@dataclass(frozen=True, slots=True)
class _Figures:
    """A part of the work at one moment."""

    what: str
    done: int
    total: int | None
    a_second: float
    seconds_left: float | None
    unit: str

    def line(self) -> str:
        of = "" if self.total is None else f" of {self.total}"
        return f"{self.what}: {self.done}{of} {self.unit}{self._pace()}"

    def bar(self, columns: int) -> str:
        head = f"{self.what} {self.done}" + ("" if self.total is None else f"/{self.total}")
        pace = self._pace()
        bar = f" |{{bar:{_BAR}}}|" if self.total else ""
        room = columns - 1 - len(head)
        if bar and room >= _BAR + 3 + len(pace):
            return f"{head}{bar}{pace.removeprefix(',')}"
        return f"{head}{pace}" if room >= len(pace) else head[: max(columns - 1, 0)]

    def _pace(self) -> str:
        left = "" if self.seconds_left is None else f", {duration(self.seconds_left)} left"
        return f", {self.a_second:.0f} {self.unit}/s{left}"


class StripProgress:
    """Tells a person how far it is, part by part; *interval* is that of lines, 0 for none."""

    def __init__(self, interval: float, *, rows_on_terminal: bool) -> None:
        self._interval = interval
        self._bar = _bar(rows_on_terminal=rows_on_terminal)
        self._what, self._unit = "", "files"
        self._total: int | None = None
        self._pace = Pace(0)
        self._next = 0.0

    def begin(self, what: str, total: int | None = None, unit: str = "files") -> None:
        """Begin the next part, of so many files, or whatever the *unit* is."""
        self._what, self._total, self._unit = what, total, unit
        self._pace = Pace(0)
        self._next = monotonic() + (_DRAWN_EVERY if self._bar else self._interval)

    def show(self, done: int) -> None:
        """Show how far it is, if it is time to."""
        now = monotonic()
        if now < self._next or not (self._bar or self._interval):
            return
        left = self._pace.seconds_left(done, self._total)
        a_second = self._pace.pages_a_second(done, _OF_LATE if self._bar else self._interval / 2)
        figures = _Figures(self._what, done, self._total, a_second, left, self._unit)
        self._pace.note(done, done)
        if self._bar:
            self._next = now + _DRAWN_EVERY
            self._bar.draw(figures)
        else:
            self._next = now + self._interval
            print_error(figures.line())

    def tell(self, line: str) -> None:
        """Print a line for a person, above the bar if there is one."""
        if self._bar:
            self._bar.hide()
        print_error(harmless(line).replace("\n", "\\n"))

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.close()


def _bar(*, rows_on_terminal: bool) -> TerminalBar | None:
    terminal = _terminal()
    if terminal is None or os.environ.get("TERM", "dumb") == "dumb" or rows_on_terminal:
        return None
    from tplspider.old.crawl.batch.bar import TerminalBar  # a library for those who see

    bar = TerminalBar(terminal)
    return bar if bar.is_open else None


def _terminal() -> TextIO | None:
    try:
        return sys.stderr if sys.stderr and sys.stderr.isatty() else None
    except ValueError:  # it is closed
        return None
