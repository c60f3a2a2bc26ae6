"""A count that can be waited for."""

from __future__ import annotations

import asyncio


class AwaitedCount:
    """Counts what is under way; others wait until there is no more of it than they can bear."""

    def __init__(self) -> None:
        self.value = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def __bool__(self) -> bool:
        return self.value > 0

    def add(self) -> None:
        """Count one more."""
        self.value += 1

    def remove(self) -> None:
        """Count one less, and tell those who wait for that."""
        self.value -= 1
        waiting, self._waiting = self._waiting, []
        for most, future in waiting:
            if self.value > most:
                self._waiting.append((most, future))
            elif not future.done():  # else whoever waited was cancelled
                future.set_result(None)

    async def at_most(self, most: int) -> None:
        """Wait until there are so many at most."""
        while self.value > most:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((most, future))
            await future
