"""How a queue stands: what waits, who works, what is done, and how long it will take."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tplspider.crawl.batch.standing import duration
from tplspider.crawl.fleet.keys import GROUP, RETURNED, WAITING
from tplspider.crawl.fleet.open_queue import text, whole
from tplspider.crawl.harmless_log import harmless
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.crawl.fleet.open_queue import OpenQueue

_OF_LATE = 5  # minutes, over which the rate is taken


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of the queue, as Redis knows it: *silence* is in seconds."""

    name: str
    in_work: int
    silence: float
    is_dead: bool
    done: int | None = None
    machine: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A queue at one moment. *waiting* are all without a worker, *for_hosts* those of them that
    wait until nobody else asks their host.
    """

    name: str
    waiting: int
    for_hosts: int
    hosts: int
    workers: tuple[Worker, ...]
    put: int
    done: int
    failed: int
    given_up: int
    a_minute: float  # answers
    results: int
    results_bytes: int

    @property
    def in_work(self) -> int:
        return sum(worker.in_work for worker in self.workers)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at the pace of the last minutes; None if nobody can tell."""
        left = self.waiting + self.in_work
        if not left:
            return 0
        return 60 * left / self.a_minute if self.a_minute else None

    @property
    def line(self) -> str:
        """In one line, for a log."""
        return (
            f"{self.waiting} waiting, {self.in_work} in work, {self.done} done,"
            f" {self.failed} failed, {self._pace()}"
        )

    def table(self) -> str:
        """For people."""
        hosts = counted(self.hosts, "busy host")
        rows = [
            ("waiting", self.waiting, f"{self.for_hosts} of them for {hosts}"),
            ("in work", self.in_work, f"by {counted(self._alive(), 'worker')}"),
            ("done", self.done, self._pace()),
            ("failed", self.failed, "scrapy queue retry puts them back" if self.failed else ""),
            ("given up", self.given_up, "their workers died of them" if self.given_up else ""),
            ("results", self.results, f"in {_size(self.results_bytes)} of Redis's memory"),
        ]
        width = max(len(str(number)) for _, number, _ in rows)
        lines = [f"Queue {self.name}"]
        lines += [f"  {what:<9} {n:>{width}}  {more}".rstrip() for what, n, more in rows]
        return "\n".join([*lines, *self._worker_lines()])

    def _pace(self) -> str:
        if not self.waiting + self.in_work:
            return "nothing left"
        if not self._alive():
            return "no worker: scrapy crawl template_candidates -a queue=NAME starts one"
        rate = f"{self.a_minute:.{1 if self.a_minute < 10 else 0}f} a minute"
        left = self.seconds_left
        return rate if left is None else f"{rate}, {duration(left)} left"

    def _alive(self) -> int:
        return sum(not worker.is_dead for worker in self.workers)

    def _worker_lines(self) -> Iterator[str]:
        if self.workers:
            yield "Workers"
        for worker in self.workers:
            done = "" if worker.done is None else f", {worker.done} done"
            version = f", version {worker.version}" if worker.version else ""
            sign = f"last sign of life {worker.silence:.0f} s ago"
            dead = ": DEAD, others take over what it had" if worker.is_dead else ""
            yield harmless(
                f"  {worker.name}: {worker.in_work} in work{done}{version}, {sign}{dead}"
            )


async def queue_status(queue: OpenQueue) -> QueueStatus:
    """Ask Redis how the queue stands."""
    keys = queue.keys
    names = [keys.name, keys.results, keys.failed, keys.retrying, keys.facts, keys.rate]
    answer = await queue.link.run("status", [*names, keys.workers, keys.waiting], GROUP)
    now, entries, results, size, failed, facts, rate, beats, hosts, consumers = answer
    about, told = _pairs(facts), dict(zip(beats[::2], beats[1::2], strict=True))
    workers, for_hosts = [], 0
    for name, pending, silence in consumers:
        if text(name) == WAITING:
            for_hosts = pending
        elif text(name) != RETURNED:
            seconds = silence / 1000
            dead = seconds > queue.claim_seconds
            beat = text(told.get(name, b""))
            workers.append(_worker(_spelled(name), pending, seconds, dead, beat))
    in_work = sum(worker.in_work for worker in workers)
    return QueueStatus(
        _spelled(keys.name.encode()),
        max(entries - in_work, 0),
        min(for_hosts, entries),
        hosts,
        tuple(sorted(workers, key=lambda worker: worker.name)),
        whole(about.get("put", 0)),
        whole(about.get("done", 0)),
        failed,
        whole(about.get("given_up", 0)),
        _a_minute(_pairs(rate), whole(now)),
        results,
        size,
    )


def _worker(name: str, in_work: int, silence: float, dead: bool, beat: str) -> Worker:  # noqa: FBT001 - of queue_status
    """A worker, with what it has last told of itself: anything, as far as we know."""
    try:
        told: Any = json.loads(beat or "{}")
    except (ValueError, RecursionError):
        told = {}
    if not isinstance(told, dict):
        told = {}
    done = told.get("done")
    texts = (told.get(name) for name in ("host", "version"))
    machine, version = (each[:100] if isinstance(each, str) else "" for each in texts)
    number = done if type(done) is int and done == whole(done) else None
    return Worker(name, in_work, silence, dead, number, machine, version)


def _spelled(name: bytes) -> str:
    r"""A name, which may be any bytes, in characters that can be printed: each in a way of its own.

    >>> print(_spelled(b"a b\n\x1b\\ \xff"), _spelled("\xff\u2028".encode()))
    a b\n\x1b\\ \udcff ÿ\u2028
    """
    return "".join(
        each if each.isprintable() and each != "\\" else each.encode("unicode_escape").decode()
        for each in name.decode("utf-8", "surrogateescape")
    )


def _a_minute(rate: dict[str, str], now: int) -> float:
    """Answers a minute, since the first of the last minutes in which there was one."""
    minute = now // 60
    counts = {whole(at): whole(count) for at, count in rate.items()}
    late = {at: count for at, count in counts.items() if minute - _OF_LATE <= at <= minute}
    if not late:
        return 0
    return 60 * sum(late.values()) / max(now - 60 * min(late), 1)


def _pairs(flat: list[Any]) -> dict[str, str]:
    texts = [text(part) for part in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _size(number: float) -> str:
    """A size in memory.

    >>> _size(900), _size(2_340_000)
    ('900 bytes', '2.3 MB')
    """
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
