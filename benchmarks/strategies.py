"""The strategies side by side, what each sign of ``guided`` brings, and what it saves.

    python -m benchmarks.strategies [--corpus DIR ...] [--silver DIR ...]
                                    [--roots FOLDER ...] [--size 3] [--http] [--signs]

On each corpus of labelled sites (see docs/evaluation.md): the mean loads of all strategies, the F1
of their templates and of their texts; with --signs, also of ``guided`` without one of its signs. On
each of --silver, sites without labels: loads, own text lost and boilerplate left. Each of the
--roots is the document root of
a website, such as a manual as a distribution packages it: its index page and three others at even
distances are key pages, and the loads of ``paper`` and ``guided`` are compared. Files are read as
they are; with --http the index pages are crawled by the spider, too, over loopback.
"""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from benchmarks.evaluation import tables
from benchmarks.evaluation.measure import TEXTS, Plan, measure, measure_texts
from benchmarks.evaluation.scores import mean
from tests.support.crawls import run_scrapy
from tests.support.site_server import SiteServer
from tplspider.search import guided
from tplspider.search.session import STRATEGIES, SearchOptions
from tplspider.sources.base import search_pages
from tplspider.sources.folder import FolderSite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What is added to a link's score, by the names of the numbers in search/guided.py.
SIGNS = {
    "evidence of loaded pages": ("EVIDENCE",),
    "density of links (entries of the block)": ("ENTRIES",),
    "the key page's own entry in the block": ("OWN_ENTRY",),
    "repetition (places on the page)": ("PLACES",),
    "tags and classes of the place": ("MENU_PLACE", "TEXT_PLACE"),
    "previous and next": ("SEQUENCE",),
    "link relevance": ("RELEVANCE",),
    "same depth": ("SAME_DEPTH",),
    "query": ("QUERY",),
    "deferred addresses": ("DEFERRED",),
    "position of the first load": ("EARLY",),
    "all signs but the evidence": (
        *("ENTRIES", "OWN_ENTRY", "PLACES", "MENU_PLACE", "TEXT_PLACE", "SEQUENCE"),
        *("RELEVANCE", "SAME_DEPTH", "QUERY", "DEFERRED", "EARLY"),
    ),
}


@dataclass(frozen=True)
class Loads:
    """What a key page costs."""

    key: str
    is_index: bool
    paper: int
    guided: int
    paper_complete: bool
    guided_complete: bool


@contextmanager
def without(names: Sequence[str]) -> Iterator[None]:
    """The strategy ``guided`` with some numbers set to 0."""
    before = {name: getattr(guided, name) for name in names}
    try:
        for name in names:
            setattr(guided, name, 0.0)
        yield
    finally:
        for name, value in before.items():
            setattr(guided, name, value)


def on_corpus(corpus: Path, strategy: str, sizes: tuple[int, ...]) -> str:
    """Mean loads and F1 for each size, as cells of a table."""
    results, _ = measure(Plan(corpus, sizes, (strategy,), (), 100), {})
    cells = []
    for size in sizes:
        of_size = [result for result in results if result.size == size]
        loads = mean([result.choice.loads for result in of_size])
        f1 = mean([result.score.f1 for result in of_size])
        cells.append(f"{loads:6.2f} {f1:.4f}")
    return "  ".join(cells)


def choices(corpus: Path, sizes: tuple[int, ...]) -> None:
    """Print loads, the F1 of the template and those of the texts, with each strategy."""
    print(f"\n{corpus}: {'n':>3} {'loads':>6} {'F1':>7}  {'  '.join(TEXTS)}")
    for size in sizes:
        results, texts = measure(Plan(corpus, (size,), tuple(STRATEGIES), ("ours",), 100), {})
        for name in STRATEGIES:
            own = [result for result in results if result.strategy == name]
            loads = mean([result.choice.all_loads for result in own])
            f1 = mean([result.score.f1 for result in own])
            found = [mean([s.f1 for s in texts[f"{name}: {text}"].values()]) for text in TEXTS]
            scores = "  ".join(f"{score:12.4f}" for score in found)
            print(f"  {name:<10} {size:3} {loads:6.2f} {f1:7.4f}  {scores}")


def on_silver(corpus: Path, sizes: tuple[int, ...]) -> None:
    """Print loads, and what the texts of each strategy lose and leave, as the whole site judges."""
    results = measure_texts(Plan(corpus, sizes, tuple(STRATEGIES), (), 100), {})
    print(f"\n{corpus}\n{tables.silver_table(tables.silver_rows(results))}")


