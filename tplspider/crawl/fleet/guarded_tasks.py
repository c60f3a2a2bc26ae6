"""Tasks that nobody awaits, but whose failures somebody hears of."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class GuardedTasks:
    """Runs coroutines; *failed* is called with what one of them raises."""

    def __init__(self, failed: Callable[[Exception], object]) -> None:
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Wait until none is left."""
        while self._tasks:
            await asyncio.wait({*self._tasks})

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - somebody is told
            self._failed(error)
