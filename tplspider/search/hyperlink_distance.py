"""Hyperlink distance and link relevance (the paper's definitions of those names)."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence


def words(identity: str) -> tuple[str, ...]:
    """The path of an address in the paper's sense: its host, then its directories.

    The resource name, the query, the port and a leading ``www.`` play no part.

    >>> words("http://www.upv.es/research/maths/index.html")
    ('upv.es', 'research', 'maths')
    """
    parts = urlsplit(identity)
    host = (parts.hostname or "").removeprefix("www.")
    return (host, *filter(None, parts.path.split("/")[:-1]))


def h_distance(h: Sequence[str], g: Sequence[str]) -> int:
    """Hyperlink distance from *h* to *g*, each given as its words.

    >>> h_distance(["research", "maths"], ["research", "maths", "geometry"])
    1
    >>> h_distance(["research", "maths"], ["research", "physics", "dynamics"])
    -1
    """
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(h, g, strict=False)))
    return len(g) - len(h) if shared == len(h) else shared - len(h)


def link_relevance(distance: int) -> tuple[bool, int]:
    """Sort key of link relevance: distance 0 first, then 1, 2, 3 ..., then -1, -2, -3 ..."""
    return distance < 0, abs(distance)


class HyperlinkDistances:
    """Hyperlink distances from one reference address, worked out once for each directory."""

    def __init__(self, reference: str) -> None:
        self._reference = words(reference)
        self._by_directory: dict[str, int] = {}

    def to(self, identity: str) -> int:
        """The hyperlink distance from the reference to the address with this identity."""
        address = identity.partition("?")[0]
        directory = address[: address.rfind("/") + 1]
        distance = self._by_directory.get(directory)
        if distance is None:
            distance = h_distance(self._reference, words(directory))
            self._by_directory[directory] = distance
        return distance
