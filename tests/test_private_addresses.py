from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import crawls
from tests.support.crawls import DNS_RESOLVER, Crawl, FixtureServer, RunCrawl, Serve
from tests.support.internet import PUBLIC, Listener, at, connected_to, html, reasons, redirect
from tests.support.kinds import with_quick
from tests.support.site_server import Handler
from tests.support.stub_crawls import stub_crawl
from tplspider.private_addresses import host_name, is_private, literal_address

REFUSED = "private-address"
LOOPBACK_NAME, MAPPED = "loopback.example.com", "[::ffff:7f00:1]"
OURS = {DNS_RESOLVER: "tests.support.stub_crawls.CheckedInternet"}
AS_A_GUEST = {DNS_RESOLVER: "tests.support.internet.MadeUpInternet"}
REFUSING = {"TPLSPIDER_ALLOW_PRIVATE": "False"}
MENU = ["menu/a.html", "menu/b.html", "menu/c.html"]
BOTH = pytest.mark.parametrize("internet", [OURS, AS_A_GUEST], ids=["ours", "guest"])


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as found:
        yield found


def assert_refused(done: Crawl) -> None:
    """The key page is, and nothing is tried again."""
    assert done.code == 0, done.log
    assert done.finish_reason == "key_page_unusable"
    assert done.candidates == []
    assert done.summary["key_outcome"] == REFUSED
    assert "TPLSPIDER_ALLOW_PRIVATE" in done.summary["hint"]
    assert "Traceback" not in done.log
    assert "Retrying" not in done.log


@BOTH
def test_a_private_key_page_may_lead_to_other_private_hosts(
    crawl: RunCrawl, serve: Serve, internet: dict[str, str]
) -> None:
    server = serve("hooks")
    moved, link = at(server, "localhost.example.com") + "/", at(server, "localhost.www.example.com")
    server.routes = {"/start": redirect(moved), "/": html(link + "/x", *MENU), "/x": html()}
    done = crawl(
        at(server, "loopback.example.com") + "/start", scope="domain", n=9, settings=internet
    )
    assert done.summary["key_url"] == moved, done.log
    assert set(reasons(done).values()) == {""}
    assert "/x" in server.log
    assert connected_to(done) == {"127.0.0.1"}


@BOTH
@pytest.mark.parametrize("host", with_quick(["127.0.0.1", "loopback.example.com"], "127.0.0.1"))
def test_a_private_key_page_is_refused_where_it_may_not_be(
    crawl: RunCrawl, serve: Serve, host: str, internet: dict[str, str]
) -> None:
    server = serve("menu")
    done = crawl(at(server, host) + "/", settings={**internet, **REFUSING})
    assert_refused(done)
    assert server.log == []
    assert connected_to(done) == set()


@BOTH
@pytest.mark.parametrize("host", with_quick([LOOPBACK_NAME, MAPPED], LOOPBACK_NAME))
def test_a_public_key_page_redirects_to_a_private_one(
    crawl: RunCrawl, serve: Serve, listener: Listener, host: str, internet: dict[str, str]
) -> None:
    target = f"http://{host}:{listener.port}/"
    refresh = f"<meta http-equiv=refresh content='0; url={target}'>"
    server = serve("hooks", {"/": html(head=refresh) if host == MAPPED else redirect(target)})
    done = crawl(at(server, "www.example.com") + "/", settings=internet)
    assert_refused(done)
    assert server.pages_asked == ["/"]
    assert connected_to(done) == {PUBLIC}
    assert listener.accepted == 0


