"""Keeps a crawl from private addresses: literal ones, and names that resolve to them."""
# ruff: noqa: N803 - names that Twisted gives to arguments

from __future__ import annotations

import asyncio
import re
import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from unicodedata import normalize
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

import scrapy.exceptions
from scrapy.resolver import CachingHostnameResolver
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError

from tplspider.arguments import Config
from tplspider.signals import Component

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

IPAddress: TypeAlias = IPv4Address | IPv6Address

# The tables of the ipaddress module differ between versions of Python, so this is our own: what the
# IANA registries of special-purpose addresses (RFC 6890) do not call globally reachable; of IPv6,
# all but 2000::/3; and 168.63.129.16, a host of Azure's that only its guests reach.
_PRIVATE = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12"
    " 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24"
    " 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32"
    " 3fff::/20"
)
_NETWORKS = [ip_network(network) for network in _PRIVATE.split()]
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; how a network without IPv4 reaches IPv4 sites
_MOST_HOSTS = 10_000  # that are remembered
_NO_ADDRESS = (DNSLookupError, getattr(scrapy.exceptions, "CannotResolveHostError", DNSLookupError))
# The middlewares of this process: they share a resolver, which does not know the crawl.
_middlewares: WeakSet[PrivateAddressMiddleware] = WeakSet()


class PrivateAddressError(scrapy.exceptions.IgnoreRequest):
    """A request was refused because it leads to a private address."""


def is_private(address: IPAddress) -> bool:
    """Whether *address* is anything but a globally reachable unicast address."""
    if isinstance(address, IPv6Address):  # it may be a way to an IPv4 address
        nat64 = IPv4Address(address.packed[12:]) if address in _NAT64 else None
        if inside := address.ipv4_mapped or address.sixtofour or nat64:
            return is_private(inside)
    return any(address in network for network in _NETWORKS)


def literal_address(host: str) -> IPAddress | None:
    """The address that *host* spells out, as browsers read it; None for a name."""
    text = normalize("NFKC", host).strip().removeprefix("[").removesuffix("]")
    try:
        if ":" in text:
            return IPv6Address(text.partition("%")[0])
        text = unquote(text).replace("\N{IDEOGRAPHIC FULL STOP}", ".").removesuffix(".")
        is_number = re.fullmatch(r"[0-9a-fxA-FX.]+", text)
        return IPv4Address(socket.inet_aton(text)) if is_number else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1024)
def host_name(host: str) -> str:
    """One spelling for all spellings of a host; Twisted looks up names as Unicode."""
    if literal := literal_address(host):
        return str(literal)
    name = normalize("NFC", host).lower().removesuffix(".")
    try:
        return re.sub(r"(?<![^.])xn--([^.]*)", lambda a: a[1].encode().decode("punycode"), name)
    except UnicodeError:
        return name


class PrivateAddressMiddleware(Component):
    """Refuses requests that lead to private addresses. It comes after HttpProxyMiddleware.

    If TPLSPIDER_ALLOW_PRIVATE is true, key pages may be private, and where they lead. A name that
    was public when first looked up stays public (DNS rebinding), and a public page, or one that was
    not looked up, leads to no private host. With a proxy, literal addresses alone are checked.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._allow_private = Config.of(crawler.settings).allow_private
        self._was_private: LocalCache[str, bool] = LocalCache(_MOST_HOSTS)  # at the first look-up
        self._refused: LocalCache[str, bool] = LocalCache(_MOST_HOSTS)  # at the last look-up
        self._proxies: set[str] = set()  # the user's own, which may be anywhere
        _middlewares.add(self)

    async def process_request(self, request: Request) -> None:
        if not (host := urlsplit(request.url).hostname):  # data: and the like
            return
        literal, proxy = literal_address(host), request.meta.get("proxy")
        if proxy:
            self._proxies.add(host_name(urlsplit(f"//{proxy.rpartition('//')[2]}").hostname or ""))
        async with asyncio.timeout(request.meta.get("download_timeout")):
            found = [literal] if literal else [] if proxy else await _look_up(host)
        is_refused = self.allowed(host, found) != found  # any of them may be connected to
        # A host that is known to be private may have an open connection, and no look-up then.
        if self._was_private.get(name := host_name(host)):
            is_refused |= not self._may_be_private(name, request.cb_kwargs.get("search_id"))
        if is_refused:
            raise PrivateAddressError(f"{host} is a private address")

    def process_exception(self, request: Request, exception: Exception) -> None:
        host = urlsplit(request.url).hostname or ""
        if isinstance(exception, _NO_ADDRESS) and self._refused.get(host_name(host)):
            raise PrivateAddressError(f"{host} has a private address") from exception

    def allowed(self, host: str, found: list[IPAddress]) -> list[IPAddress]:
        """Those of the addresses *found* for a host that may be connected to."""
        if not found:
            return []
        name = host_name(host)
        public = [address for address in found if not is_private(address)]
        self._was_private.setdefault(name, not public)
        chosen = found if name in self._proxies or self._may_be_private(name) else public
        self._refused[name] = not chosen
        return chosen

    def _may_be_private(self, name: str, only: str | None = None) -> bool:
        spider = cast("Any", self._crawler.spider)
        if not self._allow_private or not self._was_private.get(name, True):
            return False
        return any(
            host_name(host) == name
            and all(self._was_private.get(known) for known in {*map(host_name, sources)} - {name})
            for search_id, search in spider.searches.items()
            if only in (None, search_id)
            for host, sources in search.hosts.items()
        )


class CheckedResolver(CachingHostnameResolver):
    """For the setting TWISTED_DNS_RESOLVER: leaves out addresses that no crawl may connect to."""

    def resolveHostName(
        self, resolutionReceiver: Any, hostName: str, portNumber: int = 0, *args: Any, **named: Any
    ) -> Any:
        def complete(found: list[Any]) -> None:
            literals = _literals(found)
            answers = [each.allowed(hostName, literals) for each in _middlewares] or [literals]
            for address in found:
                if any(literal_address(address.host) in answer for answer in answers):
                    # Before Scrapy 2.19, cached addresses have the port of an earlier look-up.
                    new = type(address)("TCP", address.host, portNumber)
                    resolutionReceiver.addressResolved(new)
            resolutionReceiver.resolutionComplete()

        collector = _collector(resolutionReceiver.resolutionBegan, complete)
        return super().resolveHostName(collector, hostName, portNumber, *args, **named)


async def _look_up(name: str) -> list[IPAddress]:
    """The addresses of a name, unless CheckedResolver is going to look it up."""
    from twisted.internet import reactor

    resolver: Any = reactor.nameResolver
    if isinstance(resolver, CheckedResolver):
        return []
    answer: Deferred[list[Any]] = Deferred()
    resolver.resolveHostName(_collector(lambda _: None, answer.callback), name)
    return _literals(await maybe_deferred_to_future(answer))


def _collector(began: Any, complete: Any) -> Any:
    """A receiver of a resolver's answers, which passes all addresses of a name on together."""
    found: list[Any] = []
    return SimpleNamespace(
        resolutionBegan=began,
        addressResolved=found.append,
        resolutionComplete=lambda: complete(found),
    )


def _literals(found: list[Any]) -> list[IPAddress]:
    return [literal for each in found if (literal := literal_address(each.host))]
