"""Whether a worker can work on a queue, before anything is requested: else one line says why."""

from __future__ import annotations

import asyncio
import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING

from tplspider.crawl.batch.same_crawl import difference
from tplspider.crawl.config import Config
from tplspider.crawl.fleet.address import queue_address
from tplspider.crawl.fleet.keys import GROUP, QueueKeys
from tplspider.crawl.fleet.link import Link, QueueError
from tplspider.crawl.fleet.open_queue import check_types

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from tplspider.crawl.arguments import Arguments


def check_queue(arguments: Arguments, settings: BaseSettings) -> None:
    """Raise ValueError, in one line, when there is no queue that a worker could work on."""

    async def look() -> None:
        # Whoever starts a worker wants to know at once: nothing is waited for.
        link = await Link.open(queue_address(settings), patience=0)
        try:
            await begin_work(link, arguments, settings)
        finally:
            await link.close()

    # In a thread: there may be an event loop in this one, and nobody's is touched.
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, look()).result()
        except QueueError as error:
            raise ValueError(str(error)) from None


async def begin_work(link: Link, arguments: Arguments, settings: BaseSettings) -> None:
    """See to it that there is a queue, and that all its workers search with the same options."""
    keys = QueueKeys(arguments.queue)
    await check_types(link, keys)
    await link.make_queue(keys.name)
    mine = _options(arguments, settings)
    found = await link.run(
        "agree",
        [keys.name, keys.facts],
        GROUP,
        json.dumps(mine),
        math.ceil(1000 * Config.of(settings).claim_seconds),
    )
    if differs := difference(json.loads(found), mine):
        raise QueueError(
            f"queue={keys.name!r}: {differs}: give what its other workers were given"
            " (for single key pages, their entries can say it)"
        )


def _options(arguments: Arguments, settings: BaseSettings) -> dict[str, str]:
    """What all workers have to agree on."""
    config = Config.of(settings)
    given = {name: repr(value) for name, value in asdict(arguments.options).items()}
    return {
        **given,
        "template": repr(config.template or bool(arguments.template)),
        "TPLSPIDER_ALLOW_PRIVATE": repr(config.allow_private),
        "ROBOTSTXT_OBEY": repr(settings.getbool("ROBOTSTXT_OBEY")),
        # Who gives signs of life more rarely than others expect them is taken for dead.
        "TPLSPIDER_CLAIM_SECONDS": f"{config.claim_seconds:g}",
        "TPLSPIDER_CLAIM_TRIES": repr(config.claim_tries),
    }
