"""Compares what two checkouts write: feeds byte for byte, log lines, stats, and the demo.

    python -m benchmarks.compare_feeds OLD NEW [--ignore search_id,requested_url]

The demo's website, the fixture sites and a hostile one are served at one address to both. Exits
with 1 when something differs. ``--ignore`` takes fields out of the feeds of both, and stats. Times
are not compared, nor is what depends on the order of arrival, where several requests are in flight.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from difflib import unified_diff
from itertools import chain, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.checkouts import Checkout, two_checkouts
from benchmarks.compared_sites import compared_sites
from benchmarks.feed_fields import without_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Written = dict[str, bytes]

STRATEGIES = ("paper", "guided")
SIZES = (1, 3, 5)
IN_FLIGHT = (1, 4)
SCOPES = ("host", "domain")
FORMATS = ("json", "csv", "xml", "jl")
ITEMS = {
    "candidates": "TemplateCandidate",
    "summary": "CandidateSearch",
    "template": "PageTemplate",
}
OURS = re.compile(r"^\S+ \S+ \[(tplspider[\w.]*|template_candidates)\] (\w+: .*)$", re.MULTILINE)
# Of others but tldextract, which warns when its cache is empty: of one crawl, whichever is first.
WARNINGS = re.compile(
    r"^\S+ \S+ \[(?!tldextract)\S+\] ((?:WARNING|ERROR|CRITICAL): .*)$", re.MULTILINE
)
STATS = re.compile(r"'(?:tplspider/|finish_reason)[^\n]*", re.MULTILINE)
# What depends on the order in which pages arrive, where several are in flight; no answer does.
BY_ARRIVAL = ("wasted",)
SO_FAR = re.compile(r"; [^;]* so far \(best CS: .*\)$")
SHOWN = 12  # lines of a difference


@dataclass(frozen=True)
class Case:
    """One crawl that both do."""

    site: str
    url: str
    strategy: str
    n: int
    in_flight: int
    scope: str

    def __str__(self) -> str:
        return (
            f"{self.site} {self.url} strategy={self.strategy} n={self.n} scope={self.scope},"
            f" {self.in_flight} in flight"
        )


def normal(text: str, checkout: Checkout, folder: Path) -> bytes:
    """Words for people without what differs from run to run: folders, times, ports of the demo."""
    for place, name in ((folder, "FOLDER"), (checkout.folder, "CHECKOUT")):
        text = text.replace(str(place), name)
    text = re.sub(r"\b[0-9.]+ (m?s|seconds?)\b", r"# \1", text)
    return text.encode()


def crawl(checkout: Checkout, case: Case) -> Written:
    """What a crawl writes, by names."""
    with TemporaryDirectory(dir=checkout.scratch) as name:
        folder = Path(name)
        feeds = {
            str(folder / f"{what}.{form}"): {
                "format": form,
                "item_classes": [f"tplspider.items.{item}"],
            }
            for (what, item), form in product(ITEMS.items(), FORMATS)
            if what == "candidates" or form != "json"  # the others by arguments
        }
        arguments = {
            "url": case.url,
            "n": case.n,
            "strategy": case.strategy,
            "scope": case.scope,
            "max_loads": 0,
            "summary": folder / "summary.json",
            "template": folder / "template.json",
        }
        settings = {"FEEDS": json.dumps(feeds), "TPLSPIDER_IN_FLIGHT": str(case.in_flight)}
        done = run(checkout, checkout.crawl_command(arguments, settings))
        written = {file.name: file.read_bytes() for file in folder.iterdir()}
        lines = [line for _, line in OURS.findall(done.stderr)]
        others = WARNINGS.findall(OURS.sub("", done.stderr))
        dump = done.stderr.partition("Dumping Scrapy stats:")[2]
        stats = "\n".join(line.rstrip("},") for line in STATS.findall(dump))
        if case.in_flight > 1:
            lines = [SO_FAR.sub("", line) for line in lines]
            stats = re.sub(rf"'tplspider/({'|'.join(BY_ARRIVAL)})'.*\n?", "", stats)
        written["log"] = normal("\n".join([*lines, *others]), checkout, folder)
        written["stats"] = normal(stats, checkout, folder)
        written["exit status"] = str(done.returncode).encode()
    return written


def demo(checkout: Checkout) -> Written:
    """What the demo prints."""
    done = run(checkout, [sys.executable, "-m", "scrapy", "demo"])
    shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", f"{done.stdout}\n{done.stderr}")
    return {
        "output": normal(shown, checkout, checkout.scratch),
        "exit status": str(done.returncode).encode(),
    }


def run(checkout: Checkout, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in a checkout."""
    return subprocess.run(  # noqa: S603 - our own command
        command,
        cwd=checkout.folder,
        env=checkout.environment(),
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=600,
        check=False,
    )


def differences(old: Written, new: Written, ignored: Collection[str]) -> Iterator[str]:
    """What differs, each with its first lines."""
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield f"{name}: only of the {'old' if name in old else 'new'} one"
            continue
        one, other = (without_fields(name, side[name], ignored) for side in (old, new))
        if one != other:
            lines = unified_diff(_parts(one), _parts(other), n=0, lineterm="")
            shown = [*islice(lines, 2, 2 + SHOWN)] or ["white space"]
            yield "\n    ".join([f"{name}:", *shown])


def _parts(content: bytes) -> list[str]:
    """Lines that are short enough to show what differs."""
    text = content.decode("utf-8", "backslashreplace")
    lines = re.sub(r"(?<=,) |(?<=>)(?=<)", "\n", text).splitlines()
    return [line[:200] for line in lines]


def cases(stack: ExitStack, names: Collection[str]) -> Iterator[Case]:
    """All crawls, of sites that are served for as long as *stack* is open."""
    for site in compared_sites():
        if names and site.name not in names:
            continue
        server = stack.enter_context(site.serve())
        for url in site.urls(server):
            for rest in product(STRATEGIES, SIZES, IN_FLIGHT, SCOPES):
                yield Case(site.name, url, *rest)


def compare(checkouts: tuple[Checkout, Checkout], options: argparse.Namespace) -> int:
    """Print what differs; how many crawls differ."""
    old, new = checkouts

    def pair(case: Case) -> list[str]:
        ignored = {*options.ignore, *(BY_ARRIVAL if case.in_flight > 1 else ())}
        return [*differences(crawl(old, case), crawl(new, case), ignored)]

    differing = 0
    with ExitStack() as stack, ThreadPoolExecutor(options.jobs) as threads:
        todo = [*cases(stack, options.sites)]
        first = ("scrapy demo", [*differences(demo(old), demo(new), ())])
        for title, found in chain([first], zip(todo, threads.map(pair, todo), strict=True)):
            if found:
                differing += 1
                print(f"DIFFERENT: {title}", *found, sep="\n  ", flush=True)
    print(f"{len(todo)} crawls of each checkout, and the demo: {differing or 'none'} different")
    return differing


def main() -> None:
    """Compare as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--ignore", default=[], type=_names, help="fields, with commas")
    parser.add_argument("--sites", default=[], type=_names, help="only these, with commas")
    parser.add_argument("--jobs", default=1, type=int, help="crawls at once (default: %(default)s)")
    options = parser.parse_args()
    with two_checkouts(options.old, options.new) as checkouts:
        raise SystemExit(compare(checkouts, options) > 0)


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
