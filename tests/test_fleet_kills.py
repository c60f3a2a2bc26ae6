"""A worker killed at moments by chance: all is answered, nothing twice, and as by one crawl.

``python -m benchmarks.fleet`` does the same with 2,000 key pages and 20 kills.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.killed_fleet import FEEDS, KilledFleet, rows_of
from tests.support.many_sites import ManySites
from tests.support.redis_server import needs_redis, redis_server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.crawl, needs_redis]

KEYS, SITES, KILLS = 120, 30, 3


def test_a_fleet_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    listed = tmp_path / "listed"
    # So slow that a fleet does not finish before it has a chance to be killed.
    with ManySites(latency=0.1) as sites, redis_server(tmp_path, durable=True) as server:
        sites.write_list(tmp_path / "keys.jl", KEYS, SITES)
        crawl = run_scrapy(
            *("crawl", "template_candidates", f"-aurls={tmp_path / 'keys.jl'}"),
            f"-O{listed / FEEDS['-O']}",
            *(f"-a{name}={listed / FEEDS[f'--{name}']}" for name in ("summary", "template")),
            folder=tmp_path,
        )
        assert crawl.code == 0
        fleet = KilledFleet(server, tmp_path, TPLSPIDER_CLAIM_SECONDS=3, TPLSPIDER_SEARCHES=3)
        fleet.put(tmp_path / "keys.jl")
        fleet.run(4, fleet.kills(KILLS, Random()))
        assert len(fleet.in_hand) == KILLS
        assert any(fleet.in_hand)
        for found in fleet.differences(listed):
            assert (found.lost, found.more) == ([], []), found
    ids = Counter(row["input"]["id"] for row in rows_of(tmp_path / "fleet-summary.jl"))
    assert ids == Counter(f"key-{number}" for number in range(KEYS))


def test_the_benchmark_runs() -> None:
    sizes = ["--keys=30", "--sites=10", "--workers=2", "--kill=0", "--latency=0.02"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.fleet", *sizes, "--stop=1", "--costs"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 lost, 0 too many") == 3
    assert "bytes of memory an entry" in done.stdout
