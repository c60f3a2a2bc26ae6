"""``spark-submit search_job.py [options] INPUT OUTPUT``: searches among the pages of archives."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.extraction import EXTRACTOR, SECONDS
from tplspider.old.extraction.archive_search import ArchiveWork
from tplspider.old.extraction.extractors import extractor_name
from tplspider.search.answer import counted
from tplspider.search.session import SearchLimits, SearchOptions
from tplspider.spark.job_arguments import job_parser
from tplspider.spark.running import run_job
from tplspider.spark.session import JobError, tell

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import DataFrame, SparkSession

    from tplspider.spark.captures import Captures

_STANDARD_INPUT = "-"
_BY_SUBMIT = "PYSPARK_GATEWAY_PORT"  # of the environment: set for what spark-submit has started
_LONGEST_URL = 2083  # as Scrapy has it: what is not requested in a crawl is not searched here
_FAULTS = 5  # of searches and templates, each with a line
_MOST_EVERY = 1000  # pages of a host: Spark bounds what a task ranks for no more than that


def main(given: list[str] | None = None) -> int:
    """Run the job, and give its exit status."""
    parser = job_parser("search_job.py", "Search from key pages among the pages of web archives.")
    add = parser.add_argument
    add("--keys", metavar="FILE", help="a list of key pages, on the machine of the driver")
    add("--every", metavar="K", type=int, help="in place of a list: K pages of each host")
    add(
        "--host",
        dest="hosts",
        action="append",
        default=[],
        metavar="NAME",
        help="only pages of this host",
    )
    add("--template", action="store_true", help="templates as well")
    add("--extractor", default=EXTRACTOR, help="an extractor of your own, by its import path")
    add("-n", metavar="N", help="how many pages to look for (default 3)")
    add(
        "-a",
        dest="spargs",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the search, as in a crawl (may be repeated)",
    )
    arguments = parser.parse_args(given)
    if bool(arguments.keys) == (arguments.every is not None):
        parser.error("give key pages: a list with --keys FILE, or some of each host, --every K")
    if arguments.every is not None and arguments.every < 1:
        parser.error(f"--every {arguments.every}: expected a whole number, 1 or more")
    if arguments.every is not None and arguments.every > _MOST_EVERY:
        parser.error(f"--every {arguments.every}: expected no more than {_MOST_EVERY}")
    if arguments.keys == _STANDARD_INPUT and _BY_SUBMIT in os.environ:
        parser.error("--keys -: spark-submit passes no standard input on: name a file")
    # Here and not above: this part is for the driver alone.
    from tplspider.spark.key_pages import host_name, list_jobs, search_options

    try:
        extractor_name(arguments.extractor)
        options, column = search_options(arguments.spargs, arguments.n)
        hosts = sorted({host_name(each) for each in arguments.hosts})
        jobs = list_jobs(arguments.keys, column, options, hosts) if arguments.keys else {}
    except ValueError as error:
        parser.error(str(error))
    if arguments.keys and not jobs:
        parser.error(f"no key page of the list is of --host {' or '.join(hosts)}")

    def run(spark: SparkSession, captures: Captures) -> bool:
        # Here and not above: pyspark may not be installed, which is told in one line.
        import pyarrow as pa
        from pyspark.sql import functions as sql

        from tplspider.spark.key_pages import asking_row
        from tplspider.spark.rounds import Rounds
        from tplspider.spark.searching import SearchAttempts
        from tplspider.spark.table_columns import ASKED
        from tplspider.spark.tables import tell_unread

        if arguments.every:
            asking = _of_each_host(captures, arguments, options, hosts)
        else:
            rows = [asking_row(*each) for each in jobs.items()]
            asked = spark.createDataFrame(pa.Table.from_pylist(rows, schema=ASKED))
            asking = captures.output.keep(asked, "keys")  # or each task would have all in its plan
        attempts = SearchAttempts(_work(arguments), captures.names, arguments.input_base_url)
        rounds = Rounds(captures, attempts, arguments.num_work_partitions, tell)
        answers = rounds.answers(asking)
        for name in ("summary", "candidates", *(["template"] if arguments.template else [])):
            captures.output.write(answers.select(sql.inline(name)), name, arguments)
        _tell_account(answers)
        return tell_unread([asking, answers] if arguments.every else [answers], tell)

    return run_job("tplspider search", arguments, run)


def _work(arguments: argparse.Namespace) -> ArchiveWork:
    from tplspider.sources.warc import LARGEST  # what reads archives is an extra

    return ArchiveWork(
        Path(),
        (),
        LARGEST,
        SearchLimits(longest_url=_LONGEST_URL, for_template=arguments.template),
        extractor=arguments.extractor if arguments.template else "",
        seconds=SECONDS,
        markdown=arguments.markdown,
    )


def _of_each_host(
    captures: Captures,
    arguments: argparse.Namespace,
    options: SearchOptions,
    hosts: list[str],
) -> DataFrame:
    from pyspark.sql import functions as sql

    from tplspider.spark.captures import place
    from tplspider.spark.key_pages import HostKeys
    from tplspider.spark.rounds import KEYS
    from tplspider.spark.table_columns import HOST_KEYS, ddl
    from tplspider.spark.tables import numbered, spread

    pages = captures.first_of_sites(arguments.every)
    if hosts:
        _check_hosts(captures, hosts)
        pages = pages.where(sql.col("site").isin(hosts))
    rows = numbered(pages.orderBy("site", "key"), captures.output)
    work = HostKeys(captures.names, arguments.input_base_url, options)
    dealt = spread(
        rows.select("number", place().alias("place")),
        rows.count(),
        KEYS,
        arguments.num_work_partitions,
    )
    return captures.output.keep(dealt.mapInArrow(work.table, ddl(HOST_KEYS)), "keys")


def _check_hosts(captures: Captures, hosts: list[str]) -> None:
    """Tell which hosts have no page; JobError if none has."""
    from pyspark.sql import functions as sql

    found = captures.pages.where(sql.col("site").isin(hosts)).select("site").distinct().collect()
    there = {row["site"] for row in found}
    lines = [f"--host {host}: no page of it is archived" for host in hosts if host not in there]
    if lines and not there:
        raise JobError("; ".join(lines))
    for line in lines:
        tell(line)


def _tell_account(answers: DataFrame) -> None:
    from pyspark.sql import functions as sql

    rows = answers.select(sql.inline("summary"))
    found = rows.groupBy("complete", "key_outcome").count().collect()
    total = sum(row["count"] for row in found)
    complete = sum(row["count"] for row in found if row["complete"])
    told = {
        row["key_outcome"]: row["count"]
        for row in found
        if not row["complete"] and row["key_outcome"] != "ok"
    }
    partial = total - complete - sum(told.values())
    parts = [f"{complete} complete", f"{partial} partial"]
    parts += [f"{count} {what}" for what, count in sorted(told.items())]
    line = f"{counted(total, 'key page')}: {', '.join(parts)}"
    lost, misfits = answers.select(sql.count("fault"), sql.sum("misfits")).first() or (0, 0)
    if lost:
        line += f"; {lost} without a template, or failed"
    if misfits:
        line += f"; {misfits} records cannot be read, or are not what the index says"
    faults = answers.where(sql.col("fault").isNotNull())
    few = faults.select("number", "fault", sql.col("summary")[0]["requested_url"])
    for _, fault, url in few.orderBy("number").limit(_FAULTS).collect():
        tell(f"{url}: {fault}")
    tell(line)


if __name__ == "__main__":
    sys.exit(main())
