"""Finds the pages of a website that share the web template of a given page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
    from tplspider.library import NoTextError, PageText, fetch_text, get_text, search_many
    from tplspider.pools.site_templates import SiteTemplates, StrippedPage
    from tplspider.pools.store import PoolFolder
    from tplspider.results import SearchAnswer
    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.search.session import SearchLimits, SearchOptions, SearchSession
    from tplspider.search.sort_links import sort_links
    from tplspider.sources.archive import open_archive
    from tplspider.sources.base import MemorySite, SiteSource, search_pages
    from tplspider.sources.folder import FolderSite
    from tplspider.template.extract import PageSource, extract_template
    from tplspider.web.addresses import Address, Site, identity
    from tplspider.web.html import Link, get_links, parse_html
    from tplspider.web.page import NoPage, Page, Redirect, WebPage, read_page
    from tplspider.web.similarity import similarity

__version__ = "0.1.0"

__all__ = [
    "Address",
    "CandidateSearch",
    "FolderSite",
    "Link",
    "MemorySite",
    "NoPage",
    "NoTextError",
    "Page",
    "PageSource",
    "PageTemplate",
    "PageText",
    "PoolFolder",
    "Redirect",
    "SearchAnswer",
    "SearchLimits",
    "SearchOptions",
    "SearchSession",
    "Site",
    "SiteSource",
    "SiteTemplates",
    "StrippedPage",
    "SubdigraphSearch",
    "TemplateCandidate",
    "Visit",
    "WebPage",
    "extract_template",
    "fetch_text",
    "get_links",
    "get_text",
    "identity",
    "open_archive",
    "parse_html",
    "read_page",
    "search_many",
    "search_pages",
    "similarity",
    "sort_links",
]

# Imported lazily: every scrapy command of an environment loads the
# commands of this package, which must cost it next to nothing.
_NAMES = {
    "items": "CandidateSearch PageTemplate TemplateCandidate",
    "library": "NoTextError PageText fetch_text get_text search_many",
    "pools.site_templates": "SiteTemplates StrippedPage",
    "pools.store": "PoolFolder",
    "results": "SearchAnswer",
    "search.cliques": "SubdigraphSearch Visit",
    "search.session": "SearchLimits SearchOptions SearchSession",
    "search.sort_links": "sort_links",
    "sources.archive": "open_archive",
    "sources.base": "MemorySite SiteSource search_pages",
    "sources.folder": "FolderSite",
    "template.extract": "PageSource extract_template",
    "web.addresses": "Address Site identity",
    "web.html": "Link get_links parse_html",
    "web.page": "NoPage Page Redirect WebPage read_page",
    "web.similarity": "similarity",
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _NAMES.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *__all__]
