"""``scrapy demo``: the real spider on a small website that comes with the project."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from tplspider.items import PageTemplate
    from tplspider.results import SearchAnswer

_REPORT = "demo-report.html"
_SHOWN_LINES = 8  # of the content


class Command(ScrapyCommand):
    """Serves the site on loopback, crawls it, and prints the answer as a table.

    It shows what our own project does, in whatever project it is run.
    """

    default_settings: ClassVar[dict[str, Any]] = {
        "LOG_LEVEL": "WARNING",
        "DOWNLOAD_DELAY": 0,
        "HTTPPROXY_ENABLED": False,
        "TPLSPIDER_TEXTS": True,
    }

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Find the template candidates of a small bundled website (no internet needed)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-n", metavar="N", default="3", help="size of the CS (default 3)")
        parser.add_argument(
            "--report", metavar="FILE", help=f"where to write the report (default {_REPORT})"
        )
        parser.add_argument("--open", action="store_true", help="show the report in a browser")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import leave_project

        super().process_options(args, opts)
        assert self.settings is not None
        self._knows_spider = "tplspider.spiders" in self.settings.getlist("SPIDER_MODULES")
        leave_project(self.settings)
        # Above the project's settings, below what -s says on the command line.
        for name, value in self.default_settings.items():
            self.settings.set(name, value, priority=30)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider import signals
        from tplspider.commands.crawl import LOST, check, exit_status, print_text, refuse
        from tplspider.demo.server import KEY_PAGE, SiteServer
        from tplspider.log_sanitizer import guard_log
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if args:
            refuse("demo", f"unexpected {' '.join(args)!r}", self.settings)
        answers: list[SearchAnswer] = []
        report = opts.report or _report_file()
        with SiteServer() as server:
            arguments = {"url": server.url + KEY_PAGE, "n": opts.n, "report": report}
            check(TemplateCandidatesSpider, "demo", arguments, self.settings)
            crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)

            def take(answer: SearchAnswer) -> None:
                answers.append(answer)

            crawler.signals.connect(take, signal=signals.line_answered)
            self.crawler_process.crawl(crawler, **arguments)
            self.crawler_process.start()
        self.exitcode = exit_status(crawler)
        if not answers:
            return
        lines = [*_answer(answers[0], server.url), *_content(answers[0].template)]
        lines += [f"A report to look at: {Path(report).absolute()}", ""]
        lines += _advice(knows_spider=self._knows_spider)
        if print_text("\n".join(lines)):
            self.exitcode = LOST
        if opts.open and not webbrowser.open(Path(report).absolute().as_uri()):
            print("scrapy demo: there is no browser to show the report with", file=sys.stderr)


def _report_file() -> str:
    """A file in the current folder; elsewhere if nothing can be written there."""
    from tempfile import mkdtemp

    folder = "." if os.access(".", os.W_OK) else mkdtemp(prefix="tplspider-")
    return str(Path(folder, _REPORT))


def _answer(answer: SearchAnswer, site_url: str) -> Iterator[str]:
    from tplspider.search.answer import counted, mutually_linked

    def short(url: str) -> str:
        return url.replace(site_url, "")

    summary = answer.summary
    yield f"A small website was served on {site_url}. This is the key page:"
    yield f"  {short(summary.key_url)}  ({summary.links} links to other pages of the site)\n"
    yield "The links that were loaded, in order of relevance:\n"
    rows = [("rank", "link", "what came back", "candidate")]
    for row in summary.explored:
        came = "page" if row["outcome"] == "page" else "no page"
        if row["reason"]:
            came = f"{row['outcome']}: {short(row['reason'])}".replace("none", "no page")
        elif row["url"] != row["link"]:
            came += f", redirected to {short(row['url'])}"
        found = row["outcome"] == "page" and row["url"] in summary.candidates
        rows.append((str(row["rank"]), short(row["link"]), came, "yes" if found else ""))
    yield from _table(rows)
    loads = counted(summary.loads, "load")
    yield f"\n{mutually_linked(summary.cs_size)}, after {loads} ({summary.reason}):\n"
    rows = [("page", "title", "link text", "similarity")]
    rows += [
        (short(c.url), c.title, c.anchor_text, f"{c.similarity:.2f}") for c in answer.candidates
    ]
    yield from _table(rows)
    yield "\nThey very likely share the template of the key page."


def _content(text: PageTemplate | None) -> Iterator[str]:
    if text is None:
        return
    yield f"Compared with them, {text.template_share:.0%} of its elements are template. The rest:\n"
    lines = text.main_text.splitlines()
    for line in lines[:_SHOWN_LINES]:
        yield from wrap(line, 96, initial_indent="  ", subsequent_indent="  ")
    if len(lines) > _SHOWN_LINES:
        yield f"  ... and {len(lines) - _SHOWN_LINES} more lines"
    yield ""


def _advice(*, knows_spider: bool) -> Iterator[str]:
    page = "https://example.org/some/page"
    yield "Try it on a site of your own:"
    if knows_spider:
        yield f"  scrapy crawl template_candidates -a url={page} -O out.json"
    yield f"  scrapy text {page}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in (rows[0], ["-" * width for width in widths], *rows[1:]):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()
