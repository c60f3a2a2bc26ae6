"""Answers on their way into the queue: each in one step with the acknowledgement of its entry."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Any

from scrapy.exporters import PythonItemExporter
from scrapy.utils.serialize import ScrapyJSONEncoder

from tplspider.crawl.fleet.entry import VERSION, QueueEntry
from tplspider.crawl.fleet.keys import GROUP, QueueKeys
from tplspider.web.page import CRASHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.crawl.batch.answers import SearchAnswer
    from tplspider.crawl.fleet.link import Link

_ENCODER = ScrapyJSONEncoder(ensure_ascii=False)


def packed_rows(answer: SearchAnswer, attempt: int) -> bytes:
    """The rows of an answer as a JSON feed has them, each with its attempt."""
    exporter = PythonItemExporter(dont_fail=True)

    def row(item: object) -> dict[Any, Any]:
        return {**exporter.export_item(item), "attempt": attempt}

    rows = {
        "candidates": [row(item) for item in answer.candidates],
        "templates": [row(answer.template)] if answer.template else [],
        "summary": row(answer.summary),
    }
    return zlib.compress(_ENCODER.encode(rows).encode())


class Deliveries:
    """The answers that are not in the queue yet.

    *done* is called for each that is, with whether it was the first answer to its entry; *failed*
    with what is wrong with the queue.
    """

    def __init__(
        self,
        link: Link,
        keys: QueueKeys,
        done: Callable[[bool], object],
        failed: Callable[[Exception], object],
    ) -> None:
        self._link = link
        self._keys = keys
        self._done = done
        self._failed = failed
        self._under_way: dict[str, asyncio.Task[None]] = {}  # by the ids of entries

    def __len__(self) -> int:
        return len(self._under_way)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._under_way

    @property
    def ids(self) -> list[str]:
        return list(self._under_way)

    def send(self, entry: QueueEntry, answer: SearchAnswer) -> None:
        """Have an answer delivered; it is packed at once, so that its items can go."""
        outcome = answer.summary.key_outcome
        arguments = (
            GROUP,
            entry.id,
            VERSION,
            entry.attempt,
            packed_rows(answer, entry.attempt),
            entry.name,
            "" if outcome == "ok" else entry.again(),
            int(outcome == CRASHED),
        )
        self._under_way[entry.id] = asyncio.ensure_future(self._deliver(entry, arguments))

    async def wait(self) -> None:
        """Wait until all are delivered, or cannot be."""
        while self._under_way:
            await asyncio.wait(self._under_way.values())

    async def _deliver(self, entry: QueueEntry, arguments: tuple[Any, ...]) -> None:
        keys = self._keys
        names = [keys.name, keys.results, keys.failed, keys.facts, keys.rate]
        try:
            is_first = bool(await self._link.run("finish", names, *arguments))
        except Exception as error:  # noqa: BLE001 - whoever ends the crawl tells
            self._under_way.pop(entry.id, None)
            self._failed(error)
        else:
            self._under_way.pop(entry.id, None)
            self._done(is_first)
