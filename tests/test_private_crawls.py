"""No page of a public site leads to a private address: crawls of a made-up internet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.asker import OTHERS
from tests.support.crawls import SITES, Crawl, FixtureServer
from tests.support.internet_crawls import (
    GUARD,
    INTERNET,
    Listener,
    ask,
    at,
    connected_to,
    ends,
    html,
    reasons,
    redirect,
)
from tests.support.resolvers import PUBLIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.internet_crawls import Route
    from tplspider.demo.server import Handler

    RunCrawl = Callable[..., Crawl]
    Serve = Callable[..., FixtureServer]

REFUSING = {"TPLSPIDER_ALLOW_PRIVATE": "False"}
MENU = ["menu/a.html", "menu/b.html", "menu/c.html"]
REFUSED = "PrivateAddressError"


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as found:
        yield found


def assert_unusable(done: Crawl, outcome: str = "private-address") -> None:
    assert done.code == 0, done.log
    assert done.finish_reason == "key_page_unusable"
    assert done.candidates == []
    assert done.summary["key_outcome"] == outcome
    assert "Traceback" not in done.log
    assert "Retrying" not in done.log


@pytest.mark.parametrize("host", ["127.0.0.1", "loopback.example.com"])
def test_by_default_the_key_page_may_be_private(host: str, crawl: RunCrawl, serve: Serve) -> None:
    done = crawl(at(serve("menu"), host) + "/index.html", settings=INTERNET)
    assert done.summary["complete"], done.log
    assert connected_to(done) == {"127.0.0.1"}
    assert "WARNING" not in done.log.replace("TPLSPIDER_CONTACT", "")


@pytest.mark.parametrize(
    ("host", "robots"),
    [
        pytest.param("127.0.0.1", "True", marks=pytest.mark.quick),
        ("[::ffff:127.0.0.1]", "True"),
        ("loopback.example.com", "True"),
        ("loopback.example.com", "False"),
    ],
)
def test_a_private_key_page_is_refused_where_it_may_not_be(
    host: str, robots: str, crawl: RunCrawl, serve: Serve
) -> None:
    server = serve("menu")
    settings = {**INTERNET, **REFUSING, "ROBOTSTXT_OBEY": robots}
    done = crawl(at(server, host) + "/", settings=settings)
    assert_unusable(done)
    assert server.log == []
    assert connected_to(done) == set()
    assert "(private-address): TPLSPIDER_ALLOW_PRIVATE is false" in done.log
    assert done.summary["hint"].startswith("TPLSPIDER_ALLOW_PRIVATE is false")


def test_a_public_key_page_is_not(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("menu")
    done = crawl(at(server, "www.example.com") + "/index.html", settings={**INTERNET, **REFUSING})
    assert done.summary["complete"], done.log
    assert connected_to(done) == {PUBLIC}


@pytest.mark.parametrize(
    ("kind", "host"),
    [
        ("http", "127.0.0.1"),
        ("http", "2130706433"),
        ("http", "[::ffff:7f00:1]"),
        pytest.param("http", "loopback.example.com", marks=pytest.mark.quick),
        ("http", "mapped.example.net"),
        ("meta", "127.0.0.1"),
    ],
)
def test_a_public_key_page_redirects_to_another_port_on_loopback(
    kind: str, host: str, crawl: RunCrawl, serve: Serve, listener: Listener
) -> None:
    target = f"http://{host}:{listener.port}/"
    refresh = f"<meta http-equiv=refresh content='0; url={target}'>"
    server = serve("hooks", {"/": redirect(target) if kind == "http" else html(head=refresh)})
    done = crawl(at(server, "www.example.com") + "/", settings=INTERNET)
    assert_unusable(done)
    assert "may not lead there, whatever TPLSPIDER_ALLOW_PRIVATE says" in done.summary["hint"]
    assert server.pages_asked == ["/"]
    assert connected_to(done) == {PUBLIC}
    assert listener.accepted == 0


@pytest.mark.quick
def test_names_of_the_site_that_are_private(
    crawl: RunCrawl, serve: Serve, listener: Listener
) -> None:
    private = [
        f"{scheme}://{name}.example.com:{listener.port}/{scheme}"
        for scheme in ("http", "https")
        for name in ("loopback", "lan", "metadata", "mapped")
    ]
    names = ["/moved", "/moved-by-name", *private, "http://dead.example.com/", "/mixed", *MENU]
    routes = {
        "/": html(*names),
        "/moved": redirect(f"http://127.0.0.1:{listener.port}/"),
        "/moved-by-name": redirect(f"http://loopback.example.com:{listener.port}/moved"),
    }
    server = serve("hooks", routes)
    site = at(server, "www.example.com")
    routes["/mixed"] = redirect(at(server, "mixed.example.com") + "/target.html")
    done = crawl(site + "/", scope="domain", n=9, settings=INTERNET)
    assert done.code == 0
    found = reasons(done)
    assert {link: found.pop(link) for link in private} == dict.fromkeys(private, "private-address")
    assert found == {
        f"{site}/moved": "offsite-redirect",
        f"{site}/moved-by-name": "private-address",
        "http://dead.example.com/": "dns",
        f"{site}/mixed": "",
        **dict.fromkeys([f"{site}/{name}" for name in MENU], ""),
    }
    assert done.summary["cs_size"] == 3
    assert connected_to(done) == {PUBLIC}
    assert "Beyond loopback" not in done.log
    assert listener.accepted == 0


def test_links_of_any_spider(serve: Serve, listener: Listener, tmp_path: Path) -> None:
    """Addresses that no link of the search leads to, for they are of another site."""
    server = serve("menu", {"/moved": redirect(f"http://0x7f.1:{listener.port}/")})
    site = at(server, "www.example.com")
    hosts = ["127.0.0.1", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "localhost", "[::1]"]
    hosts += ["[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254", "[fd00::1]", "lan.example.org"]
    refused = [f"{s}://{host}:{listener.port}/" for s in ("http", "https") for host in hosts]
    refused += [f"{site}/moved", f"ftp://127.0.0.1:{listener.port}/"]
    done = ask(f"{site}/", *refused, f"{site}/about.html", folder=tmp_path)
    found = ends(done)
    assert found.pop(f"{site}/") == found.pop(f"{site}/about.html") == "200"
    assert found == dict.fromkeys(refused, REFUSED)
    assert connected_to(done) == {PUBLIC}
    assert listener.accepted == 0


def test_requests_of_others_are_not_judged(serve: Serve, tmp_path: Path) -> None:
    """In one crawl with a search of a public site; and the search cannot use their connections."""
    server = serve("menu")
    target = at(server, "127.0.0.1") + "/about.html"
    server.routes["/moved"] = redirect(target)
    site, private = at(server, "www.example.com"), at(server, "loopback.example.com") + "/"
    others = [f"{OTHERS}{url}" for url in (private, target, f"{site}/moved")]
    done = ask(f"{site}/", *others, private, target, folder=tmp_path)
    assert ends(done) == {
        f"{site}/": "200",
        **dict.fromkeys(others, "200"),
        private: REFUSED,
        target: REFUSED,
    }
    assert connected_to(done) == {PUBLIC, "127.0.0.1"}
    asked = ("/", "/moved", "/about.html", "/robots.txt")
    assert [server.log.count(path) for path in asked] == [2, 1, 2, 4]


def test_a_connection_that_others_open_in_the_meantime(serve: Serve, tmp_path: Path) -> None:
    """The search has asked for the host while it was public, and waits for its turn."""
    server = serve("menu", {"/first": html()})
    site = at(server, "rebind1.example.com")
    urls = [f"{site}/first", f"{OTHERS}{site}/about.html", f"{site}/index.html"]
    pace = {"CONCURRENT_REQUESTS": "8", "DOWNLOAD_DELAY": "0.5", "ROBOTSTXT_OBEY": "False"}
    done = ask(*urls, folder=tmp_path, settings={**INTERNET, **pace})
    assert ends(done) == {urls[0]: "200", urls[1]: "200", urls[2]: REFUSED}
    assert server.log == ["/first", "/about.html"]


def test_a_robots_txt_that_redirects_to_loopback(
    crawl: RunCrawl, serve: Serve, listener: Listener
) -> None:
    routes = {"/robots.txt": redirect(f"http://127.0.0.1:{listener.port}/robots.txt")}
    done = crawl(at(serve("menu", routes), "www.example.com") + "/index.html", settings=INTERNET)
    assert done.summary["complete"], done.log
    assert listener.accepted == 0


def test_rebinding_of_the_key_pages_name(crawl: RunCrawl, serve: Serve) -> None:
    # Each page is a connection and a look-up: robots.txt, the key page, and a link that gets the
    # second answer.
    routes: dict[str, Route] = {"/robots.txt": html(), "/": html(*MENU)}
    server = serve("hooks", routes)
    site = at(server, "rebind2.example.com")
    done = crawl(site + "/", settings=INTERNET)
    assert done.code == 0
    assert reasons(done) == dict.fromkeys([f"{site}/{name}" for name in MENU], "private-address")
    lines = [line for line in done.log.splitlines() if "no page (private-address" in line]
    assert len(lines) == sum("TPLSPIDER_ALLOW_PRIVATE" in line for line in lines) == len(MENU)
    assert server.log == ["/robots.txt", "/"]
    assert connected_to(done) == {PUBLIC}


def test_a_private_key_page_that_redirects_to_a_public_one(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("hooks")
    site = at(server, "www.example.com")
    private = [at(server, "loopback.example.com") + "/", at(server, "localhost.example.com") + "/"]
    server.routes = {"/start": redirect(site + "/"), "/": html(*private, *MENU)}
    start = at(server, "loopback.example.com") + "/start"
    done = crawl(start, scope="domain", n=9, settings=INTERNET)
    assert done.summary["cs_size"] == 3, done.log
    assert {link: reasons(done)[link] for link in private} == dict.fromkeys(
        private, "private-address"
    )
    assert server.log.count("/") == 1


class Proxy(FixtureServer):
    """Answers for every site itself."""

    def respond(self, request: Handler) -> None:
        request.path = request.path.removeprefix("http://www.example.com")
        super().respond(request)


PROXY_LINE = "A proxy looks up names"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(SITES / "menu") as server:
        monkeypatch.setenv("http_proxy", at(server, "loopback.example.net"))
        monkeypatch.setenv("no_proxy", "loopback.example.net")
        yield server


PROXIED = {**INTERNET, **REFUSING, "HTTPPROXY_ENABLED": "True"}


def test_behind_a_proxy(crawl: RunCrawl, proxy: Proxy) -> None:
    done = crawl("http://www.example.com/index.html", settings=PROXIED)
    assert done.summary["complete"], done.log
    assert len(proxy.log) > 3
    assert connected_to(done) == {"127.0.0.1"}
    assert done.log.count(PROXY_LINE) == 1


def test_behind_a_proxy_literal_addresses_are_checked(crawl: RunCrawl, proxy: Proxy) -> None:
    done = crawl("http://10.0.0.1/", settings=PROXIED)
    assert_unusable(done)
    assert proxy.log == []
    proxy.routes["/"] = redirect("http://169.254.169.254/latest/meta-data/")
    done = crawl("http://www.example.com/", settings=PROXIED)
    assert_unusable(done)
    assert proxy.log == ["http://www.example.com/robots.txt", "http://www.example.com/"]
    assert done.log.count(PROXY_LINE) == 1


@pytest.mark.crawl
def test_the_proxy_itself_is_no_site(proxy: Proxy, tmp_path: Path) -> None:
    """Where no_proxy says that it is connected to directly."""
    status = at(proxy, "loopback.example.net") + "/status"
    page = "http://www.example.com/index.html"
    done = ask(page, status, folder=tmp_path, settings=PROXIED)
    assert ends(done) == {page: "200", status: REFUSED}
    assert proxy.log == ["http://www.example.com/robots.txt", page]


def test_a_proxy_for_https(
    crawl: RunCrawl, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", f"http://loopback.example.net:{listener.port}")
    quick = {"ROBOTSTXT_OBEY": "False", "RETRY_ENABLED": "False", "DOWNLOAD_TIMEOUT": "2"}
    done = crawl("https://www.example.com/", settings={**PROXIED, **quick})
    assert done.summary["key_outcome"] not in ("dns", "private-address")
    assert listener.accepted > 0


def test_without_a_reactor(crawl: RunCrawl, serve: Serve) -> None:
    pytest.importorskip("aiohttp")
    server = serve("menu")
    settings = {**GUARD, "TWISTED_REACTOR_ENABLED": "False"}
    done = crawl(server.url + "/index.html", settings=settings)
    assert done.summary["complete"], done.log
    assert "names are not checked" not in done.log
    server.log.clear()
    assert_unusable(crawl(server.url + "/index.html", settings={**settings, **REFUSING}))
    assert server.log == []
