"""The top-down mapping between two pages: an element maps only if its parent does."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tplspider.template.flat_page import FlatPage, Name


# What ids and classes say of two elements: whether they may be the same part of two pages.


@lru_cache(maxsize=1 << 14)  # pages have the same pairs of names many times
def likeness(ours: Name, theirs: Name) -> float:
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


# What is in the subtrees of a page, for finding out how much two of them have in common.

_SAMPLE = 512
_COMMONEST = 2  # the rarity of the largest sample


class SubtreeBags:
    """The bags of one page, each made when it is asked for."""

    def __init__(self, page: FlatPage) -> None:
        self._page = page
        self._bags: dict[int, frozenset[int]] = {}
        self._samples: dict[int, list[int]] = {}
        self._signs: list[int] = []
        self._all: frozenset[int] = frozenset()

    def clear(self) -> None:
        """Forget them: the numbers of what is in the page have changed."""
        self._bags.clear()
        self._all = frozenset()

    @property
    def everything(self) -> frozenset[int]:
        """What is anywhere in the page."""
        self._all = self._all or frozenset(self._page.own)
        return self._all

    def bag(self, element: int) -> frozenset[int]:
        """What is in a subtree; of a large one a sample, the same on every page."""
        found = self._bags.get(element)
        if found is None:
            page = self._page
            start, end = element + 1, page.ends[element]
            rarity = ((end - start) // _SAMPLE).bit_length()
            if rarity >= _COMMONEST:
                places = self._sample(rarity)
                first = bisect_left(places, start)
                inside = [page.own[x] for x in places[first : first + 4 * _SAMPLE] if x < end]
            else:
                inside = page.own[start:end]
            found = self._bags[element] = frozenset(inside)
        return found

    def _sample(self, rarity: int) -> list[int]:
        """The elements that are taken for a sample of one in 2 ** *rarity*."""
        if rarity not in self._samples:
            # By what an element is: its number depends on which pages were seen before.
            signs = self._signs = self._signs or _signs(self._page)
            mask = (1 << rarity) - 1
            # A larger sample has all that a smaller one has.
            larger = self._sample(rarity - 1) if rarity > _COMMONEST else range(len(signs))
            self._samples[rarity] = [x for x in larger if not signs[x] & mask]
        return self._samples[rarity]


def _signs(page: FlatPage) -> list[int]:
    """A number for what each element is, in any process the same."""
    return [
        crc32((text or link or tag).encode("utf-8", "replace"))
        for tag, text, link in zip(page.tags, page.texts, page.links, strict=True)
    ]


# The longest common subsequence of two lists, for lists too long to weigh every pair.

_NEAR = 8


def common_subsequence(left: Sequence[object], right: Sequence[object]) -> list[tuple[int, int]]:
    """A longest common subsequence, by positions (Hunt and Szymanski).

    Of what stands in both very often, only places near to each other count.
    """
    ours, theirs = {*left}, {*right}
    both = ours & theirs
    if not both:
        return []
    if len(ours) == len(theirs) == 1 and len(right) > 2 * _NEAR:  # what the rest comes to, at once
        start = min(max(len(left) - len(right), 0), _NEAR)
        return list(zip(range(start, len(left)), range(len(right)), strict=False))
    places: dict[object, list[int]] = {}
    for j, what in enumerate(right):
        if what in both:
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


# The alignment of two lists that weighs most: pairs in order, each with a weight of its own.


def heaviest_alignment(weights: list[dict[int, float]], size: int) -> list[tuple[int, int]]:
    """Pairs of places that weigh most together, each later in both lists than the one before.

    Of each place on the left, *weights* has those on the right that it may be aligned with, of
    *size* in all. Of alignments that weigh the same, the first.
    """
    if not any(weights):
        return []
    if _are_equal(weights, size):  # rows of a table, entries of a list
        return [(place, place) for place in range(min(len(weights), size))]
    best = _best(weights, size)
    pairs = []
    i = j = 0
    while i < len(weights) and j < size:
        weight = weights[i].get(j)
        if weight and best[i][j] == best[i + 1][j + 1] + weight:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _best(weights: list[dict[int, float]], size: int) -> list[list[float]]:
    """The most that the places from i and from j on can weigh together, for all i and j."""
    below = [0.0] * (size + 1)
    best = [below]
    for row in reversed(weights):
        if row:
            line = below[:]
            most = 0.0
            places = sorted(row, reverse=True)
            for j, before in zip(places, [*places[1:], -1], strict=True):
                weight = below[j + 1] + row[j]
                if weight > most:  # noqa: PLR1730 - there may be very many pairs
                    most = weight
                place = j
                while place > before and below[place] < most:
                    line[place] = most
                    place -= 1
            below = line
        best.append(below)
    best.reverse()
    return best


def _are_equal(weights: list[dict[int, float]], size: int) -> bool:
    """Whether all pairs weigh the same: then the first go together, the second, and so on."""
    weight = weights[0].get(0)
    return all(len(row) == size and {*row.values()} == {weight} for row in weights)


_MOST_PAIRS = 2500
_NOTHING: frozenset[int] = frozenset()


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
        mapped, ends = self.mapped, self.key.ends
        ours, theirs = self.key.subtrees, self.other.subtrees
        children, other_children = self.key.children, self.other.children
        own, links = self.key.own.__getitem__, self.key.links.__getitem__
        everything = self._inside_other.everything
        stack = [(0, 0)]
        while stack:
            a, b = stack.pop()
            if ours[a] == theirs[b]:
                size = ends[a] - a
                if size == 1:
                    mapped[a] = b
                else:
                    mapped[a : a + size] = range(b, b + size)
                continue
            mapped[a] = b
            left, right = children[a], other_children[b]
            if not left or not right:
                continue
            if len(left) == len(right) == 1:
                if self._go_together(left[0], right[0]):
                    stack.append((left[0], right[0]))
                continue
            # As most of what is the page's own, they may be nowhere on the other page.
            if everything.isdisjoint(map(own, left)) and not any(map(links, left)):
                continue
            if check_time:
                check_time()
            stack += self._align(left, right)

    def _align(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """The pairs of children that map to each other, in order."""
        ours, theirs = self.key.subtrees, self.other.subtrees
        pairs: list[tuple[int, int]] = []
        for pair in zip(left, right, strict=False):
            if ours[pair[0]] != theirs[pair[1]]:
                break
            pairs.append(pair)
        start, end_left, end_right = len(pairs), len(left), len(right)
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
        own, links, everything = self.key.own, self.key.links, self._inside_other.everything
        left = [x for x in left if own[x] in everything or links[x]]  # few of the page's own
        same = self._same_children(left, right) if left else []
        if not any(same):
            return []
        if _is_forced(same):
            pairs = [(x, right[places[0]]) for x, places in zip(left, same, strict=True) if places]
            return [pair for pair in pairs if self._weighs(*pair)]
        if self._are_rows(left, right):
            return list(zip(left, right, strict=False))
        weights = self._weights(left, right, same)
        return [(left[i], right[j]) for i, j in heaviest_alignment(weights, len(right))]

    def _same_children(self, left: list[int], right: list[int]) -> list[list[int]]:
        """For each child on the left, where on the right there are children that are the same."""
        key, other = self.key, self.other
        own, links, other_links = key.own, key.links, other.links
        ours = {own[x] for x in left}
        theirs = list(map(other.own.__getitem__, right))
        linked = [j for j, y in enumerate(right) if other_links[y]]
        if not linked and ours.isdisjoint(theirs):
            return []
        alike: dict[int | tuple[str, str, str], list[int]] = {}
        for j, what in enumerate(theirs):
            if what in ours:
                alike.setdefault(what, []).append(j)
        if not linked or not any(links[x] for x in left):
            return [alike.get(own[x], []) for x in left]
        for j in linked:
            alike.setdefault(_place(other, right[j]), []).append(j)
        return [
            # The same link may be so by what it is and by where it leads.
            sorted({*alike.get(own[x], ()), *alike.get(_place(key, x), ())})
            if links[x]
            else alike.get(own[x], [])
            for x in left
        ]

    def _are_rows(self, left: list[int], right: list[int]) -> bool:
        """Whether all are of one kind, and what is in them on the one page is not on the other.

        So it is with the rows of two tables: any two weigh the same.
        """
        key, other, everything = self.key, self.other, self._inside_other.everything
        kinds = {(key.own[x], key.names[x]) for x in left}
        kinds.update([(other.own[y], other.names[y]) for y in right])
        return len(kinds) == 1 and all(
            everything.isdisjoint(key.own[x + 1 : key.ends[x]]) for x in left
        )

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
        key_names, key_subtrees, ends = key.names, key.subtrees, key.ends
        bag_of, everything = self._inside_other.bag, self._inside_other.everything
        bare: dict[tuple[int, Name], dict[int, float]] = {}  # of pairs that share nothing inside
        weights = []
        for x, alike in zip(left, same, strict=True):
            row: dict[int, float] = {}
            if not alike:
                weights.append(row)
                continue
            name, subtree, is_leaf = key_names[x], key_subtrees[x], ends[x] == x + 1
            # Of most of what is the page's own, the other has nothing at all.
            bag = _NOTHING if is_leaf else self._inside.bag(x) & everything
            if not bag and not is_leaf:
                kind = id(alike), name  # most of them are the same list
                if kind not in bare:
                    likes = [(j, likeness(name, names[right[j]])) for j in alike]
                    bare[kind] = {j: 1 + like for j, like in likes if like >= 0}
                weights.append(bare[kind])
                continue
            weights.append(row)
            for j in alike:
                y = right[j]
                like = likeness(name, names[y])
                if subtree == subtrees[y]:
                    row[j] = ends[x] - x + like
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
