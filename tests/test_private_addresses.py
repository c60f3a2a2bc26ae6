"""No page of a public site leads to a private address: rules, and crawls of a made-up internet."""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any

import pytest
from conftest import SITES, Crawl, FixtureServer, run_scrapy
from hypothesis import example, given
from hypothesis import strategies as st
from resolvers import PUBLIC
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.internet import address as twisted_address

from tplspider import address_guard
from tplspider.address_guard import (
    CheckedResolver,
    PrivateAddressError,
    PrivateAddressMiddleware,
)
from tplspider.private_addresses import AddressPolicy, host_name, is_private, literal_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Self

    from tplspider.demo.server import Handler

    RunCrawl = Callable[..., Crawl]
    Serve = Callable[..., FixtureServer]
    Route = Callable[[Handler], object]

GUARD = {"DOWNLOADER_MIDDLEWARES": '{"tplspider.address_guard.PrivateAddressMiddleware": 760}'}
INTERNET = {**GUARD, "TWISTED_DNS_RESOLVER": "resolvers.MadeUpInternet"}
REFUSING = {"TPLSPIDER_ALLOW_PRIVATE": "False"}
MENU = ["menu/a.html", "menu/b.html", "menu/c.html"]
REFUSED = "PrivateAddressError"
LOOPBACK = ip_address("127.0.0.1")
WEB = ip_address(PUBLIC)


# ---- addresses


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0X7F.0x0.0.0x1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0000000000000000177.0.0.1", "127.0.0.1"),
        ("\N{FULLWIDTH DIGIT ONE}27.0.0.1", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("%31%32%37.0.0.1", "127.0.0.1"),
        ("10.65535", "10.0.255.255"),
        ("0", "0.0.0.0"),
        ("4294967295", "255.255.255.255"),
        ("93.184.216.34", "93.184.216.34"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]", "fe80::1"),
        ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"),
    ],
)
def test_spellings_of_an_address(host: str, address: str) -> None:
    assert literal_address(host) == ip_address(address)
    assert host_name(host) == str(ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        *["", ".", "..", "example.com", "localhost", "1.2.3.4.5", "1.2.3.4.example", "127..1"],
        *["256.1.1.1", "1.2.3.256", "1.16777216", "4294967296", "08.0.0.1", "0x7g.1", "1e1", "-1"],
        *["9" * 5000, "::1::", "a:b", "1.2.3.4:80", "[", "xn--"],
    ],
)
def test_names_are_no_addresses(host: str) -> None:
    assert literal_address(host) is None
    host_name(host)


@given(st.text("0123456789abcdefxX.", max_size=20))
@example("0x.0.0x.1")
def test_all_that_inet_aton_reads_is_read_alike(host: str) -> None:
    with suppress(OSError):
        assert literal_address(host) == IPv4Address(socket.inet_aton(host))


