"""The top-down mapping between two pages: an element maps only if its parent does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.template.common_subsequence import common_subsequence
from tplspider.template.element_names import likeness
from tplspider.template.subtree_bags import SubtreeBags

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.web.flat_page import FlatPage

_MOST_PAIRS = 2500


class TreeMapping:
    """Maps the elements of a key page to those of another page, from the top down.

    Identical subtrees map as they stand. Of other elements, the children are aligned in order, so
    that what they have in common weighs most, and only aligned pairs are looked into.
    *check_time* is called now and then; it may raise an exception to put an end to it. *inside*
    and *inside_other* are the bags of the pages, if they are mapped more than once.
    """

    def __init__(
        self,
        key: FlatPage,
        other: FlatPage,
        check_time: Callable[[], None] | None = None,
        inside: SubtreeBags | None = None,
        inside_other: SubtreeBags | None = None,
    ) -> None:
        self.key = key
        self.other = other
        self.mapped = [-1] * len(key.tags)
        self._inside = inside or SubtreeBags(key)
        self._inside_other = inside_other or SubtreeBags(other)
        self._map(check_time)

    def _map(self, check_time: Callable[[], None] | None) -> None:
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
                if check_time:
                    check_time()
                stack += self._align(key.children[a], other.children[b])

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
        common = (
            common_subsequence([ours[x] for x in left], [theirs[y] for y in right])
            or common_subsequence(
                [self.key.own[x] for x in left], [self.other.own[y] for y in right]
            )
            or common_subsequence(_places(self.key, left), _places(self.other, right))
        )
        if not common:
            return pairs
        i = j = 0
        for x, y in [*common, (len(left), len(right))]:
            if x > i and y > j:
                pairs += self._align(left[i:x], right[j:y])
            if x < len(left) and self._go_together(left[x], right[y]):
                pairs.append((left[x], right[y]))
            i, j = x + 1, y + 1
        return pairs

    def _align_by_weight(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        same = self._same_children(left, right)
        if not any(same):
            return []
        if _is_forced(same):
            pairs = [(x, right[places[0]]) for x, places in zip(left, same, strict=True) if places]
            return [pair for pair in pairs if self._weighs(*pair)]
        weights = self._weights(left, right, same)
        if not any(weights):
            return []
        # The most that the children from i and from j on can weigh together, for all i and j.
        below = [0.0] * (len(right) + 1)
        best = [below]
        for row in reversed(weights):
            if row:
                line = below[:]
                most = 0.0
                places = sorted(row, reverse=True)
                for j, before in zip(places, [*places[1:], -1], strict=True):
                    most = max(most, below[j + 1] + row[j])
                    place = j
                    while place > before and below[place] < most:
                        line[place] = most
                        place -= 1
                below = line
            best.append(below)
        best.reverse()
        pairs = []
        i = j = 0
        while i < len(left) and j < len(right):
            weight = weights[i].get(j)
            if weight and best[i][j] == best[i + 1][j + 1] + weight:
                pairs.append((left[i], right[j]))
                i, j = i + 1, j + 1
            elif best[i][j] == best[i + 1][j]:
                i += 1
            else:
                j += 1
        return pairs

    def _same_children(self, left: list[int], right: list[int]) -> list[list[int]]:
        """For each child on the left, where on the right there are children that are the same."""
        key, other = self.key, self.other
        ours = {key.own[x] for x in left}
        theirs = [other.own[y] for y in right]
        links = [j for j, y in enumerate(right) if other.links[y]]
        if not links and ours.isdisjoint(theirs):  # as most of what is the pages' own
            return []
        alike: dict[int | tuple[str, str, str], list[int]] = {}
        for j, own in enumerate(theirs):
            if own in ours:
                alike.setdefault(own, []).append(j)
        for j in links:
            alike.setdefault(_place(other, right[j]), []).append(j)
        return [
            # The same link may be so by what it is and by where it leads.
            sorted({*alike.get(key.own[x], ()), *alike.get(_place(key, x), ())})
            if key.links[x]
            else alike.get(key.own[x], [])
            for x in left
        ]

    def _weighs(self, x: int, y: int) -> bool:
        """Whether two children that are the same can be aligned."""
        key, other = self.key, self.other
        return likeness(key.names[x], other.names[y]) >= 0 or (
            key.subtrees[x] == other.subtrees[y] and key.ends[x] > x + 1
        )

    def _weights(
        self, left: list[int], right: list[int], same: list[list[int]]
    ) -> list[dict[int, float]]:
        """For each child on the left, about how many elements map if it is aligned with one on the
        right; only those it can be aligned with.
        """
        key, names, subtrees = self.key, self.other.names, self.other.subtrees
        bag_of = self._inside_other.bag
        weights = []
        for x, alike in zip(left, same, strict=True):
            row: dict[int, float] = {}
            weights.append(row)
            if not alike:
                continue
            name, subtree, bag = key.names[x], key.subtrees[x], self._inside.bag(x)
            for j in alike:
                y = right[j]
                like = likeness(name, names[y])
                if subtree == subtrees[y]:
                    row[j] = key.ends[x] - x + like
                elif like >= 0:
                    row[j] = (len(bag & bag_of(y)) + 1 if bag else 1) + like
        return weights

    def _same(self, a: int, b: int) -> bool:
        """Whether two links with the same tag have the same text and lead to the same place."""
        key, other = self.key, self.other
        return (
            key.links[a] != ""
            and key.texts[a] == other.texts[b]
            and (key.links[a] == other.links[b] or key.targets[a] == other.targets[b])
        )

    def _go_together(self, a: int, b: int) -> bool:
        key, other = self.key, self.other
        return key.subtrees[a] == other.subtrees[b] or (
            key.tags[a] == other.tags[b]
            and (key.own[a] == other.own[b] or self._same(a, b))
            and likeness(key.names[a], other.names[b]) >= 0
        )


def _is_forced(same: list[list[int]]) -> bool:
    """Whether each has one place at most, in order: then there is one way to align them."""
    last = -1
    for places in same:
        if places:
            if len(places) > 1 or places[0] <= last:
                return False
            last = places[0]
    return True


def _place(page: FlatPage, element: int) -> tuple[str, str, str]:
    """What a link says and where it leads, whichever way it is written."""
    return page.tags[element], page.texts[element], page.targets[element]


def _places(page: FlatPage, elements: list[int]) -> list[object]:
    return [_place(page, x) if page.links[x] else page.own[x] for x in elements]
