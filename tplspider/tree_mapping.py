"""The top-down mapping between two pages: an element maps only if its parent does."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tplspider.flat_page import FlatPage
    from tplspider.tree import Element

_MOST_PAIRS = 2500
_SAMPLE = 512
_NEAR = 8


class TreeMapping:
    """Maps the elements of a key page to those of another page, from the top down.

    Identical subtrees map as they stand. Of other elements, the children are aligned in order, so
    that what they have in common weighs most, and only aligned pairs are looked into.
    """

    def __init__(self, key: FlatPage, other: FlatPage) -> None:
        self.key = key
        self.other = other
        self.mapped = [-1] * len(key.tags)
        self._bags: tuple[dict[int, frozenset[int]], dict[int, frozenset[int]]] = ({}, {})
        self._map()

    def _map(self) -> None:
        key, other, mapped = self.key, self.other, self.mapped
        stack = [(0, 0)]
        while stack:
            a, b = stack.pop()
            if key.subtrees[a] == other.subtrees[b]:
                size = key.ends[a] - a
                mapped[a : a + size] = range(b, b + size)
                continue
            mapped[a] = b
            if key.ends[a] > a + 1 and other.ends[b] > b + 1:
                stack += self._align(key.children(a), other.children(b))

    def _align(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """The pairs of children that map to each other, in order."""
        ours, theirs = self.key.subtrees, self.other.subtrees
        pairs = []
        start, end_left, end_right = 0, len(left), len(right)
        while start < end_left and start < end_right and ours[left[start]] == theirs[right[start]]:
            pairs.append((left[start], right[start]))
            start += 1
        while (
            end_left > start
            and end_right > start
            and ours[left[end_left - 1]] == theirs[right[end_right - 1]]
        ):
            end_left -= 1
            end_right -= 1
            pairs.append((left[end_left], right[end_right]))
        left, right = left[start:end_left], right[start:end_right]
        if not left or not right:
            return pairs
        if len(left) == len(right) == 1:
            return [*pairs, (left[0], right[0])] if self._go_together(left[0], right[0]) else pairs
        if len(left) * len(right) <= _MOST_PAIRS:
            return pairs + self._align_by_weight(left, right)
        for of in ("subtrees", "own", "tags"):
            common = _common(
                [getattr(self.key, of)[x] for x in left],
                [getattr(self.other, of)[y] for y in right],
            )
            if common:
                break
        else:
            return pairs
        i = j = 0
        for x, y in [*common, (len(left), len(right))]:
            if x > i and y > j and of != "tags":
                pairs += self._align(left[i:x], right[j:y])
            if x < len(left) and (of == "subtrees" or self._go_together(left[x], right[y])):
                pairs.append((left[x], right[y]))
            i, j = x + 1, y + 1
        return pairs

    def _align_by_weight(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        weights = self._weights(left, right)
        width = len(right)
        best = [[0.0] * (width + 1)]
        for row in reversed(weights):
            below = best[-1]
            line = [0.0] * (width + 1)
            after = 0.0
            for j in range(width - 1, -1, -1):
                value = below[j]
                if row[j] and below[j + 1] + row[j] > value:
                    value = below[j + 1] + row[j]
                line[j] = after = max(after, value)
            best.append(line)
        best.reverse()
        pairs = []
        i = j = 0
        while i < len(left) and j < width:
            weight = weights[i][j]
            if weight and best[i][j] == best[i + 1][j + 1] + weight:
                pairs.append((left[i], right[j]))
                i, j = i + 1, j + 1
            elif best[i][j] == best[i + 1][j]:
                i += 1
            else:
                j += 1
        return pairs

    def _weights(self, left: list[int], right: list[int]) -> list[list[float]]:
        """About how many elements map for each pair of children that is aligned; 0 for none."""
        key, other = self.key, self.other
        theirs = [
            (j, y, other.tags[y], other.own[y], other.subtrees[y], _name(other.elements[y]))
            for j, y in enumerate(right)
        ]
        inside: dict[int, list[int]] = {}
        for j, y in enumerate(right):
            if other.ends[y] > y + 1:
                for own in self._bag(1, y):
                    inside.setdefault(own, []).append(j)
        weights = []
        for x in left:
            tag, own, subtree, link = key.tags[x], key.own[x], key.subtrees[x], key.links[x]
            name = _name(key.elements[x])
            size = key.ends[x] - x
            row = [0.0] * len(right)
            if size > 1 and inside:
                for what in self._bag(0, x):
                    for j in inside.get(what, ()):
                        row[j] += 1
            for j, y, their_tag, their_own, their_subtree, their_name in theirs:
                if tag != their_tag:
                    row[j] = 0.0
                elif subtree == their_subtree:
                    row[j] = size + _likeness(name, their_name)
                elif own == their_own or (link and self._same(x, y)):
                    likeness = _likeness(name, their_name)
                    row[j] = row[j] + 1 + likeness if likeness >= 0 else 0.0
                else:
                    row[j] = 0.0
            weights.append(row)
        return weights

    def _bag(self, side: int, element: int) -> frozenset[int]:
        """What is in a subtree; of a large one a sample, the same on both sides."""
        bags = self._bags[side]
        found = bags.get(element)
        if found is None:
            page = (self.key, self.other)[side]
            inside = page.own[element + 1 : page.ends[element]]
            step = len(inside) // _SAMPLE
            if step > 1:
                mask = (1 << step.bit_length()) - 1
                inside = [own for own in inside if not (own * 2654435761 >> 16) & mask]
            found = bags[element] = frozenset(inside)
        return found

    def _same(self, a: int, b: int) -> bool:
        """Whether two elements with the same tag have the same text and lead to the same place."""
        key, other = self.key, self.other
        return key.texts[a] == other.texts[b] and (
            key.links[a] == other.links[b] or key.targets[a] == other.targets[b]
        )

    def _go_together(self, a: int, b: int) -> bool:
        key, other = self.key, self.other
        return (
            key.tags[a] == other.tags[b]
            and (key.own[a] == other.own[b] or self._same(a, b))
            and _likeness(_name(key.elements[a]), _name(other.elements[b])) >= 0
        )


def _name(element: Element) -> tuple[str | None, str | None]:
    return element.get("id"), element.get("class")


def _likeness(ours: tuple[str | None, str | None], theirs: tuple[str | None, str | None]) -> float:
    """How much ids and classes speak for a pair of elements; negative: they speak against it."""
    if ours == theirs:
        return 0.4 if ours[0] else 0.2
    likeness = 0.0
    if ours[0] == theirs[0]:
        likeness = 0.2 if ours[0] else 0.0
    elif ours[0] and theirs[0] and not _alike(ours[0], theirs[0]):
        return -1
    if ours[1] == theirs[1]:
        likeness += 0.2
    elif ours[1] and theirs[1]:
        x, y = set(ours[1].split()), set(theirs[1].split())
        likeness += 0.2 * len(x & y) / (len(x | y) or 1)
    return likeness


def _alike(x: str, y: str) -> bool:
    """Whether two ids are of one kind, such as post-12 and post-34."""
    for mark in "-_:":
        head, found, _ = x.partition(mark)
        if found and y.startswith(head + mark):
            return True
    return x.rstrip("0123456789") == y.rstrip("0123456789")


def _common(left: list[object], right: list[object]) -> list[tuple[int, int]]:
    """A longest common subsequence, by positions (Hunt and Szymanski).

    Of what stands in both very often, only places near to each other count.
    """
    places: dict[object, list[int]] = {}
    for j, what in enumerate(right):
        places.setdefault(what, []).append(j)
    seen: dict[object, int] = {}
    tops: list[int] = []
    ends: list[tuple[int, int, int]] = []  # (i, j, the link before)
    at: list[int] = []
    for i, what in enumerate(left):
        found = places.get(what)
        if not found:
            continue
        if len(found) > 2 * _NEAR:
            k = seen.get(what, 0)
            seen[what] = k + 1
            found = found[max(0, k - _NEAR) : k + _NEAR]
        for j in reversed(found):
            k = bisect_left(tops, j)
            ends.append((i, j, at[k - 1] if k else -1))
            if k == len(tops):
                tops.append(j)
                at.append(len(ends) - 1)
            else:
                tops[k] = j
                at[k] = len(ends) - 1
    pairs = []
    link = at[-1] if at else -1
    while link >= 0:
        i, j, link = ends[link]
        pairs.append((i, j))
    pairs.reverse()
    return pairs
