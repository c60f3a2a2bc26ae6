"""Subresources: which of what the scripts of a page ask for is loaded, and how much of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse, Response

from tplspider.old.crawl.private_network.private_addresses import is_private, literal_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Request as Subresource
    from playwright.async_api import Route

    Load = Callable[[Subresource, Response], Awaitable[Response]]

# How many of them a page may have, in all and at a time, and their kinds: images, fonts and frames
# are not loaded.
MAX_SUBRESOURCES = 200
SUBRESOURCES_AT_ONCE = 4
LOADED = frozenset({"script", "xhr", "fetch"})


class Subresources:
    """Answers what a page asks for: the page itself, then what its scripts need."""

    def __init__(self, response: HtmlResponse, load: Load) -> None:
        self.response = response
        self.asked = 0
        self.under_way: set[asyncio.Future[Response]] = set()
        self._load = load
        self._at_once = asyncio.Semaphore(SUBRESOURCES_AT_ONCE)
        self._is_given = False
        self._error: type[Exception] = import_module("playwright.async_api").Error

    async def answer(self, route: Route) -> None:
        """Answer one request of Chromium."""
        wanted = route.request
        with suppress(self._error):  # the page may be closed by now
            if wanted.is_navigation_request() and not self._is_given:
                self._is_given = True
                body = self.response.text.encode()
                await route.fulfill(body=body, content_type=self._content_type())
            elif wanted.is_navigation_request():
                # Nothing comes of it and the page stays. After an abort it would be an error page.
                await route.fulfill(status=204)
            elif wanted.resource_type == "stylesheet":
                await route.fulfill(body=b"", content_type="text/css")
            elif may_load(wanted, self.response) and self.asked < MAX_SUBRESOURCES:
                self.asked += 1
                await self._pass_on(route)
            else:
                await route.abort()

    def stop(self) -> None:
        """End what is under way, and load nothing more."""
        self.asked = MAX_SUBRESOURCES
        for load in self.under_way:
            load.cancel()

    async def _pass_on(self, route: Route) -> None:
        load = asyncio.ensure_future(self._in_turn(route.request))
        self.under_way.add(load)
        (response,) = await asyncio.gather(load, return_exceptions=True)
        self.under_way.discard(load)
        if isinstance(response, Response):
            await route.fulfill(
                status=response.status, headers=_headers(response), body=response.body
            )
        else:
            await route.abort()

    async def _in_turn(self, wanted: Subresource) -> Response:
        async with self._at_once:
            return await self._load(wanted, self.response)

    def _content_type(self) -> str:
        # Scrapy has decoded the page. As XHTML is parsed differently, it must stay XHTML.
        given = self.response.headers.get("Content-Type") or b""
        kind = "application/xhtml+xml" if b"application/xhtml" in given.lower() else "text/html"
        return f"{kind}; charset=utf-8"


def may_load(wanted: Subresource, page: Response) -> bool:
    """Whether a subresource of *page* may be loaded: only scripts and data.

    Only a page that is at a private address itself may ask for something at one.
    """
    return (
        wanted.resource_type in LOADED
        and wanted.method in {"GET", "POST"}
        and wanted.url.startswith(("http://", "https://"))
        and (_is_private_page(page) or not _is_private_host(wanted.url))
    )


def _is_private_page(page: Response) -> bool:
    return is_private(page.ip_address) if page.ip_address else _is_private_host(page.url)


def _is_private_host(url: str) -> bool:
    address = literal_address(urlsplit(url).hostname or "")
    return address is not None and is_private(address)


def _headers(response: Response) -> dict[str, str]:
    """The headers that matter to scripts."""
    names = (name.decode("latin-1").lower() for name in response.headers)
    return {
        name: b", ".join(response.headers.getlist(name)).decode("latin-1")
        for name in names
        if name == "content-type" or name.startswith("access-control-")
    }
