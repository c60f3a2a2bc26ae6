"""``scrapy strip`` from the first file to the last row, and the exit status for it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tplspider.old.crawl.archive.files import is_archive
from tplspider.old.crawl.archive.opening import open_files
from tplspider.old.crawl.exit_status import LOST
from tplspider.old.crawl.strip.progress import StripProgress
from tplspider.old.crawl.until_ended import run_in_loop, run_until_ended
from tplspider.pools.store import PoolFolder
from tplspider.search.answer import counted
from tplspider.stripping.addresses import FileAddresses
from tplspider.stripping.listing import Listing, ListingError
from tplspider.stripping.outcomes import LOST as LOST_OUTCOMES
from tplspider.stripping.outcomes import PAGE
from tplspider.stripping.row_file import RowFile, RowFileError
from tplspider.stripping.strip_folder import FolderStripper, look_through
from tplspider.stripping.walk import list_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.old.crawl.strip.plan import StripPlan
    from tplspider.stripping.rows import Row
    from tplspider.stripping.strip_archive import ArchiveStripper


def run_strip(plan: StripPlan, interval: float) -> int:
    """Do it, and give the exit status; ValueError, in one line, for a folder without files.

    *interval* is that of lines that tell how far it is, in seconds.
    """
    printed = plan.output is None and sys.stdout.isatty()
    progress = StripProgress(interval, rows_on_terminal=printed)
    run = _Run(plan, progress)

    def work() -> int:
        if plan.files:
            return run.work_on_archive()
        with Listing() as listing:
            return run.work(listing)

    return run_until_ended(
        work,
        progress,
        run.how_far,
        command="strip",
        units="files",
        faults=(RowFileError, ListingError),
    )


class _Run:
    """One run of the command: what is counted on the way."""

    def __init__(self, plan: StripPlan, progress: StripProgress) -> None:
        self._plan = plan
        self._progress = progress
        self._total = 0
        self._outcomes: Counter[str] = Counter()
        self._archives, self._an_archive = 0, ""  # WARC files in a folder, and one of them

    def how_far(self) -> str:
        """For people: the rows that are written."""
        written = self._outcomes.total()
        if not self._total:
            return "nothing is written"
        return f"{written} of {counted(self._total, 'row')} written to {self._plan.output_name}"

    def work(self, listing: Listing) -> int:
        plan, progress = self._plan, self._progress
        addresses = FileAddresses(plan.folder, plan.base_url)
        progress.begin("listed")
        list_files(plan.folder, listing, without=plan.inodes(), seen=progress.show)
        total = listing.count()
        if not total:
            raise ValueError(f"{str(plan.folder)!r}: there is no file in it")
        progress.begin("looked at", total)
        look_through(plan.folder, listing, addresses, progress.show)
        self._total = total
        progress.begin("stripped", total)
        stripper = FolderStripper(plan.folder, listing, addresses, plan.options, progress.tell)
        self._strip(stripper)
        status = self._end("file")
        if self._archives:
            found = counted(self._archives, "WARC file")
            progress.tell(f"{found} not read: give the files, scrapy strip {self._an_archive} ...")
        return status

    def work_on_archive(self) -> int:
        # Here and not above: what reads archives is an extra.
        from tplspider.stripping.strip_archive import ArchiveStripper

        plan, progress = self._plan, self._progress
        archive, empty = open_files(
            plan.files,
            plan.index,
            plan.cdxj,
            progress,
            workers=plan.options.workers,
            megabytes=plan.options.megabytes,
        )
        paths = {number: file.path for number, file in archive.files.items()}
        with archive.open() as site:
            self._total = site.index.count_pages()
            progress.begin("stripped", self._total, "pages")
            self._strip(ArchiveStripper(site, paths, plan.options, progress.tell))
            unread = site.take_unread()
        if unread.records:
            progress.tell(unread.told)
        status = self._end("page")
        return LOST if empty else status

    def _strip(self, stripper: FolderStripper | ArchiveStripper) -> None:
        with _opened(self._plan) as descriptor:
            run_in_loop(self._write_rows(stripper, descriptor))

    def _end(self, unit: str) -> int:
        """Tell what became of it all, and give the exit status."""
        plan, progress = self._plan, self._progress
        progress.close()
        progress.tell(self._account(unit))
        has_lost = any(self._outcomes[outcome] for outcome in LOST_OUTCOMES)
        store = plan.options.store
        has_faults = isinstance(store, PoolFolder) and store.faults > 0  # pools were not saved
        return LOST if has_lost or has_faults else 0

    async def _write_rows(
        self, stripper: FolderStripper | ArchiveStripper, descriptor: int
    ) -> None:
        plan = self._plan
        with RowFile(descriptor, plan.output_name, plan.format, plan.options.columns) as file:

            def write(row: Row) -> None:
                file.add(row)
                self._outcomes[str(row["outcome"])] += 1
                self._progress.show(file.rows)
                if not plan.files and is_archive(name := str(row["path"])):
                    self._archives += 1
                    self._an_archive = self._an_archive or str(plan.folder / name)

            await stripper.strip(write)

    def _account(self, unit: str) -> str:
        by_number = sorted(self._outcomes.items(), key=lambda item: (-item[1], item[0]))
        # "5 pages: 5 page" would look like a mistake.
        words = ((count, "stripped" if each == PAGE else each) for each, count in by_number)
        found = ", ".join(f"{count} {word}" for count, word in words)
        return f"{counted(self._total, unit)}: {found}" if found else f"no {unit}"


@contextmanager
def _opened(plan: StripPlan) -> Iterator[int]:
    """The output, open for writing; what it held before is gone."""
    if plan.output is None:
        sys.stdout.flush()
        yield sys.stdout.fileno()
        return
    try:
        plan.output.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(plan.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        why = error.strerror or str(error)
        raise RowFileError(f"{plan.output_name} cannot be written: {why}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)