@BOTH
@pytest.mark.quick
def test_a_public_key_page_has_links_to_private_hosts(
    crawl: RunCrawl, serve: Serve, listener: Listener, internet: dict[str, str]
) -> None:
    private = [
        f"{scheme}://{name}.example.com:{listener.port}/{scheme}"
        for scheme in ("http", "https")
        for name in ("loopback", "lan", "metadata", "mapped")
    ]
    local = f"http://127.0.0.1:{listener.port}/robots.txt"
    server = serve("hooks", {"/robots.txt": redirect(local)})
    site = at(server, "www.example.com")
    server.routes |= {
        "/": html("/moved", *private, "http://dead.example.com/", "/mixed", *MENU),
        "/moved": redirect(f"http://loopback.example.com:{listener.port}/moved"),
        "/mixed": redirect(at(server, "mixed.example.com") + "/target.html"),
    }
    done = crawl(site + "/", scope="domain", n=9, settings=internet)
    assert done.code == 0
    assert reasons(done) == {
        **dict.fromkeys([*private, f"{site}/moved"], REFUSED),
        **dict.fromkeys([f"{site}/{name}" for name in MENU], ""),
        "http://dead.example.com/": "dns",
        # Some of its addresses are private. As a guest, one cannot choose among them.
        f"{site}/mixed": REFUSED if internet == AS_A_GUEST else "",
    }
    assert done.summary["cs_size"] == 3
    assert connected_to(done) == {PUBLIC}
    assert listener.accepted == 0


@BOTH
def test_a_private_key_page_redirects_to_a_public_one(
    crawl: RunCrawl, serve: Serve, internet: dict[str, str]
) -> None:
    server = serve("hooks")
    site, start = at(server, "www.example.com"), at(server, "loopback.example.com")
    private = [f"{start}/", at(server, "localhost.example.com") + "/"]
    server.routes = {"/start": redirect(site + "/"), "/": html(*private, *MENU)}
    server.routes["/back"] = redirect(f"{site}/and-back")
    server.routes["/and-back"] = redirect(private[1])
    done = crawl(f"{start}/start", scope="domain", n=9, settings=internet)
    assert done.summary["cs_size"] == 3, done.log
    assert {link: reasons(done)[link] for link in private} == dict.fromkeys(private, REFUSED)
    assert server.log.count("/") == 1
    assert_refused(crawl(f"{start}/back", settings=internet))
    assert server.log.count("/") == 1


@BOTH
def test_what_one_search_may_others_may_not(
    serve: Serve, tmp_path: Path, internet: dict[str, str]
) -> None:
    """A connection to the private key page of one search is open while the other runs."""
    server = serve("hooks")
    private, site = at(server, "loopback.example.com"), at(server, "www.example.com")
    server.routes = {"/key": html(*MENU), "/": html(f"{private}/secret", *MENU)}
    (tmp_path / "keys.txt").write_text(f"{private}/key\n{site}/\n", "utf-8")
    keys = tmp_path / "keys.txt"
    done = crawls.crawl_list(tmp_path, keys, "-ascope=domain", "-an=9", settings=internet)
    found = {row["key_url"]: row for row in crawls.rows(tmp_path / "summary.jl")}
    explored = {row["link"]: row["reason"] for row in found[f"{site}/"]["explored"]}
    assert explored[f"{private}/secret"] == REFUSED
    assert found[f"{private}/key"]["cs_size"] == 3, done.log
    assert "/secret" not in server.log


def test_a_name_that_was_public_stays_public(crawl: RunCrawl, serve: Serve) -> None:
    # Each page is a connection and a look-up: robots.txt, the key page, and a link.
    routes: dict[str, Callable[[Handler], object]] = {"/robots.txt": html(), "/": html(*MENU)}
    server = serve("hooks", routes)
    site = at(server, "rebind2.example.com")
    done = crawl(site + "/", settings=OURS)
    assert reasons(done) == dict.fromkeys([f"{site}/{name}" for name in MENU], REFUSED)
    assert server.log == ["/robots.txt", "/"]
    assert connected_to(done) == {PUBLIC}
    # As a guest, there are two look-ups for each.
    link = at(server, "rebind2.example.com") + "/"
    stub = stub_crawl([link, link], {link: None}, **AS_A_GUEST)
    assert stub.ends == ["200", REFUSED]


