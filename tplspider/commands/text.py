"""``scrapy text``: the text of pages without their templates, on standard output or as a table."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import BaseRunSpiderCommand
from scrapy.settings import SETTINGS_PRIORITIES

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler

    from tplspider.items import CandidateSearch, PageTemplate
    from tplspider.keylist import KeyLine
    from tplspider.results import SearchAnswer


class Command(BaseRunSpiderCommand):
    """Runs the spider on pages and prints their texts.

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
        from tplspider.profiles import answer_by_command

        assert self.settings is not None
        answer_by_command(self.settings)
        super().process_options(args, opts)
        # Here -o and -O are for what the command is about.
        feeds = self.settings.getdict("FEEDS")
        item = "TextRow" if opts.urls else "PageTemplate"
        for options in feeds.values():
            options.setdefault("item_classes", [f"tplspider.items.{item}"])
        self.settings.set("FEEDS", feeds, priority="cmdline")
        self.settings.set("TPLSPIDER_TEXTS", value=True, priority="cmdline")
        if opts.markdown:
            self.settings.set("TPLSPIDER_MARKDOWN", value=True, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider import signals
        from tplspider.commands.crawl import LOST, check, exit_status, refuse
        from tplspider.log_sanitizer import guard_log
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if (self.settings.getpriority("LOG_LEVEL") or 0) < SETTINGS_PRIORITIES["cmdline"]:
            # What it means that a page failed is told in a line; Scrapy has a traceback for it.
            logging.getLogger("scrapy").setLevel(logging.CRITICAL)
        if why := _why_not(args, opts):
            refuse("text", why, self.settings)
        arguments = self._arguments(args, opts)
        check(TemplateCandidatesSpider, "text", arguments, self.settings)
        has_table = opts.urls and self.settings.getdict("FEEDS")
        if has_table:
            arguments["_table"] = _wanted_text(opts)
        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        printer = _Printer(crawler, opts, is_quiet=bool(has_table), many="url" not in arguments)
        crawler.signals.connect(printer.take, signal=signals.line_answered)
        own = {"_progress": "url" in arguments, "_quiet": True}
        self.crawler_process.crawl(crawler, **own, **arguments)
        self.crawler_process.start()
        if printer.text is not None:
            printer.print(printer.text)
        if printer.is_broken:  # the reader has enough
            self.exitcode = LOST if printer.fault else 0
        else:
            self.exitcode = exit_status(crawler) or (LOST if printer.missing else 0)

    def _arguments(self, args: list[str], opts: argparse.Namespace) -> dict[str, Any]:
        # The text is wanted, not the paper's order: guided needs fewer loads for it.
        arguments: dict[str, Any] = {"strategy": "guided", **opts.spargs}
        if opts.urls:
            arguments["urls"] = opts.urls
        elif len(args) == 1:
            arguments["url"] = args[0]
        else:
            arguments["_keys"] = _lines(args)
        if opts.n is not None:
            arguments["n"] = opts.n
        if opts.report is not None:
            arguments["report"] = opts.report
        if opts.pool is not None:
            from tplspider.pools.store import PoolFolder

            arguments["_pools"] = PoolFolder(opts.pool)
        return arguments


class _Printer:
    """Prints texts as searches end: the text of one page, or a line of JSON for each of many."""

    def __init__(
        self, crawler: Crawler, opts: argparse.Namespace, *, is_quiet: bool, many: bool
    ) -> None:
        self._crawler = crawler
        self._field = _wanted_text(opts)
        self._has_list = bool(opts.urls)
        self._is_quiet = is_quiet
        self._many = many
        self.missing = 0  # pages without a text
        self.text: str | None = None
        self.is_broken = False
        self.fault = ""

    def take(self, answer: SearchAnswer) -> None:
        """Print the text of an answer, or say on standard error why there is none."""
        from tplspider.log_sanitizer import CONTROLS, printable

        summary, text = answer.summary, answer.template
        if text is None:
            if not answer.repeated:
                self.missing += 1
                which = summary.requested_url or f"line {summary.line}"
                why = printable(f"{which}: {_why_none(answer)}")
                print(f"No text for {why}", file=sys.stderr)
            return
        if summary.hint:
            print(f"{printable(text.key_url)}: {printable(summary.hint)}", file=sys.stderr)
        if self._is_quiet or self.is_broken:
            return
        found = CONTROLS.sub("", getattr(text, self._field))
        if self._many:
            self.print(self._row(summary, text, found))
        else:
            self.text = found  # printed when the line of progress is gone

    def _row(self, summary: CandidateSearch, text: PageTemplate, found: str) -> str:
        row: dict[str, Any] = {"requested_url": summary.requested_url, "title": text.title}
        row[self._field] = found
        if self._has_list:  # for joins
            row |= {"line": summary.line, "input": summary.input}
        is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        return json.dumps(row, ensure_ascii=not is_unicode)

    def print(self, text: str) -> None:
        from tplspider.commands.crawl import print_text

        if error := print_text(text):
            self.is_broken = True
            if not isinstance(error, BrokenPipeError):
                self.fault = str(error)
                print(f"scrapy text: cannot be printed: {error}", file=sys.stderr)
            if self._many:
                self._stop()

    def _stop(self) -> None:
        import asyncio

        from tplspider.hooks import close_spider

        self._closing = asyncio.ensure_future(close_spider(self._crawler, "output_closed"))


def _wanted_text(opts: argparse.Namespace) -> str:
    kind = "html" if opts.html else "markdown" if opts.markdown else "text"
    return f"{'content' if opts.all else 'main'}_{kind}"


def _why_none(answer: SearchAnswer) -> str:
    from tplspider.web.page import NOT_LOADED

    summary = answer.summary
    if answer.fault:
        return answer.fault
    if summary.key_outcome == NOT_LOADED:
        return f"the page was not loaded before the end ({summary.reason})"
    hint = f": {summary.hint}" if summary.hint else ""
    if summary.key_outcome != "ok":
        return f"the page cannot be used ({summary.key_outcome}){hint}"
    return "the extractor gave none"


async def _lines(addresses: list[str]) -> AsyncIterator[KeyLine]:
    from tplspider.keylist import KeyLine

    for number, address in enumerate(addresses, start=1):
        yield KeyLine(number, address)


def _why_not(args: list[str], opts: argparse.Namespace) -> str:
    """What is wrong with the command line; '' if nothing is."""
    if unknown := [arg for arg in args if arg.startswith("-")]:
        return f"unknown option {unknown[0]!r}"
    if bool(args) == bool(opts.urls):
        both = ", not both" if args else ""
        return f"give the addresses of pages, or a list of them with -i FILE{both}"
    if archive := next((arg for arg in args if arg.endswith((".warc", ".warc.gz"))), ""):
        return f"{archive!r} is a WARC file: use scrapy strip or scrapy archive"
    if opts.html and opts.markdown:
        return "give --html or --markdown, not both"
    if opts.pool is not None and not (opts.pool and Path(opts.pool).is_dir()):
        return f"--pool {opts.pool!r}: there is no such folder"
    return ""
