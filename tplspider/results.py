"""How results are written: the items of one search at a time, then the entry in the journal."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals

from tplspider import signals
from tplspider.hooks import process_item
from tplspider.items import OURS, CandidateSearch, PageTemplate, TemplateCandidate, TextRow
from tplspider.search.answer import NO_EVIDENCE, joined
from tplspider.search.cliques import MAX_SECONDS, POOL
from tplspider.texts import table_columns, text_row
from tplspider.tracker import count_lost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tplspider.keylist import KeyPage
    from tplspider.spiders.template_candidates import OpenSearch, TemplateCandidatesSpider

logger = logging.getLogger(__name__)

_LONGEST_WAIT = 600  # seconds for an item to leave the pipelines, before it counts as lost


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """All that a search gave, as it left the pipelines.

    A key page whose search was made before has its summary alone: then it is *repeated*.
    """

    summary: CandidateSearch
    candidates: list[TemplateCandidate] = field(default_factory=list)
    template: PageTemplate | None = None
    repeated: bool = False
    fault: str = ""  # why there is no text


class Results:
    """Yields the items of finished searches, and notices when they are written.

    So the rows of one search stand together in a feed, and nothing is half written when the journal
    calls the search done.
    """

    def __init__(self, spider: TemplateCandidatesSpider) -> None:
        self._spider = spider
        self._crawler = spider.crawler
        self._turn = asyncio.Lock()
        self.columns: list[str] = []  # of a list, if it can be read ahead
        # Of the search whose turn it is.
        self._search_id = ""
        self._expected = 0
        self._lost_before = 0
        self._out: list[Any] = []
        self._all_out = asyncio.Event()
        names = ("item_scraped", "item_dropped", "item_error")
        signals.follow(self, spider.crawler, scrapy_signals, *names)

    async def of(self, search: OpenSearch, *, hurried: bool = False) -> AsyncGenerator[Any, None]:
        """The items of a finished search: its candidates, its text, its summary."""
        session, spider = search.session, self._spider
        if search.gives_results or session.summary is None:
            return
        search.gives_results = True
        try:
            hurried = hurried or session.summary.reason == MAX_SECONDS
            text, fault = await spider.texts.make(search, hurried=hurried)
            alone = text is not None and not text.evidence
            summary = replace(
                session.summary,
                hint=joined(session.summary.hint, NO_EVIDENCE if alone else ""),
                shared=search.shared,
                method=POOL if text and text.method == POOL else session.summary.method,
            )
            row = text_row(summary, text, spider.table_text) if spider.table_text else {}
            items: list[Any] = [*session.candidates(), *([text] if text else ())]
            items += self._of_line(search.key, summary, row)
            async with self._turn:
                self._expect(session.search_id, len(items))
                for item in items:
                    yield item
                out = await self._wait()
                await self._conclude(search.key, summary, row, out, fault)
        except GeneratorExit:  # a middleware has failed
            spider.journal.cut_back()
            if not spider.journal.is_kept:
                for item in self._of_line(search.key, summary, row):
                    await process_item(self._crawler, item)
            raise
        except Exception:
            logger.exception("The results of %s cannot be written", session.key_url)
            count_lost(self._crawler, session.search_id)
        finally:
            spider.settle(search)

    async def give(
        self, key: KeyPage, summary: CandidateSearch, row: dict[str, Any], *, repeated: bool = False
    ) -> None:
        """Give the summary of a line that needs no search."""
        if self._spider.table_text and not row:
            row = text_row(summary, None, self._spider.table_text)
        async with self._turn:
            items = self._of_line(key, summary, row)
            self._expect(summary.search_id, len(items))
            for item in items:
                await process_item(self._crawler, item)
            out = await self._wait()
            await self._conclude(key, summary, row, out, repeated=repeated)

    def _of_line(
        self, key: KeyPage, summary: CandidateSearch, row: dict[str, Any]
    ) -> list[CandidateSearch | TextRow]:
        """The items of a line alone: its summary, and its row in a table of texts."""
        line, asked = key.line, key.requested_url
        own = dict(line.input) if line.input else None
        given = replace(summary, requested_url=asked, line=line.number or None, input=own)
        if not self._spider.table_text:
            return [given]
        # The first line says which columns a list has: a column of ours has one name in all rows.
        self.columns = self.columns or list(line.row)
        names = table_columns(self.columns, self._spider.table_text)[len(self.columns) :]
        own_row = {**dict.fromkeys(self.columns, ""), **line.row}
        table_row = TextRow({**own_row, **dict(zip(names, row.values(), strict=True))})
        table_row.search_id = summary.search_id
        return [given, table_row]

    async def _conclude(
        self,
        key: KeyPage,
        summary: CandidateSearch,
        row: dict[str, Any],
        out: list[Any],
        fault: str = "",
        *,
        repeated: bool = False,
    ) -> None:
        """After the items: write the report, mark the line as done, send the signal."""
        text = next((item for item in out if isinstance(item, PageTemplate)), None)
        given = next((item for item in out if isinstance(item, CandidateSearch)), summary)
        if self._spider.reports and not repeated:
            try:
                await self._spider.reports.write(given, text)
                self._crawler.stats.inc_value("tplspider/reports")
            except Exception as error:  # noqa: BLE001 - the rows are written already
                logger.error("The report cannot be written: %s", error)  # noqa: TRY400
                count_lost(self._crawler, summary.search_id)
        if self._is_done(key, summary, row, repeated=repeated):
            candidates = [item for item in out if isinstance(item, TemplateCandidate)]
            answer = SearchAnswer(given, candidates, text, repeated, fault)
            details = {"summary": given, "repeated": repeated, "answer": answer}
            self._spider.send(signals.line_answered, **details)

    def _is_done(
        self, key: KeyPage, summary: CandidateSearch, row: dict[str, Any], *, repeated: bool
    ) -> bool:
        """Mark a line as done; with a JOBDIR, not if an output was lost: it is retried then."""
        spider = self._spider
        journal, search_id = spider.journal, summary.search_id
        is_lost = search_id in spider.counts.lost_of
        if not search_id:  # a line without a search
            is_lost = spider.counts.lost > self._lost_before
        if journal.is_kept and is_lost:
            logger.error("%s will be searched again on the next run", key.requested_url)
            journal.cut_back()
            return False
        outcome = summary.key_outcome
        if outcome == "ok":
            outcome = "complete" if summary.complete else "partial"
        is_new = spider.is_list and search_id and not repeated
        try:
            made = asdict(summary) if is_new else None
            journal.commit(key.line.number, key.line.mark, outcome, made, row)
        except OSError as error:
            logger.error("The results cannot be stored: %s", error)  # noqa: TRY400
            count_lost(self._crawler, search_id)
            if journal.is_kept:
                return False
        spider.counts.add(summary, repeated=repeated)
        return True

    # Items on their way through the pipelines.

    def _expect(self, search_id: str, count: int) -> None:
        self._search_id, self._expected, self._out = search_id, count, []
        self._lost_before = self._spider.counts.lost
        self._all_out.clear()

    async def _wait(self) -> list[Any]:
        """Wait until all items are written, or dropped; gives those that came through."""
        for _ in range(_LONGEST_WAIT):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_out.wait(), 1)
                return [item for item in self._out if item]
            slot = self._crawler.engine.scraper.slot
            if not slot or not slot.itemproc_size:
                break
        # A middleware has dropped them, or a pipeline put others in their place.
        logger.error("Items of the search %s did not reach the feeds", self._search_id)
        count_lost(self._crawler, self._search_id)
        self._expected = 0
        return [item for item in self._out if item]

    def item_scraped(self, item: Any) -> None:
        if isinstance(item, OURS):
            self._count(item)

    def item_dropped(self, item: Any) -> None:
        if isinstance(item, OURS):
            self._count(None)

    def item_error(self, item: Any) -> None:
        if isinstance(item, OURS):
            count_lost(self._crawler, item.search_id)
            self._count(None)

    def _count(self, item: Any) -> None:
        self._out.append(item)
        if len(self._out) == self._expected:
            self._all_out.set()
