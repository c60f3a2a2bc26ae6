"""What the scripts of a queue do where somebody has interfered, or workers die: nothing is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.redis_server import RedisServer, needs_redis, redis_server
from tplspider.crawl.fleet.address import QueueAddress
from tplspider.crawl.fleet.keys import GROUP, LEASE, WISH, QueueKeys
from tplspider.crawl.fleet.link import Link, QueueError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_redis

KEYS = QueueKeys("queue")
CLAIM_MS = 50
TRIES = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as started:
        yield started


class Queue:
    """The scripts, as a worker of some name calls them."""

    def __init__(self, link: Link) -> None:
        self.link = link

    async def fill(self, count: int) -> None:
        await self.link.redis.flushall()
        await self.link.make_queue(KEYS.name)
        for number in range(count):
            await self.link.redis.xadd(KEYS.name, {"url": f"http://{number}.test/"})

    async def take(self, who: str, free: int = 10, *, alone: bool = True) -> list[list[Any]]:
        names = [KEYS.name, KEYS.workers]
        found = await self.link.run(
            "take", names, GROUP, who, "{}", free, CLAIM_MS, 1, TRIES, int(alone)
        )
        return list(found)

    async def pick(self, who: str, *, alone: bool = True) -> list[list[Any]]:
        names = [KEYS.name, KEYS.workers, KEYS.waiting]
        found = await self.link.run(
            *("pick", names, GROUP, who, "{}", CLAIM_MS, 10, 1, LEASE, WISH, TRIES, int(alone))
        )
        return list(found)

    async def park(self, who: str, entry: bytes, host: str = "host.test") -> Any:
        names = [KEYS.name, KEYS.waiting, KEYS.waiting_for(host)]
        return await self.link.run("park", names, GROUP, who, entry, host)

    async def finish(self, entry: bytes) -> Any:
        names = [KEYS.name, KEYS.results, KEYS.failed, KEYS.facts, KEYS.rate]
        return await self.link.run("finish", names, GROUP, entry, 1, 1, b"rows", "name", "", 0)

    async def is_over(self) -> bool:
        return bool(await self.link.run("is_over", [KEYS.name], GROUP))


def run(server: RedisServer, test: Any) -> None:
    async def with_queue() -> None:
        link = await Link.open(QueueAddress(server.url), 5)
        try:
            await test(Queue(link))
        finally:
            await link.close()

    asyncio.run(with_queue())


@pytest.mark.parametrize("key", [KEYS.results, KEYS.failed, KEYS.facts, KEYS.rate])
def test_what_cannot_be_written_is_not_acknowledged(server: RedisServer, key: str) -> None:
    async def test(queue: Queue) -> None:
        await queue.fill(1)
        [[entry, *_]] = await queue.take("one")
        await queue.link.redis.set(key, "of somebody else")
        with pytest.raises(QueueError, match="is a string"):
            await queue.finish(entry)
        await queue.link.redis.delete(key)
        assert await queue.finish(entry) == 1
        assert await queue.link.redis.xlen(KEYS.results) == 1

    run(server, test)


def test_figures_that_are_not_numbers_hold_up_no_answer(server: RedisServer) -> None:
    async def test(queue: Queue) -> None:
        await queue.fill(1)
        [[entry, *_]] = await queue.take("one")
        await queue.link.redis.hset(KEYS.facts, mapping={"done": "many", "given_up": "none"})
        await queue.link.redis.hset(KEYS.rate, mapping={"yesterday": "much"})
        assert await queue.finish(entry) == 1
        assert not await queue.link.redis.hexists(KEYS.rate, "yesterday")

    run(server, test)


def test_an_entry_at_its_last_try_waits_for_a_worker_that_has_nothing_else(
    server: RedisServer,
) -> None:
    async def test(queue: Queue) -> None:
        await queue.fill(3)
        [[entry, *_]] = await queue.take("first", 1)
        claim = queue.link.redis.xclaim
        await claim(KEYS.name, GROUP, "dead", 0, [entry], retrycount=TRIES - 1, justid=True)
        await asyncio.sleep(CLAIM_MS / 1000 * 1.2)
        busy = await queue.take("busy", 1, alone=False)
        assert [deaths for *_, deaths in busy] == [0]
        alone = await queue.take("idle", 10)
        assert [(found[0], found[2]) for found in alone] == [(entry, TRIES - 1)]
        assert await queue.park("idle", entry)
        assert await queue.pick("busy", alone=False) == []
        assert [found[0] for found in await queue.pick("idle")] == [entry]
        assert await queue.park("idle", entry)
        await asyncio.sleep(
            CLAIM_MS / 1000 * 11
        )  # nobody has had nothing else: it is not put off for ever
        assert [found[0] for found in await queue.pick("busy", alone=False)] == [entry]

    run(server, test)


def test_what_waits_in_no_list_is_found_in_the_end(server: RedisServer) -> None:
    async def test(queue: Queue) -> None:
        await queue.fill(1)
        [[entry, *_]] = await queue.take("one")
        await queue.link.redis.set(KEYS.waiting_for("host.test"), "of somebody else")
        with pytest.raises(QueueError, match="is a string"):
            await queue.park("one", entry)
        await queue.link.redis.delete(KEYS.waiting_for("host.test"))
        assert await queue.park("one", entry)
        await queue.link.redis.delete(KEYS.waiting, KEYS.waiting_for("host.test"))
        assert await queue.pick("two") == []
        assert await queue.take("two") == []
        assert not await queue.is_over()
        await asyncio.sleep(CLAIM_MS / 1000 * 11)
        assert [found[0] for found in await queue.take("two")] == [entry]

    run(server, test)


def test_the_end_of_a_queue(server: RedisServer) -> None:
    async def test(queue: Queue) -> None:
        await queue.fill(2)
        assert not await queue.is_over()
        taken = await queue.take("one")
        assert not await queue.is_over()
        await queue.link.redis.xack(KEYS.name, GROUP, taken[1][0])  # by hand, and left there
        assert not await queue.is_over()
        assert await queue.finish(taken[0][0]) == 1
        assert await queue.is_over()

    run(server, test)
