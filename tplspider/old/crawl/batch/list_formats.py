"""What a list of key pages can be: plain text, JSON lines; CSV has a module of its own.

A format tells first which of the lines count, which is quick, and then what is in them. Nothing in
a line stops the list: what is out of form is a line with a fault.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from tplspider.old.crawl.batch.list_line import ListLine, faulty, line_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.old.crawl.batch.raw_lines import RawLine

_DEEPEST = 64  # whoever writes it again goes as deep, and has less of the stack left
_DIGITS = 1000

Record = TypeVar("Record")


class Format(Protocol, Generic[Record]):
    """How a list is read."""

    def records(self, raws: Iterator[RawLine]) -> Iterator[Record]:
        """The lines that count."""
        ...

    def line(self, record: Record) -> ListLine:
        """What one of them says."""
        ...


class PlainText:
    """One address a line; ``#`` starts a comment, but is a fragment in an address."""

    def records(self, raws: Iterator[RawLine]) -> Iterator[RawLine]:
        for raw in raws:
            start = raw.data.lstrip()
            if raw.fault or (start and not start.startswith(b"#")):
                yield raw

    def line(self, record: RawLine) -> ListLine:
        try:
            text = text_of(record)
        except ValueError as error:
            return faulty(record, str(error))
        return line_with(record, text, {"url": text.strip()}, "url")


class JsonLines:
    """An object a line, the address being in the field *column*."""

    def __init__(self, column: str = "") -> None:
        self._column = column or "url"

    def records(self, raws: Iterator[RawLine]) -> Iterator[RawLine]:
        return (raw for raw in raws if raw.fault or (not raw.data.isspace() and raw.data))

    def line(self, record: RawLine) -> ListLine:
        try:
            text = text_of(record)
            found = _json_object(text)
        except json.JSONDecodeError as error:
            return faulty(record, f"not JSON: {error.msg} at character {error.pos + 1}")
        except ValueError as error:
            return faulty(record, str(error))
        except RecursionError:
            return faulty(record, "nested too deep")
        return line_with(record, text, found, self._column)


def text_of(raw: RawLine) -> str:
    """The line as text; ValueError, with its fault, for one that is not."""
    if raw.fault:
        raise ValueError(raw.fault)
    if b"\0" in raw.data:
        raise ValueError("a NUL byte is in it")
    try:
        return raw.data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start + 1}") from None


def _json_object(text: str) -> dict[str, Any]:
    """The object that *text* is, once it is known that it can be written again."""
    found = _DECODER.decode(text)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a fault of the line like others
    if text.count("[") + text.count("{") > _DEEPEST and _depth(found) > _DEEPEST:
        raise ValueError("nested too deep")
    if "\\u" in text:
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half a character (a surrogate) is in it") from None
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:40]!r} is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is not a JSON number")


def _whole(text: str) -> int:
    return int(text) if len(text) <= _DIGITS else _no_number(f"a number of {len(text)} digits")


def _decimal(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_number, parse_int=_whole, parse_float=_decimal
)


def _depth(value: Any) -> int:
    """How deep arrays and objects are nested, up to a level that is too deep."""
    depth, level = 0, [value]
    while level and depth <= _DEEPEST:
        depth += 1
        parts = [
            part.values() if isinstance(part, dict) else part
            for part in level
            if isinstance(part, (dict, list))
        ]
        level = [inner for part in parts for inner in part if isinstance(inner, (dict, list))]
    return depth
