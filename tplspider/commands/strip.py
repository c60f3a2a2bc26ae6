"""``scrapy strip``: the pages of a folder, or of WARC files, without their templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Reads a folder of saved pages, or WARC files, and writes a row for each file, or page.

    Nothing is crawled, and it needs no project.
    """

    requires_crawler_process = False

    def syntax(self) -> str:
        return "DIR | FILE.warc.gz [...] -O FILE [options]"

    def short_desc(self) -> str:
        return "Take the templates off the pages of a folder, or of web archives"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Strip").add_argument
        add(
            "-O",
            dest="rows",
            metavar="FILE",
            help="a file for the rows, .jl, .json or .csv, which is overwritten (-:jl and the like"
            " for standard output)",
        )
        add("--markdown", action="store_true", help="add the column main_markdown")
        add("--html", action="store_true", help="add the column main_html")
        add(
            "--base-url",
            metavar="URL",
            help="the address of the folder, for pages of which nothing else tells where they are"
            " from",
        )
        add("--pool", metavar="DIR", help="use the pools of pages in this folder, and keep them")
        add("--index", metavar="FILE", help="of WARC files: where the index is, or is made")
        add(
            "--cdxj",
            action="append",
            metavar="FILE",
            help="of WARC files: what another tool's index says of them (may be repeated)",
        )
        add("--workers", metavar="N", help="how many processes to use (default one for each core)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.old.crawl.exit_status import refuse
        from tplspider.old.crawl.harmless_log import guard_log
        from tplspider.old.crawl.strip.plan import plan_strip
        from tplspider.old.crawl.strip.run import run_strip

        assert self.settings is not None
        guard_log()
        try:
            plan = plan_strip(args, opts, self.settings)
            self.exitcode = run_strip(plan, self.settings.getfloat("LOGSTATS_INTERVAL"))
        except ValueError as error:
            refuse("strip", error, self.settings)
