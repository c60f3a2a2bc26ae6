"""Pages as their scripts make them: the middleware of the browser profile, and its Chromium.

Scrapy loads every page as ever, so robots.txt, redirects, addresses, sizes and the pace are minded
as they are without a browser. Chromium is handed what came. It has no network of its own: what the
scripts of a page ask for goes through Scrapy as well.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.misc import load_object

from tplspider.outcomes import response_reason
from tplspider.page import fingerprint
from tplspider.private_addresses import is_private, literal_address
from tplspider.tree import find_all, visible_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Self

    from playwright.async_api import Browser, BrowserContext, Page, Route
    from playwright.async_api import Request as Part
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    Load = Callable[[Part, Response], Awaitable[Response]]

logger = logging.getLogger(__name__)

MIDDLEWARE = "tplspider.browser.BrowserMiddleware"  # as the profile names it
# A page with fewer links than the smallest menu may get one yet: it is waited for to the end.
FEW_LINKS = 3
# What scripts may ask for: so many parts a page, so many at a time, and no images, fonts or frames.
MAX_PARTS = 200
PARTS_AT_ONCE = 4
LOADED = frozenset({"script", "xhr", "fetch"})
# The pages of a site share their scripts. The small ones are kept: at most 50 of 1 MB.
KEPT_SCRIPTS = 50
KEPT_SIZE = 2**20
# Seconds that Chromium gets to start or to open a page, on a busy machine; and those for what takes
# it no time, before it counts as stuck.
START = 30
PATIENCE = 5

_POLL = 0.1
_SCRIPT = re.compile(r"<script|\son[a-z]+\s*=", re.IGNORECASE)
_STATE = "() => [document.readyState === 'complete', Number(document.links.length) || 0]"
_HTML = """limit => {
    const html = document.documentElement.outerHTML;
    return html.length > limit ? null : html;
}"""
# No name resolves, no address is connected to, and no datagram leaves.
_NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# Headers of a part that are Scrapy's business, or tell what browser asks.
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
            "the browser profile needs scrapy-playwright: pip install -r requirements-browser.txt"
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
        # Requests without a callback are those of other components: robots.txt, parts of pages.
        if request.callback is NO_CALLBACK or response_reason(response):
            return response
        assert isinstance(response, HtmlResponse)
        if not _SCRIPT.search(response.text):
            return response
        try:
            html = await self.chromium.render(response, self.load)
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
        return rendered if gain else response

    async def load(self, part: Part, page: Response) -> Response:
        """Load what *page* asks for, through all middlewares but with no pause in between."""
        kept: Response | None = self._scripts.get(part.url)
        if kept:
            return kept
        request = Request(
            part.url,
            method=part.method,
            headers={
                name: value
                for name, value in part.headers.items()
                if not _NOT_PASSED_ON.fullmatch(name)
            },
            body=part.post_data_buffer or b"",
            callback=NO_CALLBACK,
            meta=self._meta(part, page),
        )
        downloader = self.crawler.engine.downloader
        for _ in range(self.crawler.settings.getint("REDIRECT_MAX_TIMES") + 1):
            result = await downloader.middleware.download_async(
                downloader.handlers.download_request_async, request
            )
            if isinstance(result, Response):
                self._count("parts")
                if part.resource_type == "script" and len(result.body) < KEPT_SIZE:
                    self._scripts[part.url] = result
                return result
            request = result
        raise IgnoreRequest(f"{part.url}: max redirections reached")

    def _meta(self, part: Part, page: Response) -> dict[str, Any]:
        meta: dict[str, Any] = {"dont_retry": True, "download_timeout": self.chromium.wait}
        if urlsplit(part.url).netloc != urlsplit(page.url).netloc:
            # Another host would have to be asked for its robots.txt first; a browser does not. And
            # the page leads there as a redirect does: a public one not to private addresses.
            meta |= {"dont_obey_robotstxt": True, "redirect_urls": [page.url]}
        return meta

    def _count(self, what: str) -> None:
        self.crawler.stats.inc_value(f"tplspider/browser/{what}")


class Chromium:
    """The browser, by scrapy-playwright's settings; started when a page needs it.

    Every page has a context of its own, which is closed whatever happens, with the windows that the
    page may have opened. When it does not close, because a page floods Chromium, the process is
    killed; the next page gets a new one.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self.quiet = _seconds(settings, "TPLSPIDER_BROWSER_QUIET", 0.5)
        self.wait = _seconds(settings, "TPLSPIDER_BROWSER_WAIT", 5)
        self._limit = settings.getint("DOWNLOAD_MAXSIZE") or 2**53
        self._starting = asyncio.Lock()
        self._provider: Any = None
        self._browser: Browser | None = None
        self._pid = 0
        self._fault: Exception | None = None

    async def render(self, response: HtmlResponse, load: Load) -> str:
        """The page once its scripts have run and no more links appear, or the wait is over."""
        parts = Parts(response, load)
        browser = await self._started()
        context = None
        try:
            async with asyncio.timeout(START):
                context = await browser.new_context(service_workers="block", accept_downloads=False)
                await context.route("**/*", parts.answer)
                page = await context.new_page()
                await page.goto(response.url, wait_until="commit")
            with suppress(TimeoutError):
                async with asyncio.timeout(self.wait):
                    await self._settle(page, parts)
            async with asyncio.timeout(PATIENCE):
                html: str | None = await page.evaluate(_HTML, self._limit)
        finally:
            parts.stop()
            if context:
                await self._discard(context)
        if html is None:
            raise ValueError("its scripts make it too large")
        return html

    async def _settle(self, page: Page, parts: Parts) -> None:
        """Wait until nothing is under way and the number of links has not changed for a while."""
        error: type[Exception] = import_module("playwright.async_api").Error
        clock = asyncio.get_running_loop().time
        before: tuple[object, ...] = ()
        since = clock()
        while True:
            complete, links = False, 0
            with suppress(error):  # a script may put another document in the place of the first
                complete, links = await page.evaluate(_STATE)
            now = (links, parts.asked)
            if now != before or parts.under_way or not complete:
                before, since = now, clock()
            elif links >= FEW_LINKS and clock() - since >= self.quiet:
                return
            await asyncio.sleep(_POLL)

    async def _started(self) -> Browser:
        async with self._starting:
            if self._fault:
                raise self._fault
            if self._browser is None or not self._browser.is_connected():
                await self.close()
                try:
                    async with asyncio.timeout(START):
                        self._browser = await self._start()
                except Exception as error:
                    self._fault = error  # there is no use in trying again for every page
                    raise
            return self._browser

    async def _start(self) -> Browser:
        handler = import_module("scrapy_playwright.handler")
        config = handler.Config.from_settings(self._settings)
        arguments = [*config.launch_options.get("args", ()), *_NO_NETWORK]
        config.launch_options = {**config.launch_options, "args": arguments}
        name = self._settings.get("PLAYWRIGHT_BROWSER_PROVIDER")
        self._provider = load_object(name or handler.DEFAULT_BROWSER_PROVIDER)(config)
        await self._provider.start()
        browser: Browser = await self._provider.launch_browser()
        if not (config.cdp_url or config.connect_url):
            self._pid = await _process_id(browser)
        return browser

    async def _discard(self, context: BrowserContext) -> None:
        if not await _ends(context.close()):
            logger.warning("Chromium is stuck: it is killed")
            await self.close(kill=True)

    async def close(self, *, kill: bool = False) -> None:
        """End Chromium, by force if need be."""
        browser, provider, process = self._browser, self._provider, self._pid
        self._browser, self._provider, self._pid = None, None, 0
        if browser and (kill or not await _ends(browser.close())) and process:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if provider:
            await _ends(provider.close())


