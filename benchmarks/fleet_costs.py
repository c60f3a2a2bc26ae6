"""What workers of a fleet and its Redis cost, and how much more several of them do than one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import redis

from benchmarks.batch_crawls import Run, run, worker_command
from tests.support.fleet_queue import FleetQueue
from tests.support.redis_server import redis_server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.redis_server import RedisServer

_KILO = 1000.0


@dataclass(frozen=True)
class FleetRun:
    """Workers that have emptied a queue. What Redis says of itself is from three moments: at first,
    with the whole list in it, and at the end.
    """

    keys: int
    runs: list[Run]
    answers_at: list[float]  # seconds, in order
    empty: Mapping[str, Any]
    filled: Mapping[str, Any]
    ended: Mapping[str, Any]
    sizes: list[int]  # of rows, as they are in Redis

    @property
    def rate(self) -> float:
        """Answers a second, between the first tenth of them and the last."""
        times, tenth = self.answers_at, len(self.answers_at) // 10
        return (len(times) - 2 * tenth) / (times[-1 - tenth] - times[tenth])

    @property
    def cpu_seconds(self) -> float:
        return sum(each.cpu_seconds for each in self.runs)

    def each(self, *names: str) -> float:
        """How much more some figures of Redis are at the end than with the list, a key page."""
        return sum(float(self.ended[name] - self.filled[name]) for name in names) / self.keys


def throughput(keys: Path, folder: Path, settings: Mapping[str, object]) -> None:
    """The answers a second of 1, 2 and 4 workers."""
    print(f"{os.cpu_count()} cores, for workers, sites and Redis; {_words(settings)}")
    first = 0.0
    for workers in (1, 2, 4):
        found = measured(keys, folder / f"throughput-{workers}", workers, settings)
        first = first or found.rate
        print(f"  {workers} workers: {found.rate:.1f} key pages a second,", end="")
        print(f" {found.rate / first:.2f} of one; {found.cpu_seconds:.0f} s of CPU", flush=True)


def costs(keys: Path, folder: Path, settings: Mapping[str, object]) -> None:
    """What a key page costs, without its template and with it."""
    for name, template in (("without templates", 0), ("with templates", 1)):
        every = {**settings, "TPLSPIDER_TEMPLATE": template}
        found = measured(keys, folder / f"costs-{template}", 1, every)
        (worker,) = found.runs
        print(f"{found.keys} key pages {name}, one worker, {_words(settings)}:")
        print(
            f"  a worker: {found.keys / worker.cpu_seconds:.1f} key pages a second of CPU,", end=""
        )
        print(f" {worker.megabytes:.0f} MB at most")
        entry = (found.filled["used_memory"] - found.empty["used_memory"]) / found.keys
        print(
            f"  Redis: {entry:.0f} bytes of memory an entry, {found.ended['results']:.0f} a", end=""
        )
        print(f" result (its rows are {sum(found.sizes) / found.keys:.0f})")
        disk = found.ended["aof_current_size"] / found.keys / _KILO
        print(f"  its append-only file: {disk:.1f} kB a key page, if it is never rewritten")
        print(f"  {found.rate:.1f} key pages a second")
        net = found.each("total_net_input_bytes") / _KILO
        out = found.each("total_net_output_bytes") / _KILO
        calls = found.each("total_commands_processed")
        cpu = found.each("used_cpu_user", "used_cpu_sys")
        print(f"  its network: {net:.1f} kB in, {out:.1f} kB out a key page;", end="")
        print(
            f" {calls:.0f} commands, {cpu * _KILO:.2f} ms of CPU: {1 / cpu:.0f} key pages a", end=""
        )
        print(" second of its CPU", flush=True)


def measured(keys: Path, folder: Path, workers: int, settings: Mapping[str, object]) -> FleetRun:
    """Let so many workers answer a list, on a Redis of their own."""
    folder.mkdir()
    with redis_server(folder, durable=True) as server:
        client: Any = redis.Redis.from_url(server.url)
        empty = client.info()
        told = FleetQueue(server).run("put", keys)
        assert told.code == 0, told.err
        filled = client.info()
        runs = _run(server, folder, workers, settings)
        ended = client.info()
        name = "tplspider:results"
        results = client.xrange(name)
        ended["results"] = client.memory_usage(name, samples=0) / len(results)
        client.close()
    assert not [each for each in runs if each.code not in (0, 1)], folder
    times = [int(entry_id.partition(b"-")[0]) / _KILO for entry_id, _ in results]
    sizes = [len(fields[b"rows"]) for _, fields in results]
    return FleetRun(len(results), runs, times, empty, filled, ended, sizes)


def _run(
    server: RedisServer, folder: Path, workers: int, settings: Mapping[str, object]
) -> list[Run]:
    command = worker_command("tplspider", {**settings, "TPLSPIDER_QUEUE": server.url})
    folders = [folder / f"worker-{number}" for number in range(workers)]
    for each in folders:
        each.mkdir()
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda each: run(command, each), folders))


def _words(settings: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())
