"""The hosts that a worker may ask: one worker at a time, at one pace, whoever asked before."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.keys import lease_keys, leased_host

if TYPE_CHECKING:
    from tplspider.crawl.fleet.link import Link

_WISH_MS = 3000  # without another look at the lease, the wish for it is over
_LOOK_AGAIN = 0.25  # seconds


class LeaseLostError(Exception):
    """The worker was thought dead, and another one asks the host now."""


@dataclass(slots=True)
class _Lease:
    inherited: float  # seconds between two requests, which the holder before kept to
    sent: float | None = None  # when the last request was, by this machine's clock
    is_wished: bool = False  # by another worker


class HostLeases:
    """The leases of one worker. A host goes by its name without ``www.``, whatever the port.

    Redis knows when the last request was, by its own clock. The clocks of the workers are used for
    nothing but seconds that have passed.
    """

    def __init__(self, link: Link, worker: str, seconds: float) -> None:
        self._link = link
        self._worker = worker
        self._ms = math.ceil(1000 * seconds)
        self._held: dict[str, _Lease] = {}

    def __contains__(self, host: str) -> bool:
        return leased_host(host) in self._held

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts whose leases this worker has."""
        return list(self._held)

    def is_wished(self, host: str) -> bool:
        """Whether another worker waits for a host, with a search begun."""
        lease = self._held.get(leased_host(host))
        return lease is not None and lease.is_wished

    def inherited(self, host: str) -> float:
        """The seconds between two requests that the holder before kept to."""
        lease = self._held.get(leased_host(host))
        return lease.inherited if lease else 0

    def has(self, host: str) -> None:
        """A script has given this worker the lease of a host."""
        self._held.setdefault(leased_host(host), _Lease(0))

    async def take(self, host: str, *, with_wish: bool = False) -> bool:
        """Have the lease of a host, if it is free."""
        name = leased_host(host)
        if name in self._held:
            return True
        keys, wish = list(lease_keys(host)), _WISH_MS if with_wish else 0
        is_mine, number = await self._link.run("lease", keys, self._worker, self._ms, wish)
        if is_mine:
            self._held.setdefault(name, _Lease(number / 1000))
        return bool(is_mine)

    async def wait_for(self, host: str, longest: float) -> bool:
        """Have the lease of one more host, with another in hand: not for longer than that."""
        until = monotonic() + longest
        while not await self.take(host, with_wish=True):
            if monotonic() > until:
                return False
            await asyncio.sleep(_LOOK_AGAIN)
        return True

    async def turn(self, host: str, delay: float) -> None:
        """Wait until a request may be sent, *delay* seconds after the last one to this host.

        Whoever gets here sends it at once. LeaseLostError if another worker has the host.
        """
        name, keys = leased_host(host), list(lease_keys(host))
        while True:
            lease = self._held.get(name)
            wait, wished = -1, 0
            if lease:
                arguments = self._worker, self._ms, math.ceil(1000 * delay)
                wait, wished = await self._link.run("turn", keys, *arguments)
                lease.is_wished = bool(wished)
            if wait == 0 and lease:
                # Redis's answer to the request before may have come late, and it was sent later.
                while lease.sent and (rest := lease.sent + delay - monotonic()) > 0:  # noqa: ASYNC110 - time has to pass
                    await asyncio.sleep(rest)
                lease.sent = monotonic()
                return
            if wait < 0:
                self._held.pop(name, None)
                if not await self.take(host):
                    raise LeaseLostError(f"{name} is asked by another worker")
            else:
                await asyncio.sleep(wait / 1000)

    async def release(self, host: str) -> None:
        """Let others ask a host; they keep to the pace."""
        lease = self._held.pop(leased_host(host), None)
        if lease:
            ago = -1 if lease.sent is None else math.floor(1000 * (monotonic() - lease.sent))
            await self._link.run("release", list(lease_keys(host)[:2]), self._worker, ago)

    async def keep(self) -> None:
        """Give a sign of life; what is lost is noticed at the next turn."""
        hosts = self.hosts
        if hosts:
            keys = [lease_keys(host)[0] for host in hosts]
            for place in await self._link.run("hold", keys, self._worker, self._ms):
                self._held.pop(hosts[place - 1], None)
