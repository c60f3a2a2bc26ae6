"""Which pages of a site a key page is compared with: by a search, or as people do without one."""

from __future__ import annotations

import sys
from collections import Counter, deque
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from benchmarks.evaluation.sites import load_page
from tplspider.pools.pool import Pool, PooledPage, Signs, nearest, signs_of
from tplspider.pools.site_templates import COMPANIONS, READY
from tplspider.search.cliques import LINKS_EXHAUSTED, SubdigraphSearch
from tplspider.search.session import (
    STRATEGIES,
    Event,
    LinkSettled,
    Listener,
    Reader,
    SearchLimits,
    SearchOptions,
    SearchSession,
    Strategy,
    read_web_page,
)
from tplspider.search.witness import KEY, MOST, evidence
from tplspider.sources.base import drive, load_once
from tplspider.sources.folder import FolderSite, find_file
from tplspider.template.extract import Comparison, PageSource, compare, extract_template
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.template.lines import page_lines, text_lines
from tplspider.web.addresses import Site, identity
from tplspider.web.html import get_links, main_body, parse_html
from tplspider.web.page import NoPage, Page, WebPage, page_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.evaluation.measure import Plan
    from tplspider.items import PageTemplate
    from tplspider.sources.folder import FolderSite


@dataclass(frozen=True, slots=True)
class CrawledPage:
    """A page as it is pooled, and what tells how near it is to others."""

    pooled: PooledPage
    signs: Signs


@lru_cache(maxsize=1)  # of the site whose key pages are being measured
def breadth_first(site: FolderSite) -> tuple[CrawledPage, ...]:
    """All pages of a site, from its front page on; those that no link leads to come last."""
    found: dict[str, CrawledPage] = {}
    start = f"{site.url}/"
    queue = deque([start])
    known = {identity(start)}
    rest = deque(site.address(file) for file in site.files())
    while queue or rest:
        url = queue.popleft() if queue else rest.popleft()
        page = load_page(site, url)
        if not isinstance(page, WebPage) or (own := identity(page.url)) in found:
            continue
        root = parse_html(page.text)
        for link in get_links(root, page.url, Site(own)):
            if link.identity not in known:
                known.add(link.identity)
                queue.append(link.url)
        flat = flatten(root, page.url, Vocabulary())
        signs = signs_of(flat, page_lines(flat), own)
        found[own] = CrawledPage(PooledPage.of(page.url, page.text), signs)
    return tuple(found.values())


_SAMPLE = 25


@dataclass(frozen=True, slots=True)
class Choice:
    """The addresses of the pages to compare with, those that tell most first, and their price.

    *loads* are those of the search, the key page's included; a witness comes on top. *found* are
    the pages of those asked for: of a search, the members of the CS. Up to *most* pages that tell
    something are compared, all without it.
    """

    pages: tuple[str, ...]
    loads: int
    reason: str = ""
    found: int = 0
    witness_loads: int = 0
    most: int | None = None

    @property
    def all_loads(self) -> int:
        """The loads with the witness."""
        return self.loads + self.witness_loads


@dataclass(frozen=True, slots=True)
class Request:
    """What pages are wanted: those for a key page, *size* of them if it is a matter of size.

    *witness* is how many may be loaded on top, by those that load any.
    """

    site: FolderSite
    key: WebPage
    size: int
    max_loads: int
    reader: Reader = read_web_page
    witness: int = 1

    def search(
        self,
        strategy: str = "paper",
        *,
        order: Strategy | None = None,
        listener: Listener | None = None,
        witness: int = 0,
    ) -> tuple[SearchSession, SubdigraphSearch]:
        """The search from the key page, driven to its end."""
        session = SearchSession(
            self.key.url,
            SearchOptions(
                n=self.size, strategy=strategy, max_loads=self.max_loads, witness=witness
            ),
            SearchLimits(for_template=True),
            order=order,
            listener=listener,
            reader=self.reader,
        )
        drive(session, self.site)
        if session.search is None:
            raise ValueError(f"{self.key.url} cannot be used")
        return session, session.search


def by_search(strategy: str, request: Request) -> Choice:
    """What a crawl compares the key page with: the witness, and explored pages most like it."""
    session, search = request.search(strategy, witness=request.witness)
    return Choice(
        tuple(
            wanted.page.url
            for wanted in evidence(session.search, session.witness)
            if wanted.role != KEY
        ),
        search.loads,
        _reason(search),
        found=len(search.members),
        witness_loads=1 if session.witness else 0,
        most=MOST,
    )


