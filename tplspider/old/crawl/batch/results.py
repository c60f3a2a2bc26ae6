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

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.old.crawl.batch.journal_file import JOURNAL_FAULT
from tplspider.old.crawl.batch.shared_answers import SharedAnswers
from tplspider.old.crawl.credentials import masked
from tplspider.old.crawl.outputs.lost import count_lost
from tplspider.old.crawl.scrapy_private import close_spider, lead_output_through, process_item
from tplspider.old.crawl.tally import LOST, outcome_of, tally_of
from tplspider.old.crawl.ticket import ticket_for
from tplspider.search.answer import NO_EVIDENCE, joined, scheme_hint, unanswered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from tplspider.old.crawl.batch.batch import Unsearched
    from tplspider.old.crawl.batch.journal import Journal
    from tplspider.old.crawl.key_page import KeyPage
    from tplspider.old.crawl.page_output import PageOutput
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

Item = TemplateCandidate | PageTemplate | CandidateSearch


class ResultDesk:
    """Gives the items of one search at a time, and tells the journal when they are out.

    So the rows of one search stand together in a feed, and between two searches nothing is half
    written: what the journal is told then holds. *settled* is called when a search is done with.
    A *listener* is called with each summary whose items are out (all since the last call), and
    with whether the search was made before, for another line.
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
        self._is_broken = False
        self.undone = 0  # searches, and lines, that are left to another start
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
        assumed = scheme_hint(end.key_outcome, page.requested_url)
        end = replace(
            end,
            hint=joined(end.hint, NO_EVIDENCE if alone else "", assumed),
            shared=shared.counts[session.search_id] if shared else 0,
            method=templates[0].method if templates else end.method,
        )
        self._given = session, page, None
        for candidate in session.candidates():
            yield candidate
        for template in templates:
            yield template
        self._given = session, page, end
        yield _of_line(end, page)

    def given(self, session: SearchSession, giver: object) -> None:
        """All items of a search are out, or as many as will ever be."""
        if self._is_closed or self._at_work.get(session.search_id) is not giver:
            return
        del self._at_work[session.search_id]
        if self._given and self._given[0] is session:
            _, page, end = self._given
            self._given = None
            try:
                self._close_account(page, end)
            finally:
                self._turn.release()
        self._settled(session)

    def _close_account(self, page: KeyPage, end: CandidateSearch | None) -> None:
        """The rows of a search are out, the last being that of its summary, if it came so far."""
        tally = tally_of(self._crawler)
        was_lost = page.search_id in tally.unwritten or end is None
        tally.unwritten.discard(page.search_id)
        if was_lost and self._journal.is_kept:
            # Not done: its rows go, so that another start may do better.
            logger.error("%s is left to another start: output of it is lost", page.requested_url)
            self._undo()
        elif end:
            self._commit([(page.line, page.mark)] if page.line else [], end, with_search=True)
            tally.take(end)
            self._tell(_of_line(end, page))
        if end is None:
            count_lost(self._crawler)
        tally.spoilt.discard(page.search_id)

    def _undo(self) -> None:
        self.undone += 1
        with suppress(OSError):
            self._journal.feeds.cut_back()

    async def answer_again(self, page: KeyPage, known: dict[str, Any]) -> None:
        """Answer a line whose search was made for another line."""
        end = CandidateSearch(**{**known, "requested_url": page.requested_url})
        async with self._turn:
            if await self._is_out(_of_line(end, page)):
                self._commit([(page.line or 0, page.mark)], end, with_search=False)
                tally_of(self._crawler).take(end, again=True)
                self._tell(_of_line(end, page), repeated=True)

    async def answer_unsearched(self, line: Unsearched) -> None:
        """Answer a line that cannot be searched."""
        end = unanswered(
            masked(str(line.line.values.get("url") or line.line.text)),
            line.outcome,
            line.why,
            line.search_id,
            line=line.line.number or None,
            own=line.line.input,
        )
        logger.warning("%s (%s): %s", line.label, line.outcome, line.why)
        async with self._turn:
            if await self._is_out(end):
                lines = [(line.line.number, line.line.mark)]
                self._commit(lines, end, with_search=bool(line.search_id))
                tally_of(self._crawler).take(end)
                self._tell(end)

    async def _is_out(self, end: CandidateSearch) -> bool:
        """Give a summary that no callback gives; whether it may be called done."""
        await process_item(self._crawler, end)
        unwritten = tally_of(self._crawler).unwritten
        was_lost = end.search_id in unwritten
        unwritten.discard(end.search_id)
        if was_lost and self._journal.is_kept:
            self._undo()
            return False
        return True

    def _tell(self, end: CandidateSearch, *, repeated: bool = False) -> None:
        if self.listener is None:
            return
        try:
            self.listener(end, repeated)
        except Exception:  # somebody's: the others go on
            logger.exception("The answer to %s could not be taken", end.requested_url)
            count_lost(self._crawler)

    def _output_handled(self, request: Request) -> None:
        if ticket := ticket_for(request):
            self.given(ticket.session, ticket)

    def _commit(
        self, lines: Iterable[tuple[int, bytes]], end: CandidateSearch, *, with_search: bool
    ) -> None:
        """Call lines done, and *with_search* the search itself, for lines that ask for it later."""
        if self._is_closed or self._is_broken:
            return
        spoilt = tally_of(self._crawler).spoilt
        try:
            self._journal.commit(
                lines=lines,
                search_id=end.search_id if with_search else "",
                summary=vars(end) if with_search else None,
                outcome=LOST if end.search_id in spoilt else outcome_of(end),
            )
        except OSError as error:
            self._break_off(str(error))

    def _break_off(self, why: str) -> None:
        """End the crawl: its feeds are not what the journal says, and nothing that follows counts.

        With a JOBDIR they are cut back to that, so the same command can go on.
        """
        self._is_broken = True
        logger.error("The results cannot be kept: %s", why)
        count_lost(self._crawler)
        with suppress(OSError):
            self._journal.feeds.cut_back()
        close_spider(self._crawler, JOURNAL_FAULT)


def _of_line(end: CandidateSearch, page: KeyPage) -> CandidateSearch:
    """The summary of a search for one of the lines that ask for it."""
    if page.line is None:
        return end
    return replace(end, line=page.line or None, input=dict(page.input) if page.input else None)
