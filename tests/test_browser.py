"""The browser profile: answers of a real Chromium, and what scripts are given.

Nothing is sent beyond loopback.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from ipaddress import ip_address
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from tests.support.archives import rows, search_again
from tests.support.browser_profile import KEY, PROFILE, html, needs_chromium
from tests.support.crawls import SITES, Crawl, FixtureServer
from tests.test_warc_records import records
from tplspider.old.crawl.browser import middleware as browser
from tplspider.old.crawl.browser.subresources import may_load
from tplspider.profiles import profile_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message
    from pathlib import Path

    from tplspider.demo.server import Handler


@needs_chromium
@pytest.mark.parametrize("way", ["variable", "setting"])
def test_a_menu_that_a_script_inserts(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    way: str,
) -> None:
    if way == "variable":
        monkeypatch.setenv("SCRAPY_PROJECT", "browser")
    server = serve("script-menu")
    archive = tmp_path / "a.warc.gz"
    done = crawl(server.url + KEY, PROFILE if way == "setting" else {}, warc=archive)
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
    # Pages are archived as they came, and as they were read.
    kinds = Counter(record.headers["WARC-Type"] for record in records(archive))
    assert kinds == {"warcinfo": 1, "response": 6, "request": 6, "conversion": 4}
    (tmp_path / "key.txt").write_text(server.url + KEY)
    search_again(tmp_path / "again", archive, tmp_path / "key.txt")
    assert rows(tmp_path / "again" / "out.jl") == rows(tmp_path / "out.json")


@pytest.mark.quick
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
    """Gives the menu, compressed, to whoever has the cookie of the key page."""

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
def test_the_parts_of_a_page_are_guarded(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    """Scripts of a public page get no further than the page itself."""
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
        "TWISTED_DNS_RESOLVER": "tests.support.resolvers.MadeUpInternet",
        "TPLSPIDER_BROWSER_WAIT": "3",
    }
    url = server.url.replace("127.0.0.1", "www.example.com")
    done = crawl(url + "/", PROFILE | settings)
    assert done.stats["tplspider/browser/rendered"] == "1", done.log
    assert done.summary["links"] == 1
    assert "/moved" in server.log
    assert inside.log == []


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
    wanted: Any = SimpleNamespace(resource_type=kind, method=method, url=url)
    assert may_load(wanted, page) is expected


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
    with pytest.raises(ValueError, match=r"pip install scrapy-playwright$"):
        browser.check_settings(Settings(given))
    with pytest.raises(ValueError, match=r"pip install scrapy-playwright$"):
        browser.BrowserMiddleware.from_crawler(get_crawler(settings_dict=given))


@pytest.mark.parametrize("name", ["TPLSPIDER_BROWSER_QUIET", "TPLSPIDER_BROWSER_WAIT"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon"])
def test_times_are_checked(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setattr(browser, "find_spec", lambda name: object())
    with pytest.raises(ValueError, match=f"{name}='{value}': expected a number of seconds above 0"):
        browser.check_settings(Settings(PROFILE | {name: value}))
