"""Whether a list is still the one that a journal knows, before anything is requested."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.list_line import ListLine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.old.crawl.batch.journal import Journal

_ADVICE = "give the list as it was, or another JOBDIR"
_AT_ONCE = 500  # lines, before others have their turn in the event loop


async def check_same_list(lines: Iterable[ListLine], journal: Journal) -> None:
    """Raise ValueError, in one line, if a line that was searched, or in flight, is another now."""
    begun = [ListLine.from_json(suspect.record) for suspect in journal.suspects()]
    marks = {line.number: line.mark for line in begun}
    left = journal.done() + len(marks)
    for count, line in enumerate(lines):
        if not left:
            return
        if count % _AT_ONCE == 0:
            await asyncio.sleep(0)
        if marks.get(line.number, line.mark) != line.mark:
            raise ValueError(f"line {line.number} is not the one that was searched: {_ADVICE}")
        left -= journal.is_done(line.number, line.mark) or line.number in marks
    if left:
        raise ValueError(f"lines that were searched are not in the list any more: {_ADVICE}")
