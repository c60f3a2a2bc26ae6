"""The connection to Redis: our scripts there, and patience while it is away."""

from __future__ import annotations

import asyncio
import logging
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING, Any

from tplspider.crawl.fleet.address import PASSWORD
from tplspider.crawl.fleet.keys import GROUP

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from redis.asyncio import Redis

    from tplspider.crawl.fleet.address import QueueAddress

logger = logging.getLogger(__name__)

_SLOWEST = 10.0  # seconds for an answer: our scripts take a millisecond
# What Redis says to those who have not named a password, by the way in which they came.
_NO_PASSWORD = ("NOAUTH", "HELLO must be called", "Authentication required")
_NEEDED = "a queue needs the package redis: pip install 'redis>=8.1,<9'"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
# How errors begin that pass by themselves: a long script, a full disk, nobody to write to.
_PASSING = ("BUSY ", "MISCONF", "NOREPLICAS")


class QueueError(Exception):
    """What is wrong with the queue, in one line."""


class QueueLostError(QueueError):
    """Redis was away for longer than anybody wants to wait."""


class QueueFullError(QueueError):
    """Redis has no memory left."""


class Link:
    """A connection to the Redis of a fleet.

    A call waits while Redis is away, for *patience* seconds, and then raises QueueLostError. All
    scripts can be sent twice: what was done the first time is not done again.
    """

    def __init__(self, address: QueueAddress, patience: float) -> None:
        redis = _import_redis()
        self._address = address
        self.patience = patience
        self._faults = redis.exceptions
        self.redis: Redis = redis.asyncio.Redis.from_url(
            address.url,
            username=address.user or None,
            password=address.password or None,
            socket_timeout=_SLOWEST,
            socket_connect_timeout=_SLOWEST,
            retry=None,  # calls wait here, where somebody can be told
        )
        self._scripts: dict[str, Any] = {}
        self._is_away = False
        self._answers = 0  # to all calls: while they come, Redis is there

    @classmethod
    async def open(cls, address: QueueAddress, patience: float) -> Self:
        """A connection that works; QueueError, in one line, if there is none."""
        link = cls(address, patience)
        try:
            await link.redis.ping()
        except Exception as error:
            await link.close()
            if not isinstance(error, link._faults.RedisError | OSError):
                raise
            why = link._reason(error)
            if address.url.startswith("rediss:") and isinstance(error, link._faults.TimeoutError):
                why += ": perhaps there is no TLS at that port, as rediss:// has it"
            raise QueueError(f"the queue at {address}: {why}") from None
        return link

    async def close(self) -> None:
        """Let the connection go."""
        await self.redis.aclose()

    async def make_queue(self, name: str) -> None:
        """See to it that there is a stream with our group; QueueError if the name is taken."""
        try:
            await self.call(lambda: self.redis.xgroup_create(name, GROUP, id="0", mkstream=True))
        except QueueError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def run(self, script: str, keys: list[str], *arguments: str | bytes | float) -> Any:
        """What a script of ours (scripts/NAME.lua) gives."""
        found = self._scripts.get(script)
        if found is None:
            source = files("tplspider.crawl.fleet").joinpath("scripts", f"{script}.lua")
            found = self._scripts[script] = self.redis.register_script(source.read_text("utf-8"))
        return await self.call(lambda: found(keys=keys, args=list(arguments)))

    async def call(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """The answer to a command, which is sent again while Redis is away."""
        faults, began, pause, answers = self._faults, monotonic(), 0.0, -1
        while True:
            try:
                answer = await command()
            except (faults.RedisError, OSError) as error:
                if not self._is_absence(error):
                    raise self._fault(error) from None
                # The first time, and where others were answered since, only this connection may
                # be gone: calls that wait side by side do not learn at once that Redis is back.
                if answers == self._answers:
                    self._say_away(error)
                answers = self._answers
                if monotonic() - began > self.patience:
                    raise QueueLostError(
                        f"the queue at {self._address} has been away for"
                        f" {monotonic() - began:.0f} s: {self._reason(error)}"
                    ) from None
                await asyncio.sleep(pause)
                pause = min(2 * pause or _FIRST_PAUSE, _LONGEST_PAUSE)
            else:
                self._answers += 1
                if self._is_away:
                    self._is_away = False
                    logger.info("The queue is back")
                return answer

    def _is_absence(self, error: Exception) -> bool:
        """Whether Redis will answer when it is back, has loaded its data, or its disk has room."""
        faults = self._faults
        if isinstance(error, faults.AuthenticationError):
            return False
        absent = (
            faults.ConnectionError,  # BusyLoadingError is one of them
            faults.TimeoutError,
            faults.ReadOnlyError,
            faults.ClusterDownError,  # MasterDownError is one of them
            OSError,
        )
        return isinstance(error, absent) or str(error).startswith(_PASSING)

    def _fault(self, error: Exception) -> QueueError:
        if isinstance(error, self._faults.OutOfMemoryError) or str(error).startswith("OOM"):
            return QueueFullError(f"the queue at {self._address}: no memory left")
        return QueueError(self._reason(error))

    def _say_away(self, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            logger.warning("The queue is away, waiting for it: %s", self._reason(error))

    def _reason(self, error: Exception) -> str:
        """One line, in which there is no password."""
        text = " ".join(str(error).split()) or type(error).__name__
        if any(words in text for words in _NO_PASSWORD):
            return f"it wants a password, which {PASSWORD} is to name"
        password = self._address.password
        return text.replace(password, "***") if password else text


def _import_redis() -> Any:
    """The client, which is not needed by those who have no queue."""
    try:
        import redis.asyncio
    except ImportError:
        raise QueueError(_NEEDED) from None
    if not hasattr(redis.asyncio.Redis, "aclose"):
        raise QueueError(f"{_NEEDED} (installed is {redis.__version__})")
    return redis
