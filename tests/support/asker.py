"""A spider that goes where told, with a ticket or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from tplspider.old.crawl.ticket import META_KEY, Ticket
from tplspider.search.session import SearchSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

OTHERS = "others+"


class Asker(Spider):
    """Asks for the addresses in *urls*, one after the other, and logs how each ended.

    It asks with a ticket, as if they were links of a search, but for those after ``others+``.
    """

    name = "asker"
    urls: str

    async def start(self) -> AsyncIterator[Any]:
        first = self.urls.split()[0].removeprefix(OTHERS)
        session = SearchSession(first)
        for number, url in enumerate(self.urls.split()):
            ticket = {} if url.startswith(OTHERS) else {META_KEY: Ticket(session)}
            yield Request(
                url.removeprefix(OTHERS),
                self.parse,
                meta=ticket,
                errback=self.failed,
                cb_kwargs={"asked": url},
                priority=-number,
                dont_filter=True,
            )

    def parse(self, response: Response, asked: str) -> None:
        self.logger.info("END %s %s", asked, response.status)

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        self.logger.info("END %s %s", request.cb_kwargs["asked"], type(failure.value).__name__)
