"""What the jobs share: arguments, the session, and tables that Spark commits.

Tasks give rows as JSON, each with the name of its table. They are written once, as text, and the
tables are made from that: nothing is searched or crawled a second time.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from dataclasses import is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

WRONG_USE = 2
ROWS = pa.schema([("table", pa.string()), ("row", pa.string())])
ROWS_DDL = "table STRING, row STRING"
CANDIDATES, SUMMARIES, TEXTS = "candidates", "summaries", "texts"
ITEMS = {CANDIDATES: TemplateCandidate, SUMMARIES: CandidateSearch, TEXTS: PageTemplate}
_BATCH = 50  # rows that are given to Spark at a time: a text may have megabytes
_TYPES = {str: "STRING", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", dict: "STRING"}


def job_parser(name: str, description: str, *, archives: bool = False) -> ArgumentParser:
    """A parser with the arguments of all jobs, or of all that read *archives*."""
    parser = ArgumentParser(prog=name, description=description)
    add = parser.add_argument
    if archives:
        add("manifest", help="a text file with the names of WARC files, one a line")
        add("--index", metavar="FILE", help="where the index is, or is made (default: in OUTPUT)")
    add("output", help="a folder that does not exist yet; all workers must be able to write there")
    add("--output_format", choices=("parquet", "json"), default="parquet", help="json: JSON lines")
    add("--num_output_partitions", type=int, default=10, help="files of each table (default 10)")
    add("--num_partitions", type=int, default=0, help="how many tasks the work is split into")
    return parser


def tell(line: str) -> None:
    """Print a line for the user."""
    print(f"tplspider: {line}", file=sys.stderr, flush=True)


def start(name: str) -> SparkSession:
    """The session, as ``spark-submit`` configures it; ValueError if it would run tasks twice."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name).config("spark.speculation", "false")
    spark = builder.getOrCreate()
    if spark.sparkContext.getConf().get("spark.speculation", "false") != "false":
        raise ValueError("set spark.speculation to false: a task must not run twice at a time")
    return spark


class Output:
    """The folder of a job: tables, and ``_work`` for what tasks hand to each other."""

    def __init__(self, spark: SparkSession, given: Namespace) -> None:
        from pyspark.errors import AnalysisException

        self._spark = spark
        self._given = given
        self.work = f"{given.output.rstrip('/')}/_work"
        try:
            self._empty().write.text(given.output)
        except AnalysisException as error:
            raise ValueError(f"{given.output}: {error.getMessage()}") from None
        spark.sparkContext.setCheckpointDir(self.work)

    def _empty(self) -> DataFrame:
        return self._spark.createDataFrame([], "value STRING")

    def write(self, rows: DataFrame, columns: dict[str, str]) -> dict[str, DataFrame]:
        """Do the work that gives *rows*, and make the tables; *columns* are in Spark's DDL."""
        from pyspark.sql import functions as sql

        made = f"{self.work}/rows"
        rows.write.partitionBy("table").option("compression", "gzip").text(made)
        given, tables = self._given, {}
        for name, ddl in columns.items():
            lines = self._spark.read.schema("value STRING, table STRING").text(made)
            lines = lines.where(lines["table"] == name).select("value")
            lines = lines.coalesce(given.num_output_partitions)
            parsed = sql.from_json("value", ddl, {"mode": "FAILFAST"})
            tables[name] = lines.select(parsed.alias("row")).select("row.*")
            path = f"{given.output}/{name}"
            if given.output_format == "parquet":
                tables[name].write.parquet(path)
            else:  # as they came
                lines.write.text(path)
        return tables

    def clean(self) -> None:
        """Remove what is in the folder for work; it stays itself, and Spark passes it over."""
        self._empty().write.mode("overwrite").text(self.work)


def ddl_of(kind: Any) -> str:
    """The columns of an item in Spark's DDL; those of the user are JSON."""
    return ", ".join(f"`{name}` {_ddl_type(each)}" for name, each in get_type_hints(kind).items())


def _ddl_type(kind: Any) -> str:
    origin, inner = get_origin(kind), [each for each in get_args(kind) if each is not NoneType]
    if origin is list:
        return f"ARRAY<{_ddl_type(inner[0])}>"
    if is_typeddict(kind) or is_dataclass(kind):
        return f"STRUCT<{ddl_of(kind)}>"
    if origin in _TYPES or kind in _TYPES:
        return _TYPES[origin or kind]
    return _ddl_type(inner[0])  # X | None


def batches_of(rows: Iterable[tuple[str, str]]) -> Iterator[pa.RecordBatch]:
    """Rows of tables, as JSON, in the batches that ``mapInArrow`` takes."""
    kept: list[tuple[str, str]] = []
    for row in rows:
        kept.append(row)
        if len(kept) == _BATCH:
            yield _batch(kept)
            kept = []
    if kept:
        yield _batch(kept)


def _batch(rows: list[tuple[str, str]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([list(each) for each in zip(*rows, strict=True)], schema=ROWS)


def tell_outcomes(summaries: DataFrame) -> None:
    """Print how many key pages have which outcome."""
    counts = Counter[str]()
    for row in summaries.groupBy("complete", "key_outcome").count().collect():
        good = "complete" if row["complete"] else "partial"
        counts[good if row["key_outcome"] == "ok" else row["key_outcome"]] += row["count"]
    parts = [f"{count} {outcome}" for outcome, count in sorted(counts.items())]
    tell(f"{counts.total()} key pages: {', '.join(parts)}")
