"""A queue as a command has it: the connection, the keys, and what is told when it goes wrong."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tplspider.crawl.fleet.address import check_queue_name, queue_address
from tplspider.crawl.fleet.keys import QueueKeys
from tplspider.crawl.fleet.link import Link, QueueError
from tplspider.crawl.setting_values import seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.settings import BaseSettings

    from tplspider.crawl.fleet.address import QueueAddress

_LONGEST = 15  # digits of a count: a float still has all of them


class StoppedError(Exception):
    """Why a command stopped on its way, in one line; what it has done stays done."""


@dataclass(frozen=True, slots=True)
class OpenQueue:
    """A queue of key pages; a worker that is silent for *claim_seconds* counts as dead."""

    link: Link
    keys: QueueKeys
    address: QueueAddress
    claim_seconds: float

    async def exists(self) -> bool:
        """Whether anything of the queue is in Redis."""
        return bool(await self.link.call(lambda: self.link.redis.exists(*self.keys.types)))

    async def facts(self) -> dict[str, str]:
        """What the queue says of itself."""
        found = await self.link.call(lambda: self.link.redis.hgetall(self.keys.facts))
        return {text(name): text(value) for name, value in found.items()}

    async def length(self) -> int:
        """How many key pages have no answer yet: those that wait, and those in work."""
        return int(await self.link.call(lambda: self.link.redis.xlen(self.keys.name)))


@asynccontextmanager
async def open_queue(settings: BaseSettings, name: str) -> AsyncIterator[OpenQueue]:
    """The queue *name* of the Redis that the settings name.

    Raises ValueError or QueueError, in one line, if it cannot be had, or is not a queue.
    """
    keys = QueueKeys(check_queue_name(name))
    patience = seconds(settings, "TPLSPIDER_QUEUE_WAIT", 300)
    claim_seconds = seconds(settings, "TPLSPIDER_CLAIM_SECONDS", 60, above_zero=True)
    address = queue_address(settings)
    link = await Link.open(address, patience)
    try:
        await check_types(link, keys)
        yield OpenQueue(link, keys, address, claim_seconds)
    finally:
        await link.close()


async def check_types(link: Link, keys: QueueKeys) -> None:
    """Raise QueueError, in one line, for a name that somebody uses for something else."""
    for key, expected in keys.types.items():
        found = text(await link.call(partial(link.redis.type, key)))
        if found not in ("none", expected):
            raise QueueError(
                f"queue {keys.name!r}: the key {key} in Redis is a {found} of somebody else's,"
                f" and not a {expected}: give the queue another name"
            )


def text(value: Any) -> str:
    """What Redis gives, as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def whole(value: object) -> int:
    """What should be a count; 0 where somebody has written something else.

    >>> whole(b"12"), whole("many"), whole(-3), whole("9" * 400)
    (12, 0, 0, 0)
    """
    digits = text(value)
    is_count = digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST
    return int(digits) if is_count else 0
