"""The resolver that keeps the look-ups of a search from private addresses, and lets others be."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer  # type: ignore[import-untyped]  # it has no types

from tplspider.old.crawl.private_network.private_addresses import (
    AddressPolicy,
    IPAddress,
    KnownHosts,
    host_name,
    literal_address,
)

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IHostResolution


@dataclass(frozen=True, slots=True)
class Download:
    """A download of a crawl of ours: of a search, by whose policy it is judged, or noted only."""

    hosts: KnownHosts
    policy: AddressPolicy | None = None
    # Addresses that may be connected to, where that is checked once more.
    passed: set[IPAddress] = field(default_factory=set)


# All crawls of a process share a resolver; this tells whose look-up it is. None: of another crawl.
download_under_way: ContextVar[Download | None] = ContextVar("download_under_way", default=None)


@implementer(IHostnameResolver)
class CheckedResolver:
    """Passes on the answers of another resolver, but for addresses that a policy refuses."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.users: list[object] = []  # the crawls that need it

    def resolveHostName(
        self,
        resolutionReceiver: Any,  # noqa: N803 - Twisted's name for it
        hostName: str,  # noqa: N803 - Twisted's name for it
        portNumber: int = 0,  # noqa: N803 - Twisted's name for it
        *arguments: Any,
        **named: Any,
    ) -> Any:
        download = download_under_way.get()
        receiver = resolutionReceiver
        if download and (host_name(hostName), portNumber) not in download.hosts.proxies:
            receiver = _CheckedReceiver(receiver, download, hostName)
        return self.inner.resolveHostName(receiver, hostName, portNumber, *arguments, **named)


@implementer(IResolutionReceiver)
class _CheckedReceiver:
    """Waits for all addresses of a name, which are judged together, and passes on those allowed."""

    def __init__(self, receiver: Any, download: Download, name: str) -> None:
        self._receiver = receiver
        self._download = download
        self._name = name
        self._found: list[IAddress] = []

    def resolutionBegan(self, resolution: IHostResolution) -> None:
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: IAddress) -> None:
        self._found.append(address)

    def resolutionComplete(self) -> None:
        for address in self._allowed():
            self._receiver.addressResolved(address)
        self._receiver.resolutionComplete()

    def _allowed(self) -> list[IAddress]:
        pairs = [
            (address, literal)
            for address in self._found
            if isinstance(address, IPv4Address | IPv6Address)  # all that is ever connected to
            and (literal := literal_address(address.host))
        ]
        found = [literal for _, literal in pairs]
        if self._download.policy is None:
            self._download.hosts.note(self._name, found)
            return self._found
        allowed = self._download.policy.allowed(self._name, found)
        return [address for address, literal in pairs if literal in allowed]
