"""What ids and classes say of two elements: whether they may be the same part of two pages."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tplspider.template.flat_page import Name


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
