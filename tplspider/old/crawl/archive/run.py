"""``scrapy archive`` from the first record to the last row, and the exit status for it.

When it was ended early, the same command with a JOBDIR goes on.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from tplspider.old.crawl.archive.answers import ArchiveSearches
from tplspider.old.crawl.archive.feeds import FeedError, is_printed
from tplspider.old.crawl.archive.key_lines import count_of_each_host, of_each_host, of_hosts
from tplspider.old.crawl.archive.opening import open_files
from tplspider.old.crawl.archive.rows import RowDesk
from tplspider.old.crawl.batch.background import in_background, is_stream
from tplspider.old.crawl.batch.journal import Journal
from tplspider.old.crawl.batch.journal_file import JournalError
from tplspider.old.crawl.batch.key_list import open_list
from tplspider.old.crawl.batch.same_list import check_same_list
from tplspider.old.crawl.exit_status import LOST, status_of
from tplspider.old.crawl.strip.progress import StripProgress
from tplspider.old.crawl.until_ended import run_in_loop, run_until_ended
from tplspider.old.extraction.archive_search import ArchiveWork
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.archive.plan import ArchivePlan
    from tplspider.old.crawl.batch.list_line import ListLine
    from tplspider.sources.warc import WarcSite
    from tplspider.sources.warc_archive import Archive


def run_archive(plan: ArchivePlan, settings: BaseSettings) -> int:
    """Do it, and give the exit status; ValueError, in one line, for what cannot be done."""
    printed = any(map(is_printed, plan.feeds)) and sys.stdout.isatty()
    progress = StripProgress(settings.getfloat("LOGSTATS_INTERVAL"), rows_on_terminal=printed)
    run = _Run(plan, progress)

    def work() -> int:
        run.work()
        return status_of(run.desk.tally, settings.get("TPLSPIDER_FAIL")) if run.desk else LOST

    return run_until_ended(
        work,
        progress,
        run.how_far,
        command="archive",
        units="key pages",
        faults=(FeedError, JournalError),
        has_others=len(plan.feeds) > 1 or plan.report is not None,
    )


class _Run:
    """One run of the command."""

    def __init__(self, plan: ArchivePlan, progress: StripProgress) -> None:
        self.desk: RowDesk | None = None
        self._plan = plan
        self._progress = progress

    def how_far(self) -> str:
        """For people."""
        done = self.desk.tally.answered if self.desk else 0
        return f"{counted(done, 'key page')} answered" if done else "nothing is written"

    def work(self) -> None:
        plan, progress = self._plan, self._progress
        archive, empty = open_files(
            plan.files,
            plan.index,
            plan.cdxj,
            progress,
            workers=plan.workers,
            megabytes=plan.config.extract_mb,
        )
        with archive.open(plan.largest) as site:
            missing = self._check_hosts(site)
            journal = Journal.open(plan.job, sync=plan.config.sync)
            try:
                if plan.job:
                    journal.bind(plan.description)
                self.desk = desk = RowDesk(plan, journal, progress.tell)
                desk.open()
                try:
                    run_in_loop(self._answer_all(archive, site, journal, desk))
                finally:
                    desk.close()
            finally:
                journal.close()
            desk.misfits += site.misfits
            unread = desk.unread.and_more(site.take_unread())
        desk.tally.is_finished = True
        desk.tally.lost += empty + missing
        progress.close()
        if plan.hosts and not desk.tally.answered and not desk.tally.earlier:
            desk.tally.lost += 1
            progress.tell(f"no key page of the list is of --host {' or '.join(plan.hosts)}")
        desk.tally.lost += bool(desk.misfits)
        if unread.records:
            desk.tally.lost += 1
            progress.tell(unread.told)
        progress.tell(self._account(desk))

    def _check_hosts(self, site: WarcSite) -> int:
        """Tell which hosts have no page, and how many these are; ValueError if that is all."""
        plan = self._plan
        if not plan.every:
            return 0
        missing = [host for host in plan.hosts if not count_of_each_host(site, 1, [host])]
        lines = [f"--host {host}: no page of it is archived" for host in missing]
        if lines and len(lines) == len(plan.hosts):
            raise ValueError("; ".join(lines))
        for line in lines:
            self._progress.tell(line)
        return len(lines)

    async def _answer_all(
        self, archive: Archive, site: WarcSite, journal: Journal, desk: RowDesk
    ) -> None:
        plan = self._plan
        if plan.keys and plan.job:
            with open_list(plan.keys, plan.column) as lines:
                await check_same_list(lines, journal)
        searches = ArchiveSearches(
            ArchiveWork(
                archive.index,
                tuple(archive.files),
                plan.largest,
                plan.limits,
                extractor=plan.config.extractor if plan.wants_template else "",
                seconds=plan.config.extract_seconds,
                for_report=plan.report is not None,
                markdown=plan.config.markdown,
            ),
            plan.options,
            workers=plan.workers,
            megabytes=plan.config.extract_mb,
            is_known=lambda search_id: journal.summary(search_id) is not None,
        )
        done = journal.done()
        self._progress.begin("searched", self._total(site), "key pages")
        async for found in searches.answers(_left(self._lines(site), journal)):
            desk.take(found)
            done += 1
            self._progress.show(done)

    def _total(self, site: WarcSite) -> int | None:
        plan = self._plan
        if plan.every:
            return count_of_each_host(site, plan.every, plan.hosts)
        if plan.hosts or is_stream(plan.keys):
            return None
        with open_list(plan.keys, plan.column) as lines:
            return lines.count()

    def _lines(self, site: WarcSite) -> AsyncIterator[ListLine]:
        plan = self._plan
        if plan.every:
            return _async(partial(of_each_host, site, plan.every, plan.hosts))

        def opened() -> Iterator[ListLine]:
            with open_list(plan.keys, plan.column) as lines:
                yield from of_hosts(lines, plan.hosts) if plan.hosts else lines

        return in_background(opened) if is_stream(plan.keys) else _async(opened)

    def _account(self, desk: RowDesk) -> str:
        tally = desk.tally
        parts = [f"{tally.complete} complete", f"{tally.partial} partial"]
        parts += [f"{count} {what}" for what, count in sorted(tally.unusable.items())]
        told = ", ".join(part for part in parts if not part.startswith("0 "))
        line = f"{counted(tally.answered, 'key page')}{': ' if told else ''}{told}"
        before = tally.earlier.total()
        if before and tally.answered:
            line += f"; {before} answered before"
        elif before:
            line = f"{counted(before, 'key page')} answered before, and none left"
        if desk.misfits:
            line += f"; {counted(desk.misfits, 'record')} not as the index says: if no file was"
            line += " changed meanwhile, delete it"
        return line


async def _async(lines: Callable[[], Iterable[ListLine]]) -> AsyncIterator[ListLine]:
    for line in lines():
        yield line


async def _left(lines: AsyncIterator[ListLine], journal: Journal) -> AsyncIterator[ListLine]:
    """The lines that are not done yet."""
    async for line in lines:
        if not journal.is_done(line.number, line.mark):
            yield line
