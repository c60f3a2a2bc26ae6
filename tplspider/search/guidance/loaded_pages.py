"""The pages loaded so far: which of the links they have, and how well linked they are.

Of each link, the evidence is the number of pages that have it, each counting for as much as the
others and the key page link to it: a page that nobody links to cannot be in a complete subdigraph.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.search.algorithm import Visit
    from tplspider.web.html import Link

_BYTES = 8  # of the number for a link, in a number for all of them
_FEW = 0.1  # the share of all links up to which they are counted one by one


@dataclass(slots=True)
class Evidence:
    """What is added to the evidence of links, by position: of few of them, and of all."""

    few: dict[int, int] = field(default_factory=dict)
    many: Sequence[int] = ()


class LoadedPages:
    """The pages that the search has loaded, and the links of the key page that they have."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.pages: list[Visit] = []
        self._identities = [link.identity for link in links]
        self._positions: dict[str, int] = {}
        self._read = 0
        # The links that each page has: a list of their positions if they are few. Else one number
        # that has a one for each of them, in its place, so that all are counted in one addition.
        self._found: list[list[int] | int] = []

    def read(self, visits: Sequence[Visit]) -> Evidence:
        """Take in the visits since the last time; what they add to the evidence of links."""
        evidence = Evidence()
        many = 0
        for visit in visits[self._read :]:
            if visit.page is None:
                continue
            linked_by = 1
            counts = []
            for other, found in zip(self.pages, self._found, strict=True):
                assert other.page
                linked_by += not _names(visit).isdisjoint(other.page.links)
                if not _names(other).isdisjoint(visit.page.links):
                    counts.append((found, 1))
            self.pages.append(visit)
            self._found.append(self._find(visit.page.links))
            for found, count in [*counts, (self._found[-1], linked_by)]:
                if isinstance(found, int):
                    many += count * found
                else:
                    for position in found:
                        evidence.few[position] = evidence.few.get(position, 0) + count
        self._read = len(visits)
        if many:
            of_links = array("Q", many.to_bytes(_BYTES * len(self._identities), "little"))
            if sys.byteorder == "big":
                of_links.byteswap()
            evidence.many = of_links
        return evidence

    def _find(self, links: frozenset[str]) -> list[int] | int:
        """Which of the links a page has."""
        if len(links) <= _FEW * len(self._identities):
            if links and not self._positions:
                self._positions = {link: i for i, link in enumerate(self._identities)}
            positions = map(self._positions.get, links)
            return [position for position in positions if position is not None]
        places = bytearray(_BYTES * len(self._identities))
        places[::_BYTES] = bytes(map(links.__contains__, self._identities))
        return int.from_bytes(places, "little")


def _names(visit: Visit) -> frozenset[str]:
    assert visit.page
    return frozenset({visit.link.identity, visit.page.identity})
