"""Times for tests by growth: twice the input may take at most three times as long."""

from collections.abc import Callable
from time import process_time

LEAST = 0.02  # seconds: what takes less is lost in the noise of a machine
TRIES = 3


def best_time(function: Callable[[], object]) -> float:
    """The seconds of CPU that *function* takes at best; no less than can be told from noise."""
    times = []
    for _ in range(TRIES):
        start = process_time()
        function()
        times.append(process_time() - start)
    return max(LEAST, min(times))


def is_linear(function: Callable[[int], object], size: int) -> bool:
    """Whether twice the *size* takes *function* less than three times as long.

    What is quadratic takes four times as long whenever it is measured; a busy machine does not.
    """
    return any(
        best_time(lambda: function(2 * size)) < 3 * best_time(lambda: function(size))
        for _ in range(3)
    )
