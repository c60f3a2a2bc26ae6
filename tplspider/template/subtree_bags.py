"""What is in the subtrees of a page, for finding out how much two of them have in common."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage

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