class Parts:
    """Answers what a page asks for: the page itself, then what its scripts need."""

    def __init__(self, response: HtmlResponse, load: Load) -> None:
        self.response = response
        self.asked = 0
        self.under_way: set[asyncio.Future[Response]] = set()
        self._load = load
        self._at_once = asyncio.Semaphore(PARTS_AT_ONCE)
        self._is_given = False
        self._error: type[Exception] = import_module("playwright.async_api").Error

    async def answer(self, route: Route) -> None:
        """Answer one request of Chromium."""
        part = route.request
        with suppress(self._error):  # the page may be closed by now
            if part.is_navigation_request() and not self._is_given:
                self._is_given = True
                body = self.response.text.encode()
                await route.fulfill(body=body, content_type=self._content_type())
            elif part.is_navigation_request():
                # Nothing comes of it and the page stays. After an abort it would be an error page.
                await route.fulfill(status=204)
            elif part.resource_type == "stylesheet":
                await route.fulfill(body=b"", content_type="text/css")
            elif may_load(part, self.response) and self.asked < MAX_PARTS:
                self.asked += 1
                await self._pass_on(route)
            else:
                await route.abort()

    def stop(self) -> None:
        """End what is under way, and load nothing more."""
        self.asked = MAX_PARTS
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

    async def _in_turn(self, part: Part) -> Response:
        async with self._at_once:
            return await self._load(part, self.response)

    def _content_type(self) -> str:
        # Scrapy has decoded the page. As XHTML is parsed differently, it must stay XHTML.
        given = self.response.headers.get("Content-Type") or b""
        kind = "application/xhtml+xml" if b"application/xhtml" in given.lower() else "text/html"
        return f"{kind}; charset=utf-8"


