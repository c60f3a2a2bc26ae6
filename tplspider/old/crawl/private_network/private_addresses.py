"""Which addresses are private, and which of them a crawl may connect to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import normalize
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

IPAddress: TypeAlias = IPv4Address | IPv6Address

# The tables of the ipaddress module differ between versions of Python, so these are our own: what
# the IANA registries of special-purpose addresses (RFC 6890) do not call globally reachable.
_PRIVATE_IPV4 = (
    IPv4Network("0.0.0.0/8"),  # "this network"; 0.0.0.0 connects to the machine itself
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),  # shared by the customers of a provider (CGNAT, RFC 6598)
    IPv4Network("127.0.0.0/8"),
    IPv4Network("168.63.129.16/32"),  # Azure's host: a public address that only its guests reach
    IPv4Network("169.254.0.0/16"),  # link-local; 169.254.169.254 gives secrets away in many clouds
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.0.0.0/24"),  # IETF protocol assignments
    IPv4Network("192.0.2.0/24"),  # documentation
    IPv4Network("192.88.99.0/24"),  # 6to4 relays, deprecated (RFC 7526)
    IPv4Network("192.168.0.0/16"),
    IPv4Network("198.18.0.0/15"),  # benchmarks
    IPv4Network("198.51.100.0/24"),  # documentation
    IPv4Network("203.0.113.0/24"),  # documentation
    IPv4Network("224.0.0.0/4"),  # multicast
    IPv4Network("240.0.0.0/4"),  # reserved, and broadcast
)
# All of IPv6 that was ever handed out for unicast, and what is special inside of it.
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_PRIVATE_IPV6 = (
    IPv6Network("2001::/23"),  # IETF protocol assignments
    IPv6Network("2001:db8::/32"),  # documentation
    IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; how a network without IPv4 reaches IPv4 sites

_HEX = re.compile(r"0[xX]([0-9a-fA-F]*)")
_OCTAL = re.compile(r"0[0-7]*")
_DECIMAL = re.compile(r"[1-9][0-9]{0,9}")


def literal_address(host: str) -> IPAddress | None:
    """The address that *host* spells out, None for a name.

    IPv4 may be written in every way that inet_aton(3), and with it most resolvers, takes.

    >>> literal_address("0x7f.1"), literal_address("[fe80::1%eth0]")
    (IPv4Address('127.0.0.1'), IPv6Address('fe80::1'))
    """
    text = normalize("NFKC", host).strip().removeprefix("[").removesuffix("]")
    if ":" in text:
        try:
            return IPv6Address(text.partition("%")[0])
        except ValueError:
            return None
    # As browsers do, and perhaps proxies: the ideographic full stop is a dot.
    return _ipv4(unquote(text).replace("\N{IDEOGRAPHIC FULL STOP}", "."))


def _ipv4(text: str) -> IPv4Address | None:
    """Up to four numbers, the last of which fills all bytes that are left."""
    numbers = [_number(part) for part in text.removesuffix(".").split(".")]
    if len(numbers) > 4 or any(number is None for number in numbers):
        return None
    *first, last = (number or 0 for number in numbers)
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return None
    return IPv4Address(last + sum(byte << (24 - 8 * i) for i, byte in enumerate(first)))


def _number(text: str) -> int | None:
    if found := _HEX.fullmatch(text):
        return int(found[1] or "0", 16)
    if _OCTAL.fullmatch(text):
        return int(text, 8)
    return int(text) if _DECIMAL.fullmatch(text) else None


def is_private(address: IPAddress) -> bool:
    """Whether *address* is anything but a globally reachable unicast address.

    >>> is_private(IPv6Address("64:ff9b::10.0.0.1")), is_private(IPv6Address("64:ff9b::8.8.8.8"))
    (True, False)
    """
    if isinstance(address, IPv4Address):
        return any(address in network for network in _PRIVATE_IPV4)
    if inside := _ipv4_inside(address):
        return any(map(is_private, inside))
    return address not in _GLOBAL_IPV6 or any(address in network for network in _PRIVATE_IPV6)


def _ipv4_inside(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses where packets to *address* may end up."""
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address.sixtofour:
        return (address.sixtofour,)
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return address.teredo or ()


@lru_cache(maxsize=1024)  # every component asks, for every request
def host_name(host: str) -> str:
    """One spelling for all spellings of a host.

    Twisted turns names from punycode into Unicode on their way to the resolver; comparing needs no
    more than undoing that.

    >>> host_name("XN--BCHER-KVA.example."), host_name("127.1")
    ('bücher.example', '127.0.0.1')
    """
    if literal := literal_address(host):
        return str(literal)
    labels = normalize("NFC", host).lower().removesuffix(".").split(".")
    return ".".join(map(_decode, labels))


