"""Which pages of a site a key page is compared with: by a search, or as people do without one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from tplspider.search.ends import LINKS_EXHAUSTED
from tplspider.search.events import LinkSettled
from tplspider.search.options import SearchOptions
from tplspider.search.reading import read_web_page
from tplspider.search.session import SearchSession
from tplspider.search.strategies import STRATEGIES
from tplspider.sources.base import drive, load_once
from tplspider.sources.folder import find_file
from tplspider.web.page_faults import page_fault
from tplspider.web.web_page import WebPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tplspider.search.events import Event, Listener
    from tplspider.search.reading import Reader
    from tplspider.search.strategies import Strategy
    from tplspider.search.window import SubdigraphSearch
    from tplspider.sources.folder import FolderSite

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

    site: FolderSite
    key: WebPage
    size: int
    max_loads: int
    reader: Reader = read_web_page

    def search(
        self,
        strategy: str = "paper",
        *,
        order: Strategy | None = None,
        listener: Listener | None = None,
    ) -> SubdigraphSearch:
        """The search from the key page, driven to its end."""
        session = SearchSession(
            self.key.url,
            SearchOptions(n=self.size, strategy=strategy, max_loads=self.max_loads),
            order=order,
            listener=listener,
            reader=self.reader,
        )
        drive(session, self.site)
        if session.search is None:
            raise ValueError(f"{self.key.url} cannot be used")
        return session.search


def by_search(strategy: str, request: Request) -> Choice:
    """The members of the n-CS that the search finds, or of the largest smaller one."""
    search = request.search(strategy)
    reason = search.reason or LINKS_EXHAUSTED  # without any link it does not even start
    return Choice(tuple(visit.url for visit in search.members), search.loads, reason)


def by_document_order(request: Request) -> Choice:
    """The first n pages that the key page links to, whether or not they link to each other.

    The search tells pages from duplicates and from what is not a page, and counts the loads. An
    n-CS takes n pages, so the search never ends before there are enough.
    """
    found: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, LinkSettled) and event.visit.page:
            found.append(event.visit.url)
            if len(found) >= request.size:
                event.session.stop("enough")

    search = request.search(order=lambda links, _: iter(links), listener=note)
    reason = search.reason or LINKS_EXHAUSTED
    return Choice(tuple(found), search.loads, "" if len(found) >= request.size else reason)


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
    **{name: partial(by_search, name) for name in STRATEGIES},
    "document-order": by_document_order,
    f"random-{_SAMPLE}": at_random,
    "same-directory": by_directory,
    "all-pages": every_page,
}


def _all_of(pages: Iterable[str]) -> Choice:
    chosen = tuple(pages)
    return Choice(chosen, len(chosen) + 1)


def _other_pages(request: Request) -> list[str]:
    """The addresses of the site's pages but the key page; a file that redirects is not one."""
    site = request.site
    key_file = find_file(site.folder, request.key.url.partition("?")[0].removeprefix(site.url))
    addresses = [site.address(file) for file in site.files() if file != key_file]
    return [url for url in addresses if _is_page(load_once(site, url))]


def _is_page(answer: object) -> bool:
    return isinstance(answer, WebPage) and not page_fault(answer)


def _directory(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[0]
