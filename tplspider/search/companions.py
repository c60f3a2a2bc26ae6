"""Which of the loaded pages tell most about a page: those most alike, by links and by address.

The shape of the DOM is a poor sign of it. Pages with the same menus, and near in the tree of
addresses, are compared first; few are enough, and more of them do harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tplspider.web.page import Page

MOST = 4  # pages to compare with: the fourth is a second of the page's own kind, if there is one


def by_likeness(key: Page, pages: Iterable[Page]) -> list[Page]:
    """The pages, those most like the key page first; of equals, in the order they are given.

    A copy of the key page, and one with nothing in common, are found out when they are compared:
    the next takes the place (see *most* of :func:`tplspider.template.extract.extract_template`).
    """
    return sorted(pages, key=lambda page: -likeness(key, page))


def likeness(key: Page, page: Page) -> float:
    """From 0 to 2: the share of links that are on both, and of directories that lead to both."""
    return _shared_links(key, page) + shared_directories(key.identity, page.identity)


def _shared_links(key: Page, page: Page) -> float:
    # A page does not link to itself, but what leads to the one may well stand on the other.
    ours, theirs = key.links | {key.identity}, page.links | {page.identity}
    return len(ours & theirs) / len(ours | theirs)


def shared_directories(one: str, other: str) -> float:
    """The share of equal leading directories of two addresses, of the segments of the longer.

    >>> shared_directories("http://a.org/news/2019/x.html", "http://a.org/news/y.html")
    0.3333333333333333
    """
    return share_of_directories(path_segments(one), path_segments(other))


def share_of_directories(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """The same for addresses that are given by the segments of their paths."""
    shared = 0
    most = min(len(ours), len(theirs)) - 1  # the last is the name
    while shared < most and ours[shared] == theirs[shared]:
        shared += 1
    return shared / max(len(ours), len(theirs))


def path_segments(identity: str) -> list[str]:
    """The directories of an address and its name, which may be empty."""
    return urlsplit(identity).path.removeprefix("/").split("/")
