"""A folder of saved pages in, a row for each file out.

The folder is gone through twice: first to learn which pages there are, of which sites, so that
each is compared with the pool of its whole site, whatever order they come in.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tplspider.extraction import MEGABYTES, SECONDS
from tplspider.extraction.errors import ExtractionError
from tplspider.extraction.strip_workers import StripWorkers
from tplspider.pools.pool import page_identity, page_site, place_of
from tplspider.stripping.folder_pools import FolderPools, read_listed
from tplspider.stripping.outcomes import PAGE, outcome_of
from tplspider.stripping.plain_file import PlainFileError, file_of
from tplspider.stripping.rows import COLUMNS, Row, make_row, shown_path, wanted_fields
from tplspider.stripping.saved_page import read_saved_page
from tplspider.template.extract import digest_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tplspider.pools.pool import PooledPage
    from tplspider.pools.site_pools import PoolStore
    from tplspider.stripping.addresses import FileAddresses
    from tplspider.stripping.listing import Listed, Listing

_AHEAD, _MOST_AHEAD = 16, 400  # pages in flight for each worker, and in all: rows wait in order
_AHEAD_LETTERS = 50_000_000  # of these pages: their texts wait, too


@dataclass(frozen=True)
class StripOptions:
    """How pages are stripped, and what is wanted of them."""

    columns: tuple[str, ...] = COLUMNS
    workers: int = 1
    seconds: float = SECONDS
    megabytes: float = MEGABYTES
    store: PoolStore | None = None


def look_through(
    folder: Path,
    listing: Listing,
    addresses: FileAddresses,
    seen: Callable[[int], object] = lambda _: None,
) -> None:
    """Find out of all files of a listing what they are; *seen* is told how many are done."""
    done = 0
    for batch in listing.in_order():
        looked = []
        for listed in batch:
            looked.append(listed if listed.outcome else _look(folder, listed, addresses))
            done += 1
            seen(done)
        listing.update(looked)
    listing.index_pools()


def _look(folder: Path, listed: Listed, addresses: FileAddresses) -> Listed:
    name = listed.path.rpartition(b"/")[2]
    try:
        page = read_saved_page(file_of(folder, listed.path), name, listed.encoding)
    except PlainFileError as error:
        return replace(listed, outcome=error.outcome)
    known = listed.url or page.mirrored
    url = known or addresses.of(listed.path)
    return replace(
        listed,
        outcome=PAGE,
        url=known,
        encoding=page.encoding,
        site=page_site(url),
        place=place_of(page_identity(url)),
        digest=digest_of(page.html),
    )


@dataclass(slots=True)
class _Waiting:
    """A row that is there, or under way."""

    row: Row | asyncio.Task[Row]
    size: int = 0  # letters of the page

    @property
    def is_ready(self) -> bool:
        return not isinstance(self.row, asyncio.Task) or self.row.done()


@dataclass(slots=True)
class FolderStripper:
    """Strips all pages of a listing that was looked through; *tell* is given lines for people."""

    folder: Path
    listing: Listing
    addresses: FileAddresses
    options: StripOptions = field(default_factory=StripOptions)
    tell: Callable[[str], object] = lambda _: None

    async def strip(self, write: Callable[[Row], object]) -> None:
        """Give *write* the rows, in the order of the listing."""
        options = self.options
        workers = StripWorkers(
            workers=self.listing.count_pages(options.workers),
            wanted=wanted_fields(options.columns),
            seconds=options.seconds,
            megabytes=options.megabytes,
            spread=True,
        )
        pools = FolderPools(self.folder, self.listing, self.addresses, store=options.store)
        waiting: deque[_Waiting] = deque()
        most, size = min(_AHEAD * max(options.workers, 1), _MOST_AHEAD), 0
        workers.start()
        try:
            async for each in self._begin_all(workers, pools):
                waiting.append(each)
                size += each.size
                while waiting and (
                    waiting[0].is_ready or len(waiting) >= most or size > _AHEAD_LETTERS
                ):
                    write(await _row_of(waiting[0]))
                    size -= waiting.popleft().size
                if len(waiting) % _AHEAD == 0:
                    await asyncio.sleep(0)  # others have their turn: a signal, say
            while waiting:
                write(await _row_of(waiting[0]))
                waiting.popleft()
        finally:
            for each in waiting:
                if isinstance(each.row, asyncio.Task):
                    each.row.cancel()
            await workers.close()

    async def _begin_all(
        self, workers: StripWorkers, pools: FolderPools
    ) -> AsyncIterator[_Waiting]:
        for batch in self.listing.in_order():
            for listed in batch:
                url = "" if listed.is_manifest else listed.url or self.addresses.of(listed.path)
                outcome = listed.outcome
                if outcome == PAGE:
                    try:
                        page, size = read_listed(self.folder, listed, self.addresses)
                    except PlainFileError as error:
                        outcome = error.outcome  # it was a page a moment ago
                    else:
                        pool = await pools.of(listed.site)
                        work = self._strip(workers, listed, page, pool)
                        yield _Waiting(asyncio.ensure_future(work), size)
                        continue
                yield _Waiting(make_row(self.options.columns, url, listed.path, outcome))

    async def _strip(
        self,
        workers: StripWorkers,
        listed: Listed,
        page: PooledPage,
        pool: tuple[PooledPage, ...],
    ) -> Row:
        names = self.options.columns
        try:
            found = await workers.strip(listed.site, page, pool)
        except ExtractionError as error:
            self.tell(f"{shown_path(listed.path)}: {error}")
            return make_row(names, page.url, listed.path, outcome_of(error))
        return make_row(names, page.url, listed.path, PAGE, found)


async def _row_of(waiting: _Waiting) -> Row:
    if not isinstance(waiting.row, asyncio.Task):
        return waiting.row
    # Not awaited itself: whoever is cancelled here would cancel it, and hear only of that.
    await asyncio.wait([waiting.row])
    return waiting.row.result()
