"""``scrapy strip`` from the first file to the last row, and the exit status for it.

Ctrl-C and SIGTERM end it: what was written by then stays, in good form, and the exit status tells
that it is not all.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tplspider.crawl.exit_status import LOST
from tplspider.crawl.fleet.interrupted import run_until_interrupted
from tplspider.crawl.strip.progress import StripProgress
from tplspider.pools.pool_folder import PoolFolder
from tplspider.search.wording import counted
from tplspider.stripping.addresses import FileAddresses
from tplspider.stripping.listing import Listing, ListingError
from tplspider.stripping.outcomes import LOST as LOST_OUTCOMES
from tplspider.stripping.row_file import RowFile, RowFileError
from tplspider.stripping.strip_folder import FolderStripper, look_through
from tplspider.stripping.walk import list_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.crawl.strip.plan import StripPlan
    from tplspider.stripping.rows import Row

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_strip(plan: StripPlan, interval: float) -> int:
    """Do it, and give the exit status; ValueError, in one line, for a folder without files.

    *interval* is that of lines that tell how far it is, in seconds.
    """
    printed = plan.output is None and sys.stdout.isatty()
    progress = StripProgress(interval, rows_on_terminal=printed)
    run = _Run(plan, progress)
    try:
        with _ended_by_sigterm(), Listing() as listing:
            return run.work(listing)
    except (RowFileError, ListingError) as error:
        progress.tell(f"scrapy strip: {error}; {run.how_far()}")
    except BrokenPipeError:  # whoever reads the rows has enough
        return 0
    except KeyboardInterrupt:
        progress.tell(f"scrapy strip: ended before all files were done: {run.how_far()}")
    finally:
        progress.close()
    return LOST


class _Run:
    """One run of the command: what is counted on the way."""

    def __init__(self, plan: StripPlan, progress: StripProgress) -> None:
        self._plan = plan
        self._progress = progress
        self._total = 0
        self._outcomes: Counter[str] = Counter()

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
        with _opened(plan) as descriptor:
            run_until_interrupted(self._write_rows(stripper, descriptor), _SIGNALS)
        progress.close()
        progress.tell(self._account())
        has_lost = any(self._outcomes[outcome] for outcome in LOST_OUTCOMES)
        store = plan.options.store
        has_faults = isinstance(store, PoolFolder) and store.faults > 0  # pools were not saved
        return LOST if has_lost or has_faults else 0

    async def _write_rows(self, stripper: FolderStripper, descriptor: int) -> None:
        plan = self._plan
        with RowFile(descriptor, plan.output_name, plan.format, plan.options.columns) as file:

            def write(row: Row) -> None:
                file.add(row)
                self._outcomes[str(row["outcome"])] += 1
                self._progress.show(file.rows)

            await stripper.strip(write)

    def _account(self) -> str:
        by_number = sorted(self._outcomes.items(), key=lambda item: (-item[1], item[0]))
        found = ", ".join(f"{count} {outcome}" for outcome, count in by_number)
        return f"{counted(self._total, 'file')}: {found}"


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


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C meanwhile."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
