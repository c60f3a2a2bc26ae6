"""Files opened in Firefox, driven over WebDriver BiDi: it speaks it by itself, without a driver."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from websockets.sync.client import ClientConnection

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
_PATIENCE = 60  # seconds, for a start on a busy machine
_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
# Before anything of a page runs: what its policy blocks, and what throws.
_WATCH = """() => {
    self.blocked = [];
    addEventListener("securitypolicyviolation", (event) => blocked.push(event.blockedURI), true);
}"""


@dataclass
class Firefox:
    """A running Firefox. *told* is its console, *asked* what its page asked for but its file."""

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
            answer = json.loads(self.socket.recv(_PATIENCE))
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") == "log.entryAdded":
                entry = answer["params"]
                if entry["level"] in ("error", "warn"):
                    self.told.append(entry["text"])
            elif answer.get("method") == "network.beforeRequestSent":
                url = answer["params"]["request"]["url"]
                if not url.startswith("data:"):  # which asks nobody; Firefox has some of its own
                    self.asked.append(url)
            elif answer.get("method") == "browsingContext.userPromptOpened":
                self.told.append(answer["params"]["message"])

    def start(self) -> None:
        self.send("session.new", capabilities={})
        events = ["log.entryAdded", "network.beforeRequestSent", "browsingContext.userPromptOpened"]
        self.send("session.subscribe", events=events)
        self.send("script.addPreloadScript", functionDeclaration=_WATCH)

    def open(self, path: Path) -> None:
        """Open a file in a tab of its own."""
        self.told, self.asked = [], []
        self.new_tab()
        self.asked.clear()  # of the empty tab
        self.go(path.as_uri())

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
        patience = Timer(_PATIENCE, process.kill)
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
