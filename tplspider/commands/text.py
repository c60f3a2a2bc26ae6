"""``scrapy text``: the text of a page without its template, or a table of the texts of many."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand

from tplspider.command import LOST, OurCommand, given

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from tplspider.keylist import KeyLine
    from tplspider.results import SearchAnswer


class Command(OurCommand, BaseRunSpiderCommand):
    """Runs the spider, prints the text of one page, and makes a table of many."""

    usage = "[options] <url> [<url> ...] | -i FILE"
    summary = "Print the text of pages without their template"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-n", metavar="N", help="how many pages to find (default 3)")
        add("-i", dest="urls", metavar="FILE", help="a list of pages")
        add("--report", metavar="FILE", help="write an HTML report; for several pages, a folder")
        add("--pool", metavar="DIR", help="use the pools saved in this folder")
        add("--json", action="store_true", help="print lines of JSON")
        add("--html", action="store_true", help="print HTML, not text")
        add("--markdown", action="store_true", help="print Markdown, not text")
        add("--explain", action="store_true", help="print why each line is kept or left out")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.log_sanitizer import CONTROLS
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        self.silence_scrapy()
        _check(args, opts)
        is_one = len(args) == 1 and not opts.urls and not opts.json  # all else is a table
        name = "main_html" if opts.html else "main_markdown" if opts.markdown else "main_text"
        self._set(opts, is_one=is_one)
        # Only the text is wanted: kinds needs the fewest loads for it.
        arguments = {"strategy": "kinds", **opts.spargs, **given(opts, "n", "report", "urls")}
        arguments |= {"_quiet": True, "_progress": is_one, "_table": "" if is_one else name}
        if is_one:
            arguments["url"] = args[0]
        elif not opts.urls:
            arguments["_keys"] = _lines(args)
        if opts.pool is not None:
            from tplspider.pools.store import PoolFolder

            arguments["_pools"] = PoolFolder(opts.pool)
        texts: list[str] = []
        missing = set()  # reasons, which are few, also of a long list

        def take(answer: SearchAnswer) -> None:
            if answer.template is None and not answer.repeated:
                missing.add(answer.summary.key_outcome)
            if is_one:
                _explain(answer)
                if answer.template:
                    texts.append(getattr(answer.template, name))

        self.crawl(TemplateCandidatesSpider, arguments, take)
        self.exitcode = self.exitcode or (LOST if missing else 0)
        if missing and not is_one:
            print(f"Not every page gave a text: {', '.join(sorted(missing))}", file=sys.stderr)
        for text in texts:  # the line of progress is gone by now
            self.print(CONTROLS.sub("", text))

    def _set(self, opts: argparse.Namespace, *, is_one: bool) -> None:
        """The settings of the crawl: -o and -O are for the texts."""
        feeds = self.settings.getdict("FEEDS")
        if not feeds and not is_one:
            feeds = {"stdout:": {"format": "jl"}}
        item = "PageTemplate" if is_one else "TextRow"
        for options in feeds.values():
            options.setdefault("item_classes", [f"tplspider.items.{item}"])
        wanted = {"FEEDS": feeds, "TPLSPIDER_TEXTS": True}
        if opts.explain:
            wanted["TPLSPIDER_EXTRACTOR"] = "tplspider.template.extract.explain_template"
        if opts.markdown:
            wanted["TPLSPIDER_MARKDOWN"] = True
        self.settings.setdict(wanted, priority="cmdline")


async def _lines(addresses: list[str]) -> AsyncIterator[KeyLine]:
    from tplspider.keylist import key_line

    for number, address in enumerate(addresses, start=1):
        yield key_line(number, {"url": address}, "url", address)


def _explain(answer: SearchAnswer) -> None:
    """Report on standard error why there is no text, or how good it is."""
    from tplspider.log_sanitizer import printable
    from tplspider.web.page import NOT_LOADED

    summary = answer.summary
    if answer.template:
        if summary.hint:
            print(printable(f"{summary.key_url}: {summary.hint}"), file=sys.stderr)
        return
    why = answer.fault or "the extractor returned none"
    if summary.key_outcome == NOT_LOADED:
        why = f"the page was not loaded before the end ({summary.reason})"
    elif summary.key_outcome != "ok":
        hint = f": {summary.hint}" if summary.hint else ""
        why = f"the page cannot be used ({summary.key_outcome}){hint}"
    print(printable(f"No text for {summary.requested_url}: {why}"), file=sys.stderr)


def _check(args: list[str], opts: argparse.Namespace) -> None:
    if bool(args) == bool(opts.urls):
        raise ValueError("give either addresses of pages, or a list of them with -i FILE")
    if opts.html and opts.markdown:
        raise ValueError("give --html or --markdown, not both")
    others = opts.html or opts.markdown or opts.json or opts.report or opts.pool is not None
    if opts.explain and (len(args) != 1 or others):
        raise ValueError("--explain takes the address of one page, and no other option for texts")
    if opts.pool is not None and not (opts.pool and Path(opts.pool).is_dir()):
        raise ValueError(f"--pool {opts.pool!r}: no such folder")
