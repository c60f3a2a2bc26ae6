"""The hosts that a worker may ask: one worker at a time, at one pace, whoever asked before."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.keys import lease_keys, leased_host
from tplspider.crawl.fleet.link import QueueFullError

if TYPE_CHECKING:
    from tplspider.crawl.fleet.link import Link

logger = logging.getLogger(__name__)

_WISH_MS = 3000  # without another look at the lease, the wish for it is over
_LOOK_AGAIN = 0.25  # seconds
_WHEN_FULL = 2.0  # the same, while Redis has no memory left


class LeaseLostError(Exception):
    """The worker was thought dead, and another one asks the host now."""


@dataclass(slots=True)
class _Lease:
    sent: float | None = None  # when the last request was, by this machine's clock
    delay: float = 0  # seconds that the next holder is to keep to
    is_wished: bool = False  # by another worker
    # Redis does not know of it any more. When it is taken again, what was sent is not forgotten.
    is_lost: bool = False
    one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)  # requests, in their order


class HostLeases:
    """The leases of one worker. A host goes by its name without ``www.``, whatever the port.

    Redis knows when the last request was, by its own clock. The clocks of the workers are used for
    nothing but seconds that have passed.
    """

    def __init__(self, link: Link, worker: str, seconds: float) -> None:
        self._link = link
        self._worker = worker
        self._seconds = seconds
        self._ms = math.ceil(1000 * seconds)
        self._leases: dict[str, _Lease] = {}
        self._leaving: dict[str, asyncio.Future[None]] = {}  # that are on their way back
        self._is_full = False  # Redis, as was said

    def __contains__(self, host: str) -> bool:
        lease = self._leases.get(leased_host(host))
        return lease is not None and not lease.is_lost

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts whose leases this worker has."""
        return [name for name, lease in self._leases.items() if not lease.is_lost]

    def is_wished(self, host: str) -> bool:
        """Whether another worker waits for a host, with a search begun."""
        lease = self._leases.get(leased_host(host))
        return lease is not None and lease.is_wished

    def has_asked(self, host: str) -> bool:
        """Whether a request was sent to a host since this worker has its lease."""
        lease = self._leases.get(leased_host(host))
        return lease is not None and lease.sent is not None

    def has(self, host: str) -> None:
        """A script has given this worker the lease of a host."""
        self._leases.setdefault(leased_host(host), _Lease()).is_lost = False

    async def take(self, host: str, *, with_wish: bool = False) -> bool:
        """Have the lease of a host, if it is free."""
        name = leased_host(host)
        while leaving := self._leaving.get(name):
            await asyncio.shield(leaving)
        if name in self:
            return True
        keys, wish = list(lease_keys(host)), _WISH_MS if with_wish else 0
        is_mine = bool(await self._link.run("lease", keys, self._worker, self._ms, wish))
        self._is_full = False
        if is_mine:
            self.has(host)
        return is_mine

    async def wait_for(self, host: str, longest: float) -> bool:
        """Have the lease of one more host, with another in hand: not for longer than that."""
        until = monotonic() + longest
        while True:
            pause = _LOOK_AGAIN
            try:
                if await self.take(host, with_wish=True):
                    return True
            except QueueFullError as error:
                self._say_full(error)
                pause = _WHEN_FULL
            if monotonic() + pause > until:
                return False
            await asyncio.sleep(pause)

    async def turn(self, host: str, delay: float, *, inherits: bool = False) -> None:
        """Wait until a request may be sent, *delay* seconds after the last one to this host.

        Whoever *inherits* keeps to the delay of the one who sent that, if it is longer. Send it at
        once after this. LeaseLostError if another worker has the host.
        """
        lease = self._leases.setdefault(leased_host(host), _Lease(is_lost=True))
        keys = list(lease_keys(host))
        arguments = self._worker, self._ms, math.ceil(1000 * delay), int(inherits)
        async with lease.one_by_one:
            while True:
                await _pass(lease, delay)
                wait, asked = -1, monotonic()
                if not lease.is_lost:
                    wait, wished = await self._link.run("turn", keys, *arguments)
                    lease.is_wished = bool(wished)
                if wait < 0:
                    lease.is_lost = True
                    await self._take_again(host, lease)
                elif wait > 0:
                    await asyncio.sleep(wait / 1000)
                # An answer that was long on its way, or that nobody read because the machine hung:
                # the lease may have run out meanwhile.
                elif monotonic() - asked < self._seconds:
                    await _pass(lease, delay)
                    if not lease.is_lost:
                        lease.sent, lease.delay = monotonic(), delay
                        return

    def sent(self, host: str) -> None:
        """A request whose turn has come is on the wire: it may have taken a while to connect."""
        lease = self._leases.get(leased_host(host))
        if lease and lease.sent is not None:
            lease.sent = monotonic()

    async def slow_down(self, host: str, delay: float) -> None:
        """A host wants more time between two requests than was known at the last one.

        Redis is told at once: this worker may be killed before its next request.
        """
        lease = self._leases.get(leased_host(host))
        if lease and delay > lease.delay:
            lease.delay = delay
            names = list(lease_keys(host)[:2])
            await self._link.run("slow", names, self._worker, math.ceil(1000 * delay))

    async def release(self, host: str) -> None:
        """Let others ask a host; they keep to the pace."""
        name = leased_host(host)
        lease = self._leases.pop(name, None)
        if lease and not lease.is_lost:
            lease.is_lost = True  # for those who wait for their turn
            ago = -1 if lease.sent is None else math.floor(1000 * (monotonic() - lease.sent))
            arguments = self._worker, ago, math.ceil(1000 * lease.delay)
            # Who wants it again waits: on two connections, the second might overtake the first.
            left = self._leaving[name] = asyncio.get_running_loop().create_future()
            try:
                await self._link.run("release", list(lease_keys(host)[:2]), *arguments)
            finally:
                del self._leaving[name]
                left.set_result(None)

    async def keep(self) -> None:
        """Give a sign of life; what is lost is noticed at the next turn."""
        hosts = self.hosts
        if hosts:
            keys = [lease_keys(host)[0] for host in hosts]
            for place in await self._link.run("hold", keys, self._worker, self._ms):
                if lease := self._leases.get(hosts[place - 1]):
                    lease.is_lost = True

    async def _take_again(self, host: str, lease: _Lease) -> None:
        name = leased_host(host)
        if self._leases.get(name) is not lease:
            raise LeaseLostError(f"{name} was released")
        try:
            if await self.take(host):
                return
        except QueueFullError as error:
            self._say_full(error)
            await asyncio.sleep(_WHEN_FULL)
            raise LeaseLostError(f"{name}: {error}") from None
        raise LeaseLostError(f"{name} is asked by another worker")

    def _say_full(self, error: QueueFullError) -> None:
        if not self._is_full:
            self._is_full = True
            logger.warning("No more hosts are asked, waiting for memory: %s", error)


async def _pass(lease: _Lease, delay: float) -> None:
    """Let the delay pass, by this clock: what Redis knows of the last request may be too early."""
    while lease.sent is not None and (rest := lease.sent + delay - monotonic()) > 0:  # noqa: ASYNC110 - time has to pass
        await asyncio.sleep(rest)
