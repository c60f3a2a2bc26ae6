"""An entry of the queue: a key page, as ``scrapy queue put`` or anybody else has put it there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tplspider.crawl.batch.list_line import ListLine, faulty, line_with
from tplspider.crawl.batch.raw_lines import RawLine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

VERSION = 1  # of entries and answers: a worker leaves those of a later one to others

_RECORD = "record"
_OURS = ("v", "attempt", "name", "line", _RECORD)


class NewerEntryError(Exception):
    """An entry that a later version of tplspider has put."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One key page in the queue.

    What ``put`` adds has a *record*, the line of its list, and a *name*, by which it is the same in
    every attempt. Anybody may add entries with plain fields, ``url`` being one of them.
    """

    id: str
    line: ListLine
    attempt: int = 1
    deaths: int = 0  # of workers that had it in work
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)  # as they stand in the queue

    @classmethod
    def read(cls, entry_id: bytes, pairs: list[bytes], deaths: int = 0) -> Self:
        """The entry that Redis gives; NewerEntryError if it is not for us to understand.

        What is out of form has a line with a fault.
        """
        texts = [part.decode("utf-8", "replace") for part in pairs]
        fields = dict(zip(texts[::2], texts[1::2], strict=False))
        version, attempt = fields.get("v", "1"), fields.get("attempt", "1")
        if version.isascii() and version.isdecimal() and int(version) > VERSION:
            raise NewerEntryError(f"an entry of version {version}: this worker knows {VERSION}")
        name = entry_id.decode()
        return cls(
            name,
            _line(fields),
            int(attempt) if attempt.isascii() and attempt.isdecimal() else 1,
            deaths,
            fields.get("name") or name,
            fields,
        )

    @property
    def line_in_queue(self) -> ListLine:
        """Its line, which knows its entry."""
        return replace(self.line, entry=self.id)

    def again(self) -> str:
        """The fields of the next attempt, as JSON: what ``retry`` adds to the queue."""
        return json.dumps({**self.fields, "name": self.name, "attempt": str(self.attempt + 1)})


def put_fields(line: ListLine, name: str) -> dict[str, str]:
    """What is put into the queue for a line of a list."""
    return {"v": str(VERSION), "name": name, "attempt": "1", _RECORD: line.to_json()}


def _line(fields: Mapping[str, str]) -> ListLine:
    if record := fields.get(_RECORD):
        try:
            return ListLine.from_json(record)
        except (ValueError, TypeError, KeyError) as error:
            return faulty(RawLine(0, record.encode()), f"the record of the entry: {error}")
    given: dict[str, Any] = {name: value for name, value in fields.items() if name not in _OURS}
    number = fields.get("line", "")
    raw = RawLine(
        int(number) if number.isascii() and number.isdecimal() else 0, json.dumps(given).encode()
    )
    return line_with(raw, str(given.get("url", "")), given, "url")
