"""``scrapy candidates``: the pages that share the template of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand

from tplspider.command import OurCommand, given

if TYPE_CHECKING:
    import argparse

    from tplspider.results import SearchAnswer


class Command(OurCommand, BaseRunSpiderCommand):
    """Runs the spider as ``scrapy crawl`` does, but prints addresses."""

    usage = "[options] <url>"
    summary = "Print the addresses of pages that share the template of a page"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-n", metavar="N", help="how many pages to look for (default 3)")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        if len(args) != 1:
            raise ValueError("give the address of one page")
        arguments = {**opts.spargs, "url": args[0], **given(opts, "n")}
        found: list[str] = []

        def take(answer: SearchAnswer) -> None:
            found.extend(candidate.url for candidate in answer.candidates)

        self.crawl(TemplateCandidatesSpider, {**arguments, "_progress": True}, take)
        if found:
            self.print("\n".join(found))
