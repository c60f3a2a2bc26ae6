"""Which link each anchor of the key page stands for: the one whose element has the same target.

To resolve the addresses of a hundred thousand anchors takes long. But most of them are the elements
of links, and links without anything unusual in their identity have different targets, as their
identities are different. So only the others are resolved.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.web.html import Element, Link, Targets

_UNUSUAL = re.compile(r"[^A-Za-z0-9_~./?=&:\0-]")  # there is a NUL between two of them
_LONG = 200  # characters: an address that is much longer may be a link as it is written


class LinkPlaces:
    """The links that anchors stand for, and the anchors that are their elements, by position.

    Of links with the same target, it is that of the last; *in_order* are their positions.
    """

    def __init__(
        self,
        links: Sequence[Link],
        anchors: list[Element],
        targets: Targets,
        in_order: Sequence[int],
    ) -> None:
        self._links = links
        self._anchors = anchors
        self._targets = targets
        self._in_order = in_order
        self.own: list[int] = []  # anchors that lead to the key page itself
        self.elements = self._find_elements()  # of each link, its anchor; -1: not in the body
        self.links = [-1] * (len(anchors) + 1)  # of each anchor, its link; -1 if it has none
        for position, anchor in enumerate(self.elements):
            self.links[anchor] = position
        self.links.pop()
        self.moved: set[int] = set()  # links for which not their elements alone stand
        self._by_target: dict[str, int] = {}  # links that may have the target of another
        self._last: dict[int, int] = {}  # of other links, that with the same target
        self._settle_targets()
        self._read_others()

    def _find_elements(self) -> Sequence[int]:
        elements = [link.element for link in self._links]
        if elements == self._anchors:
            return range(len(elements))
        at = dict(zip(self._anchors, range(len(self._anchors)), strict=True))
        return [at.get(element, -1) for element in elements]

    def _unusual(self) -> Sequence[int]:
        """The links whose target may be that of another link, or cannot be told from it."""
        if not self._targets.is_plain:
            return range(len(self._links))
        identities = [link.identity for link in self._links]
        if not _UNUSUAL.search("\0".join(identities)) and max(map(len, identities)) < _LONG:
            return ()
        return [
            position
            for position, identity in enumerate(identities)
            if len(identity) >= _LONG or _UNUSUAL.search(identity)
        ]

    def _settle_targets(self) -> None:
        """Give the anchors of links that have the same target to the last of them."""
        unusual = {*self._unusual()}
        if not unusual:
            return
        ranks = {position: rank for rank, position in enumerate(self._in_order)}
        targets = {
            position: self._targets.of(self._address(self.elements[position]))[1]
            for position in self._in_order
            if position in unusual and self.elements[position] >= 0
        }
        for position, target in targets.items():
            self._by_target[target] = position
        for target, position in self._by_target.items():
            usual = self._find(target)
            if usual is None or usual == position:
                continue
            if ranks[usual] > ranks[position]:
                self._by_target[target] = usual
            else:
                self._last[usual] = position
                self._move(self.elements[usual], position)
        for position, target in targets.items():
            self._move(self.elements[position], self._by_target[target])

    def _move(self, anchor: int, link: int) -> None:
        if self.links[anchor] != link:
            self.moved |= {self.links[anchor], link} - {-1}
            self.links[anchor] = link

    def _read_others(self) -> None:
        """Find the links of anchors that are not the elements of links."""
        known: dict[str, tuple[int, bool]] = {}
        for anchor in [anchor for anchor, link in enumerate(self.links) if link < 0]:
            address = self._address(anchor)
            if address not in known:
                known[address] = self._read(address)
            link, is_own = known[address]
            self._move(anchor, link)
            if is_own:
                self.own.append(anchor)

    def _read(self, address: str) -> tuple[int, bool]:
        """The link that an address stands for, -1 for none; and whether it is the key page's."""
        where, target = self._targets.of(address)
        position = self._by_target.get(target)
        if position is None:
            position = self._find(target)
        if position is not None:
            return self._last.get(position, position), False
        return -1, where.startswith("self?")

    def _find(self, target: str) -> int | None:
        """The link that has this target, by its identity."""
        try:
            resolved = self._targets.resolver.resolve(target)
        except ValueError:
            return None
        position = self._positions.get(resolved[1]) if resolved else None
        if position is None or self.elements[position] < 0:
            return None
        address = self._address(self.elements[position])
        return position if self._targets.of(address)[1] == target else None

    def _address(self, anchor: int) -> str:
        return (self._anchors[anchor].get("href") or "").strip().partition("#")[0]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {link.identity: position for position, link in enumerate(self._links)}
