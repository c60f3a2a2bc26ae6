"""What ``scrapy queue`` does, action by action; each tells in a line what it has done."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from tplspider.crawl.exit_status import LOST
from tplspider.crawl.fleet.clear import clear_queue
from tplspider.crawl.fleet.final_results import take_final
from tplspider.crawl.fleet.metrics import metrics
from tplspider.crawl.fleet.open_queue import open_queue
from tplspider.crawl.fleet.put import put_list
from tplspider.crawl.fleet.result_feeds import result_feeds
from tplspider.crawl.fleet.results import Taken, take_results
from tplspider.crawl.fleet.retry import retry_failed
from tplspider.crawl.fleet.status import queue_status
from tplspider.crawl.printing import print_error, print_text

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from tplspider.crawl.fleet.open_queue import OpenQueue

_AGAIN = 2.0  # seconds between two looks of --watch
_HOME_AND_CLEAR = "\x1b[H\x1b[J"


async def run_action(
    action: str, args: list[str], opts: argparse.Namespace, settings: BaseSettings
) -> int:
    """Do it, and give the exit status. ValueError, QueueError and StoppedError tell in a line."""
    if action == "results":
        return await _results(opts, settings)
    async with open_queue(settings, opts.queue) as queue:
        if action == "put":
            put = await put_list(queue, args[0], opts.column or "", opts.label or "")
            return _told(f"Queue {queue.keys.name}: {put}")
        if action == "retry":
            retried = await retry_failed(queue)
            return _told(str(retried)) or (LOST if retried.bad else 0)
        if action == "clear":
            return _told(await clear_queue(queue, sure=opts.yes, force=opts.force))
        if opts.watch:
            await _watch(queue)
        if not await queue.exists():
            print_error(_unknown(queue))
        status = await queue_status(queue)
        return _told(metrics(status) if opts.metrics else status.table())


async def _results(opts: argparse.Namespace, settings: BaseSettings) -> int:
    given = {"-O": opts.candidates, "--summary": opts.summary, "--template": opts.template}
    names = {option: name for option, name in given.items() if name}
    feeds = result_feeds(names, settings, growing=not opts.final)
    taken = Taken()
    try:
        async with open_queue(settings, opts.queue) as queue:
            if not await queue.exists():
                raise ValueError(_unknown(queue))
            if opts.final:
                await take_final(queue, feeds, taken, rest=opts.rest)
            else:
                await take_results(
                    queue, feeds, taken, follow=opts.follow, trim=opts.trim, rest=opts.rest
                )
    except asyncio.CancelledError:  # by Ctrl-C
        print_error(str(taken))
        raise
    return _told(str(taken)) or (LOST if taken.bad else 0)


async def _watch(queue: OpenQueue) -> None:
    """Show how the queue stands: on a terminal always in the same place, else line after line."""
    is_terminal = sys.stdout.isatty()
    while True:
        status = await queue_status(queue)
        if not print_text(
            _HOME_AND_CLEAR + status.table() if is_terminal else status.line, "queue"
        ):
            return
        await asyncio.sleep(_AGAIN)


def _unknown(queue: OpenQueue) -> str:
    return f"queue {queue.keys.name!r} is not there: nothing was put into it, or it was cleared"


def _told(text: str) -> int:
    return 0 if print_text(text, "queue") else LOST
