"""Chromium in tests: the browser profile of crawls, files opened, and the extension."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    expect,
    sync_playwright,
)

from tests.support.crawls import run_scrapy
from tests.support.site_server import Handler
from tests.support.ui_server import UiServer
from tplspider.profiles import profile_settings

CHROMIUM = profile_settings("browser")["PLAYWRIGHT_LAUNCH_OPTIONS"].get("executable_path")

_skip = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None,
    reason="no Chromium is installed" if CHROMIUM is None else "Playwright is not installed",
)
PROFILE = {"TPLSPIDER_PROFILE": "browser"}
KEY = "/guide/tomatoes.html"


def needs_chromium(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test of the kind *browser*, which is left out where there is no Chromium."""
    marked: Callable[..., None] = pytest.mark.browser(_skip(test))
    return marked


def html(body: str | bytes, kind: str = "text/html") -> Callable[[Handler], None]:
    data = body.encode() if isinstance(body, str) else body
    return lambda request: request.answer(200, data, Content_Type=kind)


PHONE = {"width": 360, "height": 640}
SCREEN = {"width": 1200, "height": 800}
# Whatever listens to anything is told that it happened; links are followed if they are scripts.
PROVOKE = r"""() => {
    for (const element of document.querySelectorAll("*"))
        for (const kind of ["mouseover", "pointerenter", "focus", "load", "error", "toggle"])
            element.dispatchEvent(new Event(kind));
    for (const link of document.querySelectorAll("a"))
        if (!/^(https?:|#|\w+[.]html$)/.test(link.getAttribute("href")))
            link.dispatchEvent(new MouseEvent("click"));
}"""


@dataclass
class Opened:
    """A page in a browser. *told* and *ran* are to stay empty, *asked* to be the file alone."""

    page: Page
    told: list[str] = field(default_factory=list)  # errors and warnings on the console
    asked: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)  # dialogs, windows, downloads

    def keep_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.told.append(message.text)

    def keep_dialog(self, dialog: Dialog) -> None:
        self.ran.append(dialog.message)
        dialog.dismiss()

    def texts(self, selector: str) -> list[str]:
        found = self.page.locator(selector).filter(visible=True).all_inner_texts()
        return [" ".join(text.split()) for text in found]

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # As root, as in a container, it has no sandbox of its own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, chromium_sandbox=False)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Opened]:
    """A file, opened with the *options* of a context of playwright."""
    context = browser.new_context(**options)
    try:
        with watched(context) as found:
            found.page.goto(path.as_uri())
            yield found
    finally:
        context.close()


@contextmanager
def watched(context: BrowserContext) -> Iterator[Opened]:
    """An empty page that tells what happens in it."""
    page = context.new_page()
    found = Opened(page)
    page.on("console", found.keep_message)
    page.on("pageerror", lambda error: found.told.append(str(error)))
    page.on("request", lambda request: found.asked.append(request.url))
    page.on("dialog", found.keep_dialog)
    page.on("popup", lambda popup: found.ran.append(popup.url))
    page.on("download", lambda download: found.ran.append(download.url))
    yield found


def violations(found: Opened, *rules: str) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": {"type": "rule", "values": rules}} if rules else None
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in axe.run(found.page, options=options).response["violations"]
        for node in rule["nodes"]
    ]


PATIENCE = 60_000  # milliseconds


def written_extension(ui: UiServer, folder: Path) -> Path:
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
        self.save(ui.address[1], ui.token)
        self.page.locator("#settings:not([open])").wait_for()

    def save(self, port: int, token: str) -> None:
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
        links = self.page.locator("#members a")
        hrefs: list[str] = links.evaluate_all("(links) => links.map((link) => link.href)")
        return hrefs


@contextmanager
def chromium_with(extension: Path, **options: Any) -> Iterator[BrowserContext]:
    with sync_playwright() as playwright, TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        names = ("--headless=new", "--disable-extensions-except=", "--load-extension=")
        args = [f"{name}{extension}" if name.endswith("=") else name for name in names]
        # Else what was given on the command line is not loaded, since 137.
        args += ["--disable-features=DisableLoadExtensionCommandLineSwitch"]
        options |= {"executable_path": CHROMIUM, "chromium_sandbox": False, "args": args}
        without = ["--disable-extensions", "--headless", "--headless=old"]
        launch = playwright.chromium.launch_persistent_context
        context = launch(profile, ignore_default_args=without, **options)
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
