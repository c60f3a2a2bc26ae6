"""The paper's Table 1, measured on a corpus of labelled sites; and texts, by the whole site.

    python -m benchmarks.table1 --corpus DIR
    python -m benchmarks.table1 --silver DIR

It needs no internet.
"""

from __future__ import annotations

import argparse
import logging
import sys
from typing import TYPE_CHECKING

from benchmarks.evaluation.plan import check_files, make_plan
from benchmarks.evaluation.text_extractors import INSTALL, load_extractors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.evaluation.plan import Plan
    from benchmarks.evaluation.text_extractors import Extractor


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; gives the exit status."""
    parser = _parser()
    opts = parser.parse_args(arguments)
    # A key page that no page tells anything about is counted in the tables.
    logging.getLogger("tplspider.template").setLevel(logging.ERROR)
    try:
        plan = make_plan(
            corpus=opts.corpus,
            silver=opts.silver,
            sites=opts.sites,
            sizes=opts.sizes,
            strategies=opts.strategies,
            extractors=opts.extractors,
            max_loads=opts.max_loads,
            witness=opts.witness,
        )
        check_files(plan, plot=opts.plot, tables=(opts.csv, opts.per_site))
        extractors, absent = load_extractors(plan.page_extractors)
        write = (_by_labels if plan.is_labelled else _by_the_whole_site)(plan, extractors, opts)
    except ValueError as error:
        parser.error(str(error))
    if absent:
        print(f"Not installed, so left out: {', '.join(absent)} ({INSTALL})", file=sys.stderr)
    try:
        write()
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="table1", description=__doc__)
    add = parser.add_argument
    add("--corpus", metavar="DIR", help="folder with a folder for each labelled site")
    add(
        "--silver",
        metavar="DIR",
        help="folder of sites without labels, to judge texts by the whole site",
    )
    add(
        "--sites",
        metavar="NAMES",
        default="",
        help="sites to take, separated by commas (default all)",
    )
    add(
        "--sizes",
        metavar="N",
        default="3",
        help="sizes of the CS, like 3, 1-8 or 1,3,5 (default 3)",
    )
    add(
        "--strategies",
        metavar="NAMES",
        help="strategies and baselines, separated by commas (default all; the searches with"
        " --silver)",
    )
    add(
        "--extractors",
        metavar="NAMES",
        default="all",
        help="extractors of texts to measure beside ours, or none (default all)",
    )
    add("--max-loads", metavar="N", default="100", help="loads a search may take (default 100)")
    add(
        "--witness",
        metavar="N",
        default="1",
        help="pages that may be loaded on top for the template, 0 or 1 (default 1)",
    )
    add("--csv", metavar="FILE", help="write the means to FILE")
    add("--per-site", metavar="FILE", help="write a row for each site or key page to FILE")
    add("--plot", metavar="FILE", help="draw F1 and loads to FILE, .svg or .png")
    return parser


def _by_labels(
    plan: Plan, extractors: dict[str, Extractor], opts: argparse.Namespace
) -> Callable[[], None]:
    """Measure and print; what is given back writes the files."""
    from benchmarks.evaluation.labelled_site import CorpusError
    from benchmarks.evaluation.measure import measure
    from benchmarks.evaluation.plot import draw
    from benchmarks.evaluation.tables import (
        mean_rows,
        table_1,
        table_of_texts,
        write_means,
        write_sites,
    )

    measured = measure(plan, extractors)
    if not measured.results:
        raise CorpusError(f"--corpus {opts.corpus}: there is no site in it")
    rows = mean_rows(measured.results)
    print(table_1(rows))
    if measured.texts:
        print(f"\nThe main text of the key page, ours with n={plan.text_size}:\n")
        print(table_of_texts(measured.texts))

    def write() -> None:
        if opts.csv:
            write_means(opts.csv, rows)
        if opts.per_site:
            write_sites(opts.per_site, measured.results)
        if opts.plot:
            draw(opts.plot, rows)

    return write


def _by_the_whole_site(
    plan: Plan, extractors: dict[str, Extractor], opts: argparse.Namespace
) -> Callable[[], None]:
    """Measure and print; what is given back writes the files."""
    from benchmarks.evaluation.measure_silver import measure_texts
    from benchmarks.evaluation.silver_tables import (
        mean_rows,
        table_of_texts,
        write_key_pages,
        write_means,
    )

    results = measure_texts(plan, extractors)
    rows = mean_rows(results)
    print(table_of_texts(rows))

    def write() -> None:
        if opts.csv:
            write_means(opts.csv, rows)
        if opts.per_site:
            write_key_pages(opts.per_site, results)

    return write


if __name__ == "__main__":
    sys.exit(main())
