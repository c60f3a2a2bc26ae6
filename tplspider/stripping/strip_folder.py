"""A folder of saved pages in, a row for each file out.

The folder is gone through twice: first to learn which pages there are, of which sites, so that
each is compared with the pool of its whole site, whatever order they come in.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tplspider.old.extraction import MEGABYTES, SECONDS
from tplspider.old.extraction.errors import ExtractionError
from tplspider.old.extraction.strip_workers import StripWorkers
from tplspider.pools.pool import PooledPage, page_identity, page_site
from tplspider.stripping.folder_pools import FolderPools, read_listed
from tplspider.stripping.outcomes import PAGE, outcome_of
from tplspider.stripping.plain_file import PlainFileError, file_of
from tplspider.stripping.row_order import Waiting, write_in_order
from tplspider.stripping.rows import COLUMNS, Row, make_row, shown_path, wanted_fields
from tplspider.stripping.saved_page import read_saved_page
from tplspider.template.extract import digest_of
from tplspider.web.addresses import place_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tplspider.pools.store import PoolStore
    from tplspider.stripping.addresses import FileAddresses
    from tplspider.stripping.listing import Listed, Listing


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
        workers.start()
        try:
            await write_in_order(self._begin_all(workers, pools), write, options.workers)
        finally:
            await workers.close()

    async def _begin_all(self, workers: StripWorkers, pools: FolderPools) -> AsyncIterator[Waiting]:
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
                        yield Waiting(asyncio.ensure_future(work), size)
                        continue
                yield Waiting(make_row(self.options.columns, url, listed.path, outcome))

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
