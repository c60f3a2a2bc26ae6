"""``spark-submit strip_job.py MANIFEST OUTPUT``: the template off every page of web archives.

Pages of a site are stripped by a pool of pages of the site, as by ``scrapy strip``. A task has some
pages of a site, and draws the pool itself: that is the same in every task.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tplspider.extraction import MEGABYTES, SECONDS, Extraction, ExtractionError
from tplspider.plugins.spark.captures import open_captures, read_manifest
from tplspider.plugins.spark.jobs import (
    ROWS_DDL,
    Output,
    batches_of,
    job_parser,
    start,
    tell,
)
from tplspider.pools.pool import draw
from tplspider.pools.site_templates import STRIP, StripJob
from tplspider.spiders.template_strip import COLUMNS, read_page, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.sources.archive import Archive

PAGES = "pages"
_PER_CHUNK = 1000  # pages of a site that are stripped together
_CHUNKS = pa.schema([("site", pa.string()), ("first", pa.int64())])
_NUMBERS = ("evidence", "offset")


def main(given: list[str] | None = None) -> int:
    """Run the job, and give its exit status."""
    about = "Take the templates off the pages of web archives."
    parser = job_parser("strip_job.py", about, archives=True)
    parser.add_argument("--markdown", action="store_true", help="the column main_markdown")
    parser.add_argument("--html", action="store_true", help="the column main_html")
    options = parser.parse_args(given)
    try:
        files = read_manifest(options)
        spark = start("tplspider strip")
        output = Output(spark, options)
        archive = open_captures(spark, output, options, files)
    except ValueError as error:
        parser.error(str(error))
    more = [name for name in ("main_markdown", "main_html") if getattr(options, name[5:])]
    task = StripTask(archive, (*COLUMNS, *more, "offset"))
    number = options.num_partitions or 4 * spark.sparkContext.defaultParallelism
    chunks = spark.createDataFrame(pa.Table.from_pylist(task.chunks(), schema=_CHUNKS))
    rows = chunks.repartition(number).mapInArrow(task.batches, ROWS_DDL)
    kinds = {name: "BIGINT" if name in _NUMBERS else "STRING" for name in task.columns}
    ddl = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    counts = output.write(rows, {PAGES: ddl})[PAGES].groupBy("outcome").count().collect()
    outcomes = ", ".join(f"{row['count']} {row['outcome']}" for row in sorted(counts))
    tell(f"{sum(row['count'] for row in counts)} pages: {outcomes}")
    output.clean()
    return 0


@dataclass(frozen=True)
class StripTask:
    """Strips chunks: some pages of a site, from the *first* one on."""

    archive: Archive
    columns: tuple[str, ...]

    def chunks(self) -> list[dict[str, Any]]:
        """The chunks of all sites."""
        with self.archive.open() as archive:
            sizes = Counter(page.site for page in archive.pages())
        return [
            {"site": site, "first": first}
            for site, size in sizes.items()
            for first in range(0, size, _PER_CHUNK)
        ]

    def batches(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of((PAGES, json.dumps(row)) for row in self._rows(given))

    def _rows(self, given: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        wanted = frozenset(self.columns)
        worker = Extraction(STRIP, workers=1, seconds=SECONDS, megabytes=MEGABYTES)
        with self.archive.open() as archive, asyncio.Runner() as runner:
            pool_of = lru_cache(1)(lambda site: draw(read_page(p)[1] for p in archive.pages(site)))
            try:
                for chunk in (row for batch in given for row in batch.to_pylist()):
                    site, first = chunk["site"], chunk["first"]
                    for stored in islice(archive.pages(site), first, first + _PER_CHUNK):
                        url, page, outcome = read_page(stored)
                        found = None
                        if page:
                            job = StripJob(page, site, wanted)
                            strip = worker.extract(job, pool_of(site).pages)
                            try:
                                found, outcome = runner.run(strip), "page"
                            except ExtractionError as error:
                                outcome = error.outcome
                        yield row_of(stored, url, outcome, found, self.columns)
            finally:
                runner.run(worker.close())


if __name__ == "__main__":
    # Under its own name, so that workers import it instead of being sent its code.
    from tplspider.plugins.spark.strip_job import main as run

    sys.exit(run())
