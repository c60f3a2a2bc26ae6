"""``scrapy queue put``: a list into the queue, every line once, however often it is begun."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from tplspider.crawl.batch.key_list import STANDARD_INPUT, open_list
from tplspider.crawl.fleet.entry import VERSION, put_fields
from tplspider.crawl.fleet.link import QueueError, QueueFullError, QueueLostError
from tplspider.crawl.fleet.open_queue import StoppedError, text
from tplspider.crawl.outputs.names import without_password
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from typing import Self

    from tplspider.crawl.batch.key_list import KeyList
    from tplspider.crawl.batch.list_line import ListLine
    from tplspider.crawl.fleet.open_queue import OpenQueue

_AT_ONCE = 500  # lines
_LARGEST = 1_000_000  # bytes, about, of the lines in one step

_GO_ON = "the same command goes on from there"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a list has come: so many lines, which have this digest."""

    lines: int = 0
    digest: str = ""

    @classmethod
    def read(cls, kept: str, label: str) -> Self:
        """The mark as it stands in Redis; ValueError, in one line, if it cannot be read."""
        if not kept:
            return cls()
        version, _, about = kept.partition(" ")
        lines, _, digest = about.partition(" ")
        if not (version.isdecimal() and lines.isdecimal() and digest):
            raise ValueError(f"{label}: the queue's mark of it is damaged")
        if int(version) > VERSION:
            raise ValueError(f"{label}: it was put by a later version of tplspider")
        return cls(int(lines), digest)

    def __str__(self) -> str:
        return f"{VERSION} {self.lines} {self.digest}" if self.lines else ""

    def after(self, line: ListLine) -> Mark:
        """The mark one line further on. Whatever the line is made of has its part in it."""
        names = [*line.values, *(line.input or ())]
        about = f"{self.digest} {line.number} {line.mark.hex()} {names}"
        digest = blake2b(about.encode("utf-8", "replace"), digest_size=16)
        return Mark(self.lines + 1, digest.hexdigest())


@dataclass(slots=True)
class Put:
    """What was put, for a person."""

    lines: int = 0
    bad: int = 0  # of these, out of form
    before: int = 0  # put by an earlier command

    def __str__(self) -> str:
        bad = f" ({self.bad} of them out of form)" if self.bad else ""
        before = f"; {self.before} were there before" if self.before else ""
        return f"{counted(self.lines, 'key page')} put{bad}{before}"


async def put_list(queue: OpenQueue, name: str, column: str, label: str) -> Put:
    """Put the list *name* into the queue, under *label* if there is one.

    Raises ValueError, in one line, for a list that will not do, and StoppedError when it could not
    be put to its end.
    """
    with _open(name, column) as lines:
        lines.label = f"put {without_password(name)!r}"
        putting = _Putting(queue, lines, *_label(name, label))
        await queue.link.make_queue(queue.keys.name)
        try:
            await putting.run()
        except (QueueFullError, QueueLostError) as error:
            told = f"{error}: {putting.count}"
            raise StoppedError(f"{told}: {_GO_ON}" if putting.is_kept else told) from None
        if lines.broken:
            told = f"{lines.label}: {lines.broken}: {putting.count}"
            raise StoppedError(f"{told}: {_GO_ON}" if putting.is_kept else told)
        return putting.count


def _open(name: str, column: str) -> KeyList:
    """The list, whose faults are told in the words of this command."""
    try:
        return open_list(name, column)
    except ValueError as error:
        told = str(error).replace("-a column=NAME", "--column NAME")
        raise ValueError(f"put {told.removeprefix('urls=')}") from None


def _label(name: str, label: str) -> tuple[str, bool]:
    """By what the list is known, and whether it is known beyond this command."""
    if label:
        return label, True
    if name != STANDARD_INPUT:
        return os.path.realpath(name), True
    return f"{STANDARD_INPUT} {secrets.token_hex(8)}", False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line to be put, and the mark behind it."""

    entry: str
    mark: Mark
    is_bad: bool


class _Putting:
    def __init__(self, queue: OpenQueue, lines: KeyList, label: str, is_kept: bool) -> None:  # noqa: FBT001 - of _label
        self.count = Put()
        self.is_kept = is_kept
        self._queue = queue
        self._list = lines
        self._label = label.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        self._mark = Mark()  # what stands in Redis
        self._chunk: list[_Line] = []

    async def run(self) -> None:
        keys, redis = self._queue.keys, self._queue.link.redis
        kept = await self._queue.link.call(lambda: redis.hget(keys.files, self._label))
        self._mark = Mark.read(text(kept or b""), self._list.label)
        reached, size = Mark(), 0
        for line in self._list:
            if self._list.broken and line.fault == self._list.broken:
                break  # a part of a line, which may be whole another time
            reached = reached.after(line)
            if reached.lines <= self._mark.lines:
                self.count.before += 1
                self._compare(reached)
                continue
            self._chunk.append(_Line(self._entry(line), reached, bool(line.fault)))
            size += len(self._chunk[-1].entry)
            if len(self._chunk) >= _AT_ONCE or size > _LARGEST:
                await self._add()
                size = 0
        await self._add()
        if reached.lines < self._mark.lines and not self._list.broken:
            raise ValueError(
                f"{self._list.label}: {self._mark.lines} lines of it are in the queue, and it has"
                f" {reached.lines} now: {_ANOTHER}"
            )
        if not self.is_kept:
            await self._queue.link.call(lambda: redis.hdel(keys.files, self._label))

    def _compare(self, reached: Mark) -> None:
        if reached.lines == self._mark.lines and reached != self._mark:
            raise ValueError(
                f"{self._list.label}: not the list that was put before: its first"
                f" {counted(reached.lines, 'line')} changed since, or --column: {_ANOTHER}"
            )

    async def _add(self) -> None:
        """Put the lines that have come together, unless somebody else has put them meanwhile."""
        keys = self._queue.keys
        while self._chunk:
            wanted = str(self._chunk[-1].mark)
            entries = [each.entry for each in self._chunk]
            arguments = str(VERSION), self._label, str(self._mark), wanted, *entries
            try:
                stands = text(
                    await self._queue.link.run(
                        "put", [keys.name, keys.files, keys.facts], *arguments
                    )
                )
            except QueueError as error:
                if not str(error).startswith("VERSION"):
                    raise
                raise ValueError(
                    f"queue {keys.name!r} is of a later version of tplspider, which knows more"
                ) from None
            if stands == wanted:
                self.count.lines += len(self._chunk)
                self.count.bad += sum(each.is_bad for each in self._chunk)
                self._mark = self._chunk[-1].mark
                self._chunk.clear()
                return
            self._go_on_behind(Mark.read(stands, self._list.label))

    def _go_on_behind(self, mark: Mark) -> None:
        if mark.lines < self._chunk[0].mark.lines:
            raise StoppedError(f"{self._list.label}: the queue was cleared meanwhile: {self.count}")
        self._mark = mark
        while self._chunk and self._chunk[0].mark.lines <= mark.lines:
            self._compare(self._chunk.pop(0).mark)
            self.count.before += 1

    def _entry(self, line: ListLine) -> str:
        fields = put_fields(line, f"{self._label}:{line.number}")
        return json.dumps([part for pair in fields.items() for part in pair])


_ANOTHER = "give the list as it was, or the other one a name of its own with --as NAME"
