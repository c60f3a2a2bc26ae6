"""The rows of an answer as they stand in Redis, and the items that they become in a feed."""

from __future__ import annotations

import zlib
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from tplspider.crawl.fleet.entry import VERSION
from tplspider.crawl.fleet.row_form import check_types, read_rows
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_LARGEST = 500_000_000  # bytes of JSON; a template is some times as large as its page
_LONGEST = 9  # digits of a version or an attempt

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
        if _is_number(version) and (len(version) > _LONGEST or int(version) > VERSION):
            raise NewerResultsError(
                f"results of version {version[:20]}: this tplspider knows {VERSION}: update it"
            )
        about = answer_id.decode(), entry, name or entry
        attempt = 1
        try:
            attempt = _attempt(number or "1")
            rows = read_rows(_unpacked(found.get(b"rows", b"")))
            return cls(
                *about,
                attempt,
                _item(Summary, rows["summary"], attempt),
                [_item(Candidate, row, attempt) for row in rows["candidates"]],
                [_item(Template, row, attempt) for row in rows["templates"]],
            )
        except (ValueError, zlib.error) as error:
            return cls(*about, attempt, fault=" ".join(str(error).split()))

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
    its_fields = fields(kind)  # type: ignore[arg-type]  # every kind of item is a dataclass
    known = {each.name: row[each.name] for each in its_fields if each.name in row}
    for each in its_fields:
        if each.name not in known and each.default is each.default_factory is MISSING:
            raise ValueError(f"no {each.name!r} in a row")
    item = kind(**{**known, "attempt": attempt})
    check_types(item)
    return item


def _attempt(number: str) -> int:
    """Which attempt it was: the first is 1, and there are fewer than ten digits of them.

    >>> _attempt("007")
    7
    """
    if not _is_number(number) or len(number) > _LONGEST or not int(number):
        raise ValueError(f"its attempt is {number[:20]!r}")
    return int(number)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
