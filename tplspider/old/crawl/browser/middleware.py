"""Pages as their scripts make them: the middleware of the browser profile.

Scrapy loads every page as ever, so robots.txt, redirects, addresses, sizes and the pace are handled
as they are without a browser. Chromium is handed what came. It has no network of its own: what the
scripts of a page ask for goes through Scrapy as well.
"""

from __future__ import annotations

import logging
import re
import sys
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from tplspider.old.crawl.browser.chromium import Chromium
from tplspider.old.crawl.responses import web_page
from tplspider.old.crawl.scrapy_private import download_without_pause
from tplspider.old.crawl.ticket import META_KEY, PART_KEY, Ticket, ticket_of
from tplspider.old.crawl.warc.recorder import CrawlArchive
from tplspider.web.html import find_all, visible_text
from tplspider.web.page import fingerprint, known_encoding, page_fault

if TYPE_CHECKING:
    from typing import Self

    from playwright.async_api import Request as Subresource
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


logger = logging.getLogger(__name__)

MIDDLEWARE = "tplspider.old.crawl.browser.middleware.BrowserMiddleware"  # as the profile names it
# The pages of a site share their scripts. The small ones are kept: at most 50 of 1 MB.
KEPT_SCRIPTS = 50
KEPT_SIZE = 2**20

_SCRIPT = re.compile(r"<script|\son[a-z]+\s*=", re.IGNORECASE)
# Headers of a subresource that are Scrapy's business, or tell which browser asks.
_NOT_PASSED_ON = re.compile(
    "host|cookie|accept-encoding|content-length|user-agent|upgrade-insecure-requests|sec-.*"
)


def check_settings(settings: BaseSettings) -> None:
    """Raise ValueError, in one line, when *settings* ask for a browser that cannot be had."""
    wanted = settings.getdict("DOWNLOADER_MIDDLEWARES")
    if settings.get("TPLSPIDER_PROFILE") == "browser" or MIDDLEWARE in wanted:
        check_installed()
        Chromium(settings)


def check_installed() -> None:
    """Raise ValueError, in one line, when the browser profile cannot work here."""
    if find_spec("scrapy_playwright") is None:
        raise ValueError(
            "the browser profile needs scrapy-playwright: pip install scrapy-playwright"
        )
    if sys.platform == "win32":
        raise ValueError("the browser profile does not work on Windows")


class BrowserMiddleware:
    """Puts what its scripts make of a page in the place of the page.

    A page stays as it came when it has no scripts, when they change neither links nor text (so
    static sites give the answers that they give without a browser), when they leave fewer links
    than there were (something broke), and when Chromium fails.
    """

    def __init__(self, crawler: Crawler) -> None:
        check_installed()
        self.crawler = crawler
        self.chromium = Chromium(crawler.settings)
        self._scripts: LocalCache[str, Response] = LocalCache(limit=KEPT_SCRIPTS)
        crawler.signals.connect(self.chromium.close, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        # Requests without a callback are those of other components: robots.txt, subresources.
        ticket = ticket_of(request)
        if not ticket or request.callback is NO_CALLBACK or page_fault(page := web_page(response)):
            return response
        if isinstance(response, HtmlResponse) and not known_encoding(response.encoding):
            response = response.replace(encoding=page.encoding)
        if not isinstance(response, HtmlResponse) or not _SCRIPT.search(response.text):
            return response
        try:
            html = await self.chromium.render(response, partial(self.load, ticket))
            rendered = response.replace(
                body=html.encode(response.encoding, "xmlcharrefreplace"),
                flags=[*response.flags, "rendered"],
            )
            gain = _is_gain(response, rendered)
        except Exception as error:  # noqa: BLE001 - whatever it was, there is the page as it came
            logger.warning(
                "%s cannot be rendered (%s): it is read as it came",
                response.url,
                next(iter(str(error).splitlines()), "") or type(error).__name__,
            )
            logger.debug("%s", error)  # Playwright's messages run over many lines
            self._count("failed")
            return response
        self._count("rendered")
        if not gain:
            return response
        if archive := self.crawler.get_downloader_middleware(CrawlArchive):
            await archive.keep_rendered(request, rendered)
        return rendered

    async def load(self, ticket: Ticket, wanted: Subresource, page: Response) -> Response:
        """Load what *page* asks for, through all middlewares but with no pause in between."""
        kept: Response | None = self._scripts.get(wanted.url)
        if kept:
            return kept
        request = Request(
            wanted.url,
            method=wanted.method,
            headers={
                name: value
                for name, value in wanted.headers.items()
                if not _NOT_PASSED_ON.fullmatch(name)
            },
            body=wanted.post_data_buffer or b"",
            callback=NO_CALLBACK,
            meta={**self._meta(wanted, page), META_KEY: ticket},
        )
        for _ in range(self.crawler.settings.getint("REDIRECT_MAX_TIMES") + 1):
            result = await download_without_pause(self.crawler, request)
            if isinstance(result, Response):
                self._count("parts")
                if wanted.resource_type == "script" and len(result.body) < KEPT_SIZE:
                    self._scripts[wanted.url] = result
                return result
            request = result
        raise IgnoreRequest(f"{wanted.url}: max redirections reached")

    def _meta(self, wanted: Subresource, page: Response) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "dont_retry": True,
            "download_timeout": self.chromium.wait,
            PART_KEY: True,
        }
        if urlsplit(wanted.url).netloc != urlsplit(page.url).netloc:
            # Another host would have to be asked for its robots.txt first; a browser does not. And
            # the page leads there as a redirect does: a public one not to private addresses.
            meta |= {"dont_obey_robotstxt": True, "redirect_urls": [page.url]}
        return meta

    def _count(self, what: str) -> None:
        self.crawler.stats.inc_value(f"tplspider/browser/{what}")


def _is_gain(before: HtmlResponse, after: HtmlResponse) -> bool:
    """Whether there is something in a rendered page that was not there before."""
    (links, text), (new_links, new_text) = _view(before), _view(after)
    return len(new_links) >= len(links) and (links, text) != (new_links, new_text)


def _view(response: HtmlResponse) -> tuple[set[str], bytes | None]:
    root = response.selector.root
    hrefs = {element.get("href") or "" for element in find_all(root, "a", "area")}
    return hrefs, fingerprint(visible_text(root))
