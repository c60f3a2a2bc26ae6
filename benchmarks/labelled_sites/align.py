"""Which elements of two builds of a page are the same element of the theme.

Both builds come from one theme, so their trees agree but for what the page's own data adds or takes
away. The alignment pairs elements from the top down. Paired elements have paired parents, and the
same order on both sides. Of all such pairings it is one with the highest score (the simple tree
matching of W. Yang, 1991, with weights): a pair scores for its class, id, text and address, if they
are the same. Elements with different tags or different ids never make a pair.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchmarks.labelled_sites.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.web.html import Element

SKIPPED = {"script", "style", "noscript", "template"}  # no part of a page's template


class Node:
    """An element of a build: what it is compared by, marks taken away, and its child elements."""

    def __init__(self, element: Element) -> None:
        self.element = element
        self.children = [
            Node(child)
            for child in element
            if isinstance(child.tag, str) and child.tag not in SKIPPED
        ]
        pieces = [element.text or "", *(child.tail or "" for child in element)]
        self.raw_text = " ".join(" ".join(pieces).split())  # its own, without its children's
        self.text = " ".join(without_marks(self.raw_text).split())
        self.words = re.findall(r"\w+", self.text)
        self.id = without_marks(element.get("id", ""))
        self.classes = frozenset(element.get("class", "").split())
        self.address = without_marks(element.get("href", ""))
        self.shape: tuple[object, ...] = (
            *(element.tag, self.id, self.classes, self.address, self.text),
            tuple(hash(child.shape) for child in self.children),
        )
        self.fingerprint = hash(self.shape)
        self.worth: int = _own_score(self, self) + sum(child.worth for child in self.children)

    def walk(self) -> Iterator[Node]:
        """The node and all below it, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()


def _own_score(a: Node, b: Node) -> int:
    """What a pair scores by itself; 0 if it cannot be one."""
    if a.element.tag != b.element.tag or (a.id and b.id and a.id != b.id):
        return 0
    return (
        1
        + (a.classes == b.classes)
        + 2 * (a.id == b.id != "")
        + 2 * (a.text == b.text != "")
        + (a.address == b.address != "")
    )


class _Aligner:
    """The scores of pairs, each computed once."""

    def __init__(self) -> None:
        self.scores: dict[tuple[int, int], int] = {}

    def score(self, a: Node, b: Node) -> int:
        """The score of a pair with the best pairing of what is below."""
        if a.fingerprint == b.fingerprint:
            return a.worth
        pair = (id(a), id(b))
        if pair not in self.scores:
            own = _own_score(a, b)
            table = self.table(a.children, b.children) if own else [[0]]
            self.scores[pair] = own and own + table[0][0]
        return self.scores[pair]

    def table(self, left: list[Node], right: list[Node]) -> list[list[int]]:
        """The best scores of pairings of left[i:] and right[j:], for all i and j."""
        best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
        for i in reversed(range(len(left))):
            for j in reversed(range(len(right))):
                paired = self.score(left[i], right[j])
                best[i][j] = max(
                    best[i + 1][j], best[i][j + 1], paired and paired + best[i + 1][j + 1]
                )
        return best

    def pairs(self, a: Node, b: Node) -> Iterator[tuple[Node, Node]]:
        """The pairs of the best pairing of two nodes that make a pair."""
        yield a, b
        left, right = a.children, b.children
        best = self.table(left, right)
        i = j = 0
        while i < len(left) and j < len(right):
            paired = self.score(left[i], right[j])
            if paired and best[i][j] == paired + best[i + 1][j + 1]:
                yield from self.pairs(left[i], right[j])
                i, j = i + 1, j + 1
            elif best[i][j] == best[i + 1][j]:
                i += 1
            else:
                j += 1


def align(left: Node, right: Node) -> dict[Node, Node]:
    """The partner on the right of each node on the left that has one."""
    return dict(_Aligner().pairs(left, right))
