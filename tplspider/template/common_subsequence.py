"""The longest common subsequence of two lists, for lists too long to weigh every pair."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
