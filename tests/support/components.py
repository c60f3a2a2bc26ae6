"""Scrapy components that the tests put into real crawls."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from scrapy import Request
from scrapy.http import Response
from scrapy.resolver import CachingThreadedResolver
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.search.cliques import SubdigraphSearch
from tplspider.web.html import Link


class LoopbackResolver(CachingThreadedResolver):
    """Every name is on loopback but those with ``dead`` in them; nothing is looked up."""

    def getHostByName(self, name: str, timeout: Any = ()) -> Deferred[str]:
        if "dead" in name:
            return defer.fail(DNSLookupError(f"no such name: {name}"))
        return defer.succeed("127.0.0.1")


class DroppingMiddleware(BaseSpiderMiddleware):
    """Drops requests with ``vanish`` in their address, as a user's middleware might."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        return None if "vanish" in request.url else request


def last_link_first(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    yield from reversed(links)


class FailingPipeline:
    """Fails on every summary, as a pipeline of a user's might."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, CandidateSearch):
            raise TypeError("what is this?")
        return item


class FailingMiddleware(BaseSpiderMiddleware):
    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        raise RuntimeError("what is this?")


class WrongSizePipeline:
    """Spoils the candidates, as a defect of ours might."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, TemplateCandidate):
            item.cs_size += 1
        return item


class SlowTemplates:
    """A pipeline that keeps templates for a while: what comes after them is out before."""

    async def process_item(self, item: Any) -> Any:
        if isinstance(item, PageTemplate):
            await asyncio.sleep(0.3)
        return item
