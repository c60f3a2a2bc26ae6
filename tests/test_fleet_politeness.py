"""Two workers never press one host twice as hard: real workers, and times of both sides."""

from __future__ import annotations

import asyncio
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest
from redis import Redis
from scrapy.core.downloader import Slot

from tests.support.many_sites import ManySites
from tests.support.polite_fleet import (
    QUEUE,
    polite_key_pages,
    run_fleet,
    start,
    worker_command,
)
from tests.support.redis_server import needs_redis, redis_server
from tests.support.send_log import sent_requests
from tplspider.crawl.fleet.keys import QueueKeys, lease_keys
from tplspider.crawl.pace import PacedSlot
from tplspider.crawl.search_clock import SearchClocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_in_a_fleet_a_delay_only_grows() -> None:
    slot = PacedSlot(Slot(1, 1.0, 0.5), least=0, only_grows=True)
    delays = [slot.download_delay() for _ in range(200)]
    assert min(delays) == 1.0
    assert max(delays) > 1.1
    alone = PacedSlot(Slot(1, 1.0, 0.5), least=0)
    assert min(alone.download_delay() for _ in range(200)) < 1.0
    assert PacedSlot(Slot(1, 1.0, 0.5), least=3, only_grows=True).download_delay() == 3


def test_time_does_not_pass_while_a_search_waits_for_other_workers() -> None:
    async def run() -> None:
        clocks, rung = SearchClocks(), []
        clocks.start("a", 0.2, lambda: rung.append("a"))
        clocks.start("b", 0.2, lambda: rung.append("b"))
        clocks.start("c", 0.2, lambda: rung.append("c"))
        with clocks.stopped("a"), clocks.stopped("a"), clocks.stopped("c"):
            clocks.end("b")
            clocks.end("c")
            with clocks.stopped("a"):
                await asyncio.sleep(0.3)
            await asyncio.sleep(0.1)
            assert not rung
        await asyncio.sleep(0.5)
        assert rung == ["a"]

    asyncio.run(run())


@needs_redis
@pytest.mark.slow
def test_no_host_is_asked_more_closely_than_its_delay(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        found = run_fleet(
            tmp_path, redis, lambda server: polite_key_pages(server, 12), workers=3, kills=1
        )
    assert found.answers == 24
    assert found.codes == [0, 0, 0]
    assert found.sent_gaps[0][0] > 0.9, found.sent_gaps[:5]
    assert found.server_gaps[0][0] > 0.7, found.server_gaps[:5]
    assert found.handovers  # there was something that could go wrong
    paths = [each.path for each in found.asked]
    assert paths.count("/robots.txt") >= 12
    for kind in ("busy-", "drops-"):  # we try again; so does a connection by itself
        found_there = [each for each in found.asked if each.host.startswith(kind)]
        assert len({(each.host, each.path) for each in found_there}) < len(found_there)
    assert any(each.host.startswith("common-") for each in found.asked)


@needs_redis
@pytest.mark.slow
def test_key_pages_that_redirect_to_hosts_of_each_other(tmp_path: Path) -> None:
    def swapped(server: ManySites) -> list[str]:
        return [server.url(f"swap-{number}") for number in range(4)]

    with redis_server(tmp_path) as redis:
        found = run_fleet(
            *(tmp_path, redis, swapped),
            workers=2,
            kills=0,
            settings={"TPLSPIDER_SEARCHES": "1", "TPLSPIDER_LEASE_WAIT": "1"},
        )
    assert found.answers == 4
    assert found.codes == [0, 0]
    assert found.sent_gaps[0][0] > 0.9, found.sent_gaps[:5]


@needs_redis
@pytest.mark.slow
def test_a_search_does_not_wait_for_a_second_host_for_ever(tmp_path: Path) -> None:
    first, second = "swap-0.test", "swap-1.test"
    keys = QueueKeys(QUEUE)
    with (
        redis_server(tmp_path) as server,
        ManySites(tmp_path / "asked") as sites,
        Redis(port=server.port, decode_responses=True) as redis,
    ):
        redis.set(lease_keys(second)[0], "another worker")
        entry = redis.xadd(QUEUE, {"url": sites.url("swap-0"), "max_seconds": "20"})
        redis.xadd(QUEUE, {"url": sites.url("site-3")})
        settings = {"TPLSPIDER_LEASE_WAIT": "1", "DOWNLOAD_DELAY": "0"}
        worker = start(worker_command(tmp_path, server, settings), tmp_path, 0)
        try:
            parked = keys.waiting_for(second)
            wait_until(lambda: redis.lrange(parked, 0, -1) == [entry])
            # The first host is free for others meanwhile, and other key pages are searched.
            wait_until(lambda: redis.get(lease_keys(first)[0]) is None)
            wait_until(lambda: redis.xlen(keys.results) == 1)
            assert all(each.host != second for each in sites.asked())
            assert worker.poll() is None
            redis.delete(lease_keys(second)[0])
            assert worker.wait(60) == 0
        finally:
            worker.kill()
            worker.wait()
        assert redis.xlen(keys.results) == 2
        assert {first, second} <= {each.host for each in sites.asked()}
        assert sent_requests(tmp_path / "sent")
        assert not redis.keys("tplspider:lease:*")


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.05)
