"""A fleet whose worker is killed again and again, or whose Redis goes away, and what it answers.

The list goes in by ``scrapy queue put``, and the rows come out by ``scrapy queue results``.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from tests.support.fleet_queue import FleetQueue
from tests.support.fleets import QUEUE, Fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random
    from subprocess import Popen

    from tests.support.redis_server import RedisServer

FEEDS = {"-O": "candidates.jl", "--summary": "summary.jl", "--template": "template.jl"}
# What depends on who else was searched at the time; `attempt` is a column of a queue's rows alone.
BY_CHANCE = ("shared", "wasted", "attempt")
_SLOWEST = 1800.0  # seconds


@dataclass
class Difference:
    """How the rows of a fleet differ from those of one crawl."""

    feed: str
    rows: int
    lost: list[str]
    more: list[str]

    def __str__(self) -> str:
        return f"{self.rows} rows in {self.feed}, {len(self.lost)} lost, {len(self.more)} too many"


class KilledFleet:
    """A queue, the workers on it, and the rows that come out."""

    def __init__(self, server: RedisServer, folder: Path, **settings: object) -> None:
        self.server = server
        self.folder = folder
        self.queue = FleetQueue(server, QUEUE)
        self.fleet = Fleet(server, folder, TPLSPIDER_TEMPLATE=1, **settings)
        self.in_hand: list[int] = []  # how many key pages each killed worker had

    def put(self, keys: Path) -> None:
        told = self.queue.run("put", keys)
        assert told.code == 0, told.err

    def run(self, workers: int, disturb: Callable[[Popen[bytes]], Iterator[Popen[bytes]]]) -> float:
        """Let workers answer all, while *disturb* does what it does to one of them; the seconds.

        It gives the workers that it starts in its place.
        """
        began = monotonic()
        with self.fleet as fleet:
            victim, *others = [fleet.start() for _ in range(workers)]
            for started in disturb(victim):
                victim = started
            for worker in (victim, *others):
                code = worker.wait(_SLOWEST)
                assert code in (0, 1), fleet.log(worker)[-3000:]
        return monotonic() - began

    def kills(self, times: int, random: Random) -> Callable[[Popen[bytes]], Iterator[Popen[bytes]]]:
        """Kill a worker so often, each time some moment after it has begun to work."""

        def disturb(victim: Popen[bytes]) -> Iterator[Popen[bytes]]:
            for _ in range(times):
                self.fleet.until(partial(self._is_at_work, victim.pid))
                sleep(random.uniform(0, 1))
                self.in_hand.append(self._has(victim.pid))
                victim.kill()
                victim.wait()
                victim = self.fleet.start()
                yield victim

        return disturb

    def results(self) -> dict[str, list[dict[str, Any]]]:
        """What ``scrapy queue results`` writes, by the names of the feeds."""
        files = {option: self.folder / f"fleet-{name}" for option, name in FEEDS.items()}
        told = self.queue.run("results", *(word for pair in files.items() for word in pair))
        assert told.code == 0, told.err
        return {FEEDS[option]: rows_of(file) for option, file in files.items()}

    def differences(self, listed: Path) -> list[Difference]:
        """How its rows differ from those of one crawl of the list, whose feeds are in a folder."""
        return [
            _difference(name, rows, rows_of(listed / name)) for name, rows in self.results().items()
        ]

    def _is_at_work(self, pid: int) -> bool:
        return bool(self._has(pid)) or not self.fleet.left

    def _has(self, pid: int) -> int:
        """How many key pages the worker with this process has in work."""
        for consumer in self.fleet.redis.xinfo_consumers(QUEUE, "tplspider"):
            if consumer["name"].rpartition(b"-")[0].endswith(b"-%d" % pid):
                return int(consumer["pending"])
        return 0


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a feed of JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _difference(
    name: str, found: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> Difference:
    mine, theirs = (Counter(map(_told, rows)) for rows in (found, expected))
    return Difference(name, len(found), [*(theirs - mine)], [*(mine - theirs)])


def _told(row: dict[str, Any]) -> str:
    return json.dumps({k: v for k, v in row.items() if k not in BY_CHANCE}, sort_keys=True)
