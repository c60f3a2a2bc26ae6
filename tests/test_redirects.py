from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tplspider.web.page import WebPage
from tplspider.web.redirects import clean_location, redirect_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import Crawl, FixtureServer
    from tplspider.demo.server import Handler

HTML = {"Content_Type": "text/html"}
MENU = ("/menu/a.html", "/menu/b.html", "/menu/c.html")


def key_page(*links: str) -> Callable[[Handler], None]:
    body = "".join(f"<p><a href='{link}'>x</a></p>" for link in (*links, *MENU)).encode()
    return lambda request: request.answer(200, body, **HTML)


def to(target: str, status: int = 302) -> Callable[[Handler], None]:
    return lambda request: request.answer(status, Location=target)


def refresh(content: str, text: str = "") -> Callable[[Handler], None]:
    body = f'<meta http-equiv="refresh" content="{content}"><p>{text}</p>'.encode()
    return lambda request: request.answer(200, body, **HTML)


@pytest.mark.quick
def test_no_byte_is_asked_of_another_site(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    other = serve("menu")
    links = ["http", "port", "refresh", "file", "data", "script", "twice"]
    server = serve(
        "hooks",
        {
            "/": key_page(*links),
            "/http": to(other.url.replace("127.0.0.1", "other.example.net") + "/"),
            "/port": to(other.url + "/"),
            "/refresh": refresh(f"0; url={other.url}/docs/"),
            "/file": to("file:///etc/passwd"),
            "/data": to("data:text/html,hello"),
            "/script": to("javascript:alert(1)"),
            "/twice": to("/port"),
        },
    )
    done = crawl(server.url + "/")
    assert done.summary["complete"]
    assert {row["reason"] for row in done.summary["explored"] if row["outcome"] == "none"} == {
        "offsite-redirect"
    }
    assert len([row for row in done.summary["explored"] if row["outcome"] == "none"]) == len(links)
    assert other.log == []


def test_meta_refresh(crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]) -> None:
    server = serve(
        "hooks",
        {
            "/": key_page("now", "five", "six", "itself", "bare", "script", "ping", "pong"),
            "/script": refresh("0; url=javascript:alert(1)", "a page with a script"),
            "/now": refresh("0; url=/target.html"),
            "/five": refresh("5; url=/refresh-target.html"),
            "/six": refresh("6; url=/target.html", "a page that waits"),
            "/itself": refresh("1; url=/itself#again", "a page that comes again"),
            "/bare": refresh("300", "a page that comes again later"),
            "/ping": refresh("0; url=/pong"),
            "/pong": refresh("0; url=/ping"),
        },
    )
    done = crawl(server.url + "/")
    found = {
        row["link"].removeprefix(server.url + "/"): row["url"].removeprefix(server.url)
        if row["outcome"] == "page"
        else row["reason"]
        for row in done.summary["explored"]
    }
    for path in MENU:
        found.pop(path[1:])
    assert found == {
        "now": "/target.html",
        "five": "/refresh-target.html",
        "six": "/six",
        "itself": "/itself",
        "bare": "/bare",
        "script": "/script",
        "ping": "bad-response",
        "pong": "bad-response",
    }
    assert server.pages_asked.count("/itself") == 1


def test_loops_and_long_chains_end(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    chain = {f"/chain{i}": to(f"/chain{i + 1}") for i in range(30)}
    server = serve(
        "hooks",
        {
            "/": key_page("itself", "round", "chain0"),
            "/itself": to("/itself"),
            "/round": to("/about"),
            "/about": to("/round"),
            **chain,
        },
    )
    done = crawl(server.url + "/")
    reasons = {row["link"].rpartition("/")[2]: row["reason"] for row in done.summary["explored"]}
    assert {reasons[name] for name in ("itself", "round", "chain0")} == {"bad-response"}
    assert server.pages_asked.count("/itself") == 1
    assert server.pages_asked.count("/round") == 1


def test_a_cookie_that_must_be_kept(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    def wall(request: Handler) -> None:
        if "seen=1" in (request.headers.get("Cookie") or ""):
            request.answer(200, b"<p>behind the wall</p>", **HTML)
        else:
            request.answer(302, Location="/wall", Set_Cookie="seen=1; Domain=127.0.0.1")

    server = serve("hooks", {"/": key_page("wall"), "/wall": wall})
    done = crawl(server.url + "/")
    assert {row["outcome"] for row in done.summary["explored"]} == {"page"}
    assert server.pages_asked.count("/wall") == 2


@pytest.mark.quick
def test_what_is_known_is_not_asked_for_again(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    aliases = [f"alias{i}" for i in range(40)]
    server = serve(
        "hooks",
        {
            "/": key_page("target.html", *aliases, "home"),
            "/home": to("/", 301),
            **{f"/{alias}": to("/target.html#part", 301) for alias in aliases},
        },
    )
    done = crawl(server.url + "/", max_loads=0)
    assert done.summary["complete"]
    assert server.pages_asked.count("/target.html") == 1
    assert server.pages_asked.count("/") == 1
    assert "#" not in "".join(row["url"] for row in done.summary["explored"])
    reasons = [row["reason"] for row in done.summary["explored"] if row["outcome"] == "duplicate"]
    assert sorted(reasons) == sorted([f"duplicate-of {server.url}/target.html"] * 40 + ["key-page"])


def test_the_key_page_may_redirect_anywhere(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    key = site.url.replace("127.0.0.1", "www.example.com") + "/docs/guide/four.html"
    server = serve("hooks", {"/start": to("/again"), "/again": to(key)})
    done = crawl(server.url + "/start")
    assert done.summary["key_url"] == key
    assert done.summary["complete"]


BAD_HOSTS = ["a%00b.example", "127.0.0.1%00", "a%20b", "a<b", "a%2Fb", "a%25b"]


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_host_that_no_address_can_have(host: str) -> None:
    with pytest.raises(ValueError, match="forbidden"):
        clean_location(f"http://{host}/")
    body = f'<meta http-equiv="refresh" content="0; url=http://{host}/">'.encode()
    assert redirect_target(WebPage("http://example.org/", body, given_html=True)) is None
    assert clean_location("http://ex%61mple.org/%00") == "http://ex%61mple.org/%00"


def test_a_key_page_that_redirects_to_no_host(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    outcomes = []
    for target in (f"http://{BAD_HOSTS[0]}/", "http://[::1/"):
        done = crawl(serve("hooks", {"/": to(target)}).url + "/")
        outcomes.append(done.summary["key_outcome"])
        assert "Traceback" not in done.log
    assert outcomes == ["offsite-redirect"] * 2
