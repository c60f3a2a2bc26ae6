"""Pages without their templates, in Spark's workers: pools are drawn first, then applied."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tplspider.old.extraction import SECONDS
from tplspider.old.extraction.archive_search import draw_pool
from tplspider.old.extraction.extractors import one_line
from tplspider.pools.site_templates import Stripper
from tplspider.sources.unread import Unread
from tplspider.sources.warc_index import stored_key
from tplspider.spark.careful import in_child, needs_care
from tplspider.spark.joined_site import JoinedSite, NotLookedUpError, StoredPlace, place_from
from tplspider.spark.stored_files import StoredFiles
from tplspider.spark.table_columns import POOLED, UNREAD, batches_of, unread_row
from tplspider.stripping.outcomes import PAGE
from tplspider.stripping.rows import columns, make_row, wanted_fields
from tplspider.stripping.strip_archive import read_page
from tplspider.web.page import CRASHED, ERROR, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

Row = dict[str, Any]

logger = logging.getLogger(__name__)

_BATCH = 100
_POOLS_AT_A_TIME = 20
_FAULTS = 10  # pages of a site that are left out of the draw, before there is none
_NO_POOL: Row = {"pool": [], "is_ready": True, **unread_row(0, None)}
_LOST: tuple[str, None, str, Unread] = "", None, CRASHED, Unread()


@dataclass(frozen=True)
class PoolDraws:
    """Draws the pools of sites that come as rows of ``site``, ``places`` and ``is_whole``."""

    names: Any  # a Broadcast
    base: str

    def table(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given: the places of the pages, no pages."""
        return batches_of(self._rows(batches), POOLED, _POOLS_AT_A_TIME)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        with StoredFiles() as stored:
            site, is_careful = JoinedSite(stored, self.names.value, self.base), needs_care()
            for batch in batches:
                for row in batch.to_pylist():
                    draw = partial(self._draw, site, row)
                    found = in_child(draw) if is_careful else draw()
                    yield {"site": row["site"], **(found or _NO_POOL)}

    def _draw(self, site: JoinedSite, row: Row) -> Row:
        name, places = row["site"], row["places"]
        site.begin((), (), pool_of=name, pool=map(place_from, places), is_deep=row["is_whole"])
        for _ in range(_FAULTS):
            site.take_unread()  # each draw reads all anew
            try:
                drawn = {stored_key(page.place) for page in draw_pool(site, name)}
            except NotLookedUpError:
                return {**_NO_POOL, "is_ready": False}
            except Exception as error:  # noqa: BLE001 - a page that we stumble over is left out
                logger.error("A page of %s: %s", name, one_line(error))  # noqa: TRY400 - one line
                site.leave_out_last()
                continue
            pool = [place for place in places if place["key"] in drawn]
            return {"pool": pool, "is_ready": True, **unread_row(*site.take_unread())}
        return _NO_POOL


@dataclass(frozen=True)
class PageStrips:
    """Strips pages that come some at a time, in rows of ``site``, ``places`` and ``pool``."""

    names: Any  # a Broadcast
    base: str
    markdown: bool = False
    html: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a page; ``path`` is told in another way."""
        return columns(markdown=self.markdown, html=self.html)

    @property
    def columns(self) -> pa.Schema:
        """The columns of the rows; those of :data:`UNREAD` are not for users."""
        texts = [name for name in self.fields if name not in ("path", "evidence")]
        return pa.schema(
            [
                *((name, pa.string()) for name in texts),
                ("evidence", pa.int64()),
                ("warc_filename", pa.string()),
                ("warc_record_offset", pa.int64()),
                *UNREAD,
            ]
        )

    def table(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of(self._rows(batches), self.columns, _BATCH)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        stripper = Stripper()
        with StoredFiles() as stored:
            site = JoinedSite(stored, self.names.value, self.base)
            for batch in batches:
                for row in batch.to_pylist():
                    yield from self._of_site(stripper, site, row)

    def _of_site(self, stripper: Stripper, site: JoinedSite, row: Row) -> Iterator[Row]:
        pool: tuple[PooledPage, ...] | None = None
        is_careful = needs_care()
        for place in sorted(map(place_from, row["places"]), key=lambda each: each.key):
            read = partial(_read, site, place)
            url, page, outcome, unread = (in_child(read) if is_careful else read()) or _LOST
            found: PageTemplate | None = None
            if page is not None:
                if pool is None:
                    get = partial(_pool, site, row["pool"] or ())
                    drawn = in_child(get) if is_careful else get()
                    pool, more = drawn or ((), Unread())
                    unread = unread.and_more(more)
                strip = partial(self._strip, stripper, row["site"], page, pool)
                done = in_child(strip) if is_careful else strip()
                found, outcome = done or (None, CRASHED)
            made = make_row(self.fields, url, b"", outcome, found)
            del made["path"]
            where = {"warc_filename": site.place_name(place), "warc_record_offset": place.offset}
            yield {**made, **where, **unread_row(*unread)}

    def _strip(
        self, stripper: Stripper, site: str, page: PooledPage, pool: tuple[PooledPage, ...]
    ) -> tuple[PageTemplate | None, str]:
        wanted = wanted_fields(self.fields)
        try:
            return stripper.strip(site, page, pool, wanted=wanted, seconds=SECONDS), PAGE
        except TimeoutError:
            return None, TIMEOUT
        except Exception as error:  # noqa: BLE001 - a fault of ours costs this page alone
            logger.error("%s: %s", page.url, one_line(error))  # noqa: TRY400 - in one line
            return None, ERROR


def _read(site: JoinedSite, place: StoredPlace) -> tuple[str, PooledPage | None, str, Unread]:
    """The address of a page, the page or its outcome, and what could not be fetched of it."""
    return *_page(site, place), site.take_unread()


def _pool(site: JoinedSite, places: Any) -> tuple[tuple[PooledPage, ...], Unread]:
    pages = (_page(site, place_from(place))[1] for place in places)
    found = tuple(sorted((page for page in pages if page), key=lambda page: page.place))
    return found, site.take_unread()


def _page(site: JoinedSite, place: StoredPlace) -> tuple[str, PooledPage | None, str]:
    try:
        return read_page(site, place)
    except Exception as error:  # noqa: BLE001 - as above
        where = f"{site.place_name(place)} at {place.offset}"
        logger.error("%s: %s", where, one_line(error))  # noqa: TRY400 - in one line
        return "", None, ERROR
