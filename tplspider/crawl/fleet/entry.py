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

# The fields that are ours begin with this: any other name may be one of a user's own.
_OURS = "tplspider:"
_VERSION, _ATTEMPT, _NAME, _RECORD = (_OURS + name for name in ("v", "attempt", "name", "record"))
_DEEPEST = 100  # levels of what is nested in a record: whoever copies it goes as deep
_LONGEST = 9  # digits of a number


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
        version = _number(fields.get(_VERSION, "1"))
        if version > VERSION:
            raise NewerEntryError(f"an entry of version {version}: this worker knows {VERSION}")
        name = entry_id.decode()
        attempt = max(1, _number(fields.get(_ATTEMPT, "1")))
        return cls(name, _line(fields), attempt, deaths, fields.get(_NAME) or name, fields)

    @property
    def line_in_queue(self) -> ListLine:
        """Its line, which knows its entry."""
        return replace(self.line, entry=self.id)

    def again(self) -> str:
        """The fields of the next attempt, as JSON: what ``retry`` adds to the queue."""
        return json.dumps({**self.fields, _NAME: self.name, _ATTEMPT: str(self.attempt + 1)})


def put_fields(line: ListLine, name: str) -> dict[str, str]:
    """What is put into the queue for a line of a list."""
    return {_VERSION: str(VERSION), _NAME: name, _ATTEMPT: "1", _RECORD: line.to_json()}


def _line(fields: Mapping[str, str]) -> ListLine:
    if record := fields.get(_RECORD):
        try:
            return _checked(ListLine.from_json(record))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            why = f"the record of the entry: {error}"
            return faulty(RawLine(0, record.encode("utf-8", "replace")), why)
    given: dict[str, Any] = {
        name: value for name, value in fields.items() if not name.startswith(_OURS)
    }
    raw = RawLine(0, json.dumps(given).encode())
    return line_with(raw, str(given.get("url", "")), given, "url")


def _checked(line: ListLine) -> ListLine:
    """A line whose fields are what they are in a list; ValueError if they are not."""
    kinds = ((line.number, int), (line.values, dict), (line.fault, str), (line.text, str))
    are_right = all(isinstance(value, kind) for value, kind in kinds)
    if not are_right or line.number < 0 or not isinstance(line.input, dict | None):
        raise ValueError("its fields are not those of a line")
    level: list[object] = [line.input, line.values]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _parts(outer)]
    if level:
        raise ValueError(f"more than {_DEEPEST} levels are nested in it")
    return line


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _number(text: str) -> int:
    """What should be a number; 0 for what is not, or is larger than any that is meant."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST
    return int(text) if is_number else 0
