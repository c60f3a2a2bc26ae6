"""What a crawl may connect to: the policy, and the resolver and the middleware that keep to it."""

from __future__ import annotations

from contextvars import copy_context
from ipaddress import ip_address
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.internet import address as twisted_address

from tests.support.resolvers import PUBLIC
from tplspider.old.crawl.private_network import address_guard
from tplspider.old.crawl.private_network.address_guard import (
    PrivateAddressError,
    PrivateAddressMiddleware,
)
from tplspider.old.crawl.private_network.checked_resolver import (
    CheckedResolver,
    Download,
    download_under_way,
)
from tplspider.old.crawl.private_network.private_addresses import (
    AddressPolicy,
    KnownHosts,
    host_name,
)
from tplspider.old.crawl.ticket import META_KEY, Ticket
from tplspider.search.session import SearchSession

LOOPBACK = ip_address("127.0.0.1")
WEB = ip_address(PUBLIC)


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


# ---- the resolver and the middleware


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

    def ask(
        self, download: Download | None, name: str = "www.example.com", port: int = 80
    ) -> list[str]:
        """What a download is given for a name by a resolver that asks this one."""
        receiver = Receiver()
        resolver = CheckedResolver(self)

        def look_up() -> object:
            download_under_way.set(download)
            return resolver.resolveHostName(receiver, name, port, None, "TCP")

        assert copy_context().run(look_up) == "resolution"
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


def download(judge: AddressPolicy) -> tuple[Download, AddressPolicy]:
    return Download(judge.hosts, judge), judge


def test_the_resolver_passes_on_what_is_allowed() -> None:
    inner = Answers("10.0.0.1", PUBLIC, "fe80::1%eth0", "2606:4700::1111")
    ours, judge = download(policy())
    assert inner.ask(ours) == [PUBLIC, "2606:4700::1111"]
    inner.hosts = ()
    assert inner.ask(ours) == []
    inner.hosts = ("127.0.0.1",)
    assert inner.ask(ours) == []
    judge.trust("proxy.example.com", 3128)
    assert inner.ask(ours, "proxy.example.com", 80) == []
    assert inner.ask(ours, "proxy.example.com", 3128)[0] == "127.0.0.1"


def test_the_resolver_judges_for_a_search_alone() -> None:
    inner = Answers("127.0.0.1")
    everything = ["127.0.0.1", "HostnameAddress"]
    private, public = policy("localhost"), policy("www.example.com")
    assert inner.ask(download(private)[0], "localhost") == ["127.0.0.1"]
    assert inner.ask(download(public)[0], "localhost") == []
    assert inner.ask(None, "localhost") == everything  # of another crawl
    assert inner.ask(Download(public.hosts), "lan.example.com") == everything
    # It may have left an open connection there, which the search must not use.
    assert public.allows("unheard.example.com")
    assert not public.allows("lan.example.com")


def test_the_resolver_of_the_reactor_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reactor:
        nameResolver: object = Answers()  # noqa: N815 - Twisted's name for it

        def installNameResolver(self, resolver: object) -> None:
            self.nameResolver = resolver

    reactor = Reactor()
    monkeypatch.setattr(address_guard, "_reactor", lambda: reactor)
    before = reactor.nameResolver
    first, second = (PrivateAddressMiddleware(Crawler(Spider)) for _ in range(2))
    for middleware in (first, second, first):
        middleware._check_names()
    shared = reactor.nameResolver
    assert isinstance(shared, CheckedResolver)
    assert shared.users == [first, second]
    assert shared.inner is before
    first.spider_closed()
    assert reactor.nameResolver is shared
    second.spider_closed()
    assert reactor.nameResolver is before
    first._check_names()
    third = reactor.nameResolver = Answers()  # somebody else's
    first.spider_closed()
    assert reactor.nameResolver is third


def test_pages_that_other_handlers_loaded_from_private_addresses_are_refused() -> None:
    """A browser, for one, looks up names itself."""
    middleware = PrivateAddressMiddleware(Crawler(Spider))
    url = "http://www.example.com/"
    public, private, unknown = (Response(url, ip_address=ip) for ip in (WEB, LOOPBACK, None))
    ticket = Ticket(SearchSession(url))
    request = Request(url, meta={META_KEY: ticket})
    middleware._policies[ticket.session] = policy()
    for response in (public, unknown):
        assert middleware.process_response(request, response) is response
    with pytest.raises(PrivateAddressError):
        middleware.process_response(request, private)
    assert middleware.process_response(Request(url), private) is private
    proxied = Request(url, meta={META_KEY: ticket, "proxy": "http://127.0.0.1:3128"})
    assert middleware.process_response(proxied, private) is private
    middleware._policies[ticket.session] = policy()  # the key page is private
    assert middleware.process_response(request, private) is private


def test_searches_of_one_crawl_share_what_is_known_of_hosts() -> None:
    """There may be an open connection to a host that another search has looked up."""
    lan, hosts = ip_address("10.0.0.1"), KnownHosts()
    private = AddressPolicy("lan.example.com", allow_private=True, hosts=hosts)
    assert private.allowed("lan.example.com", [lan]) == [lan]
    public = AddressPolicy("www.example.com", allow_private=True, hosts=hosts)
    assert not public.allows("lan.example.com")
    # A second search of the same private site: nobody may look it up again.
    again = AddressPolicy("lan.example.com", allow_private=True, hosts=hosts)
    assert again.allows("lan.example.com")
    assert not AddressPolicy("lan.example.com", allow_private=False, hosts=hosts).allows(
        "lan.example.com"
    )
