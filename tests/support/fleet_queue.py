"""A queue of a test's own, and the part of a worker that answers: by the real scripts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tests.support.crawls import PROJECT
from tests.support.fed_feeds import candidate, summary
from tests.support.ready_scrapy import scrapy_command
from tplspider.crawl.fleet.address import QueueAddress
from tplspider.crawl.fleet.entry import VERSION, QueueEntry
from tplspider.crawl.fleet.keys import GROUP, QueueKeys
from tplspider.crawl.fleet.link import Link
from tplspider.items import PageTemplate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.support.redis_server import RedisServer

T = TypeVar("T")


@dataclass
class Told:
    """What a command has told."""

    code: int
    out: str
    err: str


class FleetQueue:
    """The queue *name* of a Redis."""

    def __init__(self, server: RedisServer, name: str = "tplspider") -> None:
        self.server = server
        self.keys = QueueKeys(name)

    def start(self, *arguments: object, **env: str) -> subprocess.Popen[str]:
        """``scrapy queue``, under way."""
        return self._start([sys.executable, "-m", "scrapy"], *arguments, **env)

    def _start(self, scrapy: list[str], *arguments: object, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*scrapy, "queue", *map(str, arguments), "-q", self.keys.name],
            cwd=PROJECT,
            env={**os.environ, "TPLSPIDER_QUEUE": self.server.url, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *arguments: object, given: str = "", **env: str) -> Told:
        """``scrapy queue``, to its end."""
        process = self._start(scrapy_command({**os.environ, **env}), *arguments, **env)
        out, err = process.communicate(given, timeout=120)
        return Told(process.returncode, out, err)

    def ask(self, question: Callable[[Link], Awaitable[T]]) -> T:
        """Something that only Redis knows."""

        async def asked() -> T:
            link = await Link.open(QueueAddress(self.server.url), 120)
            try:
                return await question(link)
            finally:
                await link.close()

        return asyncio.run(asked())

    def redis(self, *command: str | bytes) -> Any:
        """What Redis answers to one command."""

        async def question(link: Link) -> Any:
            return await link.redis.execute_command(*command)  # type: ignore[no-untyped-call]  # in redis

        return self.ask(question)

    def entries(self) -> list[QueueEntry]:
        found = self.redis("XRANGE", self.keys.name, "-", "+")
        return [
            QueueEntry.read(entry_id, [part for pair in _pairs(fields) for part in pair])
            for entry_id, fields in found
        ]

    def answer(
        self, most: int = 1000, *, outcome: str = "ok", worker: str = "me", search: str = ""
    ) -> int:
        """Take entries and answer them, as a worker does; how many there were."""

        async def question(link: Link) -> int:
            await link.make_queue(self.keys.name)
            names = [self.keys.name, self.keys.workers]
            beat = json.dumps({"host": "here", "pid": 1, "version": "0", "done": 3})
            taken = await link.run("take", names, GROUP, worker, beat, most, 60000, 1)
            for entry_id, pairs, deaths in taken:
                entry = QueueEntry.read(entry_id, pairs, deaths)
                await self.finish(link, entry, rows_of(entry, outcome, search=search), outcome)
            return len(taken)

        return self.ask(question)

    async def finish(
        self,
        link: Link,
        entry: QueueEntry,
        rows: bytes,
        outcome: str = "ok",
        version: int = VERSION,
    ) -> None:
        keys = self.keys
        names = [keys.name, keys.results, keys.failed, keys.facts, keys.rate]
        again = "" if outcome == "ok" else entry.again()
        arguments = GROUP, entry.id, version, entry.attempt, rows, entry.name, again, 0
        assert await link.run("finish", names, *arguments)

    def add_result(
        self, rows: bytes, *, entry: str = "1-1", version: int = VERSION, attempt: str = "1"
    ) -> None:
        """A result that no worker of ours has made."""
        fields = ("v", str(version), "entry", entry, "name", entry, "attempt", attempt)
        self.redis("XADD", self.keys.results, "*", *fields, "rows", rows)
        self.redis("HSETNX", self.keys.facts, "began", "1.1")


def rows_of(entry: QueueEntry, outcome: str = "ok", *, search: str = "") -> bytes:
    """The rows of an answer: two candidates, a template and a summary, or a summary alone."""
    number = entry.line.number
    end = asdict(summary(number))
    end |= {"key_outcome": outcome, "line": number, "input": entry.line.input}
    rows: dict[str, Any] = {"candidates": [], "templates": [], "summary": end}
    if outcome == "ok":
        rows["candidates"] = [asdict(candidate(number, rank)) for rank in (1, 2)]
        html = PageTemplate("http://a/", [], "<p>", "=1+1", "\u202e\x00", [], 0.5, str(number))
        rows["templates"] = [asdict(html)]
    for row in (*rows["candidates"], *rows["templates"], end):
        row["search_id"] = search or f"search {number}"
        row["attempt"] = entry.attempt
    return zlib.compress(json.dumps(rows).encode())


def _pairs(fields: Any) -> list[tuple[bytes, bytes]]:
    if isinstance(fields, dict):
        return list(fields.items())
    return list(zip(fields[::2], fields[1::2], strict=True))
