"""The table of all captures: where every address is archived, the best of its captures first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as sql
from pyspark.sql.utils import AnalysisException

from tplspider.sources.warc_capture import PAGE, RENDERED
from tplspider.spark.capturing import FAILED, FileCaptures, index_captures
from tplspider.spark.own_settings import SHUFFLE_PARTS
from tplspider.spark.table_columns import CAPTURE, PLACE_NAMES, ddl

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import Broadcast
    from pyspark.sql import Column, DataFrame, SparkSession

    from tplspider.spark.tables import OutputFolder

_CAPTURES = 5  # of an address that are tried, should the best not be what the index says
_OWN = 2  # of those that a search itself has made
_NAMED = 100  # of those that others name by their dates
_MOST_PARTS = 4000  # of a shuffle
_FAULTS = 20  # that are told one by one
_INDEX = ("url", "warc_filename", "warc_record_offset", "warc_record_length")


@dataclass
class Captures:
    """All captures; *names* are those of the files, by their numbers, as workers have them."""

    spark: SparkSession
    names: Broadcast[list[str]]
    found: DataFrame  # as in CAPTURE, with rows for files that have faults
    output: OutputFolder

    def __post_init__(self) -> None:
        # As many parts as there are files, more or less. Spark's own 200 are many for few files,
        # and few for those of a month; whoever has set it knows better.
        if SHUFFLE_PARTS not in {name for name, _ in self.spark.sparkContext.getConf().getAll()}:
            least = 2 * self.spark.sparkContext.defaultParallelism
            self.spark.conf.set(
                SHUFFLE_PARTS, str(min(max(least, len(self.names.value)), _MOST_PARTS))
            )

    @cached_property
    def all(self) -> DataFrame:
        """All of them, found once."""
        return self.output.keep(self.found, "captures")

    @cached_property
    def best(self) -> DataFrame:
        """The best captures of each address, and those of each search, by the ``search``.

        And those that these name by their dates, as revisits do: a second time, if need be.
        """
        found = self.all.where(sql.col("fault").isNull())
        best = _of_all(_first(found, ["key"], _CAPTURES))
        # What a search itself has made goes by its date, but for pages as scripts have made them.
        own = _first(
            found.where(sql.col("search").isNotNull()),
            ["key", "search"],
            _OWN,
            sql.col("kind") > RENDERED,
        )
        best = self.output.keep(best.unionByName(own), "best")
        dated = sql.col("target_date").isNotNull()
        told = best.where(dated).select(
            sql.col("target").alias("key"), sql.col("target_date").alias("date")
        )
        if told.isEmpty():
            return best
        named = _first(found.join(told.distinct(), ["key", "date"], "left_semi"), ["key"], _NAMED)
        named = _of_all(named).withColumn("rank", sql.lit(0))  # it may be the best or not
        return best.unionByName(self.output.keep(named, "named"))

    @cached_property
    def pages(self) -> DataFrame:
        """Each page once, by its best capture."""
        is_page = (sql.col("rank") == 1) & (sql.col("kind") <= PAGE) & sql.col("search").isNull()
        return self.best.where(is_page)

    def first_of_sites(self, most: int, sites: DataFrame | None = None) -> DataFrame:
        """The first pages of all sites, or of these, in the draw, as rows with their ``turn``."""
        order = Window.partitionBy("site").orderBy("key")
        pages = self.pages if sites is None else self.pages.join(sites, "site")
        pages = pages.withColumn("turn", sql.row_number().over(order))
        return pages.where(sql.col("turn") <= most)

    def tell_faults(self, tell: Callable[[str], object]) -> int:
        """Say what is wrong with the files; how many give nothing. ValueError if none does."""
        faulty = self.all.where(sql.col("fault").isNotNull())
        failed: int = faulty.where(sql.col("kind") == FAILED).count()
        rows = faulty.orderBy("kind", "file").limit(_FAULTS).collect()
        for row in rows:
            used = "" if row["kind"] == FAILED else " (all that can be read is used)"
            name = "the index" if row["file"] is None else self.names.value[row["file"]]
            tell(f"{name}: {row['fault']}{used}")
        if len(rows) == _FAULTS and (more := faulty.count() - _FAULTS):
            tell(f"... and {more} more like these")
        if self.all.where(sql.col("fault").isNull()).isEmpty():
            raise ValueError("there is no page in any of the files")
        return failed


def place() -> Column:
    """A capture as it is given to those who read it."""
    own = sql.col("search").isNotNull().alias("own")
    return sql.struct(*(sql.col(name) for name in PLACE_NAMES[:-1]), own)


def captures_of_files(
    spark: SparkSession,
    manifest: str,
    output: OutputFolder,
    base: str,
    *,
    partitions: int,
    folder: str | None,
) -> Captures:
    """The captures in the files that a manifest names, one a line."""
    lines = [row[0].strip("\ufeff \t\r\n") for row in read(spark.read.text, manifest).collect()]
    if any("\0" in line for line in lines):
        raise ValueError(f"{manifest}: this is not a manifest, which names WARC files, one a line")
    names = list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))
    if not names:
        raise ValueError(f"{manifest}: there is no file in this manifest")
    shared = spark.sparkContext.broadcast(names)
    work = FileCaptures(shared, base, folder)
    # A table of rows that Python gives would be handed out by processes of Python's own.
    files = spark.range(0, len(names), 1, max(1, min(partitions, len(names))))
    return Captures(spark, shared, files.mapInArrow(work.table, ddl(CAPTURE)), output)


def captures_of_index(spark: SparkSession, index: str, output: OutputFolder) -> Captures:
    """The captures that a columnar index tells of, as Common Crawl has one."""
    table = read(spark.read.parquet, index)
    if lacking := [name for name in _INDEX if name not in table.columns]:
        raise ValueError(f"{index}: this index has no column {', '.join(lacking)}")
    rows = table.select("warc_filename").distinct().orderBy("warc_filename").collect()
    names = [row[0] for row in rows if row[0]]
    if not names:
        raise ValueError(f"{index}: there is nothing in this index")
    numbers = pa.array(range(len(names)), pa.int32())
    files = spark.createDataFrame(pa.table({"file": numbers, "warc_filename": names}))
    # What Common Crawl tells beyond: which of several captures is a page, and the newest.
    more = {"fetch_status": "int", "content_mime_type": "string", "fetch_time": "timestamp"}
    status, mime, time = (
        sql.col(name).try_cast(kind) if name in table.columns else sql.lit(None).cast(kind)
        for name, kind in more.items()
    )
    # Values that are not numbers are missing: Spark would end the job over one of them.
    asked = table.join(sql.broadcast(files), "warc_filename", "left").select(
        sql.col("url").try_cast("string").alias("url"),
        "file",
        sql.col("warc_record_offset").try_cast("long").alias("offset"),
        sql.col("warc_record_length").try_cast("long").alias("length"),
        status.alias("status"),
        mime.alias("type"),
        sql.date_format(time, "yyyyMMddHHmmssSSSSS").try_cast("long").alias("date"),
    )
    found = asked.mapInArrow(index_captures, ddl(CAPTURE))
    return Captures(spark, spark.sparkContext.broadcast(names), found, output)


def read(reader: Callable[[str], DataFrame], path: str) -> DataFrame:
    """A table; ValueError, in one line, if there is none."""
    try:
        return reader(path)
    except AnalysisException as error:
        told = str(error).splitlines()[0]
        why = "there is no such file" if "PATH_NOT_FOUND" in told else told
        raise ValueError(f"{path}: {why}") from None
    except Exception as error:
        if "is not a Parquet file" in str(error):
            raise ValueError(f"{path}: this is not an index in Parquet") from None
        raise


def _of_all(found: DataFrame) -> DataFrame:
    return found.withColumn("search", sql.lit(None).cast("string"))


def _first(found: DataFrame, keys: list[str], most: int, by: str | Column = "kind") -> DataFrame:
    down: list[Any] = [sql.col(name).desc() for name in ("date", "file", "offset")]
    order = Window.partitionBy(*keys).orderBy(by, *down)
    ranked = found.withColumn("rank", sql.row_number().over(order))
    return ranked.where(sql.col("rank") <= most).drop("fault")
