"""The browser profile: pages as their scripts make them.

Scrapy loads every page and everything that its scripts ask for, so robots.txt, private addresses,
sizes and the delays hold as without a browser. Chromium renders what came, and has no network.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from tplspider.arguments import Config
from tplspider.private_addresses import IPAddress, is_private, literal_address
from tplspider.signals import Component
from tplspider.spiders.template_candidates import web_page
from tplspider.web.html import SMALLEST_MENU, find_all, visible_text
from tplspider.web.page import fingerprint, known_encoding, page_fault
from tplspider.web.redirects import meta_refresh

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from playwright.async_api import Browser, Page, Playwright, Route
    from playwright.async_api import Request as Subresource
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    Load = Callable[[Subresource], Awaitable[Response]]

logger = logging.getLogger(__name__)

# Subresources belong to the load of their page, and the delay is for pages: so those of a host have
# a download slot of their own, without a delay.
SLOT_PREFIX = "subresources of "
MAX_SUBRESOURCES = 200  # of a page
MAX_PARALLEL = 4
LOADED_TYPES = frozenset({"script", "xhr", "fetch"})  # no images, fonts or frames
# The pages of a site share their scripts: at most 50 of up to 1 MB are kept.
KEPT_SCRIPTS = 50
KEPT_SIZE = 2**20

START_SECONDS = 30  # for Chromium to start or to open a page, on a busy machine
CLOSE_SECONDS = 5  # for what takes no time, unless Chromium is stuck
QUIET_SECONDS = 0.5  # without new links, after which a page is complete
POLL_SECONDS = 0.1

_SCRIPT = re.compile(r"<script|\son[a-z]+\s*=", re.IGNORECASE)
# Headers that Scrapy sets, or that name the browser.
_NOT_FORWARDED = re.compile(
    "host|cookie|accept-encoding|content-length|user-agent|upgrade-insecure-requests|sec-.*"
)
_STATE = "() => [document.readyState === 'complete', Number(document.links.length) || 0]"
_HTML = """limit => {
    const html = document.documentElement.outerHTML;
    return html.length > limit ? null : html;
}"""
# No name resolves, no address is connected to, no datagram leaves.
_NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def check_installed() -> None:
    """Raise ValueError if the browser profile cannot work on this machine."""
    if find_spec("playwright") is None:
        raise ValueError("the browser profile needs Playwright: pip install playwright")
    if sys.platform == "win32":
        raise ValueError("the browser profile does not work on Windows")


class BrowserMiddleware(Component):
    """Replaces a page of a search by what its scripts make of it.

    A page stays as it came if it has no scripts, if they change neither links nor text (so static
    sites give the same answers without a browser), if they remove links (something broke), and if
    Chromium fails.
    """

    def __init__(self, crawler: Crawler) -> None:
        check_installed()
        self.crawler = crawler
        self.wait = Config.of(crawler.settings).browser_wait
        self.chromium = Chromium(crawler.settings, self.wait)
        self._scripts: LocalCache[str, Response] = LocalCache(limit=KEPT_SCRIPTS)
        crawler.signals.connect(self._set_slot, signal=signals.request_reached_downloader)
        crawler.signals.connect(self.chromium.close, signal=signals.engine_stopped)

    async def process_response(self, request: Request, response: Response) -> Response:
        # Requests without a callback are those of components: robots.txt, subresources.
        if "search_id" not in request.cb_kwargs or request.callback is NO_CALLBACK:
            return response
        if response.status != 200 or not isinstance(response, HtmlResponse):
            return response
        page = web_page(response)
        # The callback follows redirects, so it has to see a meta refresh as it came.
        if page_fault(page) or meta_refresh(page):
            return response
        if not known_encoding(response.encoding):
            response = response.replace(encoding=page.encoding)
        if not _SCRIPT.search(response.text):
            return response
        try:
            html = await self.chromium.render(response, partial(self._load, request, response))
            rendered = response.replace(
                body=html.encode(response.encoding, "xmlcharrefreplace"),
                flags=[*response.flags, "rendered"],
            )
            is_gain = _is_gain(response, rendered)
        except Exception as error:  # noqa: BLE001 - there is always the page as it came
            reason = next(iter(str(error).splitlines()), "") or type(error).__name__
            logger.warning("Cannot render %s (%s): used without its scripts", response.url, reason)
            logger.debug("%s", error)  # Playwright's messages have many lines
            self.crawler.stats.inc_value("tplspider/browser/failed")
            return response
        self.crawler.stats.inc_value("tplspider/browser/rendered")
        return rendered if is_gain else response

    async def _load(self, request: Request, page: Response, wanted: Subresource) -> Response:
        """Load a subresource of *page* through all downloader middlewares."""
        kept: Response | None = self._scripts.get(wanted.url)
        if kept:
            return kept
        source, target = urlsplit(page.url), urlsplit(wanted.url)
        headers = {
            name: value
            for name, value in wanted.headers.items()
            if not _NOT_FORWARDED.fullmatch(name)
        }
        meta: dict[str, Any] = {
            "cookiejar": request.meta.get("cookiejar"),
            "download_slot": f"{SLOT_PREFIX}{target.hostname}",
            "autothrottle_dont_adjust_delay": True,
            "download_timeout": self.wait,
            "dont_retry": True,
        }
        if target.netloc != source.netloc:
            meta["dont_obey_robotstxt"] = True  # browsers do not ask other hosts for it either
        elif target.scheme == source.scheme and (user := request.headers.get("Authorization")):
            headers["Authorization"] = user.decode("latin-1")
        response = await self.crawler.engine.download_async(
            Request(
                wanted.url,
                method=wanted.method,
                headers=headers,
                body=wanted.post_data_buffer or b"",
                callback=NO_CALLBACK,
                cb_kwargs=request.cb_kwargs,
                meta=meta,
            )
        )
        self.crawler.stats.inc_value("tplspider/browser/parts")
        if wanted.resource_type == "script" and len(response.body) < KEPT_SIZE:
            self._scripts[wanted.url] = response
        return response

    def _set_slot(self, request: Request) -> None:
        key = request.meta["download_slot"]  # the signal is sent when the slot is there
        if key.startswith(SLOT_PREFIX):
            slot = self.crawler.engine.downloader.slots[key]
            slot.delay, slot.concurrency = 0, MAX_PARALLEL


class Chromium:
    """The browser, as PLAYWRIGHT_LAUNCH_OPTIONS has it, started for the first page.

    Every page has a context of its own, closed with all windows that the page opened. If it does
    not close, because a page floods Chromium, the process is killed; the next page starts a new
    one.
    """

    def __init__(self, settings: BaseSettings, wait: float) -> None:
        self._options = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS")
        self._wait = wait
        self._limit = settings.getint("DOWNLOAD_MAXSIZE") or 2**53
        self._starting = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._pid = 0
        self._fault: Exception | None = None

    async def render(self, response: HtmlResponse, load: Load) -> str:
        """The page once no more links appear, or after the wait."""
        subresources = _Subresources(response, load)
        browser = await self._started()
        context = None
        try:
            async with asyncio.timeout(START_SECONDS):
                context = await browser.new_context(service_workers="block", accept_downloads=False)
                await context.route("**/*", subresources.answer)
                page = await context.new_page()
                await page.goto(response.url, wait_until="commit")
            with suppress(TimeoutError):
                async with asyncio.timeout(self._wait):
                    await _settle(page, subresources)
            async with asyncio.timeout(CLOSE_SECONDS):
                html: str | None = await page.evaluate(_HTML, self._limit)
        finally:
            subresources.stop()
            if context and not await _ends(context.close()):
                logger.warning("Chromium is stuck and was killed")
                await self.close(kill=True)
        if html is None:
            raise ValueError("its scripts made it too large")
        return html

    async def _started(self) -> Browser:
        async with self._starting:
            if self._fault:
                raise self._fault
            if self._browser is None or not self._browser.is_connected():
                await self.close()
                try:
                    async with asyncio.timeout(START_SECONDS):
                        self._browser = await self._start()
                except Exception as error:
                    self._fault = error  # not tried again for every page
                    raise
            return self._browser

    async def _start(self) -> Browser:
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        arguments = [*self._options.get("args", ()), *_NO_NETWORK]
        browser = await self._playwright.chromium.launch(**{**self._options, "args": arguments})
        session = await browser.new_browser_cdp_session()
        found = await session.send("SystemInfo.getProcessInfo")
        await session.detach()
        processes = found["processInfo"]
        self._pid = next((row["id"] for row in processes if row["type"] == "browser"), 0)
        return browser

    async def close(self, *, kill: bool = False) -> None:
        """End Chromium, by force if it does not close."""
        browser, playwright, process = self._browser, self._playwright, self._pid
        self._browser, self._playwright, self._pid = None, None, 0
        if browser and (kill or not await _ends(browser.close())) and process:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if playwright:
            await _ends(playwright.stop())


async def _settle(page: Page, subresources: _Subresources) -> None:
    """Wait until nothing is loading and the number of links no longer changes."""
    from playwright.async_api import Error

    clock = asyncio.get_running_loop().time
    before: tuple[object, ...] = ()
    since = clock()
    while True:
        complete, links = False, 0
        with suppress(Error):  # a script may replace the document
            complete, links = await page.evaluate(_STATE)
        now = (links, subresources.requested)
        if now != before or subresources.loading or not complete:
            before, since = now, clock()
        # A page with fewer links than the smallest menu may still get one: it has the whole wait.
        elif links >= SMALLEST_MENU and clock() - since >= QUIET_SECONDS:
            return
        await asyncio.sleep(POLL_SECONDS)


async def _ends(closing: Coroutine[Any, Any, object]) -> bool:
    """Whether something closes in time, or is closed already."""
    task = asyncio.create_task(closing)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    done, _ = await asyncio.wait({task}, timeout=CLOSE_SECONDS)
    return bool(done)


class _Subresources:
    """Answers Chromium's requests: the page itself, then what its scripts need."""

    def __init__(self, response: HtmlResponse, load: Load) -> None:
        self.requested = 0
        self.loading: set[asyncio.Future[Response]] = set()
        self._response = response
        self._load = load
        self._parallel = asyncio.Semaphore(MAX_PARALLEL)
        self._is_given = False

    async def answer(self, route: Route) -> None:
        from playwright.async_api import Error

        wanted = route.request
        with suppress(Error):  # the page may be closed by now
            if wanted.is_navigation_request() and not self._is_given:
                self._is_given = True
                body = self._response.text.encode()
                await route.fulfill(body=body, content_type="text/html; charset=utf-8")
            elif wanted.is_navigation_request():
                # With a 204 the page stays; an abort would show an error page.
                await route.fulfill(status=204)
            elif wanted.resource_type == "stylesheet":
                await route.fulfill(body=b"", content_type="text/css")
            elif may_load(wanted, self._response) and self.requested < MAX_SUBRESOURCES:
                self.requested += 1
                await self._pass_on(route)
            else:
                await route.abort()

    def stop(self) -> None:
        """Cancel what is loading, and load nothing more."""
        self.requested = MAX_SUBRESOURCES
        for load in self.loading:
            load.cancel()

    async def _pass_on(self, route: Route) -> None:
        async with self._parallel:
            load = asyncio.ensure_future(self._load(route.request))
            self.loading.add(load)
            (response,) = await asyncio.gather(load, return_exceptions=True)
            self.loading.discard(load)
        if not isinstance(response, Response):
            await route.abort()
            return
        headers = {  # those that matter to scripts
            name.decode("latin-1"): b", ".join(values).decode("latin-1")
            for name, values in response.headers.items()
            if name.lower().startswith((b"content-type", b"access-control-"))
        }
        await route.fulfill(status=response.status, headers=headers, body=response.body)


def may_load(wanted: Subresource, page: Response) -> bool:
    """Whether a subresource may be loaded: scripts and data, at private addresses only if the page
    is at one itself.
    """
    return (
        wanted.resource_type in LOADED_TYPES
        and wanted.method in {"GET", "POST"}
        and wanted.url.startswith(("http://", "https://"))
        and (
            _is_private(page.ip_address or literal_address(urlsplit(page.url).hostname or ""))
            or not _is_private(literal_address(urlsplit(wanted.url).hostname or ""))
        )
    )


def _is_private(address: IPAddress | None) -> bool:
    return address is not None and is_private(address)


def _is_gain(before: HtmlResponse, after: HtmlResponse) -> bool:
    """Whether rendering added something, and removed no links."""
    (links, text), (new_links, new_text) = _view(before), _view(after)
    return len(new_links) >= len(links) and (links, text) != (new_links, new_text)


def _view(response: HtmlResponse) -> tuple[set[str], bytes | None]:
    root = response.selector.root
    hrefs = {element.get("href") or "" for element in find_all(root, "a", "area")}
    return hrefs, fingerprint(visible_text(root))
