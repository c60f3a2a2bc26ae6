"""``spark-submit strip_job.py [options] INPUT OUTPUT``: every page of archives, stripped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tplspider.search.answer import counted
from tplspider.spark.job_arguments import job_parser
from tplspider.spark.running import run_job
from tplspider.spark.session import tell
from tplspider.stripping.outcomes import PAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tplspider.spark.captures import Captures

_CHUNK = 250  # pages of one site that are stripped together: their pool is read once for them
_PAGES = 2000  # for each task, where there are many
_SITES = 200  # the same, of sites whose pools are drawn


def main(given: list[str] | None = None) -> int:
    """Run the job, and give its exit status."""
    parser = job_parser("strip_job.py", "Take the template off every page of web archives.")
    parser.add_argument("--html", action="store_true", help="the column main_html as well")
    arguments = parser.parse_args(given)

    def run(_: SparkSession, captures: Captures) -> bool:
        # Here and not above: pyspark may not be installed, which is told in one line.
        from tplspider.spark.strip_pages import PageStrips
        from tplspider.spark.table_columns import UNREAD, ddl
        from tplspider.spark.tables import spread, tell_unread

        base = arguments.input_base_url
        pools = _pools(captures, base)
        work = PageStrips(captures.names, base, markdown=arguments.markdown, html=arguments.html)
        chunks = _chunks(captures.pages).join(pools.select("site", "pool"), "site", "left")
        tasks = arguments.num_work_partitions
        dealt = spread(
            chunks.select("site", "places", "pool"), captures.pages.count(), _PAGES, tasks
        )
        rows = captures.output.keep(dealt.mapInArrow(work.table, ddl(work.columns)), "pages")
        found = rows.groupBy("outcome").count().orderBy("outcome").collect()
        captures.output.write(rows.drop(*(name for name, _ in UNREAD)), "pages", arguments)
        counts = {row["outcome"]: int(row["count"]) for row in found}
        words = (f"{many} {'stripped' if each == PAGE else each}" for each, many in counts.items())
        tell(f"{counted(sum(counts.values()), 'page')}: {', '.join(words)}")
        return tell_unread([pools, rows], tell)

    return run_job("tplspider strip", arguments, run)


def _pools(captures: Captures, base: str) -> DataFrame:
    """The pool of each site, as the places of its pages: by few pages first, by more if need be."""
    from pyspark.sql import functions as sql

    from tplspider.spark.captures import place
    from tplspider.spark.joined_site import DEEP, SHALLOW
    from tplspider.spark.strip_pages import PoolDraws
    from tplspider.spark.table_columns import DRAWN, POOLED, ddl
    from tplspider.spark.tables import in_order, spread

    work = PoolDraws(captures.names, base)

    def drawn(pages: DataFrame, name: str, *, is_whole: bool) -> DataFrame:
        grouped = pages.groupBy("site").agg(in_order(place()).alias("places"))
        sites = grouped.withColumn("is_whole", sql.lit(is_whole)).select(*DRAWN.names)
        found = spread(sites, sites.count(), _SITES).mapInArrow(work.table, ddl(POOLED))
        return captures.output.keep(found, name)

    few = drawn(captures.first_of_sites(SHALLOW), "few", is_whole=False)
    more = few.where(~sql.col("is_ready")).select("site")
    if more.isEmpty():
        return few
    many = drawn(captures.first_of_sites(DEEP, more), "many", is_whole=True)
    return few.where("is_ready").unionByName(many)


def _chunks(pages: DataFrame) -> DataFrame:
    """The pages of each site, some at a time: a giant site is many rows of a bounded size."""
    from pyspark.sql import functions as sql

    from tplspider.spark.captures import place
    from tplspider.spark.tables import in_order

    sites = pages.groupBy("site").agg(sql.ceil(sql.count("*") / _CHUNK).alias("chunks"))
    chunk = sql.pmod(sql.col("key"), sql.col("chunks")).alias("chunk")
    marked = pages.join(sites, "site").select("*", chunk)
    return marked.groupBy("site", "chunk").agg(in_order(place()).alias("places"))


if __name__ == "__main__":
    sys.exit(main())