def may_load(part: Part, page: Response) -> bool:
    """Whether a part of *page* may be loaded: scripts and data, and none from private addresses."""
    return (
        part.resource_type in LOADED
        and part.method in {"GET", "POST"}
        and part.url.startswith(("http://", "https://"))
        and (_is_private_page(page) or not _is_private_host(part.url))
    )


def _is_private_page(page: Response) -> bool:
    return is_private(page.ip_address) if page.ip_address else _is_private_host(page.url)


def _is_private_host(url: str) -> bool:
    address = literal_address(urlsplit(url).hostname or "")
    return address is not None and is_private(address)


def _is_gain(before: HtmlResponse, after: HtmlResponse) -> bool:
    """Whether there is something in a rendered page that was not there before."""
    (links, text), (new_links, new_text) = _view(before), _view(after)
    return len(new_links) >= len(links) and (links, text) != (new_links, new_text)


def _view(response: HtmlResponse) -> tuple[set[str], bytes | None]:
    root = response.selector.root
    hrefs = {element.get("href") or "" for element in find_all(root, "a", "area")}
    return hrefs, fingerprint(visible_text(root))


def _headers(response: Response) -> dict[str, str]:
    """The headers that matter to scripts."""
    names = (name.decode("latin-1").lower() for name in response.headers)
    return {
        name: b", ".join(response.headers.getlist(name)).decode("latin-1")
        for name in names
        if name == "content-type" or name.startswith("access-control-")
    }


def _seconds(settings: BaseSettings, name: str, default: float) -> float:
    value = settings.getfloat(name, default)
    if not value > 0:
        raise ValueError(f"{name}={value:g}: expected a number of seconds above 0")
    return value


async def _process_id(browser: Browser) -> int:
    """The process to kill, when nothing else helps."""
    session = await browser.new_browser_cdp_session()
    found = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    return next((row["id"] for row in found["processInfo"] if row["type"] == "browser"), 0)


async def _ends(closing: Coroutine[Any, Any, object]) -> bool:
    """Whether something closes, or is closed already, before patience is lost with it."""
    task = asyncio.create_task(closing)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    return bool(done)
