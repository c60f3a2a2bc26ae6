"""Faults that pass by themselves: what failed is tried again a few times, after short pauses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Found = TypeVar("Found")

PAUSES = (0.5, 1.0, 2.0)  # seconds before the second try, the third and the fourth


class PassingError(OSError):
    """A fault that may be gone soon, such as that of a server with too much to do."""


class Patience:
    """Tries again what fails for a while.

    A place that has failed to the last is asked once and no more, until it answers: a server that
    is down would else cost the pauses for each of a million records.
    """

    def __init__(self, pauses: Sequence[float] = PAUSES) -> None:
        self._pauses = pauses
        self._given_up: set[str] = set()

    def have(self, place: str, work: Callable[[], Found]) -> Found:
        """What some work gives that asks at a place; OSError, that of the last try."""
        for pause in () if place in self._given_up else self._pauses:
            try:
                return work()
            except PassingError:
                time.sleep(pause)
        try:
            found = work()
        except PassingError:
            self._given_up.add(place)
            raise
        self._given_up.discard(place)
        return found
