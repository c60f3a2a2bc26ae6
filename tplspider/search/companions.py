"""Which of the loaded pages tell most about a page: those most alike, by links and by address.

The shape of the DOM is a poor sign of it. Pages with the same menus, and near in the tree of
addresses, are compared first; few are enough, and more of them do harm.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.web.page import Page

MOST = 4  # pages to compare with: the fourth is a second of the page's own kind, if there is one


class Linked(Protocol):
    """A page as far as its likeness to others goes: where it is, and where its links lead."""

    @property
    def identity(self) -> str: ...

    @property
    def links(self) -> frozenset[str]: ...


def by_likeness(key: Page, pages: Iterable[Page]) -> list[Page]:
    """The pages, those most like the key page first; of equals, in the order they are given.

    A copy of the key page, and one with nothing in common, are found out when they are compared:
    the next takes the place (see *most* of :func:`tplspider.template.extract.extract_template`).
    """
    return sorted(pages, key=lambda page: -likeness(key, page))


def likeness(key: Linked, page: Linked) -> float:
    """From 0 to 2: the share of links that are on both, and of directories that lead to both."""
    return _shared_links(key, page) + shared_directories(key.identity, page.identity)


def _shared_links(key: Linked, page: Linked) -> float:
    # A page does not link to itself, but what leads to the one may well stand on the other.
    ours, theirs = key.links | {key.identity}, page.links | {page.identity}
    return len(ours & theirs) / len(ours | theirs)


def shared_directories(one: str, other: str) -> float:
    """The share of equal leading directories of two addresses, of the segments of the longer.

    >>> shared_directories("http://a.org/news/2019/x.html", "http://a.org/news/y.html")
    0.3333333333333333
    """
    ours, theirs = _segments(one), _segments(other)
    pairs = zip(ours[:-1], theirs[:-1], strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return shared / max(len(ours), len(theirs))


def _segments(identity: str) -> list[str]:
    """The directories of an address and its name, which may be empty."""
    return urlsplit(identity).path.removeprefix("/").split("/")
