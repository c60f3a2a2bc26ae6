"""A fleet of real workers against a server with many hosts, and how closely it asked them."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from time import monotonic, sleep
from typing import TYPE_CHECKING

from redis import Redis

from tests.support.crawls import PROJECT, SETTINGS
from tests.support.made_up_sites import made_up_site
from tests.support.many_sites import ManySites
from tests.support.send_log import sent_requests
from tplspider.crawl.fleet.keys import leased_host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.many_sites import Asked
    from tests.support.redis_server import RedisServer
    from tests.support.send_log import Sent

QUEUE = "polite"
DELAY = 1.0  # seconds between two requests to a host
_SLOWEST = 3600.0  # seconds
_LATE = 0.2  # seconds from a worker to the server, if the machine is not busy


@dataclass
class Politeness:
    """What a fleet did; gaps are seconds between two requests to one host, the smallest first."""

    seconds: float
    answers: int
    parked: int
    codes: list[int]
    sent: list[Sent]
    asked: list[Asked]

    @property
    def sent_gaps(self) -> list[tuple[float, str]]:
        """By the workers' own clocks."""
        return _gaps([(each.at, each.host) for each in self.sent])

    @property
    def server_gaps(self) -> list[tuple[float, str]]:
        """As the server saw them.

        It sees a request late when the machine is busy, and the next one in time. What was on its
        way for longer than usual is counted from when it was sent.
        """
        sent = defaultdict(list)
        for each in self.sent:
            sent[each.host].append(each.at)
        times = []
        for one in self.asked:
            began = max(at for at in sent[one.host] if at <= one.at)
            times.append((began if one.at - began > _LATE else one.at, one.host))
        return _gaps(times)

    @property
    def handovers(self) -> int:
        """How often a host was asked by one worker and then by another."""
        pids = defaultdict(list)
        for each in self.sent:
            pids[leased_host(each.host)].append(each.pid)
        return sum(one != other for found in pids.values() for one, other in pairwise(found))


def _gaps(times: list[tuple[float, str]]) -> list[tuple[float, str]]:
    hosts = defaultdict(list)
    for at, host in sorted(times):
        hosts[leased_host(host)].append(at)
    return sorted((b - a, host) for host, found in hosts.items() for a, b in pairwise(found))


def polite_key_pages(server: ManySites, hosts: int, seed: int = 0) -> list[str]:
    """Key pages of so many hosts, two of each.

    Some hosts redirect to one common host, some make us try again or drop connections that are
    used again, and some go by ``www.`` as well.
    """
    urls = []
    for number in range(100, 100 + hosts):
        kind = {0: "moved", 1: "moved", 2: "busy", 3: "www", 5: "drops"}.get(number % 6, "site")
        name = f"{kind}-{number}" if kind != "www" else f"site-{number}"
        first, second = made_up_site(number).pages[:2]
        urls += [server.url(name, first), server.url(name, second)]
        if kind == "www":
            urls[-1] = urls[-1].replace("//", "//www.")
    Random(seed).shuffle(urls)
    return urls


def worker_command(folder: Path, redis: RedisServer, settings: dict[str, str]) -> list[str]:
    """A worker as a person would start it."""
    options = {
        **SETTINGS,
        "DOWNLOAD_DELAY": str(DELAY),
        "LOG_LEVEL": "INFO",
        "EXTENSIONS": '{"tests.support.send_log.SendLog": 1}',
        "SEND_LOG": str(folder / "sent"),
        "TPLSPIDER_QUEUE": redis.url,
        "TPLSPIDER_CLAIM_SECONDS": "3",
        "TPLSPIDER_LEASE_WAIT": "2",
        "TPLSPIDER_SEARCHES": "3",  # so that every worker has some
        **settings,
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "template_candidates", f"-aqueue={QUEUE}"]
    return [*command, "-an=2", *(f"-s{name}={value}" for name, value in options.items())]


def run_fleet(
    folder: Path,
    redis: RedisServer,
    key_pages: Callable[[ManySites], list[str]],
    *,
    workers: int,
    kills: int = 1,
    settings: dict[str, str] | None = None,
) -> Politeness:
    """Let a fleet search, and kill so many workers on the way; others take their places."""
    command = worker_command(folder, redis, settings or {})
    with ManySites(folder / "asked") as server, Redis(port=redis.port) as queue:
        for url in key_pages(server):
            queue.xadd(QUEUE, {"url": url})
        began = monotonic()
        running = [start(command, folder, number) for number in range(workers)]
        victims = running[:kills]
        try:
            for number, victim in enumerate(victims):
                _kill_at_work(victim, folder / "sent", 4 * (number + 1))
                running.append(start(command, folder, workers + number))
            for process in running:
                process.wait(_SLOWEST)
        finally:
            for process in running:
                process.kill()
                process.wait()
        return Politeness(
            monotonic() - began,
            queue.xlen(f"{QUEUE}:results"),
            sum(
                _log(folder, number).count("is left to another moment")
                for number in range(len(running))
            ),
            [process.returncode for process in running if process not in victims],
            sent_requests(folder / "sent"),
            server.asked(),
        )


def _log(folder: Path, number: int) -> str:
    return (folder / f"worker-{number}.log").read_text("utf-8")


def start(command: list[str], folder: Path, number: int) -> subprocess.Popen[bytes]:
    """Start the worker of a number, whose log is in *folder*."""
    with (folder / f"worker-{number}.log").open("wb") as log:
        return subprocess.Popen(command, cwd=PROJECT, stdout=log, stderr=log)


def _kill_at_work(process: subprocess.Popen[bytes], log: Path, requests: int) -> None:
    """Kill a worker when it has sent so many requests, and searches are open."""
    deadline = monotonic() + _SLOWEST
    while sum(each.pid == process.pid for each in sent_requests(log)) < requests:
        assert process.poll() is None, "a worker has ended before it was killed"
        assert monotonic() < deadline, "a worker asks for nothing"
        sleep(0.05)
    process.kill()
    process.wait()
