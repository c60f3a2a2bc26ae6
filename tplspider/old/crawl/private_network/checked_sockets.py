"""Where there is no reactor: what keeps aiohttp from private addresses, as it looks up names.

aiohttp does not look up a host that is spelled out, so addresses are checked once more where the
socket is made that connects to one: what was checked is what is connected to.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from tplspider.old.crawl.private_network.checked_resolver import download_under_way
from tplspider.old.crawl.private_network.private_addresses import (
    host_name,
    is_private,
    literal_address,
)

if TYPE_CHECKING:
    from aiohappyeyeballs import AddrInfoType


class CheckedAsyncResolver(AbstractResolver):
    """Passes on the answers of the system's resolver, but for addresses that a policy refuses."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        rows = await self._inner.resolve(host, port, family)
        download = download_under_way.get()
        if download is None:
            return rows
        pairs = [(row, address) for row in rows if (address := literal_address(row["host"]))]
        found = [address for _, address in pairs]
        if (host_name(host), port) in download.hosts.proxies:
            download.passed.update(found)
            return rows
        if download.policy is None:
            download.hosts.note(host, found)
            return rows
        allowed = download.policy.allowed(host, found)
        download.passed.update(allowed)
        if found and not allowed:
            raise OSError(f"{host} has no address that may be connected to")
        return [row for row, address in pairs if address in allowed]

    async def close(self) -> None:
        await self._inner.close()


def checked_socket(address: AddrInfoType) -> socket.socket:
    """The socket for a connection; OSError if it must not be made."""
    family, kind, protocol, _, place = address
    download = download_under_way.get()
    if download and download.policy:
        found = literal_address(str(place[0]))
        is_proxy = (host_name(str(place[0])), place[1]) in download.hosts.proxies
        if found is None or (is_private(found) and found not in download.passed and not is_proxy):
            raise OSError(f"{place[0]} is a private address")
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)  # noqa: FBT003 - Python's own
    return made
