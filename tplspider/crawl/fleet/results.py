"""``scrapy queue results``: rows out of Redis into files, from where the last command stopped."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.link import QueueLostError
from tplspider.crawl.fleet.open_queue import StoppedError
from tplspider.crawl.fleet.result_files import ResultFiles
from tplspider.crawl.fleet.results_stream import is_behind, read_results
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from tplspider.crawl.fleet.open_queue import OpenQueue
    from tplspider.crawl.fleet.result_feeds import ResultFeed
    from tplspider.crawl.fleet.results_stream import Part

logger = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds, before somebody who follows looks again


@dataclass(slots=True)
class Taken:
    """What was written, for a person."""

    answers: int = 0
    bad: int = 0

    def __str__(self) -> str:
        bad = f"; {counted(self.bad, 'result')} out of form left out" if self.bad else ""
        return f"{counted(self.answers, 'result')} written{bad}"


async def take_results(
    queue: OpenQueue,
    feeds: list[ResultFeed],
    taken: Taken,
    *,
    follow: bool = False,
    trim: bool = False,
    rest: bool = False,
) -> None:
    """Write the results that there are, and those that come if it is to *follow*; count in *taken*.

    To *trim* deletes from Redis what is on the disk. Raises ValueError, in one line, if the files
    or the results will not do, and StoppedError when it could not go on.
    """
    description = {"queue": queue.keys.name, "Redis": str(queue.address)}
    with ResultFiles(feeds, description) as files:
        position, end = files.position, ""
        try:
            while True:
                part = await read_results(queue, position, rest=rest)
                end = end or part.end
                if part.answers:
                    taken.bad += tell_bad(part)
                    taken.answers += files.write(part.answers, part.behind)
                    position = part.behind
                if trim and position.read:
                    await _trim(queue, position.id)
                if part.newer:
                    if taken.answers or taken.bad:
                        raise StoppedError(f"{part.newer}: {taken}")
                    raise ValueError(part.newer)
                if not follow and (not part.answers or not is_behind(position.id, end)):
                    return
                if not part.answers:
                    await asyncio.sleep(_PAUSE)
        except (OSError, QueueLostError) as error:
            why = " ".join(str(error).split())
            raise StoppedError(f"{why}: {taken}: the same command goes on from there") from None


def tell_bad(part: Part) -> int:
    """Tell of results that nobody can read; how many there were."""
    bad = [answer for answer in part.answers if answer.fault]
    for answer in bad:
        logger.error("Result %s is out of form: %s", answer.id, answer.fault[:200])
    return len(bad)


async def _trim(queue: OpenQueue, last: str) -> None:
    """Delete from the stream what is not behind *last*: it is on the disk."""
    time, _, number = last.partition("-")
    after = f"{time}-{int(number) + 1}"
    redis, name = queue.link.redis, queue.keys.results
    await queue.link.call(lambda: redis.xtrim(name, minid=after, approximate=False))
