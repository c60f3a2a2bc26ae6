"""``scrapy demo``: the real spider on a small website that comes with the project."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from tplspider.command import OurCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tplspider.results import SearchAnswer

_SHOWN_LINES = 8  # of the text
_LINK_ROW = "  {:<4}  {:<32}  {:<46}  {}"
_PAGE_ROW = "  {:<32}  {:<46}  {}"


class Command(OurCommand):
    """Serves the site on loopback, crawls it, and prints the answer as a table."""

    usage = "[options]"
    summary = "Try it on a small website that comes with tplspider (no internet needed)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        about = "where to write the report (default %(default)s)"
        parser.add_argument("--report", metavar="FILE", default="demo-report.html", help=about)

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.command import program
        from tplspider.demo import KEY_PAGE, serve_site
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        if args:
            raise ValueError(f"unexpected argument {' '.join(args)!r}")
        local = {"DOWNLOAD_DELAY": 0, "HTTPPROXY_ENABLED": False, "TPLSPIDER_ALLOW_PRIVATE": True}
        self.settings.setdict(local | {"TPLSPIDER_TEXTS": True}, priority=30)
        answers: list[SearchAnswer] = []
        with serve_site() as site:
            arguments = {"url": site + KEY_PAGE, "report": opts.report}

            def take(answer: SearchAnswer) -> None:
                answers.append(answer)

            self.crawl(TemplateCandidatesSpider, arguments, take)
        for answer in answers:
            lines = [*_links(answer, site), *_text(answer)]
            lines += [f"Report: {Path(opts.report).absolute()}", ""]
            page = "https://example.org/some/page"
            lines += ["Try it on another site:", f"  {program} candidates {page}"]
            lines += [f"  {program} text {page}"]
            self.print("\n".join(lines))


def _links(answer: SearchAnswer, site_url: str) -> Iterator[str]:
    """The links of the key page that were loaded, and the candidates among them."""
    from tplspider.search.answer import counted, mutually_linked

    def short(url: str) -> str:
        return url.replace(site_url, "")

    summary = answer.summary
    yield f"A small website was served on {site_url}. This is the key page:"
    yield f"  {short(summary.key_url)}  ({summary.links} links to other pages of the site)\n"
    yield "The links that were loaded, in order of relevance:\n"
    yield _LINK_ROW.format("rank", "link", "what came back", "candidate")
    for row in summary.explored:
        came = row["outcome"].replace("none", "no page")
        if row["reason"]:
            came += f": {short(row['reason'])}"
        elif row["url"] != row["link"]:
            came += f", redirected to {short(row['url'])}"
        is_found = row["outcome"] == "page" and row["url"] in summary.candidates
        shown = (row["rank"], short(row["link"]), came, "yes" if is_found else "")
        yield _LINK_ROW.format(*shown).rstrip()
    loads = counted(summary.loads, "load")
    yield f"\n{mutually_linked(summary.cs_size)}, after {loads} ({summary.reason}):\n"
    for found in answer.candidates:
        yield _PAGE_ROW.format(short(found.url), found.title, f"similarity {found.similarity:.2f}")
    yield "\nThey very likely share the template of the key page."


def _text(answer: SearchAnswer) -> Iterator[str]:
    """The first lines of the key page's text."""
    if text := answer.template:
        share = f"{text.template_share:.0%}"
        yield f"Compared with them, {share} of its elements are template. The rest:\n"
        lines = text.main_text.splitlines()
        for line in lines[:_SHOWN_LINES]:
            yield from wrap(line, 96, initial_indent="  ", subsequent_indent="  ")
        if len(lines) > _SHOWN_LINES:
            yield f"  ... and {len(lines) - _SHOWN_LINES} more lines"
        yield ""
