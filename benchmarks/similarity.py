"""How similar to a key page the pages are that a search finds, and those that it should not find.

    python -m benchmarks.similarity --corpus DIR

prints the deciles of the similarity of members, of explored pages that are not members, and of
pages of other sites, over the key pages of a labelled corpus. The pages of other sites are read as
if their paths were on the key page's site, so that links can be the same by chance: sites that one
generator made share more than others do.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

from benchmarks.evaluation.sites import labelled_sites
from tplspider import (
    Page,
    SearchOptions,
    Site,
    WebPage,
    identity,
    parse_html,
    read_page,
    search_pages,
)
from tplspider.search.session import STRATEGIES
from tplspider.sources.base import load_once
from tplspider.web.page import page_fault
from tplspider.web.similarity import LOW_SIMILARITY, similarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.sources.folder import FolderSite

SIZE = 3
OF_OTHERS = 10  # pages of each other site
KINDS = ("members", "explored, not members", "pages of other sites")


def similarities(
    keys: Iterable[tuple[FolderSite, str]], others: Iterable[FolderSite]
) -> dict[str, list[float]]:
    """The similarities to key pages, each given by its site and its address, by kind of page."""
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    sites = list(others)
    for site, key_url in keys:
        foreign: list[Page] = []
        for strategy in STRATEGIES:
            search = search_pages(site, key_url, SearchOptions(SIZE, strategy)).search
            if search is None:
                continue
            members = {visit.rank for visit in search.members}
            for visit in search.visits:
                if visit.page:
                    kind = KINDS[visit.rank not in members]
                    found[kind].append(similarity(search.key_page, visit.page))
            foreign = foreign or [
                page
                for other in sites
                if other.folder != site.folder
                for page in pages_moved_to(site, other)
            ]
        if foreign and search:
            found[KINDS[2]] += [similarity(search.key_page, page) for page in foreign]
    return found


def pages_moved_to(site: FolderSite, other: FolderSite) -> Iterator[Page]:
    """Some pages of another site, at even distances, as if they were pages of *site*."""
    host = Site(identity(f"{site.url}/"))
    files = other.files()
    for file in files[:: max(1, len(files) // OF_OTHERS)][:OF_OTHERS]:
        page = load_once(other, other.address(file))
        if isinstance(page, WebPage) and not page_fault(page):
            url = site.url + page.url.removeprefix(other.url)
            yield read_page(parse_html(page.text), url, host, page.encoding)


def report(found: dict[str, list[float]]) -> None:
    """Print the lowest, the deciles and the highest of each kind, and how many are low."""
    print("similarity".ljust(24), "pages", "lowest, deciles, highest", sep="  ")
    for kind, values in found.items():
        deciles = quantiles(values, n=10, method="inclusive") if len(values) > 1 else values
        shown = " ".join(f"{value:.2f}" for value in (min(values), *deciles, max(values)))
        low = sum(value < LOW_SIMILARITY for value in values) / len(values)
        print(f"{kind:<24} {len(values):6}  {shown}  below {LOW_SIMILARITY}: {low:.1%}")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR")
    sites = list(labelled_sites(parser.parse_args().corpus))
    pages = [site.pages for site in sites]
    keys = [(site.pages, site.key_page().url) for site in sites]
    report(similarities(keys, pages))


if __name__ == "__main__":
    main()
