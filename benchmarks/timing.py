"""Times measured side by side, so that a busy machine slows down both sides of a ratio."""

from __future__ import annotations

import gc
from time import process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def side_by_side(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """The shortest time of each function, in seconds of CPU: in every round each has its turn."""
    times = [float("inf")] * len(functions)
    collecting = gc.isenabled()
    gc.disable()  # as timeit does
    try:
        for _ in range(rounds):
            for i, function in enumerate(functions):
                start = process_time()
                function()
                times[i] = min(times[i], process_time() - start)
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return times


def report(
    what: str, figure: float, bound: float | None, unit: str = "x", *, at_least: bool = False
) -> bool:
    """Print a figure beside its bound, if it has one; whether that holds."""
    line = f"  {what:<64} {figure:8.2f}{unit:<3}"
    if bound is None:
        print(line)
        return True
    holds = figure >= bound if at_least else figure <= bound
    sign = ">=" if at_least else "<="
    print(f"{line} {sign} {bound:g}{unit} {'' if holds else 'MISSED'}")
    return holds
