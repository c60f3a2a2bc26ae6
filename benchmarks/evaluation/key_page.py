"""A key page in a folder, compared with the pages that a strategy chooses, as a crawl does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.evaluation.page_choice import CHOICES, Choice, Request
from tplspider.search.session import SearchLimits, read_web_page
from tplspider.sources.base import load_page
from tplspider.template.extract import Comparison, PageSource, compare, extract_template
from tplspider.web.page import NoPage, Page, WebPage

if TYPE_CHECKING:
    from benchmarks.evaluation.plan import Plan
    from tplspider.items import PageTemplate
    from tplspider.sources.folder import FolderSite
    from tplspider.web.addresses import Site


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
