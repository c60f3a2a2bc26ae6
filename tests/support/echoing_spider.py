"""The spider as it would be with a defect whose error message quotes the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.components import StumblingSpider
from tplspider.search.session import SearchLimits, read_web_page

if TYPE_CHECKING:
    from tplspider.web.addresses import Site
    from tplspider.web.page import NoPage, Page, WebPage


class EchoingSpider(StumblingSpider):
    """Fails on pages with ``stumble`` in their address, in the words of the page."""

    @staticmethod
    def read(page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
        if "stumble" in page.url:
            raise RuntimeError(page.text)
        return read_web_page(page, site, limits)
