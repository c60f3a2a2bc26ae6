"""``scrapy queue clear``: nothing is left of a queue; leases of hosts are not its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.status import queue_status
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from tplspider.crawl.fleet.open_queue import OpenQueue

_AT_ONCE = 500


async def clear_queue(queue: OpenQueue, *, sure: bool, force: bool) -> str:
    """Delete the keys of a queue, and tell what there was.

    Raises ValueError, in one line, if nobody has said *sure*, or workers are at it (by *force*
    they lose what they have in work).
    """
    keys, redis, call = queue.keys, queue.link.redis, queue.link.call
    status = await queue_status(queue)
    alive = [worker for worker in status.workers if not worker.is_dead]
    left = status.waiting + status.in_work
    what = f"{counted(left, 'key page')} without an answer and {counted(status.results, 'result')}"
    if alive and not force:
        raise ValueError(
            f"queue {keys.name!r}: {counted(len(alive), 'worker')} gave signs of life in the last"
            f" {queue.claim_seconds:g} s: stop them first, or give --force"
        )
    if not sure:
        raise ValueError(f"queue {keys.name!r}: {what} would be deleted: give --yes to do it")
    await call(lambda: redis.unlink(*keys.types))
    cursor = 0
    while True:
        scan = partial(redis.scan, cursor, match=f"{keys.waiting}:*", count=_AT_ONCE)
        cursor, found = await call(scan)
        if found:
            await call(partial(redis.unlink, *found))
        if not cursor:
            return f"Queue {keys.name}: {what} deleted"
