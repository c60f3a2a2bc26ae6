"""Which pages of a site a key page is compared with: by a search, or as people do without one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from tplspider.search.strategies import STRATEGIES
from tplspider.sources.folder import find_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tplspider.search.strategies import Strategy
    from tplspider.search.window import SubdigraphSearch
    from tplspider.sources.folder import SavedSite

_SAMPLE = 25


@dataclass(frozen=True, slots=True)
class Choice:
    """The addresses of the pages, what they cost in loads, the key page's included, and why."""

    pages: tuple[str, ...]
    loads: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What pages are wanted: those for a key page, *size* of them if it is a matter of size."""

    site: SavedSite
    key: HtmlResponse
    size: int
    max_loads: int


def by_search(strategy: Strategy, request: Request) -> Choice:
    """The members of the n-CS that the search finds, or of the largest smaller one."""
    search = request.site.search(
        request.key.url, strategy, size=request.size, max_loads=request.max_loads
    )
    assert search is not None
    return Choice(tuple(visit.url for visit in search.members), search.loads, search.reason)


def by_document_order(request: Request) -> Choice:
    """The first n pages that the key page links to, whether or not they link to each other.

    The search tells pages from what is none and from duplicates, and counts the loads. An n-CS
    takes n pages, so the search never ends before there are enough.
    """

    def pages(search: SubdigraphSearch) -> list[str]:
        return [visit.url for visit in search.visits if visit.outcome == "page"]

    search = request.site.search(
        request.key.url,
        None,
        size=request.size,
        max_loads=request.max_loads,
        enough=lambda search: len(pages(search)) >= request.size,
    )
    assert search is not None
    found = tuple(pages(search))
    return Choice(found, search.loads, "" if len(found) >= request.size else search.reason)


def at_random(request: Request) -> Choice:
    """25 random pages (Vieira et al. 2006), the same ones of a site each time and everywhere."""
    name = request.site.folder.name

    def draw(url: str) -> bytes:
        return blake2b(f"{name} {url}".encode()).digest()

    return _all_of(sorted(_other_pages(request), key=draw)[:_SAMPLE])


def by_directory(request: Request) -> Choice:
    """The pages in the key page's own directory (Rowlands et al. 2009), not those below it."""
    own = _directory(request.key.url)
    return _all_of(url for url in _other_pages(request) if _directory(url) == own)


def every_page(request: Request) -> Choice:
    """All pages of the site."""
    return _all_of(_other_pages(request))


CHOICES: dict[str, Callable[[Request], Choice]] = {
    **{name: partial(by_search, strategy) for name, strategy in STRATEGIES.items()},
    "document-order": by_document_order,
    f"random-{_SAMPLE}": at_random,
    "same-directory": by_directory,
    "all-pages": every_page,
}


def _all_of(pages: Iterable[str]) -> Choice:
    chosen = tuple(pages)
    return Choice(chosen, len(chosen) + 1)


def _other_pages(request: Request) -> list[str]:
    """The addresses of the site's pages but the key page; a file that redirects is none."""
    site = request.site
    key_file = find_file(site.folder, request.key.url.partition("?")[0].removeprefix(site.url))
    addresses = [site.address(file) for file in site.files() if file != key_file]
    return [url for url in addresses if isinstance(site.load(url), HtmlResponse)]


def _directory(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[0]
