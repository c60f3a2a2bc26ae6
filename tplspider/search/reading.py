"""What a search takes a loaded page for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tplspider.search.options import SearchLimits
from tplspider.web.addresses import identity
from tplspider.web.answers import OFFSITE_REDIRECT, NoPage
from tplspider.web.html import parse_html
from tplspider.web.page import Page, read_page
from tplspider.web.page_faults import page_fault
from tplspider.web.site import Site
from tplspider.web.web_page import WebPage

if TYPE_CHECKING:
    from tplspider.web.html import Element

Reader = Callable[[WebPage, Site, SearchLimits], Page | NoPage]


def read_web_page(page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
    """A page of *site*, or why it is not one. Its tree is not kept: it would be a burden."""
    if identity(page.url) not in site:
        return NoPage(OFFSITE_REDIRECT)
    if fault := page_fault(page):
        return NoPage(fault)
    return read_tree(parse_html(page.text), page, site, limits)


def read_tree(root: Element, page: WebPage, site: Site, limits: SearchLimits) -> Page:
    """The page with this tree."""
    return read_page(
        root,
        page.url,
        site,
        page.encoding,
        longest=limits.longest_url,
        for_template=limits.for_template,
    )
