"""``scrapy strip``: the pages of a folder, or of WARC files, without their templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand

from tplspider.command import OurCommand

if TYPE_CHECKING:
    import argparse


class Command(OurCommand, BaseRunSpiderCommand):
    """Runs the spider that strips pages: a row for each file, or page."""

    usage = "DIR | FILE.warc.gz [...] -O FILE [options]"
    summary = "Remove the template from all pages of a folder, or of web archives"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Strip").add_argument
        add("--markdown", action="store_true", help="add the column main_markdown")
        add("--html", action="store_true", help="add the column main_html")
        add("--base-url", metavar="URL", help="the address that the folder was saved from")
        add("--pool", metavar="DIR", help="use the pools in this folder, and keep them there")
        add("--index", metavar="FILE", help="the index of WARC files (default: beside the first)")
        add("--workers", metavar="N", help="how many processes to use (default: one for each core)")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.spiders.template_strip import TemplateStripSpider

        names = ("markdown", "html", "base_url", "pool", "index", "workers")
        given = {name: value for name in names if (value := getattr(opts, name))}
        self.crawl(TemplateStripSpider, {**opts.spargs, **given, "_sources": args})
