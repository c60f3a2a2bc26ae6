"""Workers of a queue in processes of their own, and what a test wants to know of the queue."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import redis

from tests.support.crawls import PROJECT, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Self

    from tests.support.redis_server import RedisServer

QUEUE = "fleet"
PATIENCE = 90.0  # seconds that nothing here takes, unless it hangs


class Fleet:
    """A queue, and the workers that a test starts; none of them outlives the ``with`` block."""

    def __init__(self, server: RedisServer, folder: Path, **settings: object) -> None:
        self.redis: Any = redis.Redis.from_url(server.url, socket_timeout=30)
        self._folder = folder
        self._settings = {"TPLSPIDER_QUEUE": server.url, "LOG_LEVEL": "INFO", **settings}
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
        self.redis.close()

    def put(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Add entries with plain fields."""
        for row in rows:
            self.redis.xadd(QUEUE, {name: str(value) for name, value in row.items()})

    def start(
        self, *options: str, settings: Mapping[str, object] | None = None, **variables: str
    ) -> subprocess.Popen[bytes]:
        """Start a worker; its log is a file."""
        given = {**SETTINGS, **self._settings, **(settings or {})}
        command = [sys.executable, "-m", "scrapy", "crawl", "template_candidates"]
        command += [f"-aqueue={QUEUE}", *options, *(f"-s{k}={v}" for k, v in given.items())]
        with self._log(len(self.workers)).open("wb") as log:
            environment = {**os.environ, **variables}
            worker = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log)
        self.workers.append(worker)
        return worker

    def log(self, worker: subprocess.Popen[bytes]) -> str:
        return self._log(self.workers.index(worker)).read_text("utf-8")

    def end_of(self, worker: subprocess.Popen[bytes]) -> int:
        """The exit status of a worker that ends by itself."""
        return worker.wait(PATIENCE)

    def stop(self, worker: subprocess.Popen[bytes]) -> int:
        worker.send_signal(signal.SIGTERM)
        return worker.wait(PATIENCE)

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait for something that is going to happen."""
        deadline = monotonic() + PATIENCE
        while not is_so():
            assert monotonic() < deadline, [self.log(worker)[-3000:] for worker in self.workers]
            sleep(0.05)

    @property
    def keys(self) -> list[bytes]:
        """All that Redis has."""
        return list(self.redis.keys())

    @property
    def left(self) -> int:
        """How many entries are not answered."""
        return int(self.redis.xlen(QUEUE))

    @property
    def answered(self) -> int:
        return int(self.redis.xlen(f"{QUEUE}:results"))

    def in_work(self) -> dict[str, int]:
        """How many times each entry in work was delivered, by its id."""
        with suppress(redis.ResponseError):
            found = self.redis.xpending_range(QUEUE, "tplspider", "-", "+", 1000)
            return {
                row["message_id"].decode(): row["times_delivered"]
                for row in found
                if row["consumer"] not in (b"returned", b"waiting")
            }
        return {}

    def answers(self) -> list[dict[str, Any]]:
        """The answers in the queue, in order."""
        found = self.redis.xrange(f"{QUEUE}:results")
        return [json.loads(zlib.decompress(fields[b"rows"])) for _, fields in found]

    def summaries(self) -> list[dict[str, Any]]:
        return [answer["summary"] for answer in self.answers()]

    def _log(self, number: int) -> Path:
        return self._folder / f"worker-{number}.log"
