"""``spark-submit search_job.py --keys LIST MANIFEST OUTPUT``: searches among archived pages.

Each task searches from some key pages, as a crawl whose pages come from WARC files.
"""

from __future__ import annotations

import sys

from tplspider.plugins.spark.captures import open_captures, read_manifest
from tplspider.plugins.spark.crawl_job import add_search_arguments, check, search
from tplspider.plugins.spark.jobs import Output, job_parser, start


def main(given: list[str] | None = None) -> int:
    """Run the job, and give its exit status."""
    about = "Search from the key pages of a list, among the pages of web archives."
    parser = job_parser("search_job.py", about, archives=True)
    add_search_arguments(parser)
    options = parser.parse_args(given)
    try:
        wanted, files = check(options), read_manifest(options)
        spark = start("tplspider search")
        output = Output(spark, options)
        archive = open_captures(spark, output, options, files)
    except ValueError as error:
        parser.error(str(error))
    command = ("archive", *map(str, archive.files), "--index", str(archive.index), "-i")
    search(spark, output, wanted, command, options.num_partitions)
    return 0


if __name__ == "__main__":
    # Under its own name, so that workers import it instead of being sent its code.
    from tplspider.plugins.spark.search_job import main as run

    sys.exit(run())
