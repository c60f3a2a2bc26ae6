"""Chromium, for the browser profile: without a network, and never waited for indefinitely."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from tplspider.old.crawl.browser.subresources import Subresources
from tplspider.old.crawl.setting_values import seconds
from tplspider.web.html import SMALLEST_MENU

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from playwright.async_api import Browser, BrowserContext, Page
    from scrapy.http import HtmlResponse
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.browser.subresources import Load


logger = logging.getLogger(__name__)

# Seconds that Chromium gets to start or to open a page, on a busy machine; and for what should take
# it no time at all, before it counts as stuck.
START = 30
PATIENCE = 5

_POLL = 0.1
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


class Chromium:
    """The browser, by scrapy-playwright's settings; started when a page needs it.

    Every page has a context of its own, which is closed whatever happens, with the windows that the
    page may have opened. When it does not close, because a page floods Chromium, the process is
    killed; the next page gets a new one.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self.quiet = seconds(settings, "TPLSPIDER_BROWSER_QUIET", 0.5, above_zero=True)
        self.wait = seconds(settings, "TPLSPIDER_BROWSER_WAIT", 5, above_zero=True)
        self._limit = settings.getint("DOWNLOAD_MAXSIZE") or 2**53
        self._starting = asyncio.Lock()
        self._provider: Any = None
        self._browser: Browser | None = None
        self._pid = 0
        self._fault: Exception | None = None

    async def render(self, response: HtmlResponse, load: Load) -> str:
        """The page once its scripts have run and no more links appear, or the wait is over."""
        subresources = Subresources(response, load)
        browser = await self._started()
        context = None
        try:
            async with asyncio.timeout(START):
                context = await browser.new_context(service_workers="block", accept_downloads=False)
                await context.route("**/*", subresources.answer)
                page = await context.new_page()
                await page.goto(response.url, wait_until="commit")
            with suppress(TimeoutError):
                async with asyncio.timeout(self.wait):
                    await self._settle(page, subresources)
            async with asyncio.timeout(PATIENCE):
                html: str | None = await page.evaluate(_HTML, self._limit)
        finally:
            subresources.stop()
            if context:
                await self._discard(context)
        if html is None:
            raise ValueError("its scripts make it too large")
        return html

    async def _settle(self, page: Page, subresources: Subresources) -> None:
        """Wait until nothing is under way and the number of links has not changed for a while."""
        error: type[Exception] = import_module("playwright.async_api").Error
        clock = asyncio.get_running_loop().time
        before: tuple[object, ...] = ()
        since = clock()
        while True:
            complete, links = False, 0
            with suppress(error):  # a script may put another document in the place of the first
                complete, links = await page.evaluate(_STATE)
            now = (links, subresources.asked)
            if now != before or subresources.under_way or not complete:
                before, since = now, clock()
            # A page with fewer links than the smallest menu may still get one: it has all the wait.
            elif links >= SMALLEST_MENU and clock() - since >= self.quiet:
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
                    self._fault = error  # there is no point in trying again for every page
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
