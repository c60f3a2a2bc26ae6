"""``scrapy template``: the text of pages without their templates, on standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import BaseRunSpiderCommand

if TYPE_CHECKING:
    import argparse

    from tplspider.items import CandidateSearch, PageTemplate
    from tplspider.old.crawl.batch.answers import SearchAnswer
    from tplspider.old.crawl.key_pools import KeyPools


class Command(BaseRunSpiderCommand):
    """Runs the real spider on a page; what it writes beside the answer goes to standard error.

    It needs no project. In another project it goes by its settings, but what it prints is not for
    the pipelines and feeds of that project.
    """

    def syntax(self) -> str:
        return "[options] <url> [<url> ...] | -i FILE"

    def short_desc(self) -> str:
        return "Print the text of a page without its template, or of many"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-n", metavar="N", help="how many pages to look for (default 3)")
        parser.add_argument(
            "-i", dest="urls", metavar="FILE", help="a list of pages (- for standard input)"
        )
        parser.add_argument(
            "--report", metavar="FILE", help="write a report to look at; of many pages, to a folder"
        )
        parser.add_argument(
            "--pool", metavar="DIR", help="compare with saved pools; search only without one"
        )
        parser.add_argument("--all", action="store_true", help="print all that is not template")
        parser.add_argument("--html", action="store_true", help="print HTML, not text")
        parser.add_argument("--markdown", action="store_true", help="print Markdown, not text")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.profiles import answer_by_command

        super().process_options(args, opts)
        assert self.settings is not None
        answer_by_command(self.settings)
        if opts.output or opts.overwrite_output:
            # Here -o and -O are for what the command is about.
            feeds = self.settings.getdict("FEEDS")
            for options in feeds.values():
                options.setdefault("item_classes", ["tplspider.items.PageTemplate"])
            self.settings.set("FEEDS", feeds, priority="cmdline")
        self.settings.setdict({"TPLSPIDER_TEMPLATE": True}, priority="cmdline")
        if opts.markdown:
            self.settings.set("TPLSPIDER_MARKDOWN", value=True, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.old.crawl.batch.inputs import Inputs
        from tplspider.old.crawl.exit_status import refuse
        from tplspider.old.crawl.harmless_log import guard_log
        from tplspider.old.crawl.preflight import check_crawl
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if why := _why_not(args, opts):
            refuse("template", why, self.settings)
        # The text is wanted, not the paper's order: guided needs fewer loads for it.
        arguments: dict[str, Any] = {"strategy": "guided", **opts.spargs}
        if opts.urls:
            arguments["urls"] = opts.urls
        elif len(args) == 1:
            arguments["url"] = args[0]
        else:
            arguments["_inputs"] = Inputs(args)
        if opts.n is not None:
            arguments["n"] = opts.n
        if opts.report is not None:
            arguments["report"] = opts.report
        try:
            check_crawl(TemplateCandidatesSpider, arguments, self.settings, printed="the text")
        except ValueError as error:
            refuse("template", _as_given(str(error), opts), self.settings)
        if opts.pool is not None:
            arguments["_pools"] = self._pools(opts.pool)
        if "url" in arguments:
            self._print_one(arguments, opts)
        else:
            self._print_many(arguments, opts)

    def _pools(self, folder: str) -> KeyPools:
        from tplspider.old.crawl.exit_status import refuse
        from tplspider.old.crawl.key_pools import KeyPools
        from tplspider.pools.store import PoolFolder

        assert self.settings is not None
        if not folder or not Path(folder).is_dir():
            refuse("template", f"--pool {folder!r}: there is no such folder", self.settings)
        return KeyPools(PoolFolder(folder))

    def _print_one(self, arguments: dict[str, Any], opts: argparse.Namespace) -> None:
        from tplspider.old.crawl.credentials import without_credentials
        from tplspider.old.crawl.exit_status import LOST, exit_status
        from tplspider.old.crawl.harmless_log import CONTROLS, harmless
        from tplspider.old.crawl.printing import print_text
        from tplspider.old.crawl.progress_line import ProgressLine
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        answers: list[SearchAnswer] = []
        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        progress = ProgressLine(crawler)
        self.crawler_process.crawl(crawler, **arguments, _take_answer=answers.append)
        self.crawler_process.start()
        progress.clear()
        if answers and (found := answers[0].template):
            _tell_evidence(found)
            if not print_text(CONTROLS.sub("", _wanted(found, opts)[1]), "template"):
                self.exitcode = LOST
        else:
            self.exitcode = LOST
            fault = crawler.stats.get_value("tplspider/template_fault") if crawler.stats else ""
            why = fault or (
                _why_none(answers[0].summary) if answers else "the crawl gave no answer"
            )
            address = harmless(without_credentials(arguments["url"]))
            print(f"No template for {address}: {harmless(why)}", file=sys.stderr)
        self.exitcode = self.exitcode or exit_status(crawler)

    def _print_many(self, arguments: dict[str, Any], opts: argparse.Namespace) -> None:
        """Print a line of JSON for each page, as it comes; the others go on when one fails."""
        from tplspider.old.crawl.exit_status import LOST, exit_status
        from tplspider.old.crawl.harmless_log import harmless
        from tplspider.old.crawl.printing import print_json
        from tplspider.old.crawl.scrapy_private import close_spider
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        is_read = True

        def take(answer: SearchAnswer) -> None:
            nonlocal is_read
            summary, found = answer.summary, answer.template
            if found and is_read:
                _tell_evidence(found)
                name, text = _wanted(found, opts)
                row: dict[str, Any] = {"requested_url": summary.requested_url}
                row |= {"title": found.title, name: text}
                if opts.urls:  # what else the list has, for joins
                    row |= {"line": summary.line, "input": summary.input}
                if fault := print_json(row):  # nothing that follows can be printed either
                    is_read = False
                    close_spider(crawler, "output_closed")
                    if not isinstance(fault, BrokenPipeError):
                        self.exitcode = LOST
                        print(f"scrapy template: cannot be printed: {fault}", file=sys.stderr)
            elif not found and not answer.repeated and is_read:
                self.exitcode = LOST
                why = harmless(f"{summary.requested_url}: {_why_none(summary)}")
                print(f"No template for {why}", file=sys.stderr)

        self.crawler_process.crawl(crawler, **arguments, _take_answer=take)
        self.crawler_process.start()
        if is_read:
            self.exitcode = self.exitcode or exit_status(crawler)


def _why_not(args: list[str], opts: argparse.Namespace) -> str:
    """What is wrong with the command line, "" if nothing is."""
    from tplspider.old.crawl.archive.files import is_archive

    if unknown := [arg for arg in args if arg.startswith("-")]:
        return f"unknown option {unknown[0]!r}"
    if args and opts.urls:
        return "give addresses, or a list of them with -i FILE, and not both"
    if not args and not opts.urls:
        return "give the address of a page, or of several, or a list of them with -i FILE"
    if archive := next((arg for arg in args if is_archive(arg) and Path(arg).is_file()), ""):
        return f"{archive!r} is a WARC file: scrapy strip, or scrapy archive, reads it"
    if opts.html and opts.markdown:
        return "--html or --markdown, not both"
    return ""


def _as_given(fault: str, opts: argparse.Namespace) -> str:
    """What is wrong, by the names of the options that it came with."""
    if fault.startswith("urls="):
        return f"-i {fault.removeprefix('urls=')}"
    if opts.markdown and fault.startswith("TPLSPIDER_MARKDOWN:"):
        return f"--markdown:{fault.removeprefix('TPLSPIDER_MARKDOWN:')}"
    return fault


def _wanted(found: PageTemplate, opts: argparse.Namespace) -> tuple[str, str]:
    """The field that is to be printed: what a reader came for, or all that is not template."""
    kind = "html" if opts.html else "markdown" if opts.markdown else "text"
    name = f"{'content' if opts.all else 'main'}_{kind}"
    return name, getattr(found, name)


def _tell_evidence(found: PageTemplate) -> None:
    from tplspider.old.crawl.harmless_log import harmless
    from tplspider.search.answer import NO_EVIDENCE

    if not found.evidence:
        print(f"{harmless(found.key_url)}: {NO_EVIDENCE}", file=sys.stderr)


def _why_none(summary: CandidateSearch) -> str:
    from tplspider.web.page import BAD_INPUT, NOT_LOADED

    if summary.key_outcome == BAD_INPUT:
        return summary.hint
    if summary.key_outcome == NOT_LOADED:
        return f"the page was not loaded before the end ({summary.reason})"
    if summary.key_outcome != "ok":
        return f"the page cannot be used ({summary.key_outcome})"
    return "the extractor gave none"
