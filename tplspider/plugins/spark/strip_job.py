"""``spark-submit strip_job.py MANIFEST OUTPUT``: the template off every page of web archives.

Pages of a site are stripped by a pool of pages of the site, as by ``scrapy strip``. A task has some
pages of a site, and draws the pool itself: that is the same in every task.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tplspider.extraction import SECONDS
from tplspider.plugins.spark.captures import (
    Captures,
    open_captures,
    read_manifest,
)
from tplspider.plugins.spark.jobs import (
    ROWS_DDL,
    JobError,
    Output,
    batches_of,
    job_parser,
    start,
    tell,
)
from tplspider.pools.pool import Pool, PooledPage
from tplspider.pools.site_templates import Stripper
from tplspider.sources.archive import WarcSite
from tplspider.web.page import BAD_RESPONSE, ERROR, TIMEOUT, NoPage, WebPage, page_fault
from tplspider.web.redirects import redirect_target
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.sources.archive import StoredPage

logger = logging.getLogger(__name__)

PAGES = "pages"
_PER_CHUNK = 1000  # pages of a site that are stripped together
_LOOKED_AT = 1000  # pages of a site for its pool: more are not, however alike they are
_TEXTS = ("title", "main_text", "content_text")
PAGE, EMPTY, UNREADABLE = "page", "empty", "unreadable"


def main(given: list[str] | None = None) -> int:
    """Run the job, and give its exit status."""
    about = "Take the templates off the pages of web archives."
    parser = job_parser("strip_job.py", about, archives=True)
    parser.add_argument("--markdown", action="store_true", help="the column main_markdown")
    parser.add_argument("--html", action="store_true", help="the column main_html")
    options = parser.parse_args(given)
    more = [name for name in ("main_markdown", "main_html") if getattr(options, name[5:])]
    try:
        files = read_manifest(options)
        spark = start("tplspider strip")
        output = Output(spark, options)
        captures = open_captures(spark, output, options, files)
    except (ValueError, JobError) as error:
        parser.error(str(error))
    number = options.num_partitions or 4 * spark.sparkContext.defaultParallelism
    task = StripTask(captures, (*_TEXTS, "evidence", *more))
    chunks = spark.createDataFrame(pa.Table.from_pylist(task.chunks(), schema=_CHUNKS))
    chunks = chunks.repartition(number).checkpoint()
    texts = ", ".join(f"{name} STRING" for name in (*_TEXTS, *more))
    ddl = f"url STRING, path STRING, offset BIGINT, outcome STRING, evidence BIGINT, {texts}"
    tables = output.write(chunks.mapInArrow(task.batches, ROWS_DDL), {PAGES: ddl})
    counts = {
        row["outcome"]: row["count"] for row in tables[PAGES].groupBy("outcome").count().collect()
    }
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    tell(f"{sum(counts.values())} pages: {told}")
    output.clean()
    return 0


_CHUNKS = pa.schema([("site", pa.string()), ("first", pa.int64())])


@dataclass(frozen=True)
class StripTask:
    """Strips chunks: some pages of a site, from the *first* one on."""

    captures: Captures
    columns: tuple[str, ...]

    def chunks(self) -> list[dict[str, Any]]:
        """The chunks of all sites."""
        with self._archive() as archive:
            sizes = Counter(page.site for page in archive.pages())
        return [
            {"site": site, "first": first}
            for site, size in sizes.items()
            for first in range(0, size, _PER_CHUNK)
        ]

    def batches(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of((PAGES, json.dumps(row)) for row in self._rows(given))

    def _archive(self) -> WarcSite:
        return WarcSite(Path(self.captures.index), map(Path, self.captures.files))

    def _rows(self, given: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        stripper, pool_of = Stripper(), lru_cache(1)(draw_pool)
        with self._archive() as archive:
            for chunk in (row for batch in given for row in batch.to_pylist()):
                first, site = chunk["first"], chunk["site"]
                for stored in islice(archive.pages(site), first, first + _PER_CHUNK):
                    where = {"url": "", "path": stored.file.name, "offset": stored.offset}
                    empty = {name: None if name == "evidence" else "" for name in self.columns}
                    row = where | {"outcome": ERROR} | empty
                    try:
                        row |= self._row(stripper, stored, pool_of(archive, site))
                    except TimeoutError:
                        row["outcome"] = TIMEOUT
                    except Exception:  # a fault of ours costs this page alone
                        logger.exception("%s at %s", stored.file, stored.offset)
                    yield row

    def _row(
        self, stripper: Stripper, stored: StoredPage, pool: tuple[PooledPage, ...]
    ) -> dict[str, Any]:
        url, page = stored.url, stored.read()
        if not url:
            return {"outcome": UNREADABLE}
        if isinstance(page, NoPage):
            return {"url": url, "outcome": page.reason}
        if fault := page_fault(page):
            if fault == BAD_RESPONSE:
                fault = UNREADABLE if page.body else EMPTY
            return {"url": url, "outcome": fault}
        wanted = frozenset(self.columns)
        pooled = PooledPage.of(url, page.text)
        found = stripper.strip(stored.site, pooled, pool, wanted=wanted, seconds=SECONDS)
        values = {name: getattr(found, name) for name in self.columns}
        shown = {n: storable(v) if isinstance(v, str) else v for n, v in values.items()}
        return {"url": url, "outcome": PAGE, **shown}


def draw_pool(archive: WarcSite, site: str) -> tuple[PooledPage, ...]:
    """The pool of a site, from its first pages: they come in the order of the draw."""
    pool = Pool()
    for stored in islice(archive.pages(site), _LOOKED_AT):
        page = stored.read()
        if isinstance(page, WebPage) and _is_page(page):
            pooled = PooledPage.of(page.url, page.text)
            if not pool.takes(pooled.place):
                break
            pool.add(pooled)
    return pool.pages


def _is_page(page: WebPage) -> bool:
    """Whether an answer can be read as a page, and does not lead elsewhere."""
    try:
        return not page_fault(page) and redirect_target(page) is None
    except ValueError:  # it leads to nowhere
        return False


if __name__ == "__main__":
    # Under its own name, so that workers import it instead of being sent its code.
    from tplspider.plugins.spark.strip_job import main as run

    sys.exit(run())
