"""Rows that are made side by side, written in the order in which they were begun."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tplspider.stripping.rows import Row

_AHEAD, _MOST_AHEAD = 16, 400  # pages in flight for each worker, and in all: rows wait in order
_AHEAD_LETTERS = 50_000_000  # of these pages: their texts wait, too


@dataclass(slots=True)
class Waiting:
    """A row that is there, or under way."""

    row: Row | asyncio.Task[Row]
    size: int = 0  # letters of the page

    @property
    def is_ready(self) -> bool:
        return not isinstance(self.row, asyncio.Task) or self.row.done()


async def write_in_order(
    begun: AsyncIterator[Waiting], write: Callable[[Row], object], workers: int
) -> None:
    """Give *write* the rows, with no more under way than so many workers have use for."""
    waiting: deque[Waiting] = deque()
    most, size = min(_AHEAD * max(workers, 1), _MOST_AHEAD), 0
    try:
        async for each in begun:
            waiting.append(each)
            size += each.size
            while waiting and (
                waiting[0].is_ready or len(waiting) >= most or size > _AHEAD_LETTERS
            ):
                write(await _row_of(waiting[0]))
                size -= waiting.popleft().size
            if len(waiting) % _AHEAD == 0:
                await asyncio.sleep(0)  # others have their turn: a signal, say
        while waiting:
            write(await _row_of(waiting[0]))
            waiting.popleft()
    finally:
        for each in waiting:
            if isinstance(each.row, asyncio.Task):
                each.row.cancel()


async def _row_of(waiting: Waiting) -> Row:
    if not isinstance(waiting.row, asyncio.Task):
        return waiting.row
    # Not awaited itself: whoever is cancelled here would cancel it, and hear only of that.
    await asyncio.wait([waiting.row])
    return waiting.row.result()
