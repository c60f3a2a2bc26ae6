"""Times for tests by growth: twice the input may take at most three times as long."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST = 0.02  # seconds: what takes less is lost in the noise of a machine
TRIES = 5


def best_time(function: Callable[[], object]) -> float:
    """The seconds of CPU that *function* takes at best; no less than can be told from noise."""
    times = []
    for _ in range(TRIES):
        start = process_time()
        function()
        times.append(process_time() - start)
    return max(LEAST, min(times))
