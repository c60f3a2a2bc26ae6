"""The pages of a site in the order in which a plain spider meets them: breadth first."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tplspider.pools.pool import PooledPage, Signs, signs_of
from tplspider.sources.base import load_page
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.template.lines import page_lines
from tplspider.web.addresses import Site, identity
from tplspider.web.html import get_links, parse_html
from tplspider.web.page import WebPage

if TYPE_CHECKING:
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
