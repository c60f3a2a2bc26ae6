"""The stream of results, read from a position: nothing that is missing goes unnoticed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.open_queue import text
from tplspider.crawl.fleet.rows import Answer, NewerResultsError
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from tplspider.crawl.fleet.open_queue import OpenQueue

START = "0-0"

_AT_ONCE = 200  # answers
_LARGEST = 4_000_000  # bytes of them, about


@dataclass(frozen=True, slots=True)
class Position:
    """How far a reader came: the id of the last answer, how many there were, and in what stream."""

    id: str = START
    read: int = 0
    began: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Answers that follow a position, the position behind them, and where the stream ends now.

    *newer* says why it does not go on behind them, if what follows is of a later version.
    """

    answers: list[Answer]
    behind: Position
    end: str
    newer: str = ""


async def read_results(queue: OpenQueue, position: Position, *, rest: bool = False) -> Part:
    """The next answers. ValueError, in one line, if the stream is not the one that was read, or
    if answers behind the position are gone: unless it is the *rest* that is wanted.
    """
    keys = queue.keys
    began, added, length, first, deleted, end, found = await queue.link.run(
        "read", [keys.results, keys.facts], position.id, _AT_ONCE, _LARGEST
    )
    if position.read and text(began) != position.began:
        raise ValueError(
            f"queue {keys.name!r} was cleared since its results were read:"
            " give other files for those of the new one"
        )
    read = position.read
    if missing := _missing(position, added, length, text(first), text(deleted)):
        if not rest:
            raise ValueError(
                f"{keys.results}: {missing} were deleted before they were read here:"
                " give --rest to have those that are left"
            )
        read = max(read, added - length if _order(text(first)) > _order(position.id) else read)
    answers, newer = [], ""
    for answer_id, pairs in found:
        try:
            answers.append(Answer.read(answer_id, pairs))
        except NewerResultsError as error:
            newer = f"{keys.results}: {error}"
            break
    behind = answers[-1].id if answers else position.id
    return Part(answers, Position(behind, read + len(answers), text(began)), text(end), newer)


def is_behind(position: str, end: str) -> bool:
    """Whether a position has not reached that end."""
    return _order(position) < _order(end)


def _missing(position: Position, added: int, length: int, first: str, deleted: str) -> str:
    """What is gone behind the position, in words. A stream loses its oldest answers first."""
    if not length or _order(first) > _order(position.id):
        gone = added - position.read - length
        return counted(gone, "result") if gone > 0 else ""
    return "some results" if _order(deleted) > _order(position.id) else ""


def _order(stream_id: str) -> tuple[int, int]:
    """Ids in their order.

    >>> _order("1700-2") < _order("1700-10")
    True
    """
    time, _, number = stream_id.partition("-")
    return int(time or 0), int(number or 0)
