"""``scrapy queue results --final``: when all is answered, the last answer to each key page."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from tplspider.crawl.fleet.link import QueueLostError
from tplspider.crawl.fleet.open_queue import StoppedError
from tplspider.crawl.fleet.result_feeds import feed_of
from tplspider.crawl.fleet.result_files import ENDING
from tplspider.crawl.fleet.results import tell_bad
from tplspider.crawl.fleet.results_stream import Position, is_behind, read_results
from tplspider.crawl.fleet.rows import Candidate, Template
from tplspider.crawl.outputs.resumable import sync_to_disk
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tplspider.crawl.fleet.open_queue import OpenQueue
    from tplspider.crawl.fleet.result_feeds import ResultFeed
    from tplspider.crawl.fleet.results import Taken
    from tplspider.crawl.fleet.results_stream import Part
    from tplspider.crawl.fleet.rows import Answer

logger = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds
_TELL = 60  # pauses

# All answers, then those that stand: of each key page the one of the highest attempt. Rows of a
# search that several of them have are written once.
_ANSWERS = """CREATE TABLE answers (id TEXT PRIMARY KEY, name TEXT, attempt INT, search TEXT,
    candidates INT, templates INT, place INT) WITHOUT ROWID"""
_FINAL = """CREATE TABLE final AS SELECT * FROM (SELECT *, row_number() OVER
    (PARTITION BY name ORDER BY attempt DESC, place) AS number FROM answers) WHERE number = 1"""
_ONCE = """UPDATE final SET {0} = 0 WHERE id NOT IN (SELECT id FROM (SELECT id, row_number() OVER
    (PARTITION BY search ORDER BY attempt DESC, place) AS number FROM final WHERE {0})
    WHERE number = 1)"""


async def take_final(
    queue: OpenQueue, feeds: list[ResultFeed], taken: Taken, *, rest: bool = False
) -> None:
    """Wait until nothing is left in the queue, then write whole files.

    Each appears under its name when it is complete. Raises as :func:`take_results` does.
    """
    for feed in feeds:
        if feed.path.with_name(feed.path.name + ENDING).exists():
            raise ValueError(f"{feed.label}: scrapy queue results adds to it: give another file")
    try:
        await _wait_for_end(queue)
        with closing(sqlite3.connect("", isolation_level=None)) as known:
            known.execute("PRAGMA journal_mode = OFF")
            known.execute(_ANSWERS)
            end = await _choose(queue, known, taken, rest=rest)
            await _write(queue, feeds, known, end, taken, rest=rest)
    except (OSError, QueueLostError) as error:
        why = " ".join(str(error).split())
        raise StoppedError(f"{why}: nothing was written") from None


async def _wait_for_end(queue: OpenQueue) -> None:
    pauses = 0
    while left := await queue.length():
        if pauses % _TELL == 0:
            logger.warning("Waiting: %s without an answer", counted(left, "key page"))
        pauses += 1
        await asyncio.sleep(_PAUSE)


async def _parts(queue: OpenQueue, end: str, *, rest: bool) -> AsyncIterator[Part]:
    """The stream from its start to its *end*, or to where it ends at the first look."""
    position = Position()
    while True:
        part = await read_results(queue, position, rest=rest)
        if part.newer:  # an answer that may be the last one to its key page
            raise ValueError(part.newer)
        end = end or part.end
        yield part
        position = part.behind
        if not part.answers or not is_behind(position.id, end):
            return


async def _choose(queue: OpenQueue, known: sqlite3.Connection, taken: Taken, *, rest: bool) -> str:
    """Find out which answers stand; gives where the stream ended."""
    end, place = "", 0
    known.execute("BEGIN")
    async for part in _parts(queue, "", rest=rest):
        end = end or part.end
        taken.bad += tell_bad(part)
        for answer in part.answers:
            if answer.summary:
                place += 1
                rows: tuple[Any, ...] = (
                    answer.id,
                    answer.name,
                    answer.attempt,
                    answer.summary.search_id or answer.id,
                    bool(answer.candidates),
                    bool(answer.templates),
                    place,
                )
                known.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    for statement in (_FINAL, _ONCE.format("candidates"), _ONCE.format("templates")):
        known.execute(statement)
    known.execute("CREATE UNIQUE INDEX by_id ON final (id)")
    known.execute("COMMIT")
    return end


async def _write(
    queue: OpenQueue,
    feeds: list[ResultFeed],
    known: sqlite3.Connection,
    end: str,
    taken: Taken,
    *,
    rest: bool,
) -> None:
    with ExitStack() as unfinished:
        parts, files, exporters = {}, [], {}
        for feed in feeds:
            feed.path.parent.mkdir(parents=True, exist_ok=True)
            parts[feed] = feed.path.with_name(f"{feed.path.name}.part")
            unfinished.callback(parts[feed].unlink, missing_ok=True)
            files.append(unfinished.enter_context(parts[feed].open("wb")))
            exporters[feed] = feed.open_exporter(files[-1])
        async for part in _parts(queue, end, rest=rest):
            for answer in part.answers:
                taken.answers += _export(answer, known, exporters)
        for exporter in exporters.values():
            exporter.finish_exporting()
        for file in files:
            file.close()
        for feed, written in parts.items():
            sync_to_disk(written)
            written.replace(feed.path)


def _export(answer: Answer, known: sqlite3.Connection, exporters: dict[ResultFeed, Any]) -> bool:
    """Write the rows of an answer that stand; whether there are any."""
    select = "SELECT candidates, templates FROM final WHERE id = ?"
    found = known.execute(select, (answer.id,)).fetchone()
    if not found:
        return False
    left_out = {
        kind for kind, stands in zip((Candidate, Template), found, strict=True) if not stands
    }
    for item in answer.items():
        feed = feed_of(exporters, item)
        if feed and type(item) not in left_out:
            exporters[feed].export_item(item)
    return True
