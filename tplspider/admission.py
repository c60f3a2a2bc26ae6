"""Which key page of a list is searched next: so many at a time, few of one host."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING

from tplspider.arguments import masked
from tplspider.feeds import argument_path
from tplspider.items import CandidateSearch
from tplspider.keylist import KeyLine, KeyList, KeyPage
from tplspider.search.answer import unanswered
from tplspider.web.page import BAD_INPUT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tplspider.arguments import Arguments, Config
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)

OF_ONE_HOST = 2  # searches at a time: they share its pace, so more would only hold places
LOOK_AHEAD = 10_000  # lines that are read on to find one whose host is free
_WAIT = object()  # no line is read yet, but a waiting one may be free to start


class Admission:
    """Reads lines as places become free, and answers those that need no search.

    Lines whose host is busy wait in memory, and so do those whose search is open for another line.
    """

    def __init__(self, spider: TemplateCandidatesSpider) -> None:
        self.changed = asyncio.Event()  # a search has finished
        self.is_wanted: Callable[[KeyPage], bool] = lambda _: True  # when its turn has come
        self.anew = False  # whether a search that was made before is made again
        self._spider = spider
        self._waiting: dict[str, deque[KeyPage]] = {}  # by host, or by =SEARCH_ID
        self._coming: asyncio.Future[KeyLine | None] | None = None

    async def key_pages(self) -> AsyncIterator[KeyPage]:
        """The key pages to search from, each as soon as there is a free slot."""
        searches, lines, at_end = self._spider.searches, self._lines(), False
        try:
            while searches or self._waiting or not at_end:
                self.changed.clear()
                key: KeyPage | None = None
                if len(searches) < self._spider.config.searches:
                    key = self._next_waiting()
                    is_ahead = sum(map(len, self._waiting.values())) >= LOOK_AHEAD
                    if key is None and not at_end and not is_ahead:
                        line = await self._next_line(lines)
                        at_end = line is None
                        if isinstance(line, KeyLine):
                            key = await self._key_page_of(line)
                        if key is None:
                            continue
                if key is None:
                    await self.changed.wait()
                elif await self._is_admitted(key):
                    yield key
        finally:
            if self._coming:
                self._coming.cancel()

    async def _is_admitted(self, key: KeyPage) -> bool:
        """Whether to search from a key page now; else it waits, or is answered already."""
        if not self.is_wanted(key):
            return False
        if not self.anew and (earlier := self._spider.journal.earlier(key.search_id)):
            known, row = earlier
            await self._spider.results.give(key, CandidateSearch(**known), row, repeated=True)
        elif key.search_id in self._spider.searches:
            self._waiting.setdefault(f"={key.search_id}", deque()).append(key)
        elif not self._is_free(key.host):
            self._waiting.setdefault(key.host, deque()).append(key)
        else:
            return True
        return False

    def _next_waiting(self) -> KeyPage | None:
        for name, keys in self._waiting.items():
            if self._is_free(name):
                key = keys.popleft()
                if not keys:
                    del self._waiting[name]
                return key
        return None

    def _is_free(self, name: str) -> bool:
        """Whether a host may have one more search; or a search (``=ID``) has finished."""
        if name.startswith("="):
            return name[1:] not in self._spider.searches
        searches = self._spider.searches.values()
        return sum(search.key.host == name for search in searches) < OF_ONE_HOST

    async def _next_line(self, lines: AsyncIterator[KeyLine]) -> KeyLine | object | None:
        """The next line; None at the end, _WAIT if a search finishes before it comes."""
        self._coming = self._coming or asyncio.ensure_future(anext(lines, None))
        changed = asyncio.ensure_future(self.changed.wait())
        try:
            await asyncio.wait([self._coming, changed], return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
        finally:
            changed.cancel()
        if not self._coming.done():
            return _WAIT
        line, self._coming = self._coming.result(), None
        return line

    async def _key_page_of(self, line: KeyLine) -> KeyPage | None:
        """The key page of a line; a line that has none is answered at once."""
        spider = self._spider
        try:
            return line.key_page(spider.arguments.options)
        except ValueError as error:
            level = logging.INFO if spider.is_quiet else logging.WARNING
            logger.log(level, "Line %s (%s): %s", line.number, BAD_INPUT, error)
            summary = unanswered(masked(line.address), BAD_INPUT, str(error))
            key = KeyPage("", summary.requested_url, spider.arguments.options, line=line)
            await spider.results.give(key, summary, {})
            return None

    async def _lines(self) -> AsyncIterator[KeyLine]:
        """The lines to search from, without those that are done."""
        spider, arguments = self._spider, self._spider.arguments
        if spider.keys is not None:
            async for line in spider.keys:
                if not spider.journal.is_done(line.number, line.mark):
                    yield line
        elif arguments.url:  # one key page with a JOBDIR
            if not spider.journal.is_done(1, b""):
                yield KeyLine(1, spider.given_url)
        else:
            count = open_list(arguments, spider.config).count
            counting = asyncio.ensure_future(asyncio.to_thread(count))
            counting.add_done_callback(self._counted)
            with closing(open_list(arguments, spider.config)) as lines:
                for number, line in enumerate(lines):
                    if number % 100 == 0:
                        await asyncio.sleep(0)
                    if not spider.journal.is_done(line.number, line.mark):
                        yield line

    def _counted(self, counting: asyncio.Future[int]) -> None:
        if not counting.cancelled() and not counting.exception():
            self._spider.line_count = counting.result()


def open_list(arguments: Arguments, config: Config) -> KeyList:
    """The list of key pages that the arguments name; ValueError if it cannot be read."""
    try:
        return KeyList(str(argument_path("urls", arguments.urls, config)), arguments.column)
    except ValueError as error:
        raise ValueError(f"urls: {masked(arguments.urls)}: {error}") from None
