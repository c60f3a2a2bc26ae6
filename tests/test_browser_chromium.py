"""Chromium on pages that hold it up: it gives up in time, and leaves and sends nothing."""

from __future__ import annotations

import json
import re
import socket
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_profile import KEY, PROFILE, html, needs_chromium
from tests.support.crawls import SITES, Crawl, FixtureServer
from tplspider.old.crawl.browser.chromium import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.demo.server import Handler


def write(what: str) -> str:
    """A script that adds to its page."""
    return f"<script>document.body.insertAdjacentHTML('beforeend', `{what}`)</script>"


def processes(mark: str) -> list[str]:
    """The command lines of processes that were started with *mark* in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text("utf-8", "replace"))
        except OSError:  # gone, or not ours
            continue
    return [line for line in found if line]  # without those that have ended


@needs_chromium
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_nothing_is_left_behind(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    def look(request: Handler) -> None:
        seen.extend(processes(folder))
        request.answer(200, (SITES / "script-menu" / "menu.js").read_bytes())

    with TemporaryDirectory() as folder:  # pytest's own has too long a name for Chromium
        monkeypatch.setenv("TMPDIR", folder)
        done = crawl(serve("script-menu", {"/menu.js": look}).url + KEY, PROFILE)
        assert done.summary["complete"], done.log
        assert any("--headless" in line for line in seen)
        deadline = time.monotonic() + 5
        while (left := processes(folder)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == []
        assert list(Path(folder).glob("*profile*")) == []


def stall(request: Handler) -> None:
    time.sleep(8)
    request.close_connection = True


# Pages that hold Chromium up; as they come, or after it has run their scripts, they have the menu.
TRAPS = [
    "endless",
    "hanging",
    "polling",
    "leaving",
    "opening",
    "vanishing",
    "looping",
    "flooding",
    "late",
]
MENU = "".join(f"<p><a href=/{name}>{name}</a></p>" for name in TRAPS)
BODIES = {
    "endless": write(MENU) + "<script>setInterval(() => document.body.insertAdjacentHTML("
    "'beforeend', `<a href=/more${Math.random()}>more</a>`), 20)</script>",
    "hanging": write(MENU) + "<script src=/stall.js></script>",
    "polling": write(MENU) + "<script>fetch('/stall.js').then(() => location.reload())</script>",
    "leaving": write(MENU) + "<script>setInterval(() => { location = '/elsewhere' }, 50)</script>",
    "opening": write(MENU) + "<script>window.open('/elsewhere'); alert('!'); print()</script>",
    "vanishing": MENU + "<script>document.documentElement.remove()</script>",
    "looping": MENU + "<script>for (;;);</script>",
    "flooding": MENU + "<script>for (let i = 0; i < 1e6; i++)"
    " history.pushState({}, '', '/' + i)</script>",
    "late": f"<script>setTimeout(() => document.body.innerHTML += `{MENU}`, 300)</script>",
}


@needs_chromium
def test_pages_that_do_not_end(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    routes = {
        f"/{name}": html(f"<body><h1>{name}</h1>{body}</body>") for name, body in BODIES.items()
    }
    server = serve("alone", {"/": html(MENU), "/stall.js": stall, **routes})
    start = time.monotonic()
    done = crawl(server.url + "/", PROFILE | {"TPLSPIDER_BROWSER_WAIT": "1.5"}, n=len(TRAPS))
    # The wait for each page, patience with some of them, and two starts on a busy machine.
    assert time.monotonic() - start < 1.5 * len(TRAPS) + 4 * PATIENCE + 40
    assert done.code == 0, done.log
    assert done.summary["complete"], done.log
    assert "Traceback" not in done.log
    assert "/elsewhere" not in server.log
    # What Chromium cannot cope with is read as it came; it copes with what comes next.
    failed = re.findall(r"(\w+) cannot be rendered", done.log)
    assert failed == ["vanishing", "looping", "flooding"]
    assert done.stats["tplspider/browser/rendered"] == str(len(TRAPS) - len(failed))


@needs_chromium
def test_chromium_has_no_network(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))
        (host, port), (_, udp_port) = tcp.getsockname(), udp.getsockname()
        script = f"""<a href=/>home</a><link rel=preconnect href="http://{host}:{port}"><script>
            new WebSocket("ws://{host}:{port}/");
            navigator.sendBeacon("http://{host}:{port}/");
            new EventSource("http://{host}:{port}/");
            const servers = [{{urls: "stun:{host}:{udp_port}"}}];
            const peer = new RTCPeerConnection({{iceServers: servers}});
            peer.createDataChannel("");
            peer.createOffer().then(offer => peer.setLocalDescription(offer));
        </script>"""
        server = serve("alone", {"/": html(script)})
        done = crawl(server.url + "/", PROFILE | {"TPLSPIDER_BROWSER_WAIT": "3"})
        assert done.stats["tplspider/browser/rendered"] == "1", done.log
        for unused in (tcp, udp):
            unused.settimeout(0)
        with pytest.raises(BlockingIOError):
            tcp.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)


@pytest.mark.skipif(find_spec("scrapy_playwright") is None, reason="no scrapy-playwright")
def test_a_chromium_that_does_not_start(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    options = json.dumps({"executable_path": "/no/such/chromium"})
    body = "<h1>{}</h1><script>1</script><a href=/a>a</a><a href=/b>b</a>"
    server = serve("alone", {path: html(body.format(path)) for path in ("/", "/a", "/b")})
    done = crawl(server.url + "/", PROFILE | {"PLAYWRIGHT_LAUNCH_OPTIONS": options}, n=2)
    assert done.code == 0, done.log
    assert done.summary["complete"]  # from the pages as they came
    assert done.stats["tplspider/browser/failed"] == "3"
    assert re.search(r"WARNING.*/a cannot be rendered \(.*executable.*/no/such/chromium", done.log)
    assert "Traceback" not in done.log
