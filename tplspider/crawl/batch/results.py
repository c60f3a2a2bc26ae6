"""How the results of searches go out: the items of one search together, and then the mark "done".

Callbacks give the items, as everywhere in Scrapy. When Scrapy has done with all that a callback
gave, every item is through the pipelines and written to the feeds, or was dropped on the way.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tplspider.crawl.batch.journal_file import JOURNAL_FAULT
from tplspider.crawl.batch.shared_answers import SharedAnswers
from tplspider.crawl.credentials import without_credentials
from tplspider.crawl.outputs.lost import count_lost
from tplspider.crawl.scrapy_private import close_spider, lead_output_through, process_item
from tplspider.crawl.tally import tally_of
from tplspider.crawl.ticket import ticket_for
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.search.answer import candidates
from tplspider.search.ends import KEY_PAGE_UNUSABLE
from tplspider.search.hints import HTTPS_ASSUMED, NO_EVIDENCE, joined
from tplspider.web.answers import CONNECTION, DNS, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from tplspider.crawl.batch.batch import Unsearched
    from tplspider.crawl.batch.journal import Journal
    from tplspider.crawl.key_page import KeyPage
    from tplspider.crawl.page_output import PageOutput
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

_NOBODY_THERE = (CONNECTION, DNS, TIMEOUT)

Item = TemplateCandidate | PageTemplate | CandidateSearch


class ResultDesk:
    """Gives the items of one search at a time, and tells the journal when they are out.

    So the rows of one search stand together in a feed, and between two searches nothing is half
    written: what the journal is told then holds. *settled* is called when a search is done with.
    A *listener* is called with each summary whose items are out (all since the last call), and
    whether the search was made before, for another line.
    """

    def __init__(
        self,
        crawler: Crawler,
        pages: PageOutput,
        journal: Journal,
        settled: Callable[[SearchSession], object],
    ) -> None:
        self._crawler = crawler
        self._pages = pages
        self._journal = journal
        self._settled = settled
        self.listener: Callable[[CandidateSearch, bool], object] | None = None
        self._is_closed = False
        self._turn = asyncio.Lock()
        self._at_work: dict[str, object] = {}  # searches whose results are under way, by whom
        # Whose turn it is; with the summary, once that was given.
        self._given: tuple[SearchSession, KeyPage, CandidateSearch | None] | None = None

    def open(self) -> None:
        """Take part in the crawl, once there is an engine."""
        lead_output_through(self._crawler, self._output_handled)

    def close(self) -> None:
        """Nothing is written any more, whatever may still come."""
        self._is_closed = True

    @property
    def is_busy(self) -> bool:
        """Whether results are on their way."""
        return bool(self._at_work)

    def has(self, session: SearchSession) -> bool:
        """Whether the results of this search are on their way."""
        return session.search_id in self._at_work

    async def items(
        self, session: SearchSession, page: KeyPage, giver: object, *, hurried: bool = False
    ) -> AsyncIterator[Item]:
        """The items of a search that is over: its candidates, its template, its summary.

        They are for *giver* to hand on, who says by :meth:`given` that they are out.
        """
        self._at_work[session.search_id] = giver
        templates = await self._pages.templates(session, hurried=hurried)
        end = session.summary
        if end is None:  # never: it is over
            return
        await self._turn.acquire()
        alone = any(not template.evidence for template in templates)
        shared = self._crawler.get_downloader_middleware(SharedAnswers)
        assumed = end.key_outcome in _NOBODY_THERE and "//" not in page.requested_url
        end = replace(
            end,
            hint=joined(end.hint, NO_EVIDENCE if alone else "", HTTPS_ASSUMED if assumed else ""),
            shared=shared.counts[session.search_id] if shared else 0,
        )
        self._given = session, page, None
        for candidate in candidates(session):
            yield candidate
        for template in templates:
            yield template
        self._given = session, page, end
        tally_of(self._crawler).take(end)
        yield _of_line(end, page)

    def given(self, session: SearchSession, giver: object) -> None:
        """All items of a search are out, or as many as will ever be."""
        if self._is_closed or self._at_work.get(session.search_id) is not giver:
            return
        del self._at_work[session.search_id]
        if self._given and self._given[0] is session:
            _, page, end = self._given
            self._given = None
            if end:
                self._commit([(page.line, page.mark)] if page.line else [], end)
                self._tell(_of_line(end, page))
            else:
                self._break_off("a search was ended amid its results")
            self._turn.release()
        self._settled(session)

    async def answer_again(self, page: KeyPage, known: dict[str, Any]) -> None:
        """Answer a line whose search was made for another line."""
        end = CandidateSearch(**{**known, "requested_url": page.requested_url})
        tally_of(self._crawler).take(end, again=True)
        async with self._turn:
            await process_item(self._crawler, _of_line(end, page))
            self._commit([(page.line or 0, page.mark)])
            self._tell(_of_line(end, page), repeated=True)

    async def answer_unsearched(self, line: Unsearched) -> None:
        """Answer a line that cannot be searched."""
        end = CandidateSearch(
            key_url="",
            requested_size=0,
            cs_size=0,
            complete=False,
            reason=KEY_PAGE_UNUSABLE,
            key_outcome=line.outcome,
            loads=0,
            links=0,
            hint=line.why,
            search_id=line.search_id,
            requested_url=without_credentials(str(line.line.values.get("url") or line.line.text)),
            line=line.line.number,
            input=line.line.input,
        )
        logger.warning("Line %d (%s): %s", line.line.number, line.outcome, line.why)
        tally_of(self._crawler).take(end)
        async with self._turn:
            await process_item(self._crawler, end)
            known = end if line.search_id else None
            self._commit([(line.line.number, line.line.mark)], known)
            self._tell(end)

    def _tell(self, end: CandidateSearch, *, repeated: bool = False) -> None:
        if self.listener:
            self.listener(end, repeated)

    def _output_handled(self, request: Request) -> None:
        if ticket := ticket_for(request):
            self.given(ticket.session, ticket)

    def _commit(
        self, lines: Iterable[tuple[int, bytes]], end: CandidateSearch | None = None
    ) -> None:
        try:
            self._journal.commit(
                lines=lines,
                search_id=end.search_id if end else "",
                summary=vars(end) if end else None,
            )
        except OSError as error:
            self._break_off(str(error))

    def _break_off(self, why: str) -> None:
        """End the crawl: its feeds are not what the journal says, and nothing that follows counts.

        With a JOBDIR they are cut back to that, so the same command can go on.
        """
        logger.error("The results cannot be kept: %s", why)
        count_lost(self._crawler)
        with suppress(OSError):
            self._journal.feeds.cut_back()
        close_spider(self._crawler, JOURNAL_FAULT)


def _of_line(end: CandidateSearch, page: KeyPage) -> CandidateSearch:
    """The summary of a search for one of the lines that ask for it."""
    if page.line is None:
        return end
    return replace(end, line=page.line, input=dict(page.input) if page.input else None)
