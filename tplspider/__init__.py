"""Finds the pages of a website that share the web template of a given page."""

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
