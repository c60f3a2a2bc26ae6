"""How a queue stands, for Prometheus: its text format, version 0.0.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.crawl.fleet.status import QueueStatus

_PREFIX = "tplspider_queue_"


def metrics(status: QueueStatus) -> str:
    """All figures of a queue."""
    return "\n".join(_lines(status))


def _lines(status: QueueStatus) -> Iterator[str]:
    gauge, counter = "gauge", "counter"
    figures = [
        ("waiting", gauge, "Key pages that no worker has.", status.waiting),
        ("waiting_for_host", gauge, "Of these, those whose host is busy.", status.for_hosts),
        ("hosts_waited_for", gauge, "Hosts that key pages wait for.", status.hosts),
        ("put_total", counter, "Key pages put by scrapy queue put.", status.put),
        ("done_total", counter, "Answers.", status.done),
        ("given_up_total", counter, "Answers to what killed its workers.", status.given_up),
        ("failed", gauge, "Key pages that scrapy queue retry would put back.", status.failed),
        ("results", gauge, "Answers that are still in Redis.", status.results),
        ("results_bytes", gauge, "Memory of these in Redis.", status.results_bytes),
    ]
    if status.seconds_left is not None:
        what = "Time for the rest at the pace of the last minutes."
        figures.append(("seconds_left", gauge, what, round(status.seconds_left)))
    queue = _label("queue", status.name)
    for name, kind, what, value in figures:
        yield from _head(name, kind, what)
        yield f"{_PREFIX}{name}{{{queue}}} {value}"
    yield from _head("workers", gauge, "Workers, by whether they give signs of life.")
    for state, is_dead in (("alive", False), ("dead", True)):
        number = sum(worker.is_dead is is_dead for worker in status.workers)
        yield f"{_PREFIX}workers{{{queue},{_label('state', state)}}} {number}"
    labels = [f"{queue},{_label('worker', worker.name)}" for worker in status.workers]
    pairs = list(zip(labels, status.workers, strict=True))
    yield from _head("in_work", gauge, "Key pages that a worker has.")
    yield from (f"{_PREFIX}in_work{{{label}}} {worker.in_work}" for label, worker in pairs)
    yield from _head("worker_silence_seconds", gauge, "Time since the last sign of life.")
    for label, worker in pairs:
        yield f"{_PREFIX}worker_silence_seconds{{{label}}} {worker.silence:.3f}"


def _head(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP {_PREFIX}{name} {what}", f"# TYPE {_PREFIX}{name} {kind}"


def _label(name: str, value: str) -> str:
    r"""A label with its value, which may be anything.

    >>> print(_label("worker", 'a "b"\n\\'))
    worker="a \"b\"\n\\"
    """
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{name}="{escaped}"'
