"""What a search takes a loaded page for."""

from __future__ import annotations

from collections.abc import Callable

from tplspider.search.options import SearchLimits
from tplspider.web.addresses import Site, identity
from tplspider.web.html import Element, parse_html
from tplspider.web.page import OFFSITE_REDIRECT, NoPage, Page, WebPage, page_fault, read_page

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
