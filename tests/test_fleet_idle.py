"""Workers that wait for more are there, whether they had something to do or not."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING

import pytest

from tests.support.fleet_queue import FleetQueue
from tests.support.fleets import QUEUE, Fleet
from tests.support.redis_server import needs_redis, redis_server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.crawl, needs_redis]

SECONDS = "-sTPLSPIDER_CLAIM_SECONDS=1"


def test_idle_workers_are_not_dead(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path) as server,
        Fleet(server, tmp_path, TPLSPIDER_CLAIM_SECONDS=1) as fleet,
    ):
        queue = FleetQueue(server, QUEUE)
        workers = [fleet.start("-aforever=1") for _ in range(2)]
        fleet.until(lambda: fleet.redis.hlen(f"{QUEUE}:workers") == 2)
        sleep(2)
        told = queue.run("status", SECONDS)
        assert "by 2 workers" in told.out
        assert "DEAD" not in told.out
        assert queue.run("clear", "--yes", SECONDS).code == 2
        for worker in workers:
            fleet.stop(worker)
        assert "by 0 workers" in queue.run("status", SECONDS).out
