"""A fleet on one Redis: is each key page answered once, whatever is killed, and what does it cost?

    python -m benchmarks.fleet [--keys 2000] [--workers 4] [--kill 20] [--stop 20]
        [--throughput] [--costs]

The sites are made up and served on 127.0.0.1. The list goes in by `scrapy queue put`, the rows come
out by `scrapy queue results`, and are compared with those of one crawl of the list. It exits with 1
for rows that are lost, double or different, never for those that are late.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import sleep
from typing import TYPE_CHECKING

from benchmarks.batch_crawls import batch_command, run_to_the_end
from benchmarks.fleet_costs import costs, throughput
from tests.support.killed_fleet import KilledFleet
from tests.support.many_sites import ManySites
from tests.support.redis_server import RedisServer, redis_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen

    Disturb = Callable[[Popen[bytes]], Iterator[Popen[bytes]]]

CLAIM_SECONDS = 5  # so that what a killed worker had is soon in work again


class Benchmark:
    """A list of key pages, the answers of one crawl of it, and what the command line says."""

    def __init__(self, options: argparse.Namespace, server: ManySites, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.holds = True
        self.keys = folder / "keys.jl"
        server.write_list(self.keys, options.keys, options.sites, options.seed)
        self._is_listed = False

    @property
    def listed(self) -> Path:
        """The folder with the feeds of one crawl."""
        folder = self.folder / "list"
        if not self._is_listed:
            self._is_listed = True
            folder.mkdir()
            command = batch_command(self.keys, folder, {})
            done = run_to_the_end([*command, f"-atemplate={folder / 'template.jl'}"], folder)
            what = f"{self.options.keys} key pages over {self.options.sites} sites in one crawl"
            print(f"{what}: {done.seconds:.0f} s, {done.cpu_seconds:.0f} s of CPU", flush=True)
        return folder

    def kills(self) -> None:
        """One worker is killed and started again, at moments by chance."""
        options = self.options
        with self._fleet("kills") as (_, fleet):
            disturb = fleet.kills(options.kill, Random(options.seed))
            seconds = fleet.run(options.workers, disturb)
            had = fleet.in_hand
            print(f"{options.workers} workers, one of them killed {len(had)} times:", end="")
            print(f" {seconds:.0f} s; it had {', '.join(map(str, had))} key pages in work")
            self._check("each time it had some", holds=len(had) == options.kill and all(had))
            self._compare(fleet)

    def stops(self) -> None:
        """Redis hangs for a while, then it is killed and started again."""
        with self._fleet("stops") as (redis, fleet):
            seconds = fleet.run(self.options.workers, self._stop(redis, fleet))
            print(
                f"Redis hung for {self.options.stop} s, and was killed and started again:", end=""
            )
            print(f" {seconds:.0f} s")
            self._compare(fleet)

    def _stop(self, redis: RedisServer, fleet: KilledFleet) -> Disturb:
        def disturb(_: Popen[bytes]) -> Iterator[Popen[bytes]]:
            for part, harm in ((1 / 3, self._hang), (2 / 3, self._crash)):
                while fleet.fleet.answered < part * self.options.keys:
                    sleep(0.2)
                print(f"  after {fleet.fleet.answered} answers", flush=True)
                harm(redis)
            yield from ()

        return disturb

    def _hang(self, redis: RedisServer) -> None:
        redis.pause()
        sleep(self.options.stop)
        redis.resume()

    def _crash(self, redis: RedisServer) -> None:
        redis.kill()
        sleep(1)
        redis.start()

    def _fleet(self, name: str) -> _Fleet:
        folder = self.folder / name
        folder.mkdir()
        return _Fleet(folder, self.keys, self.options.searches)

    def _compare(self, fleet: KilledFleet) -> None:
        for found in fleet.differences(self.listed):
            self._check(str(found), holds=not found.lost and not found.more)
            for row in (*found.lost[:2], *found.more[:2]):
                print(f"    {row[:300]}")

    def _check(self, what: str, *, holds: bool) -> None:
        print(f"  {'right' if holds else 'WRONG'}: {what}", flush=True)
        self.holds &= holds


class _Fleet:
    """A Redis with an append-only file, and a queue in it with the whole list."""

    def __init__(self, folder: Path, keys: Path, searches: int) -> None:
        self._redis = redis_server(folder, durable=True)
        self._folder, self._keys, self._searches = folder, keys, searches

    def __enter__(self) -> tuple[RedisServer, KilledFleet]:
        server = self._redis.__enter__()
        fleet = KilledFleet(
            *(server, self._folder),
            TPLSPIDER_CLAIM_SECONDS=CLAIM_SECONDS,
            TPLSPIDER_SEARCHES=self._searches,
        )
        fleet.put(self._keys)
        return server, fleet

    def __exit__(self, *args: object) -> None:
        self._redis.__exit__(None, None, None)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keys", default=2000, type=int, help="key pages (%(default)s)")
    parser.add_argument("--sites", default=400, type=int, help="%(default)s")
    parser.add_argument("--workers", default=4, type=int, help="%(default)s")
    parser.add_argument("--searches", default=4, type=int, help="of a worker (%(default)s)")
    parser.add_argument("--latency", default=0.1, type=float, help="of the sites (%(default)s s)")
    parser.add_argument("--kill", default=20, type=int, metavar="TIMES", help="%(default)s")
    parser.add_argument("--stop", default=0, type=float, metavar="SECONDS", help="Redis hangs")
    parser.add_argument("--throughput", action="store_true", help="of 1, 2 and 4 workers")
    parser.add_argument("--costs", action="store_true", help="of a key page")
    parser.add_argument("--delay", default=0, type=float, help="with these two (%(default)s s)")
    parser.add_argument("--seed", default=16, type=int)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new one, for all files")
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch, "files")).resolve()
        folder.mkdir(parents=True)
        with ManySites(latency=options.latency) as server:
            benchmark = Benchmark(options, server, folder)
            if options.kill:
                benchmark.kills()
            if options.stop:
                benchmark.stops()
            settings = {"TPLSPIDER_SEARCHES": options.searches, "DOWNLOAD_DELAY": options.delay}
            if options.throughput:
                throughput(benchmark.keys, folder, settings)
            if options.costs:
                costs(benchmark.keys, folder, settings)
    raise SystemExit(not benchmark.holds)


if __name__ == "__main__":
    main()
