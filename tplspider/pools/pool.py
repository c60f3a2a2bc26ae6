"""The pool of a site: a few of its pages, drawn so that the order of their arrival plays no part.

A page's place is a hash of its address, and the pages with the lowest places stay: a sample of the
site that is the same whichever way the site is crawled.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left, insort
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING

from tplspider.template.extract import PageSource
from tplspider.web.addresses import identity
from tplspider.web.site import site_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

POOL = 50  # pages: with 25, a page of a large site has fewer of its own kind to be compared with
_FAST = 1  # zlib's level: a page is packed once, and most are let go again soon


def page_identity(url: str) -> str:
    """The identity of an address; one that cannot be parsed stands for itself."""
    try:
        return identity(url)
    except ValueError:
        return url


def page_site(url: str) -> str:
    """The name of the site of an address: its host and port, ``www.`` left out.

    >>> page_site("https://www.example.org:8080/a")
    'example.org:8080'
    """
    try:
        return site_name(identity(url))
    except ValueError:
        return ""


def place_of(page: str) -> int:
    """The place of the page with this identity in the draw, the same on every machine."""
    return int.from_bytes(blake2b(page.encode("utf-8", "replace"), digest_size=8).digest())


@dataclass(frozen=True, slots=True)
class PooledPage:
    """A page, packed: its address where redirects ended, and its HTML."""

    url: str
    identity: str
    place: int
    digest: bytes  # of the HTML
    packed: bytes

    @classmethod
    def of(cls, url: str, html: str) -> PooledPage:
        """Pack a page."""
        page = page_identity(url)
        text = html.encode("utf-8", "replace")
        digest = blake2b(text, digest_size=16).digest()
        return cls(url, page, place_of(page), digest, zlib.compress(text, _FAST))

    @property
    def html(self) -> str:
        return zlib.decompress(self.packed).decode("utf-8")

    @property
    def source(self) -> PageSource:
        """The page, as it is compared."""
        return PageSource(self.url, self.html)


class Pool:
    """At most *most* pages of one site, those with the lowest places; of copies the lowest.

    As long as each address has one content, the pool depends on the set of pages that were added
    and not on their order. Of an address with several contents the last one counts.
    """

    def __init__(self, pages: Iterable[PooledPage] = (), most: int = POOL) -> None:
        self.most = most
        self.size = 0  # bytes of packed pages
        self._pages: list[PooledPage] = []  # by their places
        for page in pages:
            self.add(page)

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[PooledPage]:
        return iter(self.pages)

    @property
    def pages(self) -> tuple[PooledPage, ...]:
        """The pages, by their places."""
        return tuple(self._pages)

    def takes(self, place: int) -> bool:
        """Whether a page with that place would stay, if it is not a copy."""
        return len(self._pages) < self.most or place <= self._pages[-1].place

    def add(self, page: PooledPage) -> bool:
        """Add a page; whether the pool is another one by that."""
        if not self.takes(page.place):
            return False
        known = self._at(page)
        if known is not None and known.digest == page.digest:
            return False
        copy = next((other for other in self._pages if other.digest == page.digest), None)
        if copy is not None and copy.place < page.place:
            if known is not None:
                self._pages.remove(known)
                self._measure()
            return known is not None
        self._pages = [other for other in self._pages if other is not known and other is not copy]
        insort(self._pages, page, key=attrgetter("place"))
        del self._pages[self.most :]
        self._measure()
        return True

    def _measure(self) -> None:
        self.size = sum(len(page.packed) for page in self._pages)

    def _at(self, page: PooledPage) -> PooledPage | None:
        """What the pool has at the address of a page."""
        first = bisect_left(self._pages, page.place, key=attrgetter("place"))
        same = self._pages[first : first + 1]
        return same[0] if same and same[0].identity == page.identity else None
