"""``scrapy template``: the text of a page without its template, on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.commands import BaseRunSpiderCommand

if TYPE_CHECKING:
    import argparse

    from tplspider.items import CandidateSearch, PageTemplate


class Command(BaseRunSpiderCommand):
    """Runs the real spider on a page; what it writes beside the answer goes to standard error.

    It needs no project. In another project it goes by its settings, but what it prints is not for
    the pipelines and feeds of that project.
    """

    def syntax(self) -> str:
        return "[options] <url>"

    def short_desc(self) -> str:
        return "Print the text of a page without its template"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-n", metavar="N", help="how many pages to look for (default 3)")
        parser.add_argument("--all", action="store_true", help="print all that is not template")
        parser.add_argument("--html", action="store_true", help="print HTML, not text")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.profiles import apply_default_outside_projects, is_own_project

        super().process_options(args, opts)
        assert self.settings is not None
        apply_default_outside_projects(self.settings)
        if not is_own_project(self.settings):
            self.settings.setdict({"FEEDS": {}, "ITEM_PIPELINES": {}}, priority=30)
        if opts.output or opts.overwrite_output:
            # Here -o and -O are for what the command is about.
            feeds = self.settings.getdict("FEEDS")
            for options in feeds.values():
                options.setdefault("item_classes", ["tplspider.items.PageTemplate"])
            self.settings.set("FEEDS", feeds, priority="cmdline")
        # Above the project's settings, below what -s says on the command line.
        self.settings.set("LOG_LEVEL", "WARNING", priority=30)
        self.settings.setdict({"TPLSPIDER_TEMPLATE": True}, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.crawl.credentials import without_credentials
        from tplspider.crawl.exit_status import LOST, exit_status, refuse
        from tplspider.crawl.harmless_log import CONTROLS, guard_log, harmless
        from tplspider.crawl.preflight import check_crawl
        from tplspider.crawl.printing import print_text
        from tplspider.crawl.progress_line import ProgressLine
        from tplspider.items import CandidateSearch, PageTemplate
        from tplspider.search.hints import NO_EVIDENCE
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if unknown := [arg for arg in args if arg.startswith("-")]:
            refuse("template", f"unknown option {unknown[0]!r}", self.settings)
        if len(args) != 1:
            refuse("template", "give the address of one page", self.settings)
        # The text is wanted, not the paper's order: guided needs fewer loads for it.
        arguments = {"strategy": "guided", **opts.spargs, "url": args[0]}
        if opts.n is not None:
            arguments["n"] = opts.n
        try:
            check_crawl(TemplateCandidatesSpider, arguments, self.settings, printed="the text")
        except ValueError as error:
            refuse("template", error, self.settings)
        templates: list[PageTemplate] = []
        summaries: list[CandidateSearch] = []

        def keep(item: Any) -> None:
            if isinstance(item, PageTemplate):
                templates.append(item)
            elif isinstance(item, CandidateSearch):
                summaries.append(item)

        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        crawler.signals.connect(keep, signal=signals.item_scraped)
        progress = ProgressLine(crawler)
        self.crawler_process.crawl(crawler, **arguments)
        self.crawler_process.start()
        progress.clear()
        if templates:
            text = _wanted(templates[0], opts)
            if not templates[0].evidence:
                print(f"{harmless(templates[0].key_url)}: {NO_EVIDENCE}", file=sys.stderr)
            if not print_text(CONTROLS.sub("", text), "template"):
                self.exitcode = LOST
        else:
            self.exitcode = LOST
            fault = crawler.stats.get_value("tplspider/template_fault") if crawler.stats else ""
            why = fault or (_why_none(summaries[0]) if summaries else "the crawl gave no answer")
            address = harmless(without_credentials(args[0]))
            print(f"No template for {address}: {harmless(why)}", file=sys.stderr)
        self.exitcode = self.exitcode or exit_status(crawler)


def _wanted(found: PageTemplate, opts: argparse.Namespace) -> str:
    """What of a template is to be printed: what a reader came for, or all that is not template."""
    if opts.html:
        return found.content_html if opts.all else found.main_html
    return found.content_text if opts.all else found.main_text


def _why_none(summary: CandidateSearch) -> str:
    from tplspider.web.answers import NOT_LOADED

    if summary.key_outcome == NOT_LOADED:
        return f"the page was not loaded before the end ({summary.reason})"
    if summary.key_outcome != "ok":
        return f"the page cannot be used ({summary.key_outcome})"
    return "the extractor gave none"
