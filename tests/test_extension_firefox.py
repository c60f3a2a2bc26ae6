"""The extension in Firefox: a search from the popup, once the host is allowed.

Without a window there is no toolbar to click on: popup.html is opened in a tab behind a page of a
fixture site, as in Chromium, for which Firefox wants the driver to have access to all of it.
"""

from __future__ import annotations

import json
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

from tests.support.ui_server import UiServer
from tplspider.demo.server import KEY_PAGE, SiteServer

pytest.importorskip("websockets", reason="websockets is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")
from tests.support.firefox import FIREFOX, Firefox, firefox
from tests.support.loaded_extension import PATIENCE, written_extension

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.skipif(FIREFOX is None, reason="no Firefox is installed"),
]

UUID = "8f1d2c1e-5a0f-4b8e-9a55-6f6d2f9b7c10"  # else it is another one in each profile
POPUP = f"moz-extension://{UUID}/popup.html"
ORIGINS = "{origins: ['http://127.0.0.1/*']}"
ENTER = "\ue007"


def test_a_search_from_the_popup(tmp_path: Path) -> None:
    (tmp_path / "extension").mkdir()
    with SiteServer() as site, UiServer(tmp_path / "state") as ui:
        extension = written_extension(ui, tmp_path / "extension")
        manifest = json.loads((extension / "manifest.json").read_bytes())
        name = manifest["browser_specific_settings"]["gecko"]["id"]
        preferences = {
            "extensions.webextensions.uuids": json.dumps({name: UUID}),
            # Who asks for a permission after a click has it, without a question.
            "extensions.webextOptionalPermissionPrompts": False,
        }
        with firefox("--remote-allow-system-access", preferences=preferences) as browser:
            data = {"type": "path", "path": str(extension)}
            browser.send("webExtension.install", extensionData=data)
            popup = browser.new_tab()
            front = browser.new_tab()
            browser.go(site.url + KEY_PAGE)
            # Firefox allows the host when the extension is installed; people can take that back.
            browser.tab = popup
            browser.go(POPUP)
            removed = browser.evaluate(f"browser.permissions.remove({ORIGINS})")
            assert removed
            browser.go(POPUP)
            assert wait_for(browser, "#trouble", "This tab does not show")  # for it may not know
            browser.evaluate(f"document.querySelector('#token').value = '{ui.token}'")
            press_enter(browser, "#save")
            wait_for(browser, "#settings:not([open])", "Settings")
            assert browser.evaluate(f"browser.permissions.contains({ORIGINS})")
            browser.send("browsingContext.activate", context=front)
            browser.go(POPUP)
            wait_for(browser, "#address", site.url + KEY_PAGE)
            press_enter(browser, "#start")
            wait_for(browser, "#state", "complete")
            wait_for(browser, "#text", "Nobody who rode one")
            links = "[...document.querySelectorAll('#members a')].map((link) => link.href)"
            found = browser.evaluate(links)
            assert len(found) == 3
            assert all(link.startswith(f"{site.url}/collection/") for link in found)
            assert browser.told == []
            assert not any(ui.token in url for url in browser.asked)
            press_enter(browser, "#report")
            wait_for_report(browser)


def press_enter(browser: Firefox, element: str) -> None:
    """As a person does: after anything else there is no asking for a permission."""
    browser.send("browsingContext.activate", context=browser.tab)
    browser.evaluate(f"document.querySelector('{element}').focus()")
    browser.press(ENTER)


def wait_for(browser: Firefox, element: str, words: str) -> str:
    """The text of an element, once these words are in it."""
    deadline = monotonic() + PATIENCE / 1000
    while monotonic() < deadline:
        text = browser.evaluate(f"document.querySelector('{element}')?.innerText ?? ''")
        if words in text:
            return str(text)
        sleep(0.1)
    raise AssertionError(browser.evaluate("document.body.innerText"))


def wait_for_report(browser: Firefox) -> None:
    """In a tab of its own, whose address does not have the code any more."""
    deadline = monotonic() + PATIENCE / 1000
    while monotonic() < deadline:
        tabs = browser.send("browsingContext.getTree")["contexts"]
        if any(tab["url"].endswith("/report") for tab in tabs):
            return
        sleep(0.1)
    raise AssertionError(tabs)
