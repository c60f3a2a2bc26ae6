"""One line of a list of key pages, as the search is to have it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from tplspider.old.crawl.credentials import masked
from tplspider.search.session import SearchOptions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from tplspider.old.crawl.batch.raw_lines import RawLine

OPTIONS = frozenset(each.name for each in fields(SearchOptions))

_SHOWN = 200  # characters of a line in a message


@dataclass(frozen=True, slots=True)
class ListLine:
    """A line: the address and the options in it (*values*), and all that is the user's (*input*).

    One that is out of form says so in its *fault*. Values are as they stand in the list: whoever
    checks the arguments of a search checks them.
    """

    number: int  # from 1; of a record, that of its first line
    values: dict[str, object]
    input: dict[str, object] | None
    fault: str = ""
    text: str = ""  # for messages
    mark: bytes = b""  # tells on another day whether the line is still the same

    def to_json(self) -> str:
        """The line as text, to be kept somewhere."""
        return json.dumps({**asdict(self), "mark": self.mark.hex()})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The line that was kept."""
        kept = json.loads(text)
        return cls(**{**kept, "mark": bytes.fromhex(kept["mark"])})


def faulty(raw: RawLine, fault: str) -> ListLine:
    """The line that stands for one that is out of form."""
    text = raw.data.decode("utf-8", "replace")
    return ListLine(raw.number, {}, None, fault, _shown(text), raw.mark)


def line_with(raw: RawLine, text: str, found: Mapping[str, object], column: str) -> ListLine:
    """The line of a record whose fields are *found*, the address being in *column*."""
    values: dict[str, object] = {"url": found.get(column)}
    own: dict[str, object] = {}
    for name, value in found.items():
        if name == column:
            continue
        if name not in OPTIONS:
            own[name] = value
        elif value is not None and str(value).strip():
            values[name] = value
    fault = ""
    if values["url"] is not None and not isinstance(values["url"], str):
        fault = f"{column!r} is not text"
    elif not str(values["url"] or "").strip():
        fault = f"no {column!r}" if column not in found else f"{column!r} is empty"
    return ListLine(raw.number, {} if fault else values, own or None, fault, _shown(text), raw.mark)


def _shown(text: str) -> str:
    """What may be shown of a line: no password, and one line of it."""
    return " ".join(masked(text)[:_SHOWN].split())
