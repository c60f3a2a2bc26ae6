"""``spark-submit crawl_job.py LIST OUTPUT``: searches on the live web from a list of key pages.

All key pages of a host are in one partition, and a task crawls a partition by ``scrapy crawl``. So
each host has one crawl at a time, which keeps its delays.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scrapy.settings import Settings
from scrapy.utils.conf import arglist_to_dict

from tplspider.arguments import Arguments, masked
from tplspider.keylist import KeyLine, KeyList, key_line
from tplspider.plugins.spark.jobs import (
    CANDIDATES,
    ITEMS,
    ROWS_DDL,
    SUMMARIES,
    TEXTS,
    WRONG_USE,
    Output,
    batches_of,
    ddl_of,
    job_parser,
    start,
    tell,
    tell_outcomes,
)
from tplspider.search.answer import unanswered
from tplspider.shards import site_of
from tplspider.spiders.template_candidates import TemplateCandidatesSpider
from tplspider.web.page import BAD_INPUT, CRASHED

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tplspider.search.session import SearchOptions

_PROFILE = "tplspider.profiles.default"
_OUTPUTS = ("urls", "url", "summary", "texts", "save_html", "report", "warc")
_LINES = pa.schema(
    [
        ("number", pa.int64()),
        ("site", pa.string()),
        ("line", pa.string()),  # as JSON, for the list of a crawl
        ("answer", pa.string()),  # of a line that no list can have
    ]
)
_CHUNK = 100_000  # lines of the list that are in memory at a time
_PER_TASK = 500  # lines: a task that is lost is done again from its beginning
_STARTS = 3  # of one crawl, if its process is killed


@dataclass(frozen=True)
class Wanted:
    """What a job is to search for, checked."""

    path: str  # of the list
    column: str
    options: SearchOptions
    names: tuple[str, ...]  # of the tables
    words: tuple[str, ...]  # arguments and settings, as a command takes them


def main(given: list[str] | None = None) -> int:
    """Run the job, and give its exit status."""
    parser = job_parser("crawl_job.py", "Search from the key pages of a list, on the live web.")
    add_search_arguments(parser)
    options = parser.parse_args(given)
    try:
        wanted = check(options)
        spark = start("tplspider crawl")
        output = Output(spark, options)
    except ValueError as error:
        parser.error(str(error))
    command = ("crawl", TemplateCandidatesSpider.name, "-aurls=")
    search(spark, output, wanted, command, options.num_partitions)
    return 0


def add_search_arguments(parser: ArgumentParser) -> None:
    """The arguments of jobs that search."""
    add = parser.add_argument
    add("--keys", required=True, metavar="LIST", help="the list, on the machine of the driver")
    add("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="argument")
    add("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="setting")
    add("--texts", action="store_true", help="the text of each key page, too")


def check(given: Namespace) -> Wanted:
    """Check the arguments as ``scrapy crawl`` does; ValueError if they are wrong."""
    arguments = arglist_to_dict(given.spargs)
    if wrong := [name for name in _OUTPUTS if name in arguments]:
        raise ValueError(f"-a {wrong[0]}: the job sets this itself")
    settings = Settings()
    settings.setmodule(_PROFILE, priority="project")
    settings.setdict(arglist_to_dict(given.settings), priority="cmdline")
    arguments["urls"] = given.keys
    TemplateCandidatesSpider.check(arguments, settings)
    checked = Arguments.of(arguments)
    words = [f"-a{word}" for word in given.spargs] + [f"-s{word}" for word in given.settings]
    names = (CANDIDATES, SUMMARIES, *([TEXTS] if given.texts else []))
    return Wanted(given.keys, checked.column, checked.options, names, tuple(words))


def search(
    spark: SparkSession, output: Output, wanted: Wanted, command: tuple[str, ...], number: int
) -> None:
    """Search from all key pages in *number* tasks, each by a *command*, and write the tables."""
    task = CrawlTask(command, wanted.words, wanted.column or "url", wanted.names)
    try:
        lines = _partitions(spark, output, wanted, number)
    except ValueError as error:
        sys.exit(f"tplspider: {error}")
    columns = {name: ddl_of(ITEMS[name]) for name in wanted.names}
    tables = output.write(lines.mapInArrow(task.batches, ROWS_DDL), columns)
    tell_outcomes(tables[SUMMARIES])
    output.clean()


def _partitions(spark: SparkSession, output: Output, wanted: Wanted, number: int) -> DataFrame:
    """The lines, all those of a host, or of a registered domain, in one partition.

    They are kept in files: if a worker is lost, a task that still runs is not started again because
    its input has to be made anew.
    """
    keys, count = KeyList(wanted.path, wanted.column), 0
    rows = line_rows(keys, wanted.options)
    path = f"{output.work}/lines"
    while chunk := list(islice(rows, _CHUNK)):
        count += len(chunk)
        table = pa.Table.from_pylist(chunk, schema=_LINES)
        spark.createDataFrame(table).write.mode("append").parquet(path)
    number = number or max(spark.sparkContext.defaultParallelism, -(-count // _PER_TASK))
    tell(f"{count} lines, in {number} tasks")
    lines = spark.read.parquet(path).repartition(number, "site").sortWithinPartitions("number")
    return lines.select("number", "line", "answer").checkpoint()


def line_rows(keys: KeyList, options: SearchOptions) -> Iterator[dict[str, Any]]:
    """The lines of a list as rows for Spark, each with what it is grouped by."""
    for line in keys:
        row = {"number": line.number, "site": site_of(line, options)}
        if line.fault:
            yield {**row, "answer": _answer(line, BAD_INPUT, line.fault)}
        else:
            yield {**row, "line": json.dumps({**line.row, keys.column: line.address})}


def _answer(line: KeyLine, outcome: str, why: str) -> str:
    own = dict(line.input) if line.input else None
    found = unanswered(masked(line.address), outcome, why, line=line.number, own=own)
    return json.dumps(asdict(found))


@dataclass(frozen=True)
class CrawlTask:
    """Crawls a partition in a child process, in a temporary folder."""

    command: tuple[str, ...]  # of scrapy, with the option that names the list
    words: tuple[str, ...]
    column: str
    names: tuple[str, ...]  # of the tables

    def batches(self, lines: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of(self._rows(lines))

    def _rows(self, lines: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, str]]:
        with TemporaryDirectory(prefix="tplspider-") as name:
            folder, numbers = Path(name), list[int]()
            with (folder / "list.jl").open("w") as file:
                for row in (row for batch in lines for row in batch.to_pylist()):
                    if row["answer"]:
                        yield SUMMARIES, row["answer"]
                    else:
                        numbers.append(row["number"])
                        file.write(f"{row['line']}\n")
            if numbers:
                why = self._crawl(folder, len(numbers))
                yield from self._results(folder, numbers, why)

    def _crawl(self, folder: Path, count: int) -> str:
        """Crawl the list of a folder; gives why lines are left over.

        The crawl has a JOBDIR: if its process is killed, perhaps out of memory, it continues.
        """
        command = [sys.executable, "-m", "scrapy", *self.command[:-1]]
        command += [f"{self.command[-1]}{folder}/list.jl"]
        command += ["-sLOG_LEVEL=WARNING", *self.words, f"-acolumn={self.column}"]
        command += [f"-sJOBDIR={folder}/job", "-O", f"{folder}/{CANDIDATES}.jl"]
        command += [f"-asummary={folder}/{SUMMARIES}.jl"]
        command += [f"-atexts={folder}/{TEXTS}.jl"] if TEXTS in self.names else []
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        env["SCRAPY_SETTINGS_MODULE"] = _PROFILE
        for _ in range(_STARTS):
            none = subprocess.DEVNULL
            # A crawl must not outlive its task: Spark starts that again elsewhere, and two crawls
            # would ask the same hosts.
            process = subprocess.Popen(  # noqa: S603 - ourselves
                command,
                cwd=folder,
                env=env,
                stdin=none,
                stdout=none,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - no threads run here
            )
            try:
                status = process.wait()
            finally:
                process.kill()
            if status == WRONG_USE:
                raise RuntimeError("scrapy refuses to start here: see the log of the worker")
            with (folder / f"{SUMMARIES}.jl").open("rb") as file:
                if sum(1 for _ in file) == count:
                    return ""
        return f"the crawl ended too early, with status {status}"

    def _results(self, folder: Path, numbers: list[int], why: str) -> Iterator[tuple[str, str]]:
        left = dict.fromkeys(numbers)
        for table in self.names:
            with (folder / f"{table}.jl").open(encoding="utf-8") as file:
                for text in file:
                    if table != SUMMARIES:
                        yield table, text.rstrip("\n")
                        continue
                    row = json.loads(text)
                    row["line"] = numbers[row["line"] - 1]
                    left.pop(row["line"])
                    yield SUMMARIES, json.dumps(row, ensure_ascii=False)
        with (folder / "list.jl").open() as file:
            for number, text in zip(numbers, file, strict=True):
                if number in left:
                    line = key_line(number, json.loads(text), self.column)
                    yield SUMMARIES, _answer(line, CRASHED, why)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, of Linux


if __name__ == "__main__":
    # Under its own name, so that workers import it instead of being sent its code.
    from tplspider.plugins.spark.crawl_job import main as run

    sys.exit(run())
