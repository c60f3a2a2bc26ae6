"""Garbage in cycles is collected while it is little, so a long list keeps a small process."""

from __future__ import annotations

import gc
from time import monotonic, thread_time

# A collection that takes 40 ms, as usual here, then comes after 1.2 s at the earliest.
_LEAST_PAUSE = 30  # times as long as the collection before took: it costs 3 % at most
_LONGEST = 0.2  # seconds of CPU: more is for a process that holds much else, and decides itself


class GarbageCollection:
    """A full collection now and then, never for more than a small share of the time.

    Twisted defines a class for every connection that it opens, about 5 kB in a cycle. Python waits
    for a quarter of all objects to be new before it looks through the old ones, and by then the
    garbage of some hundred hosts is a tenth of the process.
    """

    def __init__(self) -> None:
        self._not_before = 0.0

    def collect(self) -> None:
        """Collect, unless the last time was too recent or took too long."""
        if monotonic() < self._not_before or not gc.isenabled():
            return
        started = thread_time()
        gc.collect()
        took = thread_time() - started
        self._not_before = monotonic() + _LEAST_PAUSE * took if took < _LONGEST else float("inf")
