"""Leases of hosts, by a real Redis: one worker at a time, and one pace for all of them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.support.redis_server import needs_redis, redis_server
from tplspider.crawl.fleet.address import QueueAddress
from tplspider.crawl.fleet.keys import lease_keys
from tplspider.crawl.fleet.leases import HostLeases, LeaseLostError
from tplspider.crawl.fleet.link import Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.support.redis_server import RedisServer

pytestmark = [needs_redis, pytest.mark.slow]  # most of them wait for delays to pass

DELAY = 0.3  # seconds
LONG = 60.0  # of a lease that does not run out in a test
SLACK = 0.005  # Redis counts milliseconds, and two clocks are compared


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


@asynccontextmanager
async def opened(server: RedisServer) -> AsyncIterator[Link]:
    link = await Link.open(QueueAddress(server.url), 10)
    try:
        await link.redis.flushall()
        yield link
    finally:
        await link.close()


async def send_times(
    leases: HostLeases, host: str, count: int, delay: float = DELAY
) -> list[float]:
    times = []
    for _ in range(count):
        await leases.turn(host, delay)
        times.append(monotonic())
    return times


def smallest_gap(times: list[float]) -> float:
    ordered = sorted(times)
    return min(b - a for a, b in pairwise(ordered))


def test_one_worker_at_a_time(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            workers = [HostLeases(link, f"worker-{number}", LONG) for number in range(4)]
            taken = await asyncio.gather(*(each.take("example.org") for each in workers))
            assert sorted(taken) == [False, False, False, True]
            holder = workers.pop(taken.index(True))
            assert "example.org" in holder
            assert holder.hosts == ["example.org"]
            for other in workers:
                assert "example.org" not in other
                with pytest.raises(LeaseLostError):
                    await other.turn("example.org", 0)
            await holder.release("example.org")
            assert await workers[0].take("example.org")
            assert not await holder.take("example.org")

    asyncio.run(run())


def test_www_is_the_same_host(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            assert await one.take("www.Example.org")
            assert "example.org" in one
            assert not await other.take("example.org")
            # Two requests of one worker, each in a slot of its own, have one pace.
            times = await asyncio.gather(
                send_times(one, "www.example.org", 3), send_times(one, "example.org", 3)
            )
            assert smallest_gap([*times[0], *times[1]]) >= DELAY - SLACK

    asyncio.run(run())


def test_turns_come_in_the_order_they_were_asked_for(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            leases = HostLeases(link, "one", LONG)
            await leases.take("example.org")
            order: list[int] = []

            async def send(number: int) -> None:
                await leases.turn("example.org", 0.05)
                order.append(number)

            await asyncio.gather(*(send(number) for number in range(8)))
            assert order == list(range(8))

    asyncio.run(run())


def test_the_next_holder_keeps_to_the_pace(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            await one.take("example.org")
            times = await send_times(one, "example.org", 2)
            await one.release("example.org")
            assert await other.take("example.org")
            times += await send_times(other, "example.org", 2)
            assert smallest_gap(times) >= DELAY - SLACK

    asyncio.run(run())


def test_who_knows_no_better_keeps_to_the_delay_of_the_one_before(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            await one.take("example.org")
            times = await send_times(one, "example.org", 1, delay=0)
            # A robots.txt was read, and asks for more than what was known when it was asked for.
            await one.slow_down("www.example.org", 2 * DELAY)
            # It is killed: nothing is released. The lease runs out, and another one has it.
            await link.redis.set(lease_keys("example.org")[0], "other")  # by another script
            other.has("example.org")
            for _ in range(2):
                await other.turn("example.org", 0, inherits=True)
                times.append(monotonic())
            assert smallest_gap(times) >= 2 * DELAY - SLACK
            await other.turn("example.org", DELAY)  # by now it knows better
            pace = await link.redis.hgetall(lease_keys("example.org")[1])
            assert int(pace[b"delay"]) == 1000 * DELAY

    asyncio.run(run())


def test_a_request_that_was_sent_late_counts_from_then(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            await one.take("example.org")
            await one.turn("example.org", DELAY)
            await asyncio.sleep(0.2)  # it took as long to connect
            one.sent("www.example.org")
            times = [monotonic()]
            times += await send_times(one, "example.org", 1)
            await asyncio.sleep(0.2)
            one.sent("example.org")
            times[-1] = monotonic()
            await one.release("example.org")
            await other.take("example.org")
            times += await send_times(other, "example.org", 1)
            assert smallest_gap(times) >= DELAY - SLACK

    asyncio.run(run())


def test_a_killed_worker_leaves_its_pace_behind(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", 0.2), HostLeases(link, "other", LONG)
            await one.take("example.org")
            times = await send_times(one, "example.org", 1, delay=3 * DELAY)
            assert not await other.take("example.org")
            assert await other.wait_for("example.org", 30)  # when it has run out
            await other.turn("example.org", DELAY, inherits=True)
            times.append(monotonic())
            assert smallest_gap(times) >= 3 * DELAY - SLACK
            with pytest.raises(LeaseLostError):  # it only hung, and is back
                await one.turn("example.org", 0)
            assert "example.org" not in one

    asyncio.run(run())


def test_signs_of_life_keep_a_lease(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", 0.5), HostLeases(link, "other", LONG)
            await one.take("example.org")
            await one.take("example.com")
            await link.redis.delete(lease_keys("example.com")[0])
            key = lease_keys("example.org")[0]
            await link.redis.pexpire(key, 100)
            await one.keep()
            assert await link.redis.pttl(key) > 100
            assert one.hosts == ["example.org"]
            assert await other.take("example.com")

    asyncio.run(run())


def test_a_lost_lease_that_nobody_has_is_taken_again(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one = HostLeases(link, "one", LONG)
            await one.take("example.org")
            times = await send_times(one, "example.org", 1)
            await link.redis.flushall()  # a Redis that was restarted without its data
            times += await send_times(one, "example.org", 1)
            await link.redis.flushall()
            await one.keep()
            assert "example.org" not in one
            times += await send_times(one, "example.org", 1)
            assert "example.org" in one
            assert smallest_gap(times) >= DELAY - SLACK

    asyncio.run(run())


def test_an_answer_that_nobody_read_in_time_does_not_count(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", 0.3), HostLeases(link, "other", LONG)
            await one.take("example.org")
            asking = link.run

            async def late(*arguments: object) -> object:
                answer = await asking(*arguments)  # type: ignore[arg-type]  # whatever it is given
                link.run = asking  # type: ignore[method-assign]  # once is enough
                await asyncio.sleep(0.5)  # the machine was asleep
                assert await other.take("example.org")
                return answer

            # The real answer of a real Redis, but read late.
            link.run = late  # type: ignore[method-assign, assignment]  # nobody hangs on command
            with pytest.raises(LeaseLostError):
                await one.turn("example.org", 0)

    asyncio.run(run())


def test_who_has_a_search_begun_comes_first(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other, third = (HostLeases(link, name, LONG) for name in ("one", "other", "third"))
            await one.take("example.org")
            assert not one.is_wished("example.org")
            waiting = asyncio.create_task(other.wait_for("www.example.org", 30))
            while not one.is_wished("example.org"):
                await one.turn("example.org", 0.05)
            await one.release("example.org")
            assert not await third.take("example.org")
            assert await waiting
            assert "example.org" in other
            await other.release("example.org")
            assert await third.take("example.org")

    asyncio.run(run())


def test_a_wish_ends_and_waiting_has_a_bound(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other, third = (HostLeases(link, name, LONG) for name in ("one", "other", "third"))
            await one.take("example.org")
            began = monotonic()
            assert not await other.wait_for("example.org", 0.5)
            assert monotonic() - began >= 0.25
            await one.release("example.org")
            assert not await third.take("example.org")
            assert await third.wait_for("example.org", 30)  # the other has given up
            assert monotonic() - began >= 3 - SLACK

    asyncio.run(run())


@pytest.mark.parametrize("jump", [-3600, -0.1])
def test_a_clock_that_was_set_back(server: RedisServer, jump: float) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            await one.take("example.org")
            times = await send_times(one, "example.org", 1)
            pace = lease_keys("example.org")[1]
            last = int(await link.redis.hget(pace, "last") or 0)
            await link.redis.hset(pace, "last", str(int(last - 1000 * jump)))
            await one.release("example.org")
            await other.take("example.org")
            times += await asyncio.wait_for(send_times(other, "example.org", 2), 60)
            assert smallest_gap(times) >= DELAY - SLACK

    asyncio.run(run())


def test_a_lease_that_is_given_back_is_not_taken_at_the_same_moment(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            await one.take("example.org")
            for _ in range(20):  # on two connections, the one does not undo the other
                await asyncio.gather(one.release("example.org"), one.take("example.org"))
                assert not await other.take("example.org")

    asyncio.run(run())


def test_a_released_host_is_not_asked(server: RedisServer) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one, other = HostLeases(link, "one", LONG), HostLeases(link, "other", LONG)
            await one.take("example.org")
            await one.turn("example.org", 0)
            waiting = asyncio.create_task(one.turn("example.org", DELAY))
            await asyncio.sleep(0)
            await one.release("example.org")
            with pytest.raises(LeaseLostError, match="released"):
                await waiting
            assert await other.take("example.org")

    asyncio.run(run())


def test_without_memory_there_are_no_new_leases(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with opened(server) as link:
            one = HostLeases(link, "one", LONG)
            await one.take("example.org")
            await link.redis.config_set("maxmemory", "1")
            try:
                times = await send_times(one, "example.org", 2)  # those in hand are good
                assert smallest_gap(times) >= DELAY - SLACK
                waiting = asyncio.create_task(one.wait_for("example.com", 30))
                assert not await one.wait_for("example.net", 0.1)
                await one.release("example.org")
                assert not await one.wait_for("example.org", 0.1)
            finally:
                await link.redis.config_set("maxmemory", "0")
            assert await waiting
            assert len(caplog.messages) == 1
            assert "no memory left" in caplog.text

    asyncio.run(run())
