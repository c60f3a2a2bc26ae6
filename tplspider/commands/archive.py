"""``scrapy archive``: searches among the pages of WARC files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Does what a crawl of a list does, with archived pages in place of a network.

    It needs no project.
    """

    requires_crawler_process = False

    def syntax(self) -> str:
        return "FILE.warc.gz [...] -i KEYPAGES -O FILE [options]"

    def short_desc(self) -> str:
        return "Search among the pages of web archives"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Archive").add_argument
        add("-i", dest="keys", metavar="FILE", help="a list of key pages (- for standard input)")
        add("--every", metavar="K", help="in place of a list, K pages of each host")
        add(
            "--host",
            dest="hosts",
            action="append",
            metavar="NAME",
            help="only key pages of this host (may be repeated)",
        )
        add(
            "-O",
            dest="candidates",
            metavar="FILE",
            help="the candidates (-:jl and the like for standard output)",
        )
        add("--summary", metavar="FILE", help="the summaries")
        add("--template", metavar="FILE", help="the templates, which are extracted for it")
        add("--report", metavar="DIR", help="reports to look at; of one key page, a file")
        add(
            "--index",
            metavar="FILE",
            help="where the index is, or is made (default beside the first file)",
        )
        add(
            "--cdxj",
            action="append",
            metavar="FILE",
            help="what another tool's index says of the files (may be repeated)",
        )
        add("--workers", metavar="N", help="how many processes to use (default one for each core)")
        add("-n", metavar="N", help="how many pages to look for (default 3)")
        add(
            "-a",
            dest="spargs",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="an option of the search, as in a crawl (may be repeated)",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.profiles import apply_default_outside_projects, apply_profile

        super().process_options(args, opts)
        assert self.settings is not None
        apply_default_outside_projects(self.settings)
        apply_profile(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.old.crawl.archive.plan import plan_archive
        from tplspider.old.crawl.archive.run import run_archive
        from tplspider.old.crawl.exit_status import refuse
        from tplspider.old.crawl.harmless_log import guard_log

        assert self.settings is not None
        guard_log()
        try:
            plan = plan_archive(args, opts, self.settings)
            self.exitcode = run_archive(plan, self.settings)
        except ValueError as error:
            refuse("archive", error, self.settings)
