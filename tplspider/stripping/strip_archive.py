"""WARC files in, a row for each page out: each is stripped by the pool of its site.

The index knows the pages of every site, so there is no look through them beforehand. Sites come by
their names, and pages by their places in the draw for pools: one site is at hand at a time.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tplspider.old.extraction.errors import ExtractionError
from tplspider.old.extraction.strip_workers import StripWorkers
from tplspider.pools.pool import Pool, PooledPage
from tplspider.sources.warc_pools import pages_by_place
from tplspider.stripping.outcomes import EMPTY, PAGE, UNREADABLE, outcome_of
from tplspider.stripping.row_order import Waiting, write_in_order
from tplspider.stripping.rows import OFFSET, Row, make_row, wanted_fields
from tplspider.stripping.strip_folder import StripOptions
from tplspider.web.page import BAD_RESPONSE, NoPage, page_fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tplspider.sources.warc import CapturedSite, WarcSite
    from tplspider.sources.warc_index import Place

READ_FOR_POOL = 1000  # captures of a site: more are not looked at, however alike its pages are


def read_page(archive: CapturedSite, place: Place) -> tuple[str, PooledPage | None, str]:
    """The address of a capture, the page to be stripped, and the outcome if there is none."""
    found = archive.page_at(place)
    if found is None:
        return "", None, UNREADABLE
    url, answer = found
    if isinstance(answer, NoPage):
        return url, None, answer.reason
    if fault := page_fault(answer):
        if fault == BAD_RESPONSE:
            fault = UNREADABLE if answer.body else EMPTY
        return url, None, fault
    return url, PooledPage.of(url, answer.text), PAGE


@dataclass(slots=True)
class ArchiveStripper:
    """Strips all pages of an archive; *files* are the paths by their numbers in the index.

    *tell* is given lines for people.
    """

    archive: WarcSite
    files: dict[int, Path]
    options: StripOptions = field(default_factory=StripOptions)
    tell: Callable[[str], object] = lambda _: None

    async def strip(self, write: Callable[[Row], object]) -> None:
        """Give *write* the rows, by the names of the sites."""
        options = self.options
        workers = StripWorkers(
            workers=options.workers,
            wanted=wanted_fields(options.columns) - {OFFSET},
            seconds=options.seconds,
            megabytes=options.megabytes,
            spread=True,
        )
        workers.start()
        try:
            await write_in_order(self._begin_all(workers), write, options.workers)
        finally:
            await workers.close()

    async def _begin_all(self, workers: StripWorkers) -> AsyncIterator[Waiting]:
        index = self.archive.index
        for number, site in index.sites():
            pool: tuple[PooledPage, ...] | None = None
            for place in index.pages_of(number):
                url, page, outcome = read_page(self.archive, place)
                if page is None:
                    yield Waiting(self._row(place, url, outcome))
                    continue
                if pool is None:
                    pool = await self._pool(site)
                work = self._strip(workers, site, place, page, pool)
                yield Waiting(asyncio.ensure_future(work), page.size)

    async def _pool(self, site: str) -> tuple[PooledPage, ...]:
        store = self.options.store if site else None
        pool = Pool(store.load(site) if store else ())
        changed = False
        for page in pages_by_place(self.archive, site, READ_FOR_POOL):
            pooled = PooledPage.of(page.url, page.text)
            if not pool.takes(pooled.place):
                break
            changed |= pool.add(pooled)
            await asyncio.sleep(0)  # others have their turn
        if store and changed:
            store.save(site, pool.pages)
        return pool.pages

    async def _strip(
        self,
        workers: StripWorkers,
        site: str,
        place: Place,
        page: PooledPage,
        pool: tuple[PooledPage, ...],
    ) -> Row:
        names = self._names
        path = os.fsencode(self.files[place.file].name)
        try:
            found = await workers.strip(site, page, pool)
        except ExtractionError as error:
            self.tell(f"{page.url}: {error}")
            return self._row(place, page.url, outcome_of(error))
        return {**make_row(names, page.url, path, PAGE, found), OFFSET: place.offset}

    def _row(self, place: Place, url: str, outcome: str) -> Row:
        path = os.fsencode(self.files[place.file].name)
        return {**make_row(self._names, url, path, outcome), OFFSET: place.offset}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name in self.options.columns if name != OFFSET)