class Proxy(FixtureServer):
    def respond(self, request: Handler) -> None:
        request.path = request.path.removeprefix("http://www.example.com")
        super().respond(request)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(crawls.SITES / "menu") as server:
        monkeypatch.setenv("http_proxy", at(server, "loopback.example.net"))
        monkeypatch.setenv("no_proxy", "loopback.example.net")
        yield server


def test_behind_a_proxy_literal_addresses_are_refused(crawl: RunCrawl, proxy: Proxy) -> None:
    settings = {**OURS, "HTTPPROXY_ENABLED": "True"}
    done = crawl("http://www.example.com/index.html", settings={**settings, **REFUSING})
    assert done.summary["complete"], done.log
    assert connected_to(done) == {"127.0.0.1"}
    proxy.log.clear()
    assert_refused(crawl("http://10.0.0.1/", settings={**settings, **REFUSING}))
    assert proxy.log == []
    # The proxy itself is no site, although no_proxy says that it is connected to directly.
    proxy.routes["/"] = redirect(at(proxy, "loopback.example.net") + "/status")
    assert_refused(crawl("http://www.example.com/", settings=settings))
    assert proxy.log == ["http://www.example.com/robots.txt", "http://www.example.com/"]


LOOPBACK = (
    "127.0.0.1. 127.1 0X7F.0x0.0.0x1 2130706433 0177.0.0.1 \N{FULLWIDTH DIGIT ONE}27.0.0.1"
    " 127\N{IDEOGRAPHIC FULL STOP}0.0.1 %31%32%37.0.0.1"
)
NAMES = (
    ". .. example.com localhost 1.2.3.4.5 1.2.3.4.example 127..1 256.1.1.1 1.16777216 4294967296"
    " 08.0.0.1 0x7g.1 1e1 -1 ::1:: a:b 1.2.3.4:80 [ xn-- 1.2.3.4\0"
)
PRIVATE = (
    "10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 127.255.255.254 0.0.0.0"
    " 169.254.169.254 168.63.129.16 100.64.0.1 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1"
    " 203.0.113.1 192.88.99.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 fc00::1"
    " fd00:ec2::254 fe80::1 fec0::1 ff02::1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::10.0.0.1"
    " 64:ff9b:1::1 2002:7f00:1:: 100::1 2001:db8::1 2001:2::1 2001:10::1 3fff::1 4000::1 5f00::1"
    " 2001:0:7f00:1::f5ff:fffe 2001:0:5db8:d822::f5ff:fffe"  # Teredo: a server, a client
)
PUBLIC_ONES = (
    f"{PUBLIC} 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 100.63.255.255"
    " 100.128.0.0 128.0.0.0 169.253.255.255 223.255.255.255 192.0.1.1 2606:4700::1111"
    " 2a00:1450:4001::1 ::ffff:93.184.216.34 64:ff9b::5db8:d822 2002:5db8:d822::1 2001:200::1"
)


def test_spellings_of_addresses_and_names() -> None:
    assert {host_name(host) for host in LOOPBACK.split()} == {"127.0.0.1"}
    assert literal_address("[fe80::1%25eth0]") == ip_address("fe80::1")
    assert literal_address("10.65535") == ip_address("10.0.255.255")
    names = ["", "9" * 5000, "1.2.3.4 x", *NAMES.split(" ")]
    assert [host for host in names if literal_address(host)] == []
    assert host_name("XN--BCHER-KVA.Example.") == host_name("bücher.example") == "bücher.example"


def test_private_and_public_addresses() -> None:
    assert [each for each in PRIVATE.split() if not is_private(ip_address(each))] == []
    assert [each for each in PUBLIC_ONES.split() if is_private(ip_address(each))] == []


@given(st.ip_addresses())
def test_no_address_is_public_that_python_calls_private(address: IPv4Address | IPv6Address) -> None:
    ways = ("ipv4_mapped", "sixtofour", "teredo")
    inside = any(getattr(address, way, None) for way in ways) or address.packed[:2] == b"\0\x64"
    if not inside and (not address.is_global or address.is_multicast or address.is_reserved):
        assert is_private(address)