def by_members(strategy: str, request: Request) -> Choice:
    """The members of the n-CS that the search finds, or of the largest smaller one: the paper's."""
    _, search = request.search(strategy)
    pages = tuple(visit.url for visit in search.members)
    return Choice(pages, search.loads, _reason(search), found=len(pages))


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

    _, search = request.search(order=lambda links, _: iter(links), listener=note)
    reason = "" if len(found) >= request.size else _reason(search)
    return Choice(tuple(found), search.loads, reason, found=len(found))


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


def by_pool(request: Request, *, ready: int = READY) -> Choice:
    """What a page of a whole crawl is compared with: the nearest of its site's pool.

    The site is crawled breadth first. The page waits until the pool is ready, or the crawl is over;
    with more pages than there are, all wait. The crawl has its pages anyway: none is loaded.
    """
    own = identity(request.key.url)
    names = (own, f"{own}index.html", own.removesuffix("index.html"))  # as the site may link to it
    crawled = breadth_first(request.site)
    known = {page.signs.identity: page.signs for page in crawled}
    key = next((known[name] for name in names if name in known), None)
    if key is None:
        raise ValueError(f"no page of the site is at {request.key.url}")
    pool, signs, is_met = Pool(), dict[PooledPage, Signs](), False
    for page in crawled:
        pool.add(page.pooled)
        signs[page.pooled] = page.signs
        is_met |= page.signs is key
        if is_met and len(pool) >= ready:
            break
    pages = tuple(page.url for page in nearest(key, {page: signs[page] for page in pool}))
    return Choice(pages, 1, found=min(len(pages), COMPANIONS), most=COMPANIONS)


# Of a page in the course of a crawl, and after all of it.
POOLS: dict[str, Callable[[Request], Choice]] = {
    "pool": by_pool,
    "pool-after": partial(by_pool, ready=sys.maxsize),
}
CHOICES: dict[str, Callable[[Request], Choice]] = {
    **{name: partial(by_search, name) for name in STRATEGIES},
    **{f"{name}-members": partial(by_members, name) for name in STRATEGIES},
    **POOLS,
    "document-order": by_document_order,
    f"random-{_SAMPLE}": at_random,
    "same-directory": by_directory,
    "all-pages": every_page,
}


def _reason(search: SubdigraphSearch) -> str:
    return search.reason or LINKS_EXHAUSTED  # without any link it does not even start


def _all_of(pages: Iterable[str]) -> Choice:
    chosen = tuple(pages)
    return Choice(chosen, len(chosen) + 1, found=len(chosen))


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


class PagesRead:
    """Reads pages for searches; those of one site meet the same pages, and reading takes time."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, Site], Page | NoPage] = {}

    def __call__(self, page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
        """What a search takes the page for."""
        if (page.url, site) not in self._pages:
            self._pages[page.url, site] = read_web_page(page, site, limits)
        return self._pages[page.url, site]


class KeyPage:
    """A key page and its site: which pages to compare it with, and what comes out."""

    def __init__(self, site: FolderSite, page: WebPage, reader: PagesRead | None = None) -> None:
        self.site = site
        self.page = page
        self._reader = reader or PagesRead()

    def choose(self, strategy: str, size: int, plan: Plan) -> Choice:
        """The pages that a strategy chooses."""
        request = Request(self.site, self.page, size, plan.max_loads, self._reader, plan.witness)
        return CHOICES[strategy](request)

    def compare(self, choice: Choice) -> Comparison | None:
        """Which elements are template by these pages; None if they give no evidence."""
        return compare(_source(self.page), self._sources(choice), most=choice.most)

    def extract(self, choice: Choice) -> PageTemplate:
        """The template by these pages, and the texts that it leaves."""
        return extract_template(_source(self.page), self._sources(choice), most=choice.most)

    def _sources(self, choice: Choice) -> list[PageSource]:
        pages = (load_page(self.site, url) for url in choice.pages)
        return [_source(page) for page in pages if isinstance(page, WebPage)]


def _source(page: WebPage) -> PageSource:
    return PageSource(page.url, page.text)


COUNTED_LINES = "counted-lines"
# The share of the pages that makes a line boilerplate: of 2, 5, 10, 20, 30 and 50 % the one that
# does best on our development sites.
MANY = 0.2
_FEW = 2  # pages: on a small site, two of them are many soon


def text_of_few_pages(key: KeyPage) -> str:
    """The lines of a key page that are on few pages of its site."""
    counts, pages = _counts(key.site)
    most = max(_FEW, MANY * pages)
    return "\n".join(line for line in _lines(key.page.text) if counts[line] <= most)


@lru_cache(maxsize=1)  # of the site whose key page is being measured
def _counts(site: FolderSite) -> tuple[Counter[str], int]:
    pages = [_lines(page.pooled.html) for page in breadth_first(site)]
    return Counter(line for lines in pages for line in {*lines}), len(pages)


def _lines(html: str) -> list[str]:
    return text_lines(main_body(parse_html(html)))