def ablation(corpus: Path, sizes: tuple[int, ...]) -> None:
    """Print what the strategy does without each of its signs."""
    print(f"\n{corpus}: loads and F1 at n = {', '.join(map(str, sizes))}")
    print(f"  {'paper':<48} {on_corpus(corpus, 'paper', sizes)}")
    print(f"  {'guided':<48} {on_corpus(corpus, 'guided', sizes)}")
    for sign, names in SIGNS.items():
        with without(names):
            print(f"  {'without ' + sign:<48} {on_corpus(corpus, 'guided', sizes)}")


def key_pages(root: Path) -> list[str]:
    """The index page nearest to the root, if there is one, and three pages at even distances."""
    files = (path for path in root.rglob("*.html") if path.is_file())
    pages = sorted(path.relative_to(root).as_posix() for path in files)
    index = sorted(
        (page for page in pages if page.rpartition("/")[2] == "index.html"),
        key=lambda page: (page.count("/"), page),
    )
    spaced = [pages[(2 * i + 1) * len(pages) // 6] for i in range(3)] if pages else []
    return list(dict.fromkeys(index[:1] + spaced))


def on_site(site: FolderSite, size: int) -> Iterator[Loads]:
    """The loads of both strategies from some pages of a website."""
    for page in key_pages(site.folder):
        paper, new = (
            search_pages(site, f"{site.url}/{quote(page)}", SearchOptions(size, name)).search
            for name in ("paper", "guided")
        )
        if paper and new and paper.visits:
            is_index = page.endswith("index.html")
            yield Loads(page, is_index, paper.loads, new.loads, paper.complete, new.complete)


def over_http(root: Path, page: str, size: int) -> str:
    """The loads of both strategies when the spider crawls a served site."""
    loads = []
    with SiteServer(root) as server, TemporaryDirectory() as folder:
        for strategy in ("paper", "guided"):
            crawl = run_scrapy(
                *("crawl", "template_candidates", f"-aurl={server.url}/{quote(page)}"),
                *(f"-an={size}", f"-astrategy={strategy}", f"-asummary={folder}/summary.json"),
                folder=Path(folder),
                settings={"LOG_LEVEL": "ERROR"},
            )
            loads.append(crawl.summary["loads"])
    return f"  over HTTP: {loads[0]} and {loads[1]}"


def summary(name: str, rows: Sequence[Loads]) -> None:
    """Print the means of some key pages."""
    if rows:
        paper, new = mean([row.paper for row in rows]), mean([row.guided for row in rows])
        lost = sum(row.paper_complete and not row.guided_complete for row in rows)
        print(
            f"  {name:<56} {len(rows):4} key pages  paper {paper:6.2f}  guided {new:6.2f}"
            f"  ratio {new / paper:.2f}  complete with paper alone: {lost}"
        )


def on_roots(roots: Sequence[Path], size: int, *, http: bool) -> None:
    """Print what the strategies cost on websites, and ``guided`` without each of its signs."""
    sites = [FolderSite(root) for root in roots]
    rows = []
    for site in sites:
        for row in on_site(site, size):
            rows.append(row)
            print(
                f"  {row.paper:4}{'' if row.paper_complete else '?'}"
                f" {row.guided:4}{'' if row.guided_complete else '?'}  {site.folder}/{row.key}"
                + (over_http(site.folder, row.key, size) if http and row.is_index else "")
            )
    print(f"\n{len(roots)} websites, n = {size} (above: loads of paper and guided; ? not complete)")
    complete = [row for row in rows if row.paper_complete]
    summary("index pages", [row for row in rows if row.is_index])
    summary("index pages, complete with paper", [row for row in complete if row.is_index])
    summary("all key pages", rows)
    summary("all key pages, complete with paper", complete)
    for sign, names in SIGNS.items():
        with without(names):
            again = [row for site in sites for row in on_site(site, size) if row.paper_complete]
        summary(f"the same without {sign}", again)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", nargs="+", default=[], type=Path, metavar="DIR")
    parser.add_argument("--silver", nargs="+", default=[], type=Path, metavar="DIR")
    parser.add_argument("--signs", action="store_true", help="guided without each sign, too")
    parser.add_argument("--roots", nargs="+", default=[], type=Path, metavar="FOLDER")
    parser.add_argument("--sizes", default="3", help="on corpora (default: %(default)s)")
    parser.add_argument("--size", default=3, type=int, help="on --roots (default: %(default)s)")
    parser.add_argument("--http", action="store_true", help="crawl the index pages, too")
    options = parser.parse_args()
    sizes = tuple(map(int, options.sizes.split(",")))
    for corpus in options.corpus:
        choices(corpus, sizes)
        if options.signs:
            ablation(corpus, sizes)
    for corpus in options.silver:
        on_silver(corpus, sizes)
    if options.roots:
        on_roots(options.roots, options.size, http=options.http)


if __name__ == "__main__":
    main()
