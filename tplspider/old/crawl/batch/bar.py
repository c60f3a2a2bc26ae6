"""A bar on the last line of a terminal, above which the log goes on.

Handlers of the root logger that write to the terminal keep their level, formatter and filters: only
the stream behind them is another one while there is a bar. Scrapy puts a new handler in the place
of its old one whenever a crawl starts, so handlers are looked for again before each drawing.
"""

from __future__ import annotations

import logging
import os
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from tqdm import tqdm

if TYPE_CHECKING:
    from typing import TextIO

_COLUMNS = 80  # of a terminal that does not tell


class Drawn(Protocol):
    """Figures that can be shown: how far something is, and a line of text for so many columns."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int | None: ...

    def bar(self, columns: int) -> str:
        """The text, with a field ``{bar:12}`` for the bar."""


class _Line(tqdm):  # type: ignore[type-arg]  # of nothing: it is not iterated over
    """A line of tqdm's that is drawn when we say so, and needs no thread that watches it."""

    monitor_interval = 0


# tqdm's own lock is one for processes, and settles how they are started.
_LOCK = RLock()
_Line.set_lock(_LOCK)


class TerminalBar:
    """Shows how far a crawl is; there may be several, one for each crawl of a process."""

    _open: list[TerminalBar] = []  # noqa: RUF012 - of all

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # Not drawn before it is asked for, whence the delay; and not left out on a terminal that
        # says it has no rows.
        self._line = _Line(total=1, file=stream, leave=False, delay=1, nrows=20, bar_format=" ")
        self._columns = 0
        self._shown = ""
        self.is_open = not self._line.disable  # by TQDM_DISABLE
        if self.is_open:
            self._open.append(self)
            _lead_log(stream)

    def draw(self, standing: Drawn) -> None:
        """Show the figures, unless they are shown already."""
        if not self.is_open:
            return
        try:
            _lead_log(self._stream)
            with _LOCK:
                self._draw(standing)
        except (OSError, ValueError):  # the terminal is gone
            self.is_open = False
            self._let_go()

    def _draw(self, standing: Drawn) -> None:
        columns = _columns_of(self._stream)
        text = standing.bar(columns)
        if columns != self._columns:
            # What is there was drawn for another width: none of it shall be left, and nothing be
            # wiped out beyond the margin.
            self._line.sp = self._line.status_printer(self._stream)
            if self._shown:
                self._line.display(" " * (columns - 1))
            self._columns, self._shown = columns, ""
            self._line.ncols = max(columns - 1, 1)
        if text != self._shown:
            self._line.n, self._line.total = standing.done, standing.total
            self._line.bar_format = text
            self._line.refresh()
            self._shown = text

    def hide(self) -> None:
        """Leave the line to others, until it is drawn again."""
        if self._shown:
            self._line.clear()
            self._shown = ""

    def close(self) -> None:
        """Leave the terminal, and the log, as they were."""
        if self.is_open:
            self.is_open = False
            try:
                with _LOCK:
                    if self._shown:  # perhaps with the terminal's own ^C behind it
                        self._line.display(" " * (self._columns - 1))
                    self.hide()
                    self._stream.flush()
            except (OSError, ValueError):
                pass
            self._let_go()

    def _let_go(self) -> None:
        self._line.close()
        self._open.remove(self)
        if not self._open:
            _leave_log()

    @classmethod
    def hide_all(cls) -> None:
        for bar in cls._open:
            bar.hide()


class AboveTheBar:
    """The stream of a terminal, for those who write whole lines: they stand above the bars."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        with _LOCK:
            TerminalBar.hide_all()
            written: int = self.stream.write(text)
            return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _lead_log(stream: TextIO) -> None:
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
            handler.setStream(AboveTheBar(stream))


def _leave_log() -> None:
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.stream, AboveTheBar):
            handler.setStream(handler.stream.stream)


def _columns_of(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