@pytest.mark.parametrize(
    "address",
    [
        *["10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
        *["127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "168.63.129.16"],
        *["100.64.0.1", "100.100.100.200", "100.127.255.255", "0.0.0.0", "0.1.2.3"],
        *["192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1"],
        *["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
        *["::", "::1", "::127.0.0.1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"],
        *["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1"],
        *["64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "100::1"],
        "2001:0:7f00:1::f5ff:fffe",  # Teredo, a server on loopback
        "2001:0:5db8:d822::f5ff:fffe",  # Teredo, a client at 10.0.0.1
        *["2001:db8::1", "2001:2::1", "2001:10::1", "3fff::1", "4000::1", "5f00::1"],
    ],
)
def test_private_addresses(address: str) -> None:
    assert is_private(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *[PUBLIC, "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255"],
        *["100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255"],
        *["8.8.8.8", "192.0.1.1", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1"],
        *["::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1", "2001:200::1"],
    ],
)
def test_public_addresses(address: str) -> None:
    assert not is_private(ip_address(address))


@given(st.ip_addresses())
def test_no_address_is_public_that_python_calls_private(address: IPv4Address | IPv6Address) -> None:
    inside = isinstance(address, IPv6Address) and (
        address.ipv4_mapped
        or address.sixtofour
        or address.teredo
        or address.packed[:2] == b"\0\x64"
    )
    if not inside and (not address.is_global or address.is_multicast or address.is_reserved):
        assert is_private(address)


# ---- the policy


def policy(key_host: str = "www.example.com", *, allow_private: bool = True) -> AddressPolicy:
    return AddressPolicy(key_host, allow_private=allow_private)


def test_a_public_key_page_refuses_private_addresses() -> None:
    rules = policy()
    assert rules.allowed("www.example.com", [WEB]) == [WEB]
    assert rules.allowed("lan.example.com", [ip_address("10.0.0.1")]) == []
    assert not rules.allows("127.0.0.1")
    assert not rules.allows("0x7f.1", 80)
    assert rules.allows("93.184.216.34")
    assert rules.refused == {"lan.example.com", "127.0.0.1"}
    assert rules.has_refused("LAN.example.com.")
    assert not rules.has_refused("www.example.com")


def test_a_private_key_page_allows_them() -> None:
    for host in ("127.0.0.1", "127.1", "[::1]"):
        rules = policy(host)
        assert rules.allows(host)
        assert rules.allows("10.0.0.1")
    rules = policy("localhost")
    assert rules.allowed("localhost", [LOOPBACK]) == [LOOPBACK]
    assert rules.allows("127.0.0.1")
    assert rules.refused == set()


def test_a_private_key_page_may_be_forbidden() -> None:
    assert not policy("127.0.0.1", allow_private=False).allows("127.0.0.1")
    rules = policy("localhost", allow_private=False)
    assert rules.allowed("localhost", [LOOPBACK, ip_address("::1")]) == []
    assert rules.has_refused("localhost")
    assert rules.allowed("www.example.com", [WEB]) == [WEB]


def test_until_the_key_page_is_known_private_addresses_are_refused() -> None:
    rules = policy("localhost")
    assert not rules.allows("127.0.0.1")
    assert rules.allowed("localhost", []) == []  # no such name, for now
    assert not rules.allows("127.0.0.1")
    assert rules.refused == {"127.0.0.1"}
    assert rules.allowed("localhost", [LOOPBACK]) == [LOOPBACK]
    assert rules.allows("127.0.0.1")
    assert rules.refused == set()


def test_rebinding() -> None:
    rules = policy()
    assert rules.allowed("www.example.com", [WEB])
    assert rules.allowed("www.example.com", [LOOPBACK]) == []
    assert not rules.allows("www.example.com")
    assert rules.allowed("WWW.example.com.", [LOOPBACK, WEB]) == [WEB]


def test_a_key_page_with_public_and_private_addresses_is_public() -> None:
    rules = policy()
    assert rules.allowed("www.example.com", [LOOPBACK, WEB]) == [WEB]
    assert not rules.allows("127.0.0.1")


def test_names_in_punycode_and_unicode_are_one() -> None:
    rules = policy("xn--bcher-kva.example")
    assert rules.allowed("bücher.example", [LOOPBACK]) == [LOOPBACK]
    assert host_name("xn--\N{SNOWMAN}") == "xn--\N{SNOWMAN}"


def test_a_proxy_is_trusted_but_is_no_site() -> None:
    rules = policy()
    rules.trust("LocalHost", 3128)
    assert rules.trusts("localhost", 3128)
    assert rules.trusts("localhost", 0)
    assert not rules.trusts("localhost", 80)
    assert not rules.allows("localhost", 3128)
    assert rules.allows("localhost", 80)  # as far as one can tell before it is looked up
    assert rules.allows("localhost")  # by way of the proxy
    rules.trust("127.0.0.1", 3128)
    assert not rules.allows("127.0.0.1", 3128)


def test_a_key_page_that_a_proxy_looks_up_is_taken_for_public() -> None:
    rules = policy()
    rules.looked_up_elsewhere("www.example.com")
    assert rules.allowed("www.example.com", [LOOPBACK]) == []
    rules = policy("10.0.0.1")
    assert rules.allows("10.0.0.1")
    rules.looked_up_elsewhere("10.0.0.1")
    assert rules.allows("10.0.0.2")


def test_a_public_page_must_not_redirect_a_private_search_to_a_private_address() -> None:
    rules = policy("localhost")
    assert rules.allowed("localhost", [LOOPBACK])
    assert rules.allowed("www.example.com", [WEB])
    assert rules.allows("10.0.0.1", source="localhost")
    assert not rules.allows("10.0.0.1", source="www.example.com")
    assert not rules.allows("localhost", 80, "www.example.com")  # there may be a connection
    assert rules.allows("localhost", 80)  # which the search can still use
    assert rules.allows("www.example.com", source="localhost")
    assert rules.allows("lan.example.com", source="unheard.example.com")
    assert rules.allowed("lan.example.com", [LOOPBACK]) == []
    assert rules.allows("www.example.com", source="www.example.com")
    assert rules.allowed("www.example.com", [LOOPBACK]) == []


def test_where_the_key_page_is_in_the_end_counts() -> None:
    rules = policy("localhost")
    assert rules.allowed("localhost", [LOOPBACK])
    assert rules.allowed("lan.example.com", [LOOPBACK])
    rules.key_page_at("lan.example.com")
    assert rules.allows("127.0.0.1")
    assert rules.allowed("www.example.com", [WEB])
    rules.key_page_at("www.example.com")
    assert not rules.allows("127.0.0.1")
    assert not rules.allows("localhost")  # there is a connection, perhaps
    rules = policy("www.example.com")
    rules.key_page_at("example.com")  # known to a proxy or a cache only
    assert rules.allowed("www.example.com", [LOOPBACK]) == []


# ---- the resolver


class Answers:
    """A resolver that knows one answer, and what it gave."""

    def __init__(self, *hosts: str) -> None:
        self.hosts = hosts
        self.passed: list[str] = []
        self.asked: list[tuple[object, ...]] = []

    def resolveHostName(self, receiver: Any, *asked: object) -> str:
        self.asked.append(asked)
        receiver.resolutionBegan("resolution")
        for host in self.hosts:
            kind = twisted_address.IPv6Address if ":" in host else twisted_address.IPv4Address
            receiver.addressResolved(kind("TCP", host, 80))
        receiver.addressResolved(twisted_address.HostnameAddress(b"localhost", 80))
        receiver.resolutionComplete()
        return "resolution"

    def ask(self, resolver: CheckedResolver, name: str = "www.example.com", port: int = 80) -> Any:
        """What the resolver gives for a name, and whether it says that that is all."""
        receiver = Receiver()
        assert resolver.resolveHostName(receiver, name, port, None, "TCP") == "resolution"
        assert self.asked[-1] == (name, port, None, "TCP")
        assert receiver.complete
        return receiver.found


class Receiver:
    def __init__(self) -> None:
        self.found: list[str] = []
        self.complete = False

    def resolutionBegan(self, resolution: str) -> None:
        assert resolution == "resolution"

    def addressResolved(self, address: Any) -> None:
        self.found.append(getattr(address, "host", address.__class__.__name__))

    def resolutionComplete(self) -> None:
        self.complete = True


def test_the_resolver_passes_on_what_is_allowed() -> None:
    inner = Answers("10.0.0.1", PUBLIC, "fe80::1%eth0", "2606:4700::1111")
    resolver = CheckedResolver(inner)
    resolver.policies.append(policy())
    assert inner.ask(resolver) == [PUBLIC, "2606:4700::1111"]
    inner.hosts = ()
    assert inner.ask(resolver) == []
    inner.hosts = ("127.0.0.1",)
    assert inner.ask(resolver) == []
    resolver.policies[0].trust("proxy.example.com", 3128)
    assert inner.ask(resolver, "proxy.example.com", 80) == []
    assert inner.ask(resolver, "proxy.example.com", 3128)[0] == "127.0.0.1"


def test_crawls_of_one_process_do_not_judge_for_each_other() -> None:
    inner = Answers("127.0.0.1")
    resolver = CheckedResolver(inner)
    private, public = policy("localhost"), policy("www.example.com")
    resolver.policies += [private, public]

    def ask_for(crawl: AddressPolicy | None) -> Any:
        address_guard._policy_of_crawl.set(crawl)
        return inner.ask(resolver, "localhost")

    assert copy_context().run(ask_for, private) == ["127.0.0.1"]
    assert copy_context().run(ask_for, public) == []
    assert copy_context().run(ask_for, None) == []  # nobody's: it must suit all
    assert copy_context().run(ask_for, policy("localhost")) == []  # one that has ended
    resolver.policies.remove(public)
    assert copy_context().run(ask_for, None) == ["127.0.0.1"]


def test_the_resolver_of_the_reactor_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reactor:
        nameResolver: object = Answers()  # noqa: N815

        def installNameResolver(self, resolver: object) -> None:
            self.nameResolver = resolver

    reactor = Reactor()
    monkeypatch.setattr(address_guard, "_reactor", lambda: reactor)
    before = reactor.nameResolver
    first, second = (PrivateAddressMiddleware(Crawler(Spider)) for _ in range(2))
    for middleware in (first, second, first):
        middleware._policy = middleware._policy or policy()
        copy_context().run(middleware._check_names, middleware._policy)
    shared = reactor.nameResolver
    assert isinstance(shared, CheckedResolver)
    assert shared.policies == [first._policy, second._policy]
    assert shared.inner is before
    first.spider_closed()
    assert reactor.nameResolver is shared
    second.spider_closed()
    assert reactor.nameResolver is before
    assert first._policy
    copy_context().run(first._check_names, first._policy)
    third = reactor.nameResolver = Answers()  # somebody else's
    first.spider_closed()
    assert reactor.nameResolver is third


def test_pages_that_other_handlers_loaded_from_private_addresses_are_refused() -> None:
    """A browser, for one, looks up names itself."""
    middleware = PrivateAddressMiddleware(Crawler(Spider))
    url = "http://www.example.com/"
    public, private, unknown = (Response(url, ip_address=ip) for ip in (WEB, LOOPBACK, None))
    middleware._policy = policy()
    for response in (public, unknown):
        assert middleware.process_response(Request(url), response) is response
    with pytest.raises(PrivateAddressError):
        middleware.process_response(Request(url), private)
    proxied = Request(url, meta={"proxy": "http://127.0.0.1:3128"})
    assert middleware.process_response(proxied, private) is private
    middleware._policy = policy()  # the key page is private
    assert middleware.process_response(Request(url), private) is private


# ---- crawls


class Listener:
    """A port of loopback that nobody is to connect to."""

    def __init__(self) -> None:
        self._peers: list[object] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, peer = self._socket.accept()
            except OSError:
                return
            self._peers.append(peer)
            connection.close()

    @property
    def accepted(self) -> int:
        """How many connections there were, those included that were waiting to be accepted."""
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            while last.getsockname() not in self._peers:
                time.sleep(0.01)
            self._peers.remove(last.getsockname())
        return len(self._peers)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as found:
        yield found


def html(*links: str, head: str = "") -> Route:
    rows = "".join(f"<p><a href='{link}'>{link}</a></p>" for link in links)
    page = f"<head>{head}</head><body>{rows}</body>".encode()
    return lambda request: request.answer(200, page, Content_Type="text/html", Connection="close")


def redirect(target: str) -> Route:
    return lambda request: request.answer(302, Location=target)


def at(server: FixtureServer, host: str) -> str:
    return server.url.replace("127.0.0.1", host)


def ask(*urls: str, folder: Path, settings: dict[str, str] = INTERNET) -> Crawl:
    """Crawl those addresses, in that order, with a spider that knows nothing of key pages."""
    own = {
        "SPIDER_MODULES": "resolvers",
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
    }
    arguments = ("crawl", "asker", f"-aurls={' '.join(urls)}")
    return run_scrapy(*arguments, folder=folder, settings={**settings, **own})


def ends(done: Crawl) -> dict[str, str]:
    return dict(re.findall(r"END (\S+) (\w+)", done.log))


def reasons(done: Crawl) -> dict[str, str]:
    return {row["link"]: row["reason"] for row in done.summary["explored"]}


def connected_to(done: Crawl) -> set[str]:
    return set(re.findall(r"Connecting to (\S+) ", done.log))


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
        ("127.0.0.1", "True"),
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
        ("http", "loopback.example.com"),
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
    assert server.pages_asked == ["/"]
    assert connected_to(done) == {PUBLIC}
    assert listener.accepted == 0


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
    assert done.log.count("Without a Twisted reactor, names are not checked") == 1
    server.log.clear()
    assert_unusable(crawl(server.url + "/index.html", settings={**settings, **REFUSING}))
    assert server.log == []
