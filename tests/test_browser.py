"""The browser profile, in a real Chromium; nothing is sent beyond loopback."""

from __future__ import annotations

import gzip
import json
import re
import socket
import time
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from conftest import SITES, Crawl, FixtureServer
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from tplspider import browser
from tplspider.profiles import profile_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message

    from tplspider.demo.server import Handler

CHROMIUM = profile_settings("browser")["PLAYWRIGHT_LAUNCH_OPTIONS"].get("executable_path")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or find_spec("scrapy_playwright") is None,
    reason="no Chromium is installed" if CHROMIUM is None else "scrapy-playwright is not installed",
)
PROFILE = {"TPLSPIDER_PROFILE": "browser"}
KEY = "/guide/tomatoes.html"


def html(body: str | bytes, kind: str = "text/html") -> Callable[[Handler], None]:
    data = body.encode() if isinstance(body, str) else body
    return lambda request: request.answer(200, data, Content_Type=kind)


def write(what: str) -> str:
    """A script that adds to its page."""
    return f"<script>document.body.insertAdjacentHTML('beforeend', `{what}`)</script>"


@needs_chromium
@pytest.mark.parametrize("way", ["variable", "setting"])
def test_a_menu_that_a_script_inserts(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    if way == "variable":
        monkeypatch.setenv("SCRAPY_PROJECT", "browser")
    server = serve("script-menu")
    done = crawl(server.url + KEY, PROFILE if way == "setting" else {})
    assert done.code == 0, done.log
    assert done.finish_reason == "complete_subdigraph"
    assert [row["url"] for row in done.candidates] == [
        f"{server.url}{path}" for path in ("/guide/", "/guide/beans.html", "/")
    ]
    assert done.candidates[0]["dom_path"] == "/html/body/div/ul/li[2]/a"
    assert done.summary["loads"] == 4
    # Each page once, their script once for all of them, and no images.
    assert server.pages_asked == [KEY, "/menu.js", "/guide/", "/guide/beans.html", "/"]
    assert done.stats["tplspider/browser/rendered"] == "4"
    assert "Traceback" not in done.log


def test_the_hint_without_a_browser(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    done = crawl(serve("script-menu").url + KEY)
    assert done.summary["cs_size"] == 0
    assert "browser" in done.summary["hint"]
    assert any("TPLSPIDER_PROFILE=browser" in line for line in done.log.splitlines()[1:])


@needs_chromium
@pytest.mark.parametrize("script", ["", "<script>document.title += ''</script>"])
def test_a_static_site_gives_the_same_answer(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], script: str
) -> None:
    folder = SITES / "menu"
    pages = {
        "/" + str(path.relative_to(folder)).removesuffix("index.html"): path.read_text("utf-8")
        for path in folder.rglob("*.html")
    }
    server = serve("menu", {path: html(page + script) for path, page in pages.items()})
    plain = crawl(server.url + "/docs/guide/four.html")
    expected = plain.candidates, plain.summary
    rendered = crawl(server.url + "/docs/guide/four.html", PROFILE)
    assert (rendered.candidates, rendered.summary) == expected
    count = rendered.stats.get("tplspider/browser/rendered", "0")
    assert int(count) == (4 if script else 0)


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
    assert time.monotonic() - start < 1.5 * len(TRAPS) + 4 * browser.PATIENCE + 40
    assert done.code == 0, done.log
    assert done.summary["complete"], done.log
    assert "Traceback" not in done.log
    assert "/elsewhere" not in server.log
    # What Chromium cannot cope with is read as it came; it copes with what comes next.
    failed = re.findall(r"(\w+) cannot be rendered", done.log)
    assert failed == ["vanishing", "looping", "flooding"]
    assert done.stats["tplspider/browser/rendered"] == str(len(TRAPS) - len(failed))


PAGES = ["/one", "/two", "/cyrillic", "/moved", "/xhtml"]
FETCH = """<script>
  fetch("/api/menu", {method: "POST", headers: {"X-Wanted": "menu"}, body: "all"})
    .then(answer => answer.json())
    .then(pages => pages.forEach(path =>
      document.body.insertAdjacentHTML("beforeend", `<a href="${path}">${path}</a>`)))
</script><img src="/picture.png"><iframe src="/frame.html"></iframe>
<link rel="stylesheet" href="/style.css"><video src="/film.mp4"></video>"""
XHTML = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>XHTML</title><script src="/x.js"/></head>
<body><p>Scripts without an end tag are at home here.</p></body></html>"""


class Menu:
    """Gives the menu, compressed, to who has the cookie of the key page."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes, Message]] = []

    def __call__(self, request: Handler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.asked.append((request.command, body, request.headers))
        pages = PAGES if "session=1" in request.headers.get("Cookie", "") else []
        answer = gzip.compress(json.dumps(pages).encode())
        request.answer(200, answer, Content_Type="application/json", Content_Encoding="gzip")


@needs_chromium
def test_what_scripts_ask_for_goes_through_scrapy(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    def page(title: str) -> str:
        return f"<title>{title}</title><body><p>{title}</p>{FETCH}"

    def key_page(request: Handler) -> None:
        kind, cookie = "text/html", "session=1; HttpOnly"
        request.answer(200, page("Key").encode(), Content_Type=kind, Set_Cookie=cookie)

    menu = Menu()
    links = "".join(f"<a href='{path}'>x</a>" for path in PAGES)
    x_js = f"onload = () => document.querySelector('p').innerHTML = `{links}`"
    server = serve(
        "alone",
        {
            "/": key_page,
            "/api/menu": menu,
            "/one": html(page("One")),
            "/two": html(page("Two")),
            "/cyrillic": html(page("По-русски").encode("cp1251"), "text/html; charset=cp1251"),
            "/moved": lambda request: request.answer(302, Location="/moved/here"),
            "/moved/here": html(page("Moved")),
            "/xhtml": html(XHTML, "application/xhtml+xml"),
            "/x.js": lambda request: request.answer(301, Location="/y.js"),
            "/y.js": html(x_js, "text/javascript"),
        },
    )
    handler: Any = server._server.RequestHandlerClass
    handler.do_POST = handler.do_GET
    done = crawl(server.url + "/", PROFILE | {"USER_AGENT": "somebody"}, n=len(PAGES))
    assert done.summary["complete"], done.log
    titles = {row["title"]: row["url"].removeprefix(server.url) for row in done.candidates}
    assert titles == {
        "One": "/one",
        "Two": "/two",
        "По-русски": "/cyrillic",
        "Moved": "/moved/here",
        "XHTML": "/xhtml",
    }
    loaded = {*PAGES, "/", "/api/menu", "/moved/here", "/x.js", "/y.js", "/robots.txt"}
    assert set(server.log) == loaded  # and neither images, frames, style sheets nor films
    for command, body, headers in menu.asked:
        assert (command, body, headers["X-Wanted"]) == ("POST", b"all", "menu")
        assert headers["User-Agent"] == "somebody"
        assert headers["Referer"].startswith(server.url)


@needs_chromium
def test_robots_txt_is_kept_to(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    robots = html("User-agent: *\nDisallow: /menu.js\n", "text/plain")
    server = serve("script-menu", {"/robots.txt": robots})
    settings = {"TPLSPIDER_BROWSER_WAIT": "1"}
    done = crawl(server.url + KEY, PROFILE | settings)
    assert done.summary["key_outcome"] == "no-links"
    assert server.log == ["/robots.txt", KEY]


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


PUBLIC = Response("http://site.example/", ip_address=ip_address("203.0.114.1"))
LOCAL = Response("http://site.example/", ip_address=ip_address("127.0.0.1"))


@pytest.mark.parametrize(
    ("kind", "method", "url", "page", "expected"),
    [
        ("script", "GET", "https://cdn.example/app.js", PUBLIC, True),
        ("fetch", "POST", "http://site.example/graphql", PUBLIC, True),
        ("xhr", "DELETE", "http://site.example/all", PUBLIC, False),
        ("image", "GET", "http://site.example/a.png", PUBLIC, False),
        ("fetch", "GET", "file:///etc/passwd", PUBLIC, False),
        ("fetch", "GET", "http://169.254.169.254/latest/", PUBLIC, False),
        ("fetch", "GET", "http://[::1]/", PUBLIC, False),
        ("fetch", "GET", "http://0x7f.1/", PUBLIC, False),
        ("fetch", "GET", "http://127.0.0.1:8080/", LOCAL, True),
        ("fetch", "GET", "http://127.0.0.1:8080/", Response("http://10.0.0.1/"), True),
        ("fetch", "GET", "http://127.0.0.1:8080/", Response("http://site.example/"), False),
    ],
)
def test_what_may_be_loaded(
    kind: str, method: str, url: str, page: Response, *, expected: bool
) -> None:
    part: Any = SimpleNamespace(resource_type=kind, method=method, url=url)
    assert browser.may_load(part, page) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("<p>a</p>", "<p>a</p><a href=/>menu</a>", True),
        ("<p>a</p>", "<p>  a  </p><script>1</script>", False),
        ("<p>a</p>", "<p>b</p>", True),
        ("<a href=/a>x</a><a href=/b>x</a>", "<a href=/c>error</a>", False),
        ("<a href=/a>x</a><a href=/b>x</a>", "<a href=/a>x</a><a href=/c>x</a>", True),
    ],
)
def test_what_is_a_gain(before: str, after: str, *, expected: bool) -> None:
    pages = [HtmlResponse("http://site.example/", body=body.encode()) for body in (before, after)]
    assert browser._is_gain(*pages) is expected


@pytest.mark.parametrize(
    "given",
    [PROFILE, {"DOWNLOADER_MIDDLEWARES": profile_settings("browser")["DOWNLOADER_MIDDLEWARES"]}],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, object]
) -> None:
    monkeypatch.setattr(browser, "find_spec", lambda name: None)
    browser.check_settings(Settings())
    with pytest.raises(ValueError, match=r"pip install -r requirements-browser\.txt"):
        browser.check_settings(Settings(given))
    with pytest.raises(ValueError, match=r"pip install -r requirements-browser\.txt"):
        browser.BrowserMiddleware.from_crawler(get_crawler(settings_dict=given))


@pytest.mark.parametrize("name", ["TPLSPIDER_BROWSER_QUIET", "TPLSPIDER_BROWSER_WAIT"])
@pytest.mark.parametrize("value", ["0", "-1", "nan"])
def test_times_are_checked(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setattr(browser, "find_spec", lambda name: object())
    with pytest.raises(ValueError, match=f"{name}={value}: expected a number of seconds above 0"):
        browser.check_settings(Settings(PROFILE | {name: value}))


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
