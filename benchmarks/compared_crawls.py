"""Crawls of one key page on which two checkouts are compared, and the demo."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from benchmarks.compared_commands import BY_ARRIVAL, Case, case_folder, files_of, normal, told
from benchmarks.compared_sites import compared_sites

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from benchmarks.checkouts import Checkout
    from benchmarks.compared_rows import Written

STRATEGIES = ("paper", "guided")
SIZES = (1, 3, 5)
IN_FLIGHT = (1, 4)
SCOPES = ("host", "domain")
# In place of all combinations: any two values stand together once.
PAIRWISE = (
    ("paper", 1, 1, "host"),
    ("guided", 1, 4, "domain"),
    ("paper", 3, 4, "domain"),
    ("guided", 3, 1, "host"),
    ("paper", 5, 1, "domain"),
    ("guided", 5, 4, "host"),
)
FEW = (("paper", 3, 1, "host"), ("guided", 3, 4, "domain"))
FORMATS = ("json", "csv", "xml", "jl")
ITEMS = {
    "candidates": "TemplateCandidate",
    "summary": "CandidateSearch",
    "template": "PageTemplate",
}
SO_FAR = re.compile(r"; [^;\n]* so far \(best CS: .*\)$", re.MULTILINE)


@dataclass(frozen=True)
class OneCrawl:
    """The options of a crawl."""

    url: str
    strategy: str
    n: int
    in_flight: int
    scope: str

    def __str__(self) -> str:
        return (
            f"{self.url} strategy={self.strategy} n={self.n} scope={self.scope},"
            f" {self.in_flight} in flight"
        )


def crawl(options: OneCrawl, checkout: Checkout) -> Written:
    """What a crawl writes: each kind of item in all formats."""
    with case_folder(checkout) as folder:
        arguments = {
            "url": options.url,
            "n": options.n,
            "strategy": options.strategy,
            "scope": options.scope,
            "max_loads": 0,
            "summary": folder / "summary.json",
            "template": folder / "template.json",
            "save_html": folder / "pages",
        }
        settings = {
            "FEEDS": json.dumps(feeds(folder)),
            "TPLSPIDER_IN_FLIGHT": str(options.in_flight),
        }
        done = checkout.run(checkout.crawl_command(arguments, settings))
        written = {**files_of(folder), **told(done, checkout, folder)}
    if options.in_flight > 1:
        written["log"] = SO_FAR.sub("", written["log"].decode()).encode()
    return written


def feeds(folder: Path) -> dict[str, dict[str, object]]:
    """Feeds in a folder, but for those that arguments name."""
    return {
        str(folder / f"{what}.{form}"): {
            "format": form,
            "item_classes": [f"tplspider.items.{item}"],
        }
        for (what, item), form in product(ITEMS.items(), FORMATS)
        if what == "candidates" or form != "json"
    }


def demo(checkout: Checkout) -> Written:
    """What the demo prints."""
    with case_folder(checkout) as folder:
        report = f"--report={folder / 'report.html'}"
        done = checkout.run(checkout.scrapy("demo", report))
        shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", f"{done.stdout}\n{done.stderr}")
        return {
            "output": normal(shown, checkout, folder),
            "exit status": str(done.returncode).encode(),
        }


def demo_part(_stack: ExitStack, _options: argparse.Namespace) -> Iterator[Case]:
    """The demo alone."""
    yield Case("scrapy demo", demo)


def crawls_part(stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """Crawls of the demo's website, the fixture sites and a hostile one."""
    every: Iterable[tuple[str, int, int, str]] = FEW if options.quick else PAIRWISE
    if options.all_options:
        every = [*product(STRATEGIES, SIZES, IN_FLIGHT, SCOPES)]
    for site in compared_sites():
        if options.sites and site.name not in options.sites:
            continue
        server = stack.enter_context(site.serve())
        for url, rest in product(site.urls(server), every):
            one = OneCrawl(url, *rest)
            ignored = BY_ARRIVAL if one.in_flight > 1 else ()
            yield Case(f"{site.name} {one}", partial(crawl, one), ignored=ignored)
