"""Complete subdigraphs (CS): pages that all link to each other, found as pages come in.

A CS of the link graph is a clique of the graph of mutual links. Pages are numbered by rank and
sets of pages are integers used as bit sets, bit *i* for page *i*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SEARCH_NODES = 30_000


class CompleteSubdigraphs:
    """The best CS of a growing graph of mutual links (the loop body of Algorithm 2).

    >>> subdigraphs = CompleteSubdigraphs(size=2)
    >>> subdigraphs.update(0, 0b00)
    >>> subdigraphs.update(1, 0b01)
    >>> subdigraphs.best, subdigraphs.complete
    ((0, 1), True)
    """

    def __init__(self, size: int, max_nodes: int = MAX_SEARCH_NODES) -> None:
        self.size = size
        self.max_nodes = max_nodes
        self.best: tuple[int, ...] = ()
        self.bounded = False  # whether a step gave up
        self._mutual: list[int] = []

    @property
    def complete(self) -> bool:
        """Whether the best CS has the size that was asked for."""
        return len(self.best) == self.size

    def update(self, page: int, mutual: int) -> None:
        """Take in that *page* and the pages *mutual* link to each other, and improve the best CS.

        *page* is the next page, or an earlier one that has gained mutual links.
        """
        if page == len(self._mutual):
            self._mutual.append(0)
        gained = mutual & ~self._mutual[page]
        self._mutual[page] |= mutual
        for other in members(gained):
            self._mutual[other] |= 1 << page
        # Whatever is new contains the page. Without the page it was a CS before, no larger than
        # the best: so one member more is all there is to gain, unless an earlier step gave up.
        budget = SearchBudget(self.max_nodes)
        grown = True
        while grown and not self.complete:
            try:
                found = first_clique(self._mutual, self._mutual[page], len(self.best), budget)
            except OutOfNodesError:
                self.bounded = True
                return
            if found is not None:
                self.best = tuple(sorted((*found, page)))
            grown = found is not None and self.bounded


@dataclass(slots=True)
class SearchBudget:
    """How many candidates a step may still look at."""

    nodes: int = MAX_SEARCH_NODES

    def spend(self, nodes: int) -> None:
        self.nodes -= nodes
        if self.nodes < 0:
            raise OutOfNodesError


class OutOfNodesError(Exception):
    """A step has looked at as many candidates as it may."""


def first_clique(
    mutual: Sequence[int], candidates: int, size: int, budget: SearchBudget
) -> list[int] | None:
    """The clique of *size* pages among the *candidates* that comes first by rank, if there is one.

    Depth first in the order of rank, so that the first clique met is the answer. Branches are cut
    by a greedy colouring: a set that size - 1 colours suffice for holds no clique of that size.
    Every candidate looked at counts as a search node, which bounds the time without a clock.

    >>> first_clique([0b110, 0b101, 0b011], 0b111, 2, SearchBudget())
    [0, 1]
    """
    chosen: list[int] = []
    # Each level: what may still be chosen there, and the last page worth choosing.
    levels: list[tuple[int, int]] = []
    while True:
        wanted = size - len(chosen)
        if wanted == 0:
            return chosen
        budget.spend(1)
        last = -1
        if candidates.bit_count() >= wanted:
            lowest = (candidates & -candidates).bit_length() - 1
            if candidates & ~mutual[lowest] == 1 << lowest:
                # Mutual with all the others: where there is a clique, there is one with this page.
                last = lowest
            else:
                budget.spend(candidates.bit_count())
                last = _last_start(mutual, candidates, wanted)
        levels.append((candidates, last))
        # Go on with the first page worth choosing, on this level or on the nearest above.
        while True:
            candidates, last = levels[-1]
            lowest = (candidates & -candidates).bit_length() - 1
            if 0 <= lowest <= last:
                break
            levels.pop()
            if not levels:
                return None
            chosen.pop()
        rest = candidates ^ (1 << lowest)
        levels[-1] = rest, last
        chosen.append(lowest)
        candidates = rest & mutual[lowest]


def _last_start(mutual: Sequence[int], candidates: int, size: int) -> int:
    """The last candidate that can be the first of a clique of *size*, or -1.

    Colours are given to the candidates from the last to the first, and pages of one colour have no
    mutual links. As long as fewer than *size* colours suffice, there is no such clique.
    """
    for _ in range(size - 1):
        free = candidates
        while free:
            page = free.bit_length() - 1
            candidates ^= 1 << page
            free &= ~mutual[page] & ~(1 << page)
        if not candidates:
            return -1
    return candidates.bit_length() - 1


def members(pages: int) -> list[int]:
    """The pages of a bit set, by rank.

    >>> members(0b1010)
    [1, 3]
    """
    found = []
    while pages:
        found.append((pages & -pages).bit_length() - 1)
        pages &= pages - 1
    return found
