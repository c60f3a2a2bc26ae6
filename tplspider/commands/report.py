"""``scrapy report``: what searches found, as pages to look at, made of their summaries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.command import OurCommand

if TYPE_CHECKING:
    import argparse


class Command(OurCommand):
    """Reads summaries, and texts if there are any, and writes a page or a folder of pages."""

    requires_crawler_process = False
    usage = "SUMMARY... -O FILE.html|DIR [options]"
    summary = "Make HTML reports of summaries"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Report").add_argument
        add("-O", dest="report", metavar="FILE.html|DIR", help="a file, or a folder for many")
        add("--template", metavar="FILE", help="a file with their texts")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.report.writer import report_feeds

        if not args or not opts.report:
            raise ValueError("give a summary file and -O FILE.html, or -O DIR")
        template = Path(opts.template) if opts.template else None
        self.print(report_feeds([*map(Path, args)], opts.report, template))
