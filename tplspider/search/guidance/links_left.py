"""The links that are still to be taken up, by their scores, which change with every loaded page.

Links with the same evidence and the same score before anything was loaded are alike: they have the
same score as long as their evidence stays the same. There are few kinds of links, however many
links there are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.search.guidance.loaded_pages import Evidence

_TAKEN = -1


class _Kinds(dict[tuple[int, int], int]):
    """The kinds of links, by evidence and prior; as a dict, what more evidence makes of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[int, float]] = []
        self._numbers: dict[tuple[int, float], int] = {}

    def number(self, evidence: int, prior: float) -> int:
        """The number of the kind with this evidence and this prior."""
        key = evidence, prior
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.all)
            self.all.append(key)
        return found

    def __missing__(self, key: tuple[int, int]) -> int:
        kind, more = key
        if kind == _TAKEN:
            return _TAKEN
        evidence, prior = self.all[kind]
        found = self[key] = self.number(evidence + more, prior)
        return found


class LinksLeft:
    """Links by their positions in the order that breaks ties; *prior* is what they start with."""

    def __init__(self, prior: Sequence[float]) -> None:
        self._kinds = _Kinds()
        numbers = {value: self._kinds.number(0, value) for value in {*prior}}
        self._kind = [numbers[value] for value in prior]  # of each link
        self._sizes = Counter(self._kind)  # of kinds that have links
        self._starts: dict[int, int] = {}  # no link of a kind comes before
        self._first = 0  # no link that is left comes before

    def add_evidence(self, evidence: Evidence) -> None:
        """Take in what the pages loaded since the last time have added."""
        for position, more in evidence.few.items():
            if self._kind[position] != _TAKEN:
                kind = self._kinds[self._kind[position], more]
                start = self._starts.get(kind, 0) if kind in self._sizes else position
                self._starts[kind] = min(position, start)
                self._move(position, kind)
                self._sizes[kind] += 1
        if evidence.many:
            pairs = zip(self._kind, evidence.many, strict=True)
            self._kind = [self._kinds[pair] for pair in pairs]
            self._sizes = Counter(self._kind)
            del self._sizes[_TAKEN]
            self._starts = {}

    def take_first(self) -> int:
        """The first link that is left."""
        while self._kind[self._first] == _TAKEN:
            self._first += 1
        self._move(self._first, _TAKEN)
        return self._first

    def take_best(self, weight: float, whole: int) -> int:
        """The link with the highest score, the first of several.

        A score is the share of *whole* that a link's evidence is, times *weight*, and its prior.
        """
        scores = {}
        for kind in self._sizes:
            evidence, prior = self._kinds.all[kind]
            scores[kind] = weight * evidence / whole + prior
        highest = max(scores.values())
        best = min(self._start(kind) for kind, score in scores.items() if score == highest)
        self._move(best, _TAKEN)
        return best

    def _start(self, kind: int) -> int:
        """The first link of a kind."""
        start = self._starts[kind] = self._kind.index(kind, self._starts.get(kind, 0))
        return start

    def _move(self, position: int, kind: int) -> None:
        before = self._kind[position]
        self._kind[position] = kind
        self._sizes[before] -= 1
        if not self._sizes[before]:
            del self._sizes[before]
