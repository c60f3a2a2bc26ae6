"""Tables in and out of a job: those that it needs for itself, and what it writes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

from tplspider.search.answer import counted
from tplspider.sources.unread import Unread
from tplspider.spark.session import JobError, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from pyspark.sql import Column, DataFrame, SparkSession

_WORK = "_work"  # beginning with _ it is not taken for a table
_TASKS = 4  # for each core, at least
_CAUSES = 3  # for which records cannot be fetched, each with a line


class OutputFolder:
    """The folder of the output, which is made anew; tables that are done once are kept in it.

    Kept in Spark's own memory, they would still be part of every plan that is made of them, many
    times over, and gone with the machine that they are on.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        """Make the folder; JobError, in one line, if it is there or cannot be made."""
        self._spark = spark
        self._path = path.rstrip("/") or path
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - the one way to all file systems of Spark
        hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        self._of = jvm.org.apache.hadoop.fs.Path
        work = self._of(f"{self._path}/{_WORK}")
        fault = ""
        try:
            self._files = self._of(self._path).getFileSystem(hadoop)
            if self._files.exists(self._of(self._path)):
                fault = "it exists already: name another, or delete it"
            elif not self._files.mkdirs(work):
                fault = "it cannot be made"
        except Exception as error:  # noqa: BLE001 - whatever a file system may raise
            fault = short(str(error)).removeprefix(": ")
        if fault:
            raise JobError(f"{path}: {fault}")
        # Should Java be ended, it deletes what is in nobody's way but the next job's. What is not
        # there yet, it would not note: both have been made.
        self._temporary = [self._of(self._path), work]
        for each in self._temporary:
            self._files.deleteOnExit(each)

    def keep(self, rows: DataFrame, name: str) -> DataFrame:
        """Do a table once, and keep it until the job is over."""
        place = f"{self._path}/{_WORK}/{name}"
        rows.write.option("compression", "zstd").parquet(place)
        return self._spark.read.schema(rows.schema).parquet(place)

    def check(self, arguments: argparse.Namespace) -> None:
        """Write an empty table as asked for; JobError tells now what would fail at the end."""
        try:
            self.write(self._spark.range(0), f"{_WORK}/check", arguments)
        except Exception as error:  # noqa: BLE001 - whatever Spark may raise
            raise JobError(f"the output cannot be written: {short(str(error))}") from None

    def write(self, rows: DataFrame, name: str, arguments: argparse.Namespace) -> None:
        """Write a table of the output, in so many files."""
        options = {"compression": arguments.output_compression, **dict(arguments.output_option)}
        if arguments.output_format == "json":
            options.setdefault("ignoreNullFields", "false")  # every row has all columns
        if not name.startswith(_WORK):  # from now on, there is something to be had
            self._files.cancelDeleteOnExit(self._temporary[0])
        writer = rows.coalesce(max(1, arguments.num_output_partitions)).write
        writer.format(arguments.output_format).options(**options).save(f"{self._path}/{name}")

    def close(self) -> None:
        """Delete what was kept, and the folder if there is nothing else in it."""
        self._files.delete(self._of(f"{self._path}/{_WORK}"), True)  # noqa: FBT003 - of Java
        if not self._files.listStatus(self._of(self._path)):
            self._files.delete(self._of(self._path), False)  # noqa: FBT003 - as above
        for each in self._temporary:
            self._files.cancelDeleteOnExit(each)


def in_order(column: Column) -> Column:
    """What a group has of a column, in one order.

    Rows are dealt out to tasks by what is in them. A task that is made again, as a machine was
    lost, must deal them out in the same way, or some are there twice and others not at all.
    """
    return sql.sort_array(sql.collect_list(column))


def spread(rows: DataFrame, count: int, each: int, tasks: int = 0) -> DataFrame:
    """Rows, dealt out to tasks of one size, of which a core has some; or to so many *tasks*.

    Where there are many rows, a task has *each* of them. Spark would make one of all, by bytes.
    """
    least = _TASKS * rows.sparkSession.sparkContext.defaultParallelism
    return rows.repartition(tasks or max(least, math.ceil(count / each)))


def tell_unread(tables: Iterable[DataFrame], tell: Callable[[str], object]) -> bool:
    """Tell of records that could not be fetched, if there are any; whether there are none.

    The tables have the columns of :data:`UNREAD`.
    """
    counts: Counter[str] = Counter()
    total = 0
    for table in tables:
        lost = table.where(sql.col("unread") > 0)
        total += (lost.agg(sql.sum("unread")).first() or (0,))[0] or 0
        causes = lost.groupBy("unread_why").agg(sql.sum("unread").alias("count"))
        for row in causes.orderBy(sql.desc("count"), "unread_why").limit(_CAUSES).collect():
            counts[row["unread_why"]] += row["count"]
    for why, count in counts.most_common(_CAUSES):
        tell(Unread(count, why).told)
    if (more := total - sum(count for _, count in counts.most_common(_CAUSES))) > 0:
        tell(f"{counted(more, 'record')} more cannot be fetched")
    return not total


def numbered(rows: DataFrame, output: OutputFolder) -> DataFrame:
    """Rows that are in order, with a ``number`` from 1 on; they do not all come to one place."""
    part, inside = sql.spark_partition_id(), sql.monotonically_increasing_id()
    kept = output.keep(rows.withColumn("part", part).withColumn("inside", inside), "numbered")
    counts = kept.groupBy("part").count().orderBy("part").collect()
    starts = [0, *accumulate(row["count"] for row in counts)][:-1]
    parts = [row["part"] for row in counts]
    pairs = [sql.lit(each) for pair in zip(parts, starts, strict=True) for each in pair]
    if not pairs:
        return kept.withColumn("number", sql.lit(0).cast("long"))
    place = sql.col("inside").bitwiseAND(sql.lit((1 << 33) - 1))
    return kept.withColumn("number", place + sql.create_map(*pairs)[sql.col("part")] + 1)
