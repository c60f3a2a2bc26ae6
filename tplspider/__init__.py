"""Finds the pages of a website that share the web template of a given page."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tplspider.moved import MovedModules

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
    from tplspider.search.sort_links import sort_links
    from tplspider.search.window import SubdigraphSearch, Visit
    from tplspider.template.extract import PageSource, extract_template
    from tplspider.web.addresses import Address, identity
    from tplspider.web.html import parse_html
    from tplspider.web.links import Link, get_links
    from tplspider.web.page import Page, read_page
    from tplspider.web.similarity import similarity
    from tplspider.web.site import Site

__version__ = "0.1.0"

__all__ = [
    "Address",
    "CandidateSearch",
    "Link",
    "Page",
    "PageSource",
    "PageTemplate",
    "Site",
    "SubdigraphSearch",
    "TemplateCandidate",
    "Visit",
    "extract_template",
    "get_links",
    "identity",
    "parse_html",
    "read_page",
    "similarity",
    "sort_links",
]

# They are imported when they are asked for: every scrapy command of an environment loads the
# commands of this package, which must cost it next to nothing.
_MODULES = {
    "Address": "web.addresses",
    "CandidateSearch": "items",
    "Link": "web.links",
    "Page": "web.page",
    "PageSource": "template.extract",
    "PageTemplate": "items",
    "Site": "web.site",
    "SubdigraphSearch": "search.window",
    "TemplateCandidate": "items",
    "Visit": "search.window",
    "extract_template": "template.extract",
    "get_links": "web.links",
    "identity": "web.addresses",
    "parse_html": "web.html",
    "read_page": "web.page",
    "similarity": "web.similarity",
    "sort_links": "search.sort_links",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.meta_path.append(MovedModules())
