"""Files opened in Chromium, which tells what they did."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    sync_playwright,
)

from tests.support.browser_profile import CHROMIUM

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
        """The texts of elements that are shown, in their order."""
        found = self.page.locator(selector).filter(visible=True).all_inner_texts()
        return [" ".join(text.split()) for text in found]

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
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
    """What axe has to say about a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": {"type": "rule", "values": rules}} if rules else None
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in axe.run(found.page, options=options).response["violations"]
        for node in rule["nodes"]
    ]