def _decode(label: str) -> str:
    try:
        return label[4:].encode().decode("punycode") if label.startswith("xn--") else label
    except UnicodeError:
        return label


@dataclass(slots=True)
class KnownHosts:
    """What a crawl has found out about hosts: there may be open connections to all of them."""

    public: set[str] = field(default_factory=set)  # hosts that had a public address
    private: set[str] = field(default_factory=set)  # hosts that had none, at some time
    proxies: set[tuple[str, int]] = field(default_factory=set)

    def note(self, host: str, addresses: Iterable[IPAddress]) -> None:
        """Somebody has looked a host up, and it has these addresses."""
        found = [is_private(address) for address in addresses]
        if found:
            (self.private if all(found) else self.public).add(host_name(host))

    def is_private(self, name: str) -> bool:
        """Whether a host, by its name, has never had anything but private addresses."""
        return name in self.private and name not in self.public

    def forget(self, name: str) -> None:
        """A host, by its name, is as if nobody had looked it up: no connection to it is open."""
        self.public.discard(name)
        self.private.discard(name)


class AddressPolicy:
    """Decides, for the search from one key page, which addresses may be connected to.

    Public ones always. Private ones only if the user's own key page is at a private address, and
    may be (*allow_private*): no page of a public site may lead us to one, be it by a link, by a
    redirect or by what the DNS answers. What the key page is shows when its address is first
    known, and what is found to be public stays so, whatever the DNS says later (DNS rebinding).
    """

    def __init__(
        self, key_host: str, *, allow_private: bool, hosts: KnownHosts | None = None
    ) -> None:
        self.hosts = KnownHosts() if hosts is None else hosts
        self.refused: set[str] = set()  # names all of whose addresses were refused
        self._key_host = host_name(key_host)
        self._allow_private = allow_private
        self._decided = False
        self._open = False  # whether private addresses may be connected to
        self._distrusted: set[str] = set()  # hosts that public pages redirected to
        if self._key_host in self.hosts.public | self.hosts.private:
            # Another search was there, so nobody may look it up again.
            self._decide(private=self.hosts.is_private(self._key_host))

    def allowed(self, host: str, addresses: Iterable[IPAddress]) -> list[IPAddress]:
        """Those of the *addresses*, which *host* was found to have, that may be connected to."""
        found = list(addresses)
        if not found:
            return []
        name = host_name(host)
        public = [address for address in found if not is_private(address)]
        self.hosts.note(host, found)
        if name == self._key_host:
            self._decide(private=not public)
        chosen = found if self._may_be_private(name) else public
        if chosen:
            self.refused.discard(name)
        else:
            self.refused.add(name)
        return chosen

    def allows(self, host: str, port: int | None = None, source: str = "") -> bool:
        """Whether *host* may be asked for, as far as its address is known beforehand.

        It is when it is spelled out, and when the name was looked up before: then there may be an
        open connection, for which nobody asks the resolver. With a *port*, it is connected to
        directly: then it must not be a proxy, whose address the resolver would not check. *source*
        is the host that redirects there: only private pages may lead to private addresses.
        """
        name = host_name(host)
        if literal := literal_address(host):
            self.allowed(host, [literal])
        from_private = not source or self.hosts.is_private(host_name(source))
        if not from_private and name not in self.hosts.private:
            self._distrusted.add(name)
        if name in self.hosts.private or (port is not None and self.trusts(host, port)):
            return from_private and self._may_be_private(name)
        return True

    def has_refused(self, host: str) -> bool:
        """Whether a look-up of *host* came to nothing because its addresses were refused."""
        return host_name(host) in self.refused

    def trust(self, proxy: str, port: int) -> None:
        """The user has set up this proxy: it may be anywhere."""
        name = host_name(proxy)
        # Twisted looks up a proxy for https without telling the port.
        self.hosts.proxies |= {(name, port), (name, 0)}

    def trusts(self, host: str, port: int) -> bool:
        """Whether this is a proxy of the user's."""
        return (host_name(host), port) in self.hosts.proxies

    def looked_up_elsewhere(self, host: str) -> None:
        """A proxy looks *host* up: if that is the key page's, it must be taken for public."""
        if host_name(host) == self._key_host:
            self._decide(private=False)

    def key_page_at(self, host: str) -> None:
        """The redirects of the key page ended at *host*: what the key page is, is what that is."""
        name = host_name(host)
        if name != self._key_host:
            self._decide(private=False)
            self._open = self._open and self.hosts.is_private(name)

    def _decide(self, *, private: bool) -> None:
        if not self._decided:
            self._decided = True
            self._open = private and self._allow_private

    def _may_be_private(self, name: str) -> bool:
        return self._open and name not in self._distrusted
