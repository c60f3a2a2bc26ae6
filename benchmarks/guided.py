"""The search with the strategy ``guided`` among very many links, as a multiple of ``paper``.

The key page is read already; 100 pages are loaded, no two of which link to each other.
"""

from __future__ import annotations

import gc
import math
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.sort_links import URL, flat, paragraphs, realistic
from benchmarks.timing import report
from tplspider import Page, Site, SubdigraphSearch, get_links, identity, parse_html, read_page
from tplspider.search.session import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tplspider.web.html import Link

LINKS, BOUND = 100_000, 3


def menu(count: int) -> str:
    """One long list, with classes, of pages in several directories."""
    rows = (f'<li class=x><a href="d{i % 7}/p{i}">Entry {i}</a></li>' for i in range(count))
    return f"<body><nav><ul>{''.join(rows)}</ul></nav><p>Some words.</p></body>"


def named(count: int) -> str:
    """Links with a class and a title in a table, among some that are unusual."""
    rows = (
        f'<tr><td><a class="ref internal" title="{i}" href="/a/{"%20" * (i % 100 == 0)}{i}">{i}'
        f"</a></td><td><a href='#x'>{i}</a></td></tr>"
        for i in range(count)
    )
    return f"<body><div id=content><table>{''.join(rows)}</table></div></body>"


PAGES: dict[str, Callable[[int], str]] = {
    page.__name__: page for page in (realistic, flat, paragraphs, menu, named)
}
# What a loaded page links to, of the links that are loaded after it.
LOADED: dict[str, slice] = {"no": slice(0), "50": slice(50), "all": slice(None)}


class LargeKeyPage:
    """A key page with many links, read once, to search from again and again."""

    def __init__(self, page: str, count: int) -> None:
        root = parse_html(PAGES[page](count))
        site = Site(identity(URL))
        self.links: Sequence[Link] = get_links(root, URL, site)
        self.page = read_page(root, URL, site)
        assert len(self.links) == count

    def seconds(self, strategy: str, loaded: str) -> float:
        """The time that the search alone takes, whatever it takes to make the pages."""
        gc.collect()
        identities = [link.identity for link in self.links]
        some, taken = frozenset(identities[LOADED[loaded]]), set()
        start = process_time()
        spent = 0.0
        search = SubdigraphSearch(self.page, self.links, strategy=STRATEGIES[strategy], size=2)
        while visits := search.take():
            spent += process_time() - start
            for visit in visits:
                taken.add(visit.link.identity)
                page = Page(visit.link.url, visit.link.identity, some - taken)
                start = process_time()
                search.tell(visit.rank, page)
                spent += process_time() - start
            start = process_time()
        assert search.loads == 100
        return spent

    def ratio(self, loaded: str, rounds: int = 3) -> float:
        """What ``guided`` takes, as a multiple of ``paper``; the best times of several rounds."""
        best = {"guided": math.inf, "paper": math.inf}
        for _ in range(rounds):
            for strategy, fastest in best.items():
                best[strategy] = min(fastest, self.seconds(strategy, loaded))
        return best["guided"] / best["paper"]


def run() -> bool:
    """Print the ratios; whether all hold."""
    print(f"The search with guided among {LINKS:,} links, as a multiple of paper")
    holds = True
    for page in PAGES:
        key_page = LargeKeyPage(page, LINKS)
        for loaded in LOADED:
            ratio = key_page.ratio(loaded)
            holds &= report(f"{page}, pages with {loaded} links", ratio, BOUND)
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())
