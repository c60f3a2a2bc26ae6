"""``scrapy report``: what searches found, as pages to look at, made of their summaries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Reads summaries, and templates if there are any, and writes a page or a folder of pages.

    Nothing is crawled, and it needs no project.
    """

    requires_crawler_process = False

    def syntax(self) -> str:
        return "SUMMARY... -O FILE.html|DIR [options]"

    def short_desc(self) -> str:
        return "Make HTML reports of summaries"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        options = parser.add_argument_group(title="Report")
        options.add_argument(
            "-O",
            dest="report",
            metavar="FILE.html|DIR",
            help="a file, which is overwritten, or a folder for any number of reports",
        )
        options.add_argument("--template", metavar="FILE", help="a file with their texts")
        options.add_argument("--search", metavar="ID", default="", help="one search, by search_id")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.commands.crawl import LOST, print_text, refuse
        from tplspider.report.writer import report_feeds

        assert self.settings is not None
        if unknown := [arg for arg in args if arg.startswith("-")]:
            guess = ": did you mean -O?" if unknown[0] == "-o" else ""
            refuse("report", f"unknown option {unknown[0]!r}{guess}", self.settings)
        if not args or not opts.report:
            refuse("report", "give a summary file and -O FILE.html, or -O DIR", self.settings)
        template = Path(opts.template) if opts.template else None
        try:
            print_text(report_feeds([*map(Path, args)], opts.report, template, opts.search))
        except (ValueError, OSError) as error:
            filename, why = getattr(error, "filename", None), getattr(error, "strerror", None)
            refuse(
                "report", f"{filename}: {why}" if filename and why else str(error), self.settings
            )
        except KeyboardInterrupt:
            print("scrapy report: ended before all reports were written", file=sys.stderr)
            raise SystemExit(LOST) from None
