"""A spider whose extractor fails, as if a page had brought out a defect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.page_results import PageResults
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class StumblingResults(PageResults):
    """Fails when it comes to the template."""

    def _extract(self, *args: Any) -> Any:
        raise RuntimeError("stumbled")


class StumblingTemplateSpider(TemplateCandidatesSpider):
    """The spider with these results."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.page_results = StumblingResults.from_crawler(crawler, spider.arguments)
        return spider
