"""Crawls of real websites, each beside a literal reading of the definitions.

    python -m benchmarks.real_sites FOLDER [FOLDER ...] [--sizes 1-8] [--pages 3] [--jobs 2]

Each FOLDER is the document root of a website: a manual as a distribution packages it, a mirror.
It is served on loopback, and some of its pages are taken as key pages. For each key page and size,
the spider crawls the site in a process of its own, and tests/literal.py searches it, page by page.
Both must ask for the same pages in the same order and give the same answer. Differences are
printed, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

from benchmarks.http_source import HttpSource
from tests import literal
from tests.support.crawls import run_scrapy
from tests.support.site_server import SiteServer
from tplspider import NoPage, Redirect
from tplspider.search.cliques import MAX_REDIRECTS
from tplspider.sources.base import load_once

SETTINGS = {"LOG_LEVEL": "ERROR", "ROBOTSTXT_OBEY": "False", "RETRY_ENABLED": "False"}
NAMES = ("reason", "loads", "links", "members", "explored")  # of what both sides tell
ROW = ("rank", "link", "url", "outcome", "reason", "missing", "links_to")

# The oracle is slow on purpose, and it reads the same pages again for each size.
literal.identity = lru_cache(maxsize=None)(literal.identity)
literal.visible_text = lru_cache(maxsize=128)(literal.visible_text)
literal.get_links = lru_cache(maxsize=128)(literal.get_links)


@dataclass(frozen=True)
class Comparison:
    """One key page and size: how many loads they took, and what differs."""

    key: str
    size: int
    loads: int
    differences: list[str]


class Loader:
    """Loads pages for the literal search, and follows redirects where there is a need to."""

    def __init__(self) -> None:
        self.known: set[str] = set()  # final addresses

    def __call__(self, url: str) -> literal.LiteralPage | str:
        """The page at an address, or the reason why there is none."""
        chain, source = [url], HttpSource()
        while isinstance(found := load_once(source, chain[-1]), Redirect):
            if found.url in chain or len(chain) > MAX_REDIRECTS:
                return "bad-response"
            offsite = urlsplit(found.url)[:2] != urlsplit(url)[:2]
            if offsite or literal.identity(found.url) in self.known:
                return literal.LiteralPage(found.url, "")  # its address says all
            chain.append(found.url)
        if isinstance(found, NoPage):
            return found.reason
        if found.status != 200:
            return f"http-{found.status}"
        if not found.body:
            return "bad-response"
        if not found.is_html:
            return "not-html"
        self.known.add(literal.identity(found.url))
        return literal.LiteralPage(found.url, found.text, found.encoding)


def spider_answer(server: SiteServer, key_url: str, size: int) -> dict[str, Any]:
    """What the spider asks for and gives."""
    server.log.clear()
    with TemporaryDirectory() as folder:
        crawl = run_scrapy(
            *("crawl", "template_candidates", f"-aurl={key_url}", f"-an={size}"),
            *(f"-asummary={folder}/summary.json", f"-O{folder}/out.json"),
            folder=Path(folder),
            settings=SETTINGS,
        )
        told = {**crawl.summary, "members": crawl.summary["candidates"]}
        answer = {name: told[name] for name in NAMES}
        answer["explored"] = [{name: row[name] for name in ROW} for row in answer["explored"]]
        members = [(candidate["rank"], candidate["url"]) for candidate in crawl.candidates]
    return answer | {"candidates": members, "asked": server.log[:], "errors": crawl.log}


def literal_answer(server: SiteServer, key_url: str, size: int) -> dict[str, Any]:
    """What the literal search asks for and gives."""
    server.log.clear()
    found = literal.search(Loader(), key_url, n=size)
    answer = {name: getattr(found, name) for name in NAMES}
    members = list(zip(found.member_ranks, found.members, strict=True))
    return answer | {"candidates": members, "asked": server.log[:], "errors": ""}


def difference(ours: Any, theirs: Any) -> str:
    """How two values differ; of lists, the first items that do (None: one list has ended)."""
    if not isinstance(ours, list):
        return f"spider {ours!r}, literal {theirs!r}"
    pairs = enumerate(zip_longest(ours, theirs))
    at, (our_item, their_item) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
    return f"[{at}] spider {our_item!r}, literal {their_item!r}"


def compare(site: Path, key: str, sizes: range) -> list[Comparison]:
    """Crawl from one key page, by the spider and literally, for each size."""
    comparisons = []
    with SiteServer(site) as server:
        key_url = f"{server.url}/{quote(key)}"
        for size in sizes:
            ours = spider_answer(server, key_url, size)
            theirs = literal_answer(server, key_url, size)
            differences = [
                f"{name} {difference(ours[name], theirs[name])}"
                for name in ours
                if ours[name] != theirs[name]
            ]
            comparisons.append(Comparison(f"{site}/{key}", size, ours["loads"], differences))
    return comparisons


def key_pages(site: Path, count: int) -> list[str]:
    """The index page, if there is one, and pages at even distances in the list of all."""
    files = (path for path in site.rglob("*.html") if path.is_file())
    pages = sorted(path.relative_to(site).as_posix() for path in files)
    index = [page for page in pages if page == "index.html"]
    others = min(count, len(pages)) - len(index)
    spaced = [pages[(2 * i + 1) * len(pages) // (2 * others)] for i in range(others)]
    return list(dict.fromkeys(index + spaced))


def row(comparisons: list[Comparison], site: str) -> str:
    """The line of a site in the table."""
    loads = [comparison.loads for comparison in comparisons if comparison.size == 3]
    mean = f"{sum(loads) / len(loads):.2f}" if loads else "-"
    keys = len({comparison.key for comparison in comparisons})
    different = sum(bool(comparison.differences) for comparison in comparisons)
    return f"{keys:9} {len(comparisons):11} {different:11} {mean:>17}  {site}"


def main() -> int:
    """Compare as the command line says; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sites", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sizes", default="1-8", help="values of n (default: %(default)s)")
    parser.add_argument("--pages", default=3, type=int, help="key pages a site (%(default)s)")
    parser.add_argument("--jobs", default=2, type=int, help="key pages at a time (%(default)s)")
    options = parser.parse_args()
    first, _, last = options.sizes.partition("-")
    sizes = range(int(first), int(last or first) + 1)

    table = ["key pages comparisons differences mean loads at n=3  site"]
    everything = []
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = {
            site: [pool.submit(compare, site, key, sizes) for key in key_pages(site, options.pages)]
            for site in options.sites
        }
        for site, of_site in tasks.items():
            comparisons = [found for task in of_site for found in task.result()]
            print(f"{site}: done", file=sys.stderr)
            for found in comparisons:
                if found.differences:
                    print(f"{found.key} n={found.size}: {'; '.join(found.differences)}")
            table.append(row(comparisons, str(site)))
            everything += comparisons
    print("\n".join([*table, row(everything, "all")]))
    return int(any(found.differences for found in everything))


if __name__ == "__main__":
    raise SystemExit(main())
