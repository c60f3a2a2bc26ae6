"""The time that searches have: it does not pass while they wait for what is not their site's."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.utils.asyncio import CallLaterResult


@dataclass(slots=True)
class _Clock:
    rest: float  # seconds, when it was last started
    alarm: Callable[[], object]
    timer: CallLaterResult | None = None
    started: float = 0
    holds: int = 0

    def go(self) -> None:
        self.started = monotonic()
        self.timer = call_later(self.rest, self.alarm)

    def stop(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None
            self.rest = max(0, self.rest - (monotonic() - self.started))


class SearchClocks:
    """A clock for each search that has a limit of time, by its id."""

    def __init__(self) -> None:
        self._clocks: dict[str, _Clock] = {}

    def start(self, search_id: str, seconds: float, alarm: Callable[[], object]) -> None:
        """From now on a search has that many seconds; then *alarm* is called."""

        def ring() -> None:
            self._clocks.pop(search_id, None)
            alarm()

        clock = self._clocks[search_id] = _Clock(seconds, ring)
        clock.go()

    def end(self, search_id: str) -> None:
        """A search is over."""
        if clock := self._clocks.pop(search_id, None):
            clock.stop()

    def end_all(self) -> None:
        for search_id in list(self._clocks):
            self.end(search_id)

    @contextmanager
    def stopped(self, search_id: str) -> Iterator[None]:
        """For a while, perhaps of several at once, no time passes."""
        clock = self._clocks.get(search_id)
        if clock is None:
            yield
            return
        clock.holds += 1
        clock.stop()
        try:
            yield
        finally:
            clock.holds -= 1
            if not clock.holds and self._clocks.get(search_id) is clock:
                clock.go()
