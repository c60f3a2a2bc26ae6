"""What was answered, on its way out: rows in feeds, reports, the journal, and the count of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.old.crawl.archive.feeds import FeedError, RowFeeds
from tplspider.old.crawl.tally import LOST, Tally, outcome_of
from tplspider.report.files import ReportFolder, write_report
from tplspider.sources.unread import Unread
from tplspider.web.page import NOT_ARCHIVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.old.crawl.archive.answers import LineAnswer
    from tplspider.old.crawl.archive.plan import ArchivePlan
    from tplspider.old.crawl.batch.journal import Journal

_MOST_TOLD = 5  # key pages that are not archived, each with a line


class RowDesk:
    """Writes the rows of one line after the other, and calls each done when they are written."""

    def __init__(self, plan: ArchivePlan, journal: Journal, tell: Callable[[str], object]) -> None:
        self.tally = Tally(earlier=journal.outcomes())
        self.misfits = 0  # records that are not what the index says
        self.unread = Unread()
        self._journal = journal
        self._tell = tell
        self._feeds = RowFeeds(plan.feeds, journal)
        self._place = plan.report
        self._folder: ReportFolder | None = None
        self._report_fault = ""
        self._missing = 0  # key pages that are not archived

    def open(self) -> None:
        """Open the files; ValueError or FeedError says why one cannot be."""
        self._feeds.open()
        if self._place and self._place.is_folder:
            try:
                self._folder = ReportFolder(self._place.path, mend=self._journal.is_kept)
            except OSError as error:
                raise FeedError(f"{self._place.label}: {error.strerror or error}") from None

    def take(self, found: LineAnswer) -> None:
        """Write what a line gave."""
        template = found.answer.template if found.answer else None
        items: list[TemplateCandidate | PageTemplate] = []
        if found.answer:
            end = found.answer.summary
            self._tell_faults(found)
            items += [*found.answer.candidates, *([template] if template else [])]
        else:
            assert found.page is not None
            known = self._journal.summary(found.page.search_id) or {}
            end = CandidateSearch(**{**known, "requested_url": found.page.requested_url})
        own = found.line.input
        row = replace(end, line=found.line.number or None, input=dict(own) if own else None)
        self._feeds.write([*items, row])
        if found.answer:
            self._report(row, template)
        is_search = found.answer is not None and bool(end.search_id)
        self._journal.commit(
            lines=[(found.line.number, found.line.mark)],
            search_id=end.search_id if is_search else "",
            summary=vars(end) if is_search else None,
            outcome=LOST if found.is_lost else outcome_of(end),
        )
        self.tally.take(end, again=found.answer is None)
        self.tally.lost += found.is_lost

    def close(self) -> None:
        """End the files in good form."""
        try:
            self._feeds.close()
        finally:
            if self._folder:
                try:
                    self._folder.write_index()
                except OSError as error:
                    self._lose_report(error)
                self._folder.close()

    def _tell_faults(self, found: LineAnswer) -> None:
        assert found.answer is not None
        self.misfits += found.answer.misfits
        self.unread = self.unread.and_more(found.answer.unread)
        address = found.answer.summary.requested_url
        if found.page is None:
            self._tell(f"Line {found.line.number}: {found.answer.summary.hint}")
        elif found.answer.fault:
            self._tell(f"No template for {address}: {found.answer.fault}")
        elif found.answer.summary.key_outcome == NOT_ARCHIVED:
            self._missing += 1
            if self._missing <= _MOST_TOLD:
                hint = found.answer.summary.hint
                why = f"{found.page.url} is not archived{f' ({hint})' if hint else ''}"
                self._tell(f"Line {found.line.number}: {why}")
            elif self._missing == _MOST_TOLD + 1:
                self._tell("... and more that are not archived: the summaries tell which")

    def _report(self, summary: CandidateSearch, template: PageTemplate | None) -> None:
        if not self._place or self._report_fault:
            return
        try:
            if self._folder:
                self._folder.add(summary, template)
            else:
                self._place.path.parent.mkdir(parents=True, exist_ok=True)
                write_report(self._place.path, summary, template)
        except OSError as error:
            self._lose_report(error)

    def _lose_report(self, error: OSError) -> None:
        assert self._place is not None
        self._report_fault = f"{self._place.label} cannot be written: {error.strerror or error}"
        self._tell(self._report_fault)
        self.tally.lost += 1
