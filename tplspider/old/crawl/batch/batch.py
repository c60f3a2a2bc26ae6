"""From the lines of a list to searches: which key page is next, and which need no search."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.inputs import Inputs
from tplspider.old.crawl.batch.key_list import KeyList, ListLine
from tplspider.old.crawl.key_page import KeyPage, key_page_of_line
from tplspider.search.answer import counted
from tplspider.web.page import BAD_INPUT, CRASHED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from tplspider.old.crawl.batch.admission import Admission
    from tplspider.old.crawl.batch.journal import Journal
    from tplspider.search.session import SearchOptions

logger = logging.getLogger(__name__)

# Lines that are read on to find one whose host is not busy; they wait on disk.
LOOK_AHEAD = 100_000
# A line that was in flight whenever the process died is given up at this death, if it was alone
# at this many of them: in company, another line may have been the cause.
DEATHS, DEATHS_ALONE = 3, 2
_NOT_YET = ListLine(0, {}, None)
_READ_AT_ONCE = 100  # lines, before others have their turn in the event loop
# Looking for another host goes on beside the searches, and must not slow them down.
_PARKED_AT_ONCE, _PAUSE = 20, 0.005
_SAME = "="  # before the id of a search that lines wait for: no host has such a name


@dataclass(frozen=True, slots=True)
class Unsearched:
    """A line that is answered without a search: it is out of form, or has killed the process."""

    line: ListLine
    outcome: str
    why: str
    search_id: str = ""  # '' if there is not even one

    @property
    def label(self) -> str:
        """What it is called in a log."""
        return f"Line {self.line.number}"


class Batch:
    """Reads lines as places become free, and gives the key pages to search from.

    The same search is made once: other lines that ask for it wait until it is over and are
    answered from the journal. Lines of a busy host wait on disk, so that other hosts come first.
    """

    def __init__(
        self,
        lines: Iterable[ListLine] | AsyncIterable[ListLine | Unsearched],
        options: SearchOptions,
        journal: Journal,
        admission: Admission,
        *,
        look_ahead: int = LOOK_AHEAD,
    ) -> None:
        self._lines = lines
        self._options = options
        self._journal = journal
        self._admission = admission
        self._look_ahead = look_ahead
        self._is_live = isinstance(lines, AsyncIterable)
        self._coming: asyncio.Future[ListLine | Unsearched | None] | None = None
        self._freed: deque[str] = deque()  # what lines wait for that is free again
        self.has_lines = False

    def count(self) -> int | None:
        """How many lines there are, where that can be told; it may take a while."""
        return self._lines.count() if isinstance(self._lines, KeyList) else None

    def done_before(self) -> int:
        """How many lines were answered by an earlier crawl, at the beginning of this one."""
        return self._journal.done()

    def left(self, search_id: str) -> None:
        """A search is over, and its results are out."""
        host = self._admission.leave(search_id)
        if self._journal.parked:
            self._freed += [_same(search_id), host]

    def close(self) -> None:
        """Do not wait for a line any more."""
        if self._coming:
            self._coming.cancel()

    async def key_pages(
        self,
        answer_again: Callable[[KeyPage, dict[str, object]], Awaitable[None]],
        answer_unsearched: Callable[[Unsearched], Awaitable[None]],
    ) -> AsyncIterator[KeyPage]:
        """The key pages to search from, each as soon as there is a place for it.

        The two functions answer lines that need no search: those whose search was made before, by
        its summary, and those that cannot be searched.
        """
        async for page in self._suspects(answer_unsearched):
            self.has_lines = True
            yield page
        async for line in self._in_turn():
            if isinstance(line, Unsearched):
                await answer_unsearched(line)
                continue
            if isinstance(self._lines, Inputs) and self._lines.is_unwanted(line):
                await asyncio.sleep(0)
                continue
            try:
                page = key_page_of_line(line, self._options)
            except ValueError as error:
                await answer_unsearched(Unsearched(line, BAD_INPUT, str(error)))
                continue
            if summary := self._journal.summary(page.search_id):
                await answer_again(page, summary)
            elif await self._has_entered(page, line):
                yield page

    async def _in_turn(self) -> AsyncIterator[ListLine | Unsearched]:
        """The lines as there are places: first those that have waited for what is free now."""
        lines = self._read()
        at_end = False
        while len(self._admission) or self._journal.parked or not at_end:
            if self._admission.is_full:
                await self._admission.change()
            elif line := self._waiting():
                yield line
            elif at_end or self._journal.parked >= self._look_ahead:
                await self._admission.change()
            else:
                found = await self._next(lines)
                at_end = found is None
                if found and found is not _NOT_YET:
                    self.has_lines = True
                    if isinstance(found, Unsearched) or not self._is_done(found):
                        yield found

    def _is_done(self, line: ListLine) -> bool:
        return self._journal.is_done(line.number, line.mark)

    async def _has_entered(self, page: KeyPage, line: ListLine) -> bool:
        """Whether a search has a place now; if not, its line waits on disk."""
        if page.search_id in self._admission:
            self._journal.park(_same(page.search_id), line.to_json())
        elif not self._admission.has_room(page.host):
            self._journal.park(page.host, line.to_json())
        else:
            self._enter(page, line, alone=False)
            return True
        if self._journal.parked % _PARKED_AT_ONCE == 0:
            await asyncio.sleep(_PAUSE)
        return False

    async def _next(
        self, lines: AsyncIterator[ListLine | Unsearched]
    ) -> ListLine | Unsearched | None:
        """The next line, None at the end; _NOT_YET if there is room for others before it comes."""
        if not self._is_live:
            return await anext(lines, None)
        self._coming = self._coming or asyncio.ensure_future(anext(lines, None))
        await self._admission.change_or(self._coming)
        if not self._coming.done():
            return _NOT_YET
        line, self._coming = self._coming.result(), None
        return line

    def _enter(self, page: KeyPage, line: ListLine, *, alone: bool) -> None:
        self._admission.enter(page.search_id, page.host)
        self._journal.begin(page.search_id, line.to_json(), alone=alone)

    def _waiting(self) -> ListLine | None:
        """A line that waited for what is free now."""
        while self._freed:
            key = self._freed[0]
            if self._is_free(key) and (record := self._journal.unpark(key)):
                return ListLine.from_json(record)
            self._freed.popleft()
        return None

    def _is_free(self, key: str) -> bool:
        # One of those that waited may have begun the same search once more: the others still wait.
        is_open = key.startswith(_SAME) and key.removeprefix(_SAME) in self._admission
        return not is_open and self._admission.has_room(key)

    async def _suspects(
        self, answer_unsearched: Callable[[Unsearched], Awaitable[None]]
    ) -> AsyncIterator[KeyPage]:
        """The lines that were in flight when the process died, one at a time."""
        suspects = self._journal.suspects()
        if suspects:
            told = counted(len(suspects), "line")
            logger.warning("In flight when the process died: %s, searched one by one first", told)
        for suspect in suspects:
            line = ListLine.from_json(suspect.record)
            if suspect.deaths >= DEATHS and suspect.died_alone >= DEATHS_ALONE:
                why = f"the process has died {suspect.deaths} times while it was searched"
                await answer_unsearched(Unsearched(line, CRASHED, why, suspect.search_id))
                continue
            page = key_page_of_line(line, self._options)
            self._enter(page, line, alone=True)
            yield page
            while len(self._admission):
                await self._admission.change()

    async def _read(self) -> AsyncIterator[ListLine | Unsearched]:
        if isinstance(self._lines, AsyncIterable):
            async for line in self._lines:
                yield line
            return
        lines: Iterator[ListLine] = iter(self._lines)
        for count, line in enumerate(lines):
            if count % _READ_AT_ONCE == 0:
                await asyncio.sleep(0)
            yield line


def _same(search_id: str) -> str:
    """What lines wait for that ask for a search that is open."""
    return f"{_SAME}{search_id}"
