import gzip
import json
import os
import re
import signal
import socket
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from tests.support.browsers import KEY, PROFILE, html, needs_chromium
from tests.support.crawls import DNS_RESOLVER, SITES, RunCrawl, Serve
from tests.support.site_server import Handler
from tests.support.warc_files import records, rows, search_again
from tplspider import browser

RENDERED, FAILED = "tplspider/browser/rendered", "tplspider/browser/failed"


def menu_of(*paths: str) -> str:
    return "".join(f"<p><a href={path}>{path}</a></p>" for path in paths)


def write(what: str) -> str:
    """A script that adds to its page."""
    return f"<script>document.body.insertAdjacentHTML('beforeend', `{what}`)</script>"


@needs_chromium
def test_a_menu_inserted_by_a_script(
    crawl: RunCrawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SCRAPY_PROJECT", "browser")  # as PROFILE does it in the other tests
    server, archive = serve("script-menu"), tmp_path / "a.warc.gz"
    done = crawl(server.url + KEY, warc=archive)
    assert done.code == 0, done.log
    paths = ("/guide/", "/guide/beans.html", "/")
    assert [row["url"] for row in done.candidates] == [f"{server.url}{path}" for path in paths]
    assert done.candidates[0]["dom_path"] == "/html/body/div/ul/li[2]/a"
    assert done.summary["loads"] == 4
    # Each page once, their script once for all of them, and no images.
    assert server.pages_asked == [KEY, "/menu.js", "/guide/", "/guide/beans.html", "/"]
    assert done.stats[RENDERED] == "4"
    # Pages are archived as they came, and as they were read.
    kinds = Counter(record.headers["WARC-Type"] for record in records(archive))
    assert kinds == {"warcinfo": 1, "response": 6, "request": 6, "conversion": 4}
    (tmp_path / "key.txt").write_text(server.url + KEY)
    search_again(tmp_path / "again", archive, tmp_path / "key.txt")
    assert rows(tmp_path / "again" / "out.jl") == rows(tmp_path / "out.json")


@pytest.mark.quick
def test_the_hint_without_a_browser(crawl: RunCrawl, serve: Serve) -> None:
    done = crawl(serve("script-menu").url + KEY)
    assert done.summary["cs_size"] == 0
    assert "TPLSPIDER_PROFILE=browser" in done.summary["hint"]


@needs_chromium
def test_a_static_site_has_the_same_answer(crawl: RunCrawl, serve: Serve) -> None:
    folder, script = SITES / "menu", "<script>document.title += ''</script>"
    pages = {
        "/" + str(path.relative_to(folder)).removesuffix("index.html"): path.read_text("utf-8")
        for path in folder.rglob("*.html")
    }
    server = serve("menu", {path: html(page + script) for path, page in pages.items()})
    plain = crawl(server.url + "/docs/guide/four.html")
    expected = plain.candidates, plain.summary
    rendered = crawl(server.url + "/docs/guide/four.html", PROFILE)
    assert (rendered.candidates, rendered.summary) == expected
    assert rendered.stats[RENDERED] == "4"


@needs_chromium
def test_scrapy_loads_everything_and_delays_pages_alone(crawl: RunCrawl, serve: Serve) -> None:
    """And the callback sees redirects, by HTTP and by meta refresh, as they came."""
    times: dict[str, float] = {}
    posts: list[tuple[str, str, bytes]] = []
    fetch = """<script>for (let i = 0; i < 6; i++) fetch(`/api/${i}`, {
        method: "POST", headers: {"X-Wanted": "menu"}, body: "all"
    }).then(answer => answer.text()).then(links => document.body.innerHTML += links)</script>"""

    def page(request: Handler) -> None:
        times[request.path] = time.monotonic()
        body = f"<title>{request.path}</title><body><p>{request.path}</p>{fetch}"
        request.answer(200, body.encode(), Content_Type="text/html", Set_Cookie="session=1")

    def api(request: Handler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        headers = request.headers
        posts.append((headers["Cookie"], headers["X-Wanted"] + headers["User-Agent"], body))
        links = ["/a", "/refresh"] if request.path == "/api/0" else []
        request.answer(200, menu_of("/", *links).encode(), Content_Type="text/html")

    refresh = "<meta http-equiv=refresh content='0; url=/moved'>" + write(menu_of("/no"))
    server = serve("alone", dict.fromkeys(("/", "/a", "/b"), page))
    server.routes |= {f"/api/{number}": api for number in range(6)}
    server.routes["/refresh"] = html(refresh)
    server.routes["/moved"] = lambda request: request.answer(302, Location="/b")
    handler: Any = server._server.RequestHandlerClass
    handler.do_POST = handler.do_GET
    done = crawl(server.url + "/", PROFILE | {"DOWNLOAD_DELAY": "2", "USER_AGENT": "somebody"}, n=2)
    assert {row["title"] for row in done.candidates} == {"/a", "/b"}, done.log
    assert done.stats["tplspider/browser/parts"] == "18"
    assert set(posts) == {("session=1", "menusomebody", b"all")}
    assert times["/a"] - times["/"] > 1.9
    assert done.seconds < 34  # 18 parts with the delay would take 36 seconds


@needs_chromium
@pytest.mark.quick
def test_robots_txt_holds_for_scripts(crawl: RunCrawl, serve: Serve) -> None:
    robots = html("User-agent: *\nDisallow: /menu.js\n", "text/plain")
    server = serve("script-menu", {"/robots.txt": robots})
    done = crawl(server.url + KEY, PROFILE | {"TPLSPIDER_BROWSER_WAIT": "1"})
    assert done.summary["key_outcome"] == "no-links"
    assert server.log == ["/robots.txt", KEY]


PAGES = ["/one", "/cyrillic"]
ADD = """<script>fetch("/menu").then(answer => answer.json()).then(pages => pages.forEach(path =>
  document.body.insertAdjacentHTML("beforeend", `<a href="${path}">${path}</a>`)))</script>
<img src="/picture.png"><iframe src="/frame.html"></iframe>
<link rel="stylesheet" href="/style.css"><video src="/film.mp4"></video>"""


@needs_chromium
def test_encodings(crawl: RunCrawl, serve: Serve) -> None:
    """And neither images, frames, style sheets nor films are loaded."""

    def page(title: str) -> str:
        return f"<title>{title}</title><body><p>{title}</p>{ADD}"

    def menu(request: Handler) -> None:
        answer = gzip.compress(json.dumps(PAGES).encode())
        request.answer(200, answer, Content_Type="application/json", Content_Encoding="gzip")

    routes = {
        "/": html(page("Key")),
        "/menu": menu,
        "/one": html(page("One")),
        "/cyrillic": html(page("По-русски").encode("cp1251"), "text/html; charset=cp1251"),
    }
    server = serve("alone", routes)
    done = crawl(server.url + "/", PROFILE, n=len(PAGES))
    assert done.summary["complete"], done.log
    assert {row["title"] for row in done.candidates} == {"One", "По-русски"}
    assert set(server.log) == {*routes, "/robots.txt"}


@needs_chromium
def test_scripts_of_public_pages_are_kept_from_private_hosts(crawl: RunCrawl, serve: Serve) -> None:
    server, inside = serve("alone"), serve("alone", {"/data": html("secret"), "/a": html("a")})
    private = inside.url.replace("127.0.0.1", "loopback.example.com")
    script = f"""<a href=/a>a</a><script>
        const add = () => document.body.insertAdjacentHTML("beforeend", "<a href=/b>b</a>");
        for (const path of ["{private}/data", "/moved"]) fetch(path).then(add);
    </script>"""
    server.routes = {
        "/": html(script),
        "/a": html("a page"),
        "/moved": lambda request: request.answer(302, Location=f"{private}/data"),
    }
    settings = {
        DNS_RESOLVER: "tests.support.stub_crawls.CheckedInternet",
        "TPLSPIDER_BROWSER_WAIT": "3",
    }
    url = server.url.replace("127.0.0.1", "www.example.com")
    done = crawl(url + "/", PROFILE | settings)
    assert done.stats[RENDERED] == "1", done.log
    assert done.summary["links"] == 1
    assert "/moved" in server.log
    assert inside.log == []


def stall(request: Handler) -> None:
    time.sleep(8)
    request.close_connection = True


@needs_chromium
def test_scripts_that_hang(crawl: RunCrawl, serve: Serve) -> None:
    menu = menu_of("/", "/load", "/loop", "/leave", "/flood")
    bodies = {
        "/": menu,
        "/load": write(menu) + "<script src=/stall.js></script>",
        "/loop": menu + "<script>for (;;);</script>",
        "/leave": write(menu) + "<script>setInterval(() => { location = '/away' }, 50)</script>",
        "/flood": menu + "<script>for (let i = 0; i < 1e6; i++)"
        " history.pushState({}, '', '/' + i)</script>",
    }
    routes = {path: html(f"<body><h1>{path}</h1>{body}") for path, body in bodies.items()}
    server = serve("alone", {"/stall.js": stall, **routes})
    done = crawl(server.url + "/", PROFILE | {"TPLSPIDER_BROWSER_WAIT": "1.5"}, n=4)
    assert done.summary["complete"], done.log
    assert re.findall(r"Cannot render \S+(/\w+) ", done.log) == ["/loop", "/flood"]
    assert (done.stats[RENDERED], done.stats[FAILED]) == ("2", "2")
    assert done.seconds < 60
    assert "/away" not in server.log
    assert "Traceback" not in done.log


@needs_chromium
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_a_crash_of_chromium_costs_one_page(
    crawl: RunCrawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(request: Handler) -> None:
        for process in chromiums(folder):
            os.kill(process, signal.SIGKILL)
        request.answer(404)

    menu = menu_of("/", "/crash", "/after")
    bodies = {"/": menu, "/crash": menu + "<script src=/x.js></script>", "/after": write(menu)}
    routes = {path: html(f"<body><h1>{path}</h1>{body}") for path, body in bodies.items()}
    with TemporaryDirectory() as folder:  # in the environment of what the crawl starts
        monkeypatch.setenv("TMPDIR", folder)
        done = crawl(serve("alone", {"/x.js": crash, **routes}).url + "/", PROFILE, n=2)
        assert done.summary["complete"], done.log
        assert (done.stats[RENDERED], done.stats[FAILED]) == ("1", "1")
        deadline = time.monotonic() + 5
        while chromiums(folder) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert chromiums(folder) == []


def chromiums(mark: str) -> list[int]:
    """The processes of Chromium with *mark* in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            if mark.encode() in environment and b"--headless" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


@needs_chromium
def test_chromium_has_no_network(crawl: RunCrawl, serve: Serve) -> None:
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
            const stun = [{{urls: "stun:{host}:{udp_port}"}}];
            const peer = new RTCPeerConnection({{iceServers: stun}});
            peer.createDataChannel("");
            peer.createOffer().then(offer => peer.setLocalDescription(offer));
        </script>"""
        server = serve("alone", {"/": html(script)})
        done = crawl(server.url + "/", PROFILE | {"TPLSPIDER_BROWSER_WAIT": "3"})
        assert done.stats[RENDERED] == "1", done.log
        for unused in (tcp, udp):
            unused.settimeout(0)
        with pytest.raises(BlockingIOError):
            tcp.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)


@pytest.mark.quick
def test_a_chromium_that_does_not_start(crawl: RunCrawl, serve: Serve) -> None:
    options = json.dumps({"executable_path": "/no/such/chromium"})
    body = "<h1>{}</h1><script>1</script><a href=/a>a</a><a href=/b>b</a>"
    server = serve("alone", {path: html(body.format(path)) for path in ("/", "/a", "/b")})
    done = crawl(server.url + "/", PROFILE | {"PLAYWRIGHT_LAUNCH_OPTIONS": options}, n=2)
    assert done.summary["complete"], done.log  # from the pages as they came
    assert done.stats[FAILED] == "3"
    assert "Traceback" not in done.log


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
