"""``scrapy candidates``: the pages that share the template of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand

if TYPE_CHECKING:
    import argparse

    from tplspider.results import SearchAnswer


class Command(BaseRunSpiderCommand):
    """Runs the spider as ``scrapy crawl`` does, but prints addresses, and needs no project."""

    def syntax(self) -> str:
        return "[options] <url>"

    def short_desc(self) -> str:
        return "Print the addresses of pages that share the template of a page"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-n", metavar="N", help="how many pages to look for (default 3)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import answer_by_command

        assert self.settings is not None
        answer_by_command(self.settings)
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider import signals
        from tplspider.commands.crawl import LOST, check, exit_status, print_text, refuse
        from tplspider.log_sanitizer import guard_log
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if unknown := [arg for arg in args if arg.startswith("-")]:
            refuse("candidates", f"unknown option {unknown[0]!r}", self.settings)
        if len(args) != 1:
            refuse("candidates", "give the address of one page", self.settings)
        arguments = {**opts.spargs, "url": args[0], **({} if opts.n is None else {"n": opts.n})}
        check(TemplateCandidatesSpider, "candidates", arguments, self.settings)
        found: list[str] = []

        def take(answer: SearchAnswer) -> None:
            found.extend(candidate.url for candidate in answer.candidates)

        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        crawler.signals.connect(take, signal=signals.line_answered)
        self.crawler_process.crawl(crawler, _progress=True, **arguments)
        self.crawler_process.start()
        self.exitcode = exit_status(crawler)
        if found and not print_text("\n".join(found)):
            self.exitcode = LOST
