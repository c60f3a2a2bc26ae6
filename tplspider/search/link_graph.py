"""Which explored pages link to which: the set Connections of Algorithm 2."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tplspider.search.complete_subdigraph import members

if TYPE_CHECKING:
    from collections.abc import Iterable


class LinkGraph:
    """The links among the explored pages, each of which may go by several names.

    A page's names are the identities of its link, of its final address, and of those of its
    duplicates: a link to any of them is a link to the page. Pages are numbered from 0 as they are
    added; sets of pages are integers, bit *i* for page *i*.
    """

    def __init__(self) -> None:
        self._called: defaultdict[str, int] = defaultdict(int)  # the pages of a name
        self._linking: defaultdict[str, int] = defaultdict(int)  # the pages that link to a name
        self._to: list[int] = []  # of each page: the pages it links to
        self._from: list[int] = []  # of each page: the pages that link to it

    def __len__(self) -> int:
        return len(self._to)

    def add_page(self, names: Iterable[str], links: Iterable[str]) -> int:
        """Add a page that links to all *links*; returns its number."""
        page = len(self)
        self._to.append(0)
        self._from.append(0)
        for link in links:
            self._linking[link] |= 1 << page
            if link in self._called:
                self._to[page] |= self._called[link]
        for other in members(self._to[page]):
            self._from[other] |= 1 << page
        self.add_names(page, names)
        return page

    def add_names(self, page: int, names: Iterable[str]) -> None:
        """Let links to any of *names* count as links to *page*."""
        for name in names:
            self._called[name] |= 1 << page
            if name in self._linking:
                self._from[page] |= self._linking[name]
        for other in members(self._from[page]):
            self._to[other] |= 1 << page

    def mutual(self, page: int) -> int:
        """The other pages that *page* links to and that link to it."""
        return self._to[page] & self._from[page] & ~(1 << page)

    def linked(self, page: int) -> int:
        """The other pages that *page* links to."""
        return self._to[page] & ~(1 << page)

    def links(self, page: int, other: int) -> bool:
        """Whether *page* links to *other*."""
        return bool(self._to[page] >> other & 1)
