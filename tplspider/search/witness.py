"""The witness: one more page, of the key page's own kind, for what only such pages have in common.

A menu leads to pages of all kinds, so the pages of a complete subdigraph may all be of other kinds
than the key page: what every article has, and no list of articles, would be taken for its own.
Of a loaded page the kind shows in the classes of its elements; before a page is loaded, and where
a site has no classes, there is the pattern of its address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from tplspider.search.cliques import SubdigraphSearch, Visit
from tplspider.web.addresses import Address, identity
from tplspider.web.page import Answer, NoPage, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tplspider.items import WitnessLink
    from tplspider.web.html import Element, Link


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
SEQUENCE = 0.5  # for what is marked as the page before or after
SIBLING = 2.5  # what an address in the same directory and of the same ending scores
LEAST = 1.0  # a link must score as much as an address of the same depth and ending

_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_ENDING = re.compile(r"\.\w{1,5}$")
_SEQUENCE = re.compile(r"\b(?:prev|next|previous|older|newer)", re.IGNORECASE)
_FEED = re.compile(r"atom|feed|print|rss\d?", re.IGNORECASE)
_INDEX = re.compile(r"(?:index|default|home)(?:\.\w+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Pattern:
    """An address as far as it tells the kind of its page."""

    identity: str

    @cached_property
    def _parts(self) -> tuple[list[str], str, str]:
        parts = urlsplit(self.identity)
        *directories, name = unquote(parts.path).removeprefix("/").split("/")
        ending = _ENDING.search(name)
        return directories, name, ending[0].lower() if ending else ""

    @property
    def directories(self) -> list[str]:
        """The directories of an address; of one that ends in a slash, all but the last."""
        directories, name, _ = self._parts
        return directories if name else directories[:-1]

    @property
    def ending(self) -> str:
        """``.html``, ``/`` or nothing."""
        directories, name, ending = self._parts
        return ending if name or not directories else "/"

    @cached_property
    def name(self) -> str:
        """The last part of the path, without its ending."""
        directories, name, ending = self._parts
        return name.removesuffix(ending) if name else directories[-1] if directories else ""

    @cached_property
    def tokens(self) -> list[str]:
        """The words and numbers of the name, any number as ``0``."""
        return ["0" if token.isdigit() else token for token in _TOKEN.findall(self.name.lower())]

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the query's parameters."""
        query = urlsplit(self.identity).query
        return [name for name, _ in parse_qsl(query, keep_blank_values=True)]

    @cached_property
    def is_index(self) -> bool:
        """Whether it is the first page of a directory, or of the site."""
        return not self.name or _INDEX.fullmatch(self.name) is not None


def is_kin(key: Pattern, other: Pattern) -> bool:
    """Whether the page at an address is of the key page's kind, by all that the address tells.

    >>> is_kin(Pattern("http://a.org/2019/05/on-cranes/"), Pattern("http://a.org/2021/11/a-heron/"))
    True
    >>> is_kin(Pattern("http://a.org/2019/05/on-cranes/"), Pattern("http://a.org/tag/birds/"))
    False
    """
    if key.parameters != other.parameters or key.ending != other.ending:
        return False
    if not _same_directories(key.directories, other.directories) or key.is_index != other.is_index:
        return False
    if "0" in key.tokens and "0" not in key.tokens[:1]:  # part-12: a series, and so is its kin
        return key.tokens == other.tokens
    return _alike_names(key, other) >= 0.5


def is_version(key: Pattern, other: Pattern) -> bool:
    """Whether an address is that of the key page in another form: to print, as a feed.

    >>> is_version(Pattern("http://a.org/on-cranes/"), Pattern("http://a.org/on-cranes/?print=1"))
    True
    >>> is_version(Pattern("http://a.org/on-cranes/"), Pattern("http://a.org/on-cranes/feed/"))
    True
    """
    ours, theirs = urlsplit(key.identity), urlsplit(other.identity)
    if _ENDING.sub("", ours.path).rstrip("/") == _ENDING.sub("", theirs.path).rstrip("/"):
        return key.parameters != other.parameters or ours.query == theirs.query
    return _FEED.fullmatch(other.name) is not None


def sibling_score(key: Pattern, other: Pattern) -> float:
    """How likely two addresses are those of pages of one kind: the higher the likelier."""
    score = 0.0
    if _same_directories(key.directories, other.directories):
        score += 2 if key.directories == other.directories else 1.75
    elif len(key.directories) == len(other.directories):
        same = sum(map(_alike, key.directories, other.directories))
        score += 0.5 + same / len(key.directories)
    score += 0.5 * (key.ending == other.ending) - 1.5 * (key.parameters != other.parameters)
    score -= key.is_index != other.is_index
    return score + _alike_names(key, other)


def choose_witness(
    key: str, links: Sequence[Link], spent: Iterable[str] = (), further: Iterable[str] = ()
) -> str | None:
    """The address most likely to be that of a page of the key page's kind; None if none is likely.

    *key* is the identity of the key page, *links* are on it, *spent* are the identities of those
    that were taken up already. *further* are those of links that explored pages have: an article
    may lead to nothing but the index, and the index to all articles.
    """
    taken = frozenset(spent)
    pattern = Pattern(key)
    best, most = None, LEAST
    for link in links:
        other = Pattern(link.identity)
        if link.identity not in taken and not is_version(pattern, other):
            score = sibling_score(pattern, other) + SEQUENCE * _in_sequence(link)
            if score > most:
                best, most = link.url, score
    if most >= SIBLING:
        return best
    most = max(most, SIBLING)
    for address in sorted(frozenset(further) - taken):
        other = Pattern(address)
        score = sibling_score(pattern, other)
        if score > most and not is_version(pattern, other):
            best, most = address, score
    return best


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


def _same_directories(ours: list[str], theirs: list[str]) -> bool:
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _alike(one: str, other: str) -> bool:
    return one == other or (one.isdigit() and other.isdigit() and len(one) == len(other))


def _alike_names(key: Pattern, other: Pattern) -> float:
    """From 0 to 1: a series (part-1, part-2), or names of about as many words."""
    ours, theirs = key.tokens, other.tokens
    if not ours or not theirs:
        return float(ours == theirs)
    if ours == theirs:
        return 1.0
    same = len(set(ours) & set(theirs)) / len(set(ours) | set(theirs))
    length = min(len(ours), len(theirs)) / max(len(ours), len(theirs))
    return max(same, 0.75 * length)


def _in_sequence(link: Link) -> bool:
    around: list[Element] = [link.element, *list(link.element.iterancestors())[:2]]
    named = (element.get(name) or "" for element in around for name in ("rel", "class", "id"))
    return any(_SEQUENCE.search(name) for name in named)


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
    further = {link for page in explored for link in page.links}
    # Addresses on explored pages are known by their identities; what is asked for is as written.
    written = dict(pair for page in explored for pair in page.written)
    if is_absent:
        links = [link for link in links if not is_absent(link.url)]
        further = {each for each in further if not is_absent(written.get(each, each))}
    url = choose_witness(key.identity, links, spent, further)
    if url is None:
        return None
    url = written.get(url, url)
    return Visit(WITNESS, Address(url, identity(url)), url)


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
    """The key page, the members by rank, and the witness, if there is one."""
    if search is None:
        return []
    found = [WantedPage(search.key_page, KEY)]
    found += [WantedPage(v.page, MEMBER, v.link.url) for v in search.members if v.page]
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
