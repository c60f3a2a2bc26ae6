"""The extension in Firefox, driven over WebDriver BiDi, which it has built in.

Without a window there is no toolbar to click on: popup.html is opened in a tab behind a page of a
fixture site, as in Chromium, for which Firefox wants the driver to have access to all of it.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from time import monotonic, sleep
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.support.browsers import written_extension
from tests.support.site_server import SiteServer
from tests.support.ui_server import UiServer
from tplspider.demo import KEY_PAGE

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.skipif(FIREFOX is None, reason="no Firefox is installed"),
]

UUID = "8f1d2c1e-5a0f-4b8e-9a55-6f6d2f9b7c10"  # else it is another one in each profile
POPUP = f"moz-extension://{UUID}/popup.html"
ORIGINS = "{origins: ['http://127.0.0.1/*']}"
ENTER = "\ue007"
PATIENCE = 60  # seconds, for a start on a busy machine
_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


@dataclass
class Firefox:
    """A running Firefox. *told* is its console, *asked* what its pages asked for."""

    socket: ClientConnection
    told: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    tab: str = ""
    _number: int = 0

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer; what happened meanwhile is kept."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        self.socket.send(json.dumps(command))
        while True:
            answer = json.loads(self.socket.recv(PATIENCE))
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") == "log.entryAdded":
                entry = answer["params"]
                if entry["level"] in ("error", "warn"):
                    self.told.append(entry["text"])
            elif answer.get("method") == "network.beforeRequestSent":
                self.asked.append(answer["params"]["request"]["url"])
            elif answer.get("method") == "browsingContext.userPromptOpened":
                self.told.append(answer["params"]["message"])

    def start(self) -> None:
        self.send("session.new", capabilities={})
        events = ["log.entryAdded", "network.beforeRequestSent", "browsingContext.userPromptOpened"]
        self.send("session.subscribe", events=events)

    def new_tab(self) -> str:
        """Open a tab, in front of the others, and use it from now on."""
        self.tab = self.send("browsingContext.create", type="tab")["context"]
        return self.tab

    def go(self, url: str) -> None:
        """Have the tab show another page."""
        self.send("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    def press(self, key: str) -> None:
        """Press a key, as a person does."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": keys}]
        self.send("input.performActions", context=self.tab, actions=actions)

    def evaluate(self, script: str) -> Any:
        """What a script gives, as JSON."""
        answer = self.send(
            "script.evaluate",
            expression=f"Promise.resolve({script}).then(JSON.stringify)",
            target={"context": self.tab},
            awaitPromise=True,
        )
        return json.loads(answer["result"].get("value", "null"))


@contextmanager
def firefox(*options: str, preferences: Mapping[str, object] | None = None) -> Iterator[Firefox]:
    """A Firefox without a window, with a profile of its own."""
    assert FIREFOX
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        chosen = (
            f"user_pref({json.dumps([*pair])[1:-1]});" for pair in (preferences or {}).items()
        )
        Path(folder, "user.js").write_text("\n".join(chosen))
        command = [FIREFOX, "--headless", "--no-remote", "--profile", folder]
        process = subprocess.Popen(
            [*command, *options, "--remote-debugging-port", "0"],
            env={"HOME": folder, "PATH": "/usr/bin:/bin", "MOZ_CRASHREPORTER_DISABLE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Without an end, waiting for its words would have none.
        patience = Timer(PATIENCE, process.kill)
        patience.start()
        try:
            assert process.stderr
            lines = []
            for line in process.stderr:
                lines.append(line)
                if listening := _LISTENING.search(line):
                    break
            else:
                raise AssertionError(f"Firefox does not start: {lines}")
            patience.cancel()
            with connect(f"{listening[1]}/session", max_size=None, proxy=None) as socket:
                found = Firefox(socket)
                found.start()
                yield found
                found.send("browser.close")  # with all of its processes
        finally:
            patience.cancel()
            process.kill()
            process.wait()
            assert process.stderr
            process.stderr.close()


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
            browser.evaluate(f"document.querySelector('#port').value = {ui.address[1]}")
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
            assert all(link.startswith(f"{site.url}/") for link in found)
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
    deadline = monotonic() + PATIENCE
    while monotonic() < deadline:
        text = browser.evaluate(f"document.querySelector('{element}')?.innerText ?? ''")
        if words in text:
            return str(text)
        sleep(0.1)
    raise AssertionError(browser.evaluate("document.body.innerText"))


def wait_for_report(browser: Firefox) -> None:
    """In a tab of its own, whose address does not have the code any more."""
    deadline = monotonic() + PATIENCE
    while True:
        tabs = browser.send("browsingContext.getTree")["contexts"]
        if any(tab["url"].endswith("/report") for tab in tabs):
            return
        assert monotonic() < deadline, tabs
        sleep(0.1)
