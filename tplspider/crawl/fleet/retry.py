"""``scrapy queue retry``: all that failed goes into the queue once more, as its next attempt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.link import QueueError, QueueFullError, QueueLostError
from tplspider.crawl.fleet.open_queue import StoppedError
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from tplspider.crawl.fleet.open_queue import OpenQueue

_AT_ONCE = 200
_MOST = 1000  # parts of an entry: Lua has room for some thousand


@dataclass(slots=True)
class Retried:
    """What was put back, for a person."""

    put: int = 0
    bad: int = 0

    def __str__(self) -> str:
        bad = f"; {self.bad} out of form stay where they are" if self.bad else ""
        return f"{counted(self.put, 'failed key page')} put back{bad}"


async def retry_failed(queue: OpenQueue) -> Retried:
    """Put back what has failed up to now; whatever fails from here on is for another time.

    What an earlier command was killed at goes first. StoppedError says why not all were put.
    """
    await queue.link.make_queue(queue.keys.name)
    done = Retried()
    try:
        await _put_back(queue, done)
        if await _set_aside(queue):
            await _put_back(queue, done)
    except (QueueFullError, QueueLostError) as error:
        raise StoppedError(f"{error}: {done}: the same command goes on") from None
    return done


async def _set_aside(queue: OpenQueue) -> bool:
    """Keep those that have failed apart from those that will."""
    redis, keys = queue.link.redis, queue.keys
    try:
        await queue.link.call(lambda: redis.renamenx(keys.failed, keys.retrying))
    except QueueError as error:
        if "no such key" not in str(error):
            raise
    return bool(await queue.link.call(lambda: redis.exists(keys.retrying)))


async def _put_back(queue: OpenQueue, done: Retried) -> None:
    redis, keys = queue.link.redis, queue.keys
    cursor = 0
    while True:
        scan = partial(redis.hscan, keys.retrying, cursor, count=_AT_ONCE)
        cursor, found = await queue.link.call(scan)
        pairs = list(found.items())
        for start in range(0, len(pairs), _AT_ONCE):
            records = pairs[start : start + _AT_ONCE]
            arguments = [part for name, record in records for part in (name, record, _json(record))]
            names = [keys.name, keys.retrying, keys.failed]
            done.put += await queue.link.run("retry", names, *arguments)
            done.bad += sum(not _json(record) for _, record in records)
        if not cursor:
            return


def _json(record: bytes) -> str:
    """The fields of an entry, as the script takes them; '' for a record that is out of form."""
    try:
        fields = json.loads(record)
        pairs = [str(part) for pair in fields.items() for part in pair]
    except (ValueError, AttributeError, RecursionError):
        return ""
    text = json.dumps([part.encode("utf-8", "replace").decode() for part in pairs])
    return text if pairs and len(pairs) <= _MOST else ""
