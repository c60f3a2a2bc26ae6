"""The time that searches have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.utils.asyncio import CallLaterResult


class SearchClocks:
    """A timer for each search that has a limit of time, by its id."""

    def __init__(self) -> None:
        self._timers: dict[str, CallLaterResult] = {}

    def start(self, search_id: str, seconds: float, alarm: Callable[[], object]) -> None:
        """From now on a search has that many seconds; then *alarm* is called."""

        def ring() -> None:
            self._timers.pop(search_id, None)
            alarm()

        self._timers[search_id] = call_later(seconds, ring)

    def end(self, search_id: str) -> None:
        """A search is over."""
        if timer := self._timers.pop(search_id, None):
            timer.cancel()

    def end_all(self) -> None:
        for search_id in list(self._timers):
            self.end(search_id)
