"""``scrapy strip``: the pages of a folder, or of WARC files, without their templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand

if TYPE_CHECKING:
    import argparse


class Command(BaseRunSpiderCommand):
    """Runs the spider that strips pages: a row for each file, or page. It needs no project."""

    def syntax(self) -> str:
        return "DIR | FILE.warc.gz [...] -O FILE [options]"

    def short_desc(self) -> str:
        return "Remove the template from all pages of a folder, or of web archives"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Strip").add_argument
        add("--markdown", action="store_true", help="add the column main_markdown")
        add("--html", action="store_true", help="add the column main_html")
        add("--base-url", metavar="URL", help="the address of the folder, if it is not known")
        add("--pool", metavar="DIR", help="use the pools in this folder, and keep them there")
        add("--index", metavar="FILE", help="the index of WARC files (default: beside the first)")
        add("--workers", metavar="N", help="how many processes to use (default: one for each core)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import answer_by_command

        assert self.settings is not None
        answer_by_command(self.settings)
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.commands.crawl import check, exit_status, refuse
        from tplspider.log_sanitizer import guard_log
        from tplspider.spiders.template_strip import TemplateStripSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if unknown := [arg for arg in args if arg.startswith("-")]:
            refuse("strip", f"unknown option {unknown[0]!r}", self.settings)
        names = ("markdown", "html", "base_url", "pool", "index", "workers")
        given = {name: value for name in names if (value := getattr(opts, name))}
        arguments = {**opts.spargs, **given, "_sources": args}
        check(TemplateStripSpider, "strip", arguments, self.settings)
        crawler = self.crawler_process.create_crawler(TemplateStripSpider)
        self.crawler_process.crawl(crawler, **arguments)
        self.crawler_process.start()
        self.exitcode = exit_status(crawler)
