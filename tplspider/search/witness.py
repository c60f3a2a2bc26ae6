"""The witness: one more page, of the key page's own kind, for what only such pages have in common.

A menu leads to pages of all kinds, so the pages of a complete subdigraph may all be of other kinds
than the key page: what every article has, and no list of articles, would be taken for its own.
Of a loaded page the kind shows in the classes of its elements; before a page is loaded, and where
a site has no classes, there is the pattern of its address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.search.cliques import SubdigraphSearch, Visit
from tplspider.search.kinds import Pattern, Siblings, is_kin
from tplspider.web.page import Answer, NoPage, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tplspider.items import WitnessLink
    from tplspider.web.html import Link


# Which of the loaded pages tell most about a page: those most alike, by links and by address.
#
# The shape of the DOM is a poor sign of it. Pages with the same menus, and near in the tree of
# addresses, are compared first; few are enough, and more of them do harm.

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


NAMES = 8  # so many names in the tree of a page tell its kind ...
SAME_NAMES = 0.8  # ... by the share of them that another page has as well
LEAST = 1.0  # a witness must score as much as an address of the same depth and ending


def needs_witness(key: Page, explored: Iterable[Page]) -> bool:
    """Whether no explored page is of the key page's kind.

    A page of its kind has an address like its own, and nearly all of its names. An index of whole
    articles has their names as well; an article on the first level has an address like a menu's.
    """
    pattern = Pattern(key.identity)
    enough = SAME_NAMES * len(key.names) if len(key.names) >= NAMES else 0
    return not any(
        len(key.names & page.names) >= enough and is_kin(pattern, Pattern(page.identity))
        for page in explored
    )


WITNESS = 0  # in the place of a rank, which a witness does not have


def find_witness(
    search: SubdigraphSearch,
    links: Sequence[Link],
    is_absent: Callable[[str], bool] | None = None,
) -> Visit | None:
    """The page to load when a search ends: none if an explored page is of the key page's kind.

    The budget of loads holds for the witness, too.
    """
    if search.max_loads and search.loads >= search.max_loads:
        return None
    key = search.key_page
    explored = [visit.page for visit in search.visits if visit.page]
    if not needs_witness(key, explored):
        return None
    spent = {visit.link.identity for visit in search.visits}
    spent |= {page.identity for page in (key, *explored)}
    siblings = Siblings(key.identity, links)
    for page in by_likeness(key, explored):  # of equal links, the first one counts
        siblings.read(page)
    link = siblings.best(
        LEAST, lambda each: each.identity not in spent and not (is_absent and is_absent(each.url))
    )
    return Visit(WITNESS, link, link.url) if link else None


def settle(visit: Visit, search: SubdigraphSearch, answer: Answer) -> None:
    """Take in what a witness gave: a page of its own, a duplicate, or none."""
    if isinstance(answer, NoPage):
        visit.no_page = answer
        return
    visit.url = answer.url
    if isinstance(answer, Page):
        visit.duplicate_of = search.duplicate_of(answer)
        visit.page = None if visit.duplicate_of else answer
    else:
        visit.duplicate_of = answer.url
    visit.is_key_page = visit.duplicate_of == search.key_page.url


def is_settled(visit: Visit) -> bool:
    """Whether it is known what a witness gave."""
    return bool(visit.page or visit.no_page or visit.duplicate_of)


def witness_link(visit: Visit) -> WitnessLink:
    """The outcome of a witness, as users read it."""
    return {
        "link": visit.link.url,
        "url": visit.url,
        "outcome": visit.outcome,
        "reason": visit.reason,
    }


KEY, MEMBER, EXPLORED, WITNESS_ROLE = "key", "member", "explored", "witness"
SPARE = 3  # pages beyond those that are enough: some may tell nothing


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page of a search: its role there, and the link that led to it ('' for the key page)."""

    page: Page
    role: str
    link: str = ""


def members(search: SubdigraphSearch | None, witness: Visit | None) -> list[WantedPage]:
    """The key page, the pages of the answer by rank, and the witness, if there is one."""
    if search is None:
        return []
    found = [WantedPage(search.key_page, KEY)]
    role = MEMBER if search.members else EXPLORED
    found += [WantedPage(v.page, role, v.link.url) for v in search.found if v.page]
    if witness and witness.page:
        found.append(WantedPage(witness.page, WITNESS_ROLE, witness.link.url))
    return found


def evidence(search: SubdigraphSearch | None, witness: Visit | None) -> list[WantedPage]:
    """The key page, and the pages to compare it with, those that tell most first.

    The witness comes first, then explored pages, members or not: the ones most like the key page.
    There may be a hundred, and few are enough.
    """
    if search is None:
        return []
    known = {wanted.page: wanted for wanted in members(search, witness)}
    explored = {
        visit.page: known.get(visit.page) or WantedPage(visit.page, EXPLORED, visit.link.url)
        for visit in search.visits
        if visit.page
    }
    found = [wanted for wanted in known.values() if wanted.role in (KEY, WITNESS_ROLE)]
    best = by_likeness(search.key_page, explored)[: MOST + SPARE]
    return [*found, *(explored[page] for page in best)]
