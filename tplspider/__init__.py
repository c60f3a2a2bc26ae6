"""Finds the pages of a website that share the web template of a given page."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tplspider.addresses import Address, identity
    from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
    from tplspider.links import Link, get_links
    from tplspider.page import Page, read_page
    from tplspider.search import SubdigraphSearch, Visit
    from tplspider.similarity import similarity
    from tplspider.site import Site
    from tplspider.sort_links import sort_links
    from tplspider.template import PageSource, extract_template
    from tplspider.tree import parse_html

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
    "Address": "addresses",
    "CandidateSearch": "items",
    "Link": "links",
    "Page": "page",
    "PageSource": "template",
    "PageTemplate": "items",
    "Site": "site",
    "SubdigraphSearch": "search",
    "TemplateCandidate": "items",
    "Visit": "search",
    "extract_template": "template",
    "get_links": "links",
    "identity": "addresses",
    "parse_html": "tree",
    "read_page": "page",
    "similarity": "similarity",
    "sort_links": "sort_links",
}


class _Package(ModuleType):
    """This package, whose sort_links and similarity are functions, also with modules imported."""

    def __getattr__(self, name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Python itself binds a module to its package when it is imported.
        if name not in _MODULES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
