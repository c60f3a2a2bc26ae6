"""How much of a page's own text and of its boilerplate an extracted text holds.

Words are compared, not layout: each line of the page looks for its words in the extracted text.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.evaluation.scores import words
from benchmarks.evaluation.silver import BOILERPLATE, OWN, characters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

LEAST = 30  # characters that a share must be a share of to mean anything
RUN = 3  # words in a row that are no coincidence
LONG = 5  # words of a line of which a part may have been extracted
MOST_PLACES = 100  # of a word, to look for one at the start of a line


@dataclass(frozen=True, slots=True)
class SilverScore:
    """The characters of a page's own text and boilerplate, and how many of them were extracted."""

    own: int = 0
    own_kept: float = 0.0
    boilerplate: int = 0
    boilerplate_kept: float = 0.0

    @property
    def lost(self) -> float | None:
        """The share of the page's own text that was not extracted."""
        return 1 - self.own_kept / self.own if self.own >= LEAST else None

    @property
    def left(self) -> float | None:
        """The share of the boilerplate that was extracted."""
        return self.boilerplate_kept / self.boilerplate if self.boilerplate >= LEAST else None


def score_text(lines: Sequence[str], labels: Sequence[str], text: str) -> SilverScore:
    """The score of a text extracted from the page with these lines."""
    size = dict.fromkeys((OWN, BOILERPLATE), 0)
    kept = dict.fromkeys((OWN, BOILERPLATE), 0.0)
    for line, label, share in zip(lines, labels, shares_kept(lines, text), strict=True):
        if label in size:
            size[label] += characters(line)
            kept[label] += share * characters(line)
    return SilverScore(size[OWN], kept[OWN], size[BOILERPLATE], kept[BOILERPLATE])


def shares_kept(lines: Sequence[str], text: str) -> list[float]:
    """Of each line, the share of its words that are in the text.

    Lines are found in the order of the page and each word belongs to one of them. The longest
    choose first: where they are is certain, and a word of a menu can only be between two of them.

    >>> shares_kept(["Home", "We are home at last", "Home"], "We are home at last")
    [0.0, 1.0, 0.0]
    """
    page = [words(line) for line in lines]
    extracted = _Words(text)
    shares = [0.0] * len(page)
    taken: list[tuple[int, int, int]] = []  # line, its first word and the one after its last

    def room(line: int) -> tuple[int, int, int]:
        """The place among those taken, and the words between its neighbours."""
        at = bisect(taken, (line, 0, 0))
        start = taken[at - 1][2] if at else 0
        return at, start, taken[at][1] if at < len(taken) else len(extracted.words)

    for line in sorted(range(len(page)), key=lambda line: -len(page[line])):
        at, start, end = room(line)
        place = extracted.find(page[line], start, end)
        if place is not None:
            taken.insert(at, (line, place, place + len(page[line])))
            shares[line] = 1.0
    rows: dict[tuple[int, int], set[tuple[str, ...]]] = {}  # many lines may share a room
    for line, wanted in enumerate(page):
        if not shares[line] and len(wanted) >= LONG:
            _, start, end = room(line)
            if (start, end) not in rows:
                rows = {(start, end): {*_rows(extracted.words[start:end])}}
            shares[line] = _in_rows(wanted, rows[start, end]) / len(wanted)
    return shares


class _Words:
    """The words of a text as one string, in which rows of words are found quickly."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self._line_starts: set[int] = set()
        for line in text.splitlines():
            self._line_starts.add(len(self.words))
            self.words += words(line)
        self._places = [0]  # of each word, and of the end
        for word in self.words:
            self._places.append(self._places[-1] + len(word) + 1)
        self._string = f" {' '.join(self.words)} "
        self._numbers = {place: number for number, place in enumerate(self._places)}

    def find(self, wanted: list[str], start: int, end: int) -> int | None:
        """The first place of a row of words, at the start of a line if there is such a place."""
        if not wanted or end - start < len(wanted):
            return None
        row = f" {' '.join(wanted)} "
        place, last = self._places[start] - 1, self._places[end] + 1
        found: list[int] = []
        while len(found) < MOST_PLACES:
            place = self._string.find(row, place + 1, last)
            if place < 0:
                break
            found.append(self._numbers[place])
            if found[-1] in self._line_starts:
                return found[-1]
        return found[0] if found else None


def _rows(text: list[str]) -> list[tuple[str, ...]]:
    return [tuple(text[at : at + RUN]) for at in range(len(text) - RUN + 1)]


def _in_rows(wanted: list[str], rows: AbstractSet[tuple[str, ...]]) -> int:
    """How many of the words stand in a row of some that is in the extracted text as well."""
    found = [row in rows for row in _rows(wanted)]
    return sum(any(found[max(0, at - RUN + 1) : at + 1]) for at in range(len(wanted)))
