"""``scrapy demo``: the real spider on a small website that comes with the project."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import signals
from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate

_REPORT = "demo-report.html"
_SHOWN_LINES = 8  # of the content
# What a person is told about each link that was taken up.
_OUTCOMES = {"page": "page", "duplicate": "duplicate", "none": "no page"}


class Command(ScrapyCommand):
    """Serves the site on loopback, crawls it, and prints the answer as a table.

    It shows what our own project does, in whatever project it is run.
    """

    default_settings: ClassVar[dict[str, Any]] = {
        "LOG_LEVEL": "WARNING",
        "DOWNLOAD_DELAY": 0,
        "HTTPPROXY_ENABLED": False,
        "TPLSPIDER_TEMPLATE": True,
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
        # Here and not above: every scrapy command imports this module.
        from tplspider.profiles import leave_project

        super().process_options(args, opts)
        assert self.settings is not None
        self._knows_spider = "tplspider.spiders" in self.settings.getlist("SPIDER_MODULES")
        leave_project(self.settings)
        # Above the project's settings, below what -s says on the command line.
        for name, value in self.default_settings.items():
            self.settings.set(name, value, priority=30)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.demo.server import KEY_PAGE, SiteServer
        from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
        from tplspider.old.crawl.exit_status import LOST, exit_status, refuse
        from tplspider.old.crawl.harmless_log import guard_log
        from tplspider.old.crawl.preflight import check_crawl
        from tplspider.old.crawl.printing import print_text
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        guard_log()
        if args:
            refuse("demo", f"unexpected {' '.join(args)!r}", self.settings)
        found: list[TemplateCandidate] = []
        summaries: list[CandidateSearch] = []
        templates: list[PageTemplate] = []

        def keep(item: Any) -> None:
            if isinstance(item, TemplateCandidate):
                found.append(item)
            elif isinstance(item, CandidateSearch):
                summaries.append(item)
            elif isinstance(item, PageTemplate):
                templates.append(item)

        with SiteServer() as server:
            report = _report_file() if opts.report is None else opts.report
            arguments = {"url": server.url + KEY_PAGE, "n": opts.n}
            arguments |= {"report": report} if report else {}
            try:
                check_crawl(TemplateCandidatesSpider, arguments, self.settings)
            except ValueError as error:
                refuse("demo", error, self.settings)
            crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
            crawler.signals.connect(keep, signal=signals.item_scraped)
            self.crawler_process.crawl(crawler, **arguments)
            self.crawler_process.start()
        if not summaries:
            self.exitcode = 1
            return
        written = _written_report(crawler)
        answer = StringIO()
        with redirect_stdout(answer):
            _print_answer(summaries[0], found, server.url)
            if templates:
                _print_content(templates[0])
            if written:
                print(f"\nA report to look at: {written}")
            _print_advice(knows_spider=self._knows_spider)
        self.exitcode = exit_status(crawler)
        if not print_text(answer.getvalue().rstrip("\n"), "demo"):
            self.exitcode = LOST
        if written and opts.open:
            _show(written)


def _report_file() -> str:
    """A file in the current folder; elsewhere if nothing can be written there."""
    from tempfile import mkdtemp

    folder = "." if os.access(".", os.W_OK) else mkdtemp(prefix="tplspider-")
    return str(Path(folder, _REPORT))


def _written_report(crawler: Crawler) -> Path | None:
    place = crawler.spider.searches.job.plan.report  # type: ignore[union-attr]  # it is ours
    written = crawler.stats and crawler.stats.get_value("tplspider/reports")
    return place.page if place and written else None


def _show(report: Path) -> None:
    import webbrowser

    if not webbrowser.open(report.as_uri()):
        print("scrapy demo: there is no browser to show the report with", file=sys.stderr)


def _print_answer(summary: CandidateSearch, found: list[TemplateCandidate], site_url: str) -> None:
    from tplspider.search.answer import counted, mutually_linked

    def short(url: str) -> str:
        return url.removeprefix(site_url)

    print(f"A small website was served on {site_url}, and one of its pages taken as the key page:")
    print(f"  {short(summary.key_url)}  ({summary.links} links to other pages of the site)\n")
    print("The links that were loaded, in order of relevance:\n")
    members = set(summary.members)
    rows = [("rank", "link", "what came back", "in the CS")]
    for row in summary.explored:
        came = _OUTCOMES[row["outcome"]]
        if row["reason"]:
            came += f": {row['reason'].replace(site_url, '')}"
        elif row["url"] != row["link"]:
            came += f", redirected to {short(row['url'])}"
        member = row["outcome"] == "page" and row["url"] in members
        rows.append((str(row["rank"]), short(row["link"]), came, "yes" if member else ""))
    _print_table(rows)
    print(
        f"\n{mutually_linked(summary.cs_size)}, after {counted(summary.loads, 'load')}"
        f" ({summary.reason}):\n"
    )
    _print_table(
        [
            ("page", "title", "link text", "distance", "similarity"),
            *(
                (short(c.url), c.title, c.anchor_text, f"{c.h_distance:+d}", f"{c.similarity:.2f}")
                for c in found
            ),
        ]
    )
    print("\nThey very likely share the template of the key page.")


def _print_content(template: PageTemplate) -> None:
    from tplspider.old.crawl.harmless_log import harmless

    share = template.template_share
    print(f"Compared with them, {share:.0%} of its elements are template. What is left:\n")
    lines = harmless(template.main_text).splitlines()
    for line in lines[:_SHOWN_LINES]:
        print("\n".join(wrap(line, 96, initial_indent="  ", subsequent_indent="  ")))
    if len(lines) > _SHOWN_LINES:
        print(f"  ... and {len(lines) - _SHOWN_LINES} more lines")


def _print_advice(*, knows_spider: bool) -> None:
    print("\nTry it on a site of your own:")
    page = "https://example.org/some/page"
    if knows_spider:
        print(f"  scrapy crawl template_candidates -a url={page} -O out.json")
    print(f"  scrapy template {page}")


def _print_table(texts: Sequence[tuple[str, ...]]) -> None:
    from tplspider.old.crawl.harmless_log import harmless

    rows = [tuple(map(harmless, row)) for row in texts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["-" * width for width in widths]
    for row in (rows[0], lines, *rows[1:]):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  " + "  ".join(cells).rstrip())
