import json
import time
from collections.abc import Callable

import pytest

from tests.support.crawls import RunCrawl, Serve
from tests.support.site_server import Handler
from tests.test_in_flight import without_wasted
from tplspider.web.page import WebPage
from tplspider.web.redirects import clean_location, redirect_target

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
def test_no_byte_is_asked_of_another_site(crawl: RunCrawl, serve: Serve) -> None:
    other = serve("menu")
    links = ["http", "port", "refresh", "file", "data", "script", "twice"]
    away = other.url.replace("127.0.0.1", "other.example.net")
    targets = {"http": f"{away}/", "port": f"{other.url}/", "file": "file:///etc/passwd"}
    targets |= {"data": "data:text/html,hello", "script": "javascript:alert(1)", "twice": "/port"}
    routes = {f"/{name}": to(target) for name, target in targets.items()}
    routes |= {"/": key_page(*links), "/refresh": refresh(f"0; url={other.url}/docs/")}
    server = serve("hooks", routes)
    done = crawl(server.url + "/")
    assert done.summary["complete"]
    reasons = [row["reason"] for row in done.summary["explored"] if row["outcome"] == "none"]
    assert reasons == ["offsite-redirect"] * len(links)
    assert other.log == []


@pytest.mark.quick
def test_what_is_known_is_not_asked_for_again(crawl: RunCrawl, serve: Serve) -> None:
    aliases = [f"alias{i}" for i in range(40)]
    routes = {f"/{alias}": to("/target.html#part", 301) for alias in aliases}
    routes |= {"/": key_page("target.html", *aliases, "home"), "/home": to("/", 301)}
    server = serve("hooks", routes)
    done = crawl(server.url + "/", max_loads=0)
    assert done.summary["complete"]
    assert server.pages_asked.count("/target.html") == 1
    assert server.pages_asked.count("/") == 1
    assert "#" not in "".join(row["url"] for row in done.summary["explored"])
    reasons = [row["reason"] for row in done.summary["explored"] if row["outcome"] == "duplicate"]
    assert sorted(reasons) == sorted([f"duplicate-of {server.url}/target.html"] * 40 + ["key-page"])


def test_links_that_redirect_to_one_page_load_it_once(crawl: RunCrawl, serve: Serve) -> None:
    def page(request: Handler) -> None:
        time.sleep(0.2)  # so that all that redirect there have done so before it comes
        links = "".join(f"<a href='{path}'>x</a>" for path in MENU)
        request.answer(200, f"<p>{request.path}</p>{links}".encode(), **HTML)

    pages = dict.fromkeys(("/target", *MENU), page)
    moved = {"/p": "/target", "/q": "/target", "/r": "/way", "/way": "/target", "/u": "/gone"}
    routes = {**pages, **{path: to(target) for path, target in moved.items()}, "/t": to(MENU[1])}
    routes |= {"/s": refresh("0; url=/target"), "/": key_page(*(f"/{name}" for name in "pqrstu"))}
    server = serve("menu", routes)
    answers = set()
    for in_flight in (1, 8):
        server.log.clear()
        done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": str(in_flight)})
        summary = (done.folder / "summary.json").read_bytes()
        answers.add(without_wasted(summary, done.summary["wasted"]))
        assert done.summary["complete"]
        assert [server.log.count(path) for path in pages] == [1, 1, 1, 1]
    assert len(answers) == 1


def test_the_key_page_may_redirect_anywhere(crawl: RunCrawl, serve: Serve) -> None:
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


def test_no_password_of_a_link_is_sent_or_shown(crawl: RunCrawl, serve: Serve) -> None:
    sent: list[str] = []
    server = serve("hooks")
    user = server.url.replace("//", "//me:secret@")

    def page(*links: str, head: str = "") -> Callable[[Handler], None]:
        items = "".join(f"<li><a href='{link}'>x</a></li>" for link in links)

        def respond(request: Handler) -> None:
            sent.append(f"{request.path} {request.headers}")
            request.answer(200, f"{head}<p>{request.path}</p>{items}".encode(), **HTML)

        return respond

    base, menu = f"<base href='{user}/'>", [f"{user}/a", "/b", f"{user[5:]}/c"]
    refresh = f"<meta http-equiv=refresh content='0; url={user}/refreshed'>"
    server.routes = {
        "/": page("/moved", "/refresh", "/relative", "/elsewhere", f"{user}/b", *menu),
        "/moved": to(f"{user}/target"),
        "/target": page(),
        "/refresh": page(head=refresh),
        "/refreshed": page(head=base),
        "/relative": to(f"{user[5:]}/b".replace("/", "\\", 2)),
        "/elsewhere": to("ftp://me:secret@example.net/"),
        "/a": page("/b", "/c"),
        "/b": page("a", "/c", head=base),
        "/c": page(*menu[:2]),
    }
    done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": "4"}, max_loads=0)
    ends = {row["link"]: (row["url"], row["reason"]) for row in done.summary["explored"]}
    assert json.loads(json.dumps(ends).replace(server.url, "")) == {
        "/moved": ["/target", ""],
        "/refresh": ["/refreshed", ""],
        "/relative": ["/b", ""],
        "/elsewhere": ["/elsewhere", "offsite-redirect"],
        "/a": ["/a", ""],
        "/b": ["/b", "duplicate-of /b"],
        "/c": ["/c", ""],
    }
    assert sorted(done.summary["candidates"]) == [f"{server.url}/{name}" for name in "abc"]
    assert server.pages_asked.count("/b") == 1
    shown = [done.log, done.stdout, *sent]
    shown += [(done.folder / name).read_text("utf-8") for name in ("out.json", "summary.json")]
    for text in shown:
        assert "secret" not in text
        assert "me:" not in text.replace("time:", "")
    assert not [line for line in sent if "Authorization" in line]
