"""Spiders of another kind, for projects of other people. They know nothing of this package."""

import sys
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from twisted.python.failure import Failure


class Other(Spider):
    """Asks for whatever it is told, and logs how each ended."""

    name = "other"
    handle_httpstatus_list = (307,)
    urls = ""
    user_agent_of_requests = ""

    async def start(self) -> AsyncIterator[Any]:
        for number, url in enumerate(self.urls.split()):
            meta: dict[str, Any] = {}
            if "wanted" in url:
                meta["handle_httpstatus_list"] = [302]
            if "stay" in url:
                meta["dont_redirect"] = True
            yield Request(
                url,
                self.parse,
                errback=self.failed,
                meta=meta,
                cb_kwargs={"asked": url},
                priority=-number,
                dont_filter=True,
            )

    @classmethod
    def check_arguments(cls, *arguments: object) -> None:
        raise ValueError("this is nobody's business")

    def parse(self, response: Response, asked: str) -> Any:
        self.logger.info("END %s %s %s", asked, response.status, response.url)
        yield {"url": response.url, "formula": "=1"}

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        response = getattr(failure.value, "response", None)
        kind = type(failure.value).__name__
        self.logger.info("END %s %s %s", request.cb_kwargs["asked"], kind, response)

    def closed(self, reason: str) -> None:
        ours = sorted(name for name in sys.modules if name.startswith("tplspider"))
        print("imported:", *ours)


class Failing(Spider):
    name = "failing"

    def __init__(self) -> None:
        raise RuntimeError("no way")
