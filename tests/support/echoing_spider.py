"""The spider as it would be with a defect whose error message quotes the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.search.reading import read_web_page
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from tplspider.search.options import SearchLimits
    from tplspider.web.answers import NoPage
    from tplspider.web.page import Page
    from tplspider.web.site import Site
    from tplspider.web.web_page import WebPage


class EchoingSpider(TemplateCandidatesSpider):
    """Fails on pages with ``stumble`` in their address."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        for session in spider.sessions.values():
            session.reader = cls.read
        return spider

    @staticmethod
    def read(page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
        if "stumble" in page.url:
            raise RuntimeError(page.text)
        return read_web_page(page, site, limits)
