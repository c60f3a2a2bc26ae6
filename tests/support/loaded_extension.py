"""The extension in a real Chromium, beside a real ``scrapy ui``.

Without a window there is no toolbar to click on, so popup.html is opened as a page in a tab. The
popup asks which page is in front at the moment it is opened: here it is opened behind a page of a
fixture site, and brought to the front afterwards. It may know the address of that page because the
site is on 127.0.0.1: what a click on the toolbar would allow (activeTab) is not given here.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from tests.support.browser_profile import CHROMIUM
from tests.support.crawls import run_scrapy
from tests.support.opened_pages import Opened, watched
from tests.support.ui_server import UiServer

PATIENCE = 60_000  # milliseconds


def written_extension(ui: UiServer, folder: Path) -> Path:
    """The extension for a server, as a person gets it."""
    done = run_scrapy("ui", f"--dir={ui.folder}", f"--extension={folder}", folder=folder)
    assert done.code == 0, done.log
    return folder


@dataclass
class Popup:
    """The popup, in a tab of its own, and the page that it was opened for."""

    found: Opened
    front: Page
    address: str

    @property
    def page(self) -> Page:
        return self.found.page

    def open(self, url: str) -> None:
        """Open it anew, for a page of the web."""
        if self.front.url != url:
            self.front.goto(url)
        self.front.bring_to_front()
        self.page.goto(self.address)
        expect(self.page.locator("#port")).not_to_have_value("", timeout=PATIENCE)
        self.page.bring_to_front()

    def connect(self, ui: UiServer) -> None:
        """Fill in the settings for a server."""
        self.save(ui.address[1], ui.token)
        self.page.locator("#settings:not([open])").wait_for()

    def save(self, port: int, token: str) -> None:
        """Fill in the settings."""
        settings = self.page.locator("#settings")
        settings.evaluate("(element) => { element.open = true; }")
        self.page.get_by_label("Port").fill(str(port))
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Save").click()

    def wait_for(self, place: str, words: str) -> str:
        """The text of an element, once these words are in it."""
        element = self.page.locator(f"#{place}").filter(has_text=words)
        element.wait_for(timeout=PATIENCE)
        return element.inner_text()

    def links(self) -> list[str]:
        """The addresses of the pages that are shown."""
        links = self.page.locator("#members a")
        hrefs: list[str] = links.evaluate_all("(links) => links.map((link) => link.href)")
        return hrefs


@contextmanager
def chromium_with(extension: Path, **options: Any) -> Iterator[BrowserContext]:
    """A Chromium with an extension, and a profile of its own."""
    with sync_playwright() as playwright, TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=CHROMIUM,
            chromium_sandbox=False,
            ignore_default_args=["--disable-extensions", "--headless", "--headless=old"],
            args=[
                "--headless=new",
                f"--disable-extensions-except={extension}",
                f"--load-extension={extension}",
                # Else what was given on the command line is not loaded, since 137.
                "--disable-features=DisableLoadExtensionCommandLineSwitch",
            ],
            **options,
        )
        try:
            yield context
        finally:
            context.close()


@contextmanager
def popup_of(context: BrowserContext, extension: Path) -> Iterator[Popup]:
    """The popup of an extension that is loaded from a folder: its id is made of the path."""
    digits = hashlib.sha256(str(extension).encode()).hexdigest()[:32]
    name = "".join(chr(ord("a") + int(digit, 16)) for digit in digits)
    with watched(context) as found:
        popup = Popup(found, context.new_page(), f"chrome-extension://{name}/popup.html")
        try:
            yield popup
        finally:
            popup.front.close()
            popup.page.close()
