"""The rows of an answer as they stand in Redis, and the items that they become in a feed."""

from __future__ import annotations

import json
import zlib
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from tplspider.crawl.fleet.entry import VERSION
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_LARGEST = 500_000_000  # bytes of JSON; a template is some times as large as its page

Item = TypeVar("Item")


@dataclass(repr=False)
class Candidate(TemplateCandidate):
    """A candidate that a fleet has found."""

    attempt: int = 1


@dataclass(repr=False)
class Summary(CandidateSearch):
    """The summary of a search by a fleet."""

    attempt: int = 1


@dataclass(repr=False)
class Template(PageTemplate):
    """A template that a fleet has found."""

    attempt: int = 1


class NewerResultsError(ValueError):
    """Answers that a later version of tplspider has given."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one entry; one that is out of form says so in its *fault*."""

    id: str  # in the stream of results
    entry: str
    name: str
    attempt: int
    summary: Summary | None = None
    candidates: list[Candidate] = field(default_factory=list)
    templates: list[Template] = field(default_factory=list)
    fault: str = ""

    @classmethod
    def read(cls, answer_id: bytes, pairs: list[bytes]) -> Self:
        """The answer that Redis gives; NewerResultsError if it is not for us to understand."""
        found = dict(zip(pairs[::2], pairs[1::2], strict=False))
        version, entry, name, number = (
            found.get(key, b"").decode("utf-8", "replace")
            for key in (b"v", b"entry", b"name", b"attempt")
        )
        if _count(version) > VERSION:
            raise NewerResultsError(
                f"results of version {_count(version)}: this tplspider knows {VERSION}: update it"
            )
        about = answer_id.decode(), entry, name or entry, max(_count(number), 1)
        try:
            rows = json.loads(_unpacked(found[b"rows"]))
            return cls(
                *about,
                _item(Summary, rows["summary"], about[3]),
                [_item(Candidate, row, about[3]) for row in rows.get("candidates") or ()],
                [_item(Template, row, about[3]) for row in rows.get("templates") or ()],
            )
        except KeyError as error:
            return cls(*about, fault=f"no {error} in it")
        except (ValueError, TypeError, AttributeError, RecursionError, zlib.error) as error:
            return cls(*about, fault=" ".join(str(error).split()) or type(error).__name__)

    def items(self) -> Iterator[Candidate | Template | Summary]:
        """All rows."""
        yield from self.candidates
        yield from self.templates
        if self.summary:
            yield self.summary


def _unpacked(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    rows = stream.decompress(packed, _LARGEST)
    if stream.unconsumed_tail or not stream.eof:
        raise ValueError("its rows are cut off, or more than anybody can have written")
    return rows


def _item(kind: type[Item], row: dict[str, Any], attempt: int) -> Item:
    """The item of a row: what another version has in it besides is left out, as feeds do it."""
    known = {each.name: row[each.name] for each in fields(kind) if each.name in row}  # type: ignore[arg-type]
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name not in known and each.default is each.default_factory is MISSING:
            raise ValueError(f"no {each.name!r} in a row")
    return kind(**{**known, "attempt": attempt})


def _count(number: str) -> int:
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0
