"""``scrapy table1``: the paper's Table 1, measured on a corpus of labelled sites, and texts."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tplspider.evaluation.plan import Plan
    from tplspider.evaluation.text_extractors import Extractor


class Command(ScrapyCommand):
    """Searches the sites from their files, extracts templates and compares them with the labels.

    Or, on sites without labels, judges the texts of key pages by the whole site.
    """

    requires_crawler_process = False

    def syntax(self) -> str:
        return "--corpus DIR | --silver DIR [options]"

    def short_desc(self) -> str:
        return "Measure search and extraction on saved sites (no internet needed)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        options = parser.add_argument_group(title="Evaluation")
        options.add_argument(
            "--corpus", metavar="DIR", help="folder with a folder for each labelled site"
        )
        options.add_argument(
            "--silver",
            metavar="DIR",
            help="folder of sites without labels, to judge texts by the whole site",
        )
        options.add_argument(
            "--sites",
            metavar="NAMES",
            default="",
            help="sites to take, separated by commas (default all)",
        )
        options.add_argument(
            "--sizes",
            metavar="N",
            default="3",
            help="sizes of the CS, like 3, 1-8 or 1,3,5 (default 3)",
        )
        options.add_argument(
            "--strategies",
            metavar="NAMES",
            help="strategies and baselines, separated by commas (default all; the searches with"
            " --silver)",
        )
        options.add_argument(
            "--extractors",
            metavar="NAMES",
            default="all",
            help="extractors of texts to measure beside ours, or none (default all)",
        )
        options.add_argument(
            "--max-loads", metavar="N", default="100", help="loads a search may take (default 100)"
        )
        options.add_argument(
            "--witness",
            metavar="N",
            default="1",
            help="pages that may be loaded on top for the template, 0 or 1 (default 1)",
        )
        options.add_argument("--csv", metavar="FILE", help="write the means to FILE")
        options.add_argument(
            "--per-site", metavar="FILE", help="write a row for each site or key page to FILE"
        )
        options.add_argument(
            "--plot", metavar="FILE", help="draw F1 and loads to FILE, .svg or .png"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.evaluation.plan import check_files, make_plan
        from tplspider.evaluation.text_extractors import INSTALL, load_extractors
        from tplspider.old.crawl.exit_status import LOST, refuse

        assert self.settings is not None
        # A key page that no page tells anything about is counted in the tables.
        logging.getLogger("tplspider.template").setLevel(logging.ERROR)
        if args:
            refuse("table1", f"unexpected {' '.join(args)!r}", self.settings)
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
            judge = _by_labels if plan.is_labelled else _by_the_whole_site
            write = judge(plan, extractors, opts)
        except ValueError as error:
            refuse("table1", error, self.settings)
        if absent:
            print(f"Not installed, so left out: {', '.join(absent)} ({INSTALL})", file=sys.stderr)
        try:
            write()
        except OSError as error:
            print(f"scrapy table1: error: {error}", file=sys.stderr)
            self.exitcode = LOST


def _by_labels(
    plan: Plan, extractors: dict[str, Extractor], opts: argparse.Namespace
) -> Callable[[], None]:
    """Measure and print; what is given back writes the files."""
    from tplspider.evaluation.labelled_site import CorpusError
    from tplspider.evaluation.measure import measure
    from tplspider.evaluation.plot import draw
    from tplspider.evaluation.tables import (
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
    from tplspider.evaluation.measure_silver import measure_texts
    from tplspider.evaluation.silver_tables import (
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
